"""How hard rows are: wrong labels hardest, then those at the boundary."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression

from cdvm import Split
from cdvm.evaluation.difficulty import difficulty_bins, ease_of_rows


@pytest.fixture(scope="module")
def blobs():
    """Two clouds, every twentieth label wrong."""
    X, y = make_blobs(400, centers=[[-1.5, 0], [1.5, 0]], random_state=0)
    wrong = np.zeros(400, dtype=bool)
    wrong[::20] = True
    return Split.from_arrays(X, np.where(wrong, 1 - y, y), validation="out_of_bag", random_state=0), wrong


def test_wrong_labels_are_the_hardest_and_rows_at_the_boundary_next(blobs):
    split, wrong = blobs
    ease = ease_of_rows(split, "logistic", n_jobs=1)
    far = np.abs(split.X[:, 0]) > 2
    near = ~wrong & (np.abs(split.X[:, 0]) < 0.7)
    assert (ease[wrong & far] < 0).all()
    assert ease[wrong].mean() < ease[near].mean() < ease[~wrong & far].mean()


def test_ease_does_not_depend_on_the_workers(blobs):
    split, _ = blobs
    np.testing.assert_array_equal(
        ease_of_rows(split, "logistic", n_jobs=1), ease_of_rows(split, "logistic", n_jobs=2)
    )


def test_a_learner_without_scores_is_asked_right_or_wrong(blobs):
    split, wrong = blobs

    silent = VotingClassifier([("one", LogisticRegression())], voting="hard")
    ease = ease_of_rows(split, silent, n_jobs=1)
    assert np.abs(ease).max() == 1
    assert ease[wrong].mean() < 0 < ease[~wrong].mean()


def test_targets_far_from_the_line_are_hard():
    x = np.linspace(0, 1, 200)
    y = 3 * x
    y[[50, 150]] += 5
    split = Split.from_arrays(x[:, None], y, task="regression", validation="out_of_bag")
    ease = ease_of_rows(split, "ridge_regression", n_jobs=1)
    assert set(np.argsort(ease)[:2]) == {50, 150}


def test_bins_of_right_rows_are_of_one_size_and_wrong_rows_apart():
    ease = np.random.default_rng(0).normal(0.5, 1, 1000)
    bins = difficulty_bins(ease, 6, task="classification")
    assert ((bins == 0) == (ease < 0)).all()
    counts = np.bincount(bins)[1:]
    assert len(counts) == 5
    assert np.ptp(counts) <= 1
    assert all(ease[bins == k].max() <= ease[bins == k + 1].min() for k in range(5))
    assert np.ptp(np.bincount(difficulty_bins(ease, 6, task="regression"))) <= 1
