"""Selectors that go by how hard rows are, or how far from the centre."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from cdvm import Split
from cdvm.evaluation.difficulty import ease_of_rows
from cdvm.selectors import (
    coretab,
    coverage_centric,
    craig,
    el2n,
    forgetting,
    glister,
    hardest_right,
    margin,
    moderate,
)

EVERY = [coverage_centric, hardest_right, moderate, margin, el2n, forgetting, craig, glister, coretab]


@pytest.fixture(scope="module")
def split():
    X, y = make_blobs(400, centers=[[-1.5, 0], [1.5, 0]], random_state=0)
    y[::20] = 1 - y[::20]
    return Split.from_arrays(X, y, validation="out_of_bag", random_state=0)


@pytest.mark.parametrize("selector", EVERY)
@pytest.mark.parametrize("budget", [1, 0.1, 399, 1.0])
def test_exactly_as_many_rows_as_asked_for(split, selector, budget):
    rows = selector(split, budget, random_state=0)
    size = budget if isinstance(budget, int) else int(400 * budget)
    assert len(np.unique(rows)) == len(rows) == size
    assert (np.diff(rows) > 0).all()
    assert rows.tolist() == selector(split, budget, random_state=0).tolist()


def test_half_are_the_hardest_that_are_right(split):
    rows = hardest_right(split, 100, random_state=3)
    near = np.abs(split.X[:, 0]) < 0.7
    assert near[rows].mean() > 1.5 * near.mean()
    wrong = np.zeros(400, dtype=bool)
    wrong[::20] = True
    assert wrong[rows].sum() <= 10


def test_moderate_rows_are_as_far_from_the_centre_as_the_median(split):
    rows = moderate(split, 40)
    for label in (0, 1):
        own = split.X[split.y == label]
        distance = np.linalg.norm(own - own.mean(axis=0), axis=1)
        kept = np.linalg.norm(split.X[rows][split.y[rows] == label] - own.mean(axis=0), axis=1)
        assert np.abs(kept - np.median(distance)).max() < 0.25 * distance.std()


def test_coverage_drops_the_hardest_and_takes_of_all_others(split):
    wrong = np.zeros(400, dtype=bool)
    wrong[::20] = True
    rows = coverage_centric(split, 60, random_state=0)
    assert wrong[rows].sum() == 0
    ease = ease_of_rows(split, "logistic", n_jobs=1)
    edges = np.linspace(0, ease.max(), 6)
    kept, all_rows = (np.histogram(e, edges)[0] / len(e) for e in (ease[rows], ease[ease > 0]))
    assert kept.min() > 0.08
    assert kept.max() < all_rows.max()
