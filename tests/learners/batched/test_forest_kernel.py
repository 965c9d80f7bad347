"""Trees of a forest, against all cuts there are."""

from __future__ import annotations

import numpy as np
import pytest
from cases import N_TRAIN, split_of
from tree_cases import cuts, table, whole

from cdvm.learners import ForestLearner, TreeLearner
from cdvm.sampling import Subsets

pytest.importorskip("numba", reason="Numba is not installed: pip install cdvm[trees]")


def gini(y):
    return len(y) - (np.bincount(y) ** 2).sum() / len(y)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_first_split_has_the_least_impurity_of_all(seed, n_classes):
    rng = np.random.default_rng(seed)
    X, y = (
        rng.integers(0, 6, (25, 3)),
        np.r_[np.arange(n_classes), rng.integers(0, n_classes, 25 - n_classes)],
    )
    split = table(X, y)
    fractions = TreeLearner(max_depth=1).bind(split, split.X).scores(whole(split))[0].astype(float)
    least = min(gini(y[low]) + gini(y[~low]) for low in cuts(X))
    np.testing.assert_allclose((fractions * (1 - fractions)).sum(), least, rtol=1e-6)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("min_leaf", [1, 6])
def test_the_first_split_of_targets_has_the_least_squared_error(seed, min_leaf):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 6, (25, 3)), rng.integers(-5, 6, 25).astype(float)
    split = table(X, y, task="regression")

    def error(low):
        return sum(((y[side] - y[side].mean()) ** 2).sum() for side in (low, ~low))

    answer = TreeLearner(max_depth=1, min_leaf=min_leaf, task="regression").predict(
        split, whole(split), split.X
    )
    least = min(error(low) for low in cuts(X) if min_leaf <= low.sum() <= len(y) - min_leaf)
    np.testing.assert_allclose(((y - answer[0]) ** 2).sum(), least, rtol=1e-5)


@pytest.mark.parametrize("n_rows", [60, 900])
def test_a_full_tree_fits_what_its_features_tell_apart(n_rows):
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(n_rows) // 30, np.arange(n_rows) % 30, rng.integers(0, 3, n_rows)])
    targets = rng.normal(size=n_rows)
    split = table(X, targets, task="regression")
    answer = TreeLearner(task="regression").predict(split, whole(split), split.X)
    np.testing.assert_allclose(answer[0], targets, atol=1e-5)
    classes = np.r_[np.arange(7), rng.integers(0, 7, n_rows - 7)]
    split = table(X, classes)
    assert (TreeLearner().predict(split, whole(split), split.X) == classes).all()
    assert (ForestLearner(bootstrap=False).predict(split, whole(split), split.X) == classes).all()


def test_sets_that_share_rows_share_a_forests_randomness():
    split = split_of("digits_raw")
    forest = ForestLearner(20).bind(split, split.X_val)
    first, near = np.arange(80), np.r_[np.arange(79), 100]
    a, b = (forest.scores(Subsets.of([rows], N_TRAIN))[0] for rows in (first, near))
    anew = forest.scores(Subsets.of([first], N_TRAIN, first=1))[0]
    assert np.abs(a - b).mean() < 0.5 * np.abs(a - anew).mean()


def test_bootstrapped_means_vary_as_they_should():
    rng = np.random.default_rng(0)
    y = rng.normal(size=200)
    split = table(np.zeros((200, 1)), y, [[0.0]], task="regression")
    sets = Subsets.of([range(100)] * 2000, 200)
    means = ForestLearner(1, task="regression").predict(split, sets, split.X_val)[:, 0]
    expected = y[:100].std() / 10
    assert abs(means.mean() - y[:100].mean()) < 4 * expected / np.sqrt(2000)
    assert 0.9 < means.std() / expected < 1.1
