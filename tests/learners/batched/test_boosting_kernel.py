"""Boosted trees, against all cuts there are."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from tree_cases import cuts, table, whole

from cdvm.learners import BoostingLearner, TreeLearner

pytest.importorskip("numba", reason="Numba is not installed: pip install cdvm[trees]")


@pytest.mark.parametrize("seed", range(8))
def test_a_boosted_stump_has_the_best_newton_gain(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 6, (40, 3)), np.r_[0, 1, rng.integers(0, 2, 38)]
    split = table(X, y)
    learner = BoostingLearner(1, max_leaves=2, min_leaf=3, l2=0.5, learning_rate=0.3)
    scores = learner.bind(split, split.X).scores(whole(split))[0, :, 1]
    p = y.mean()
    g, h = p - y, np.full(40, p * (1 - p))

    def gain(low):
        return sum(g[side].sum() ** 2 / (h[side].sum() + 0.5) for side in (low, ~low))

    def answer(low):
        values = [-0.3 * g[side].sum() / (h[side].sum() + 0.5) for side in (low, ~low)]
        return np.log(p / (1 - p)) + np.where(low, *values)

    allowed = [low for low in cuts(X) if 3 <= low.sum() <= 37]
    best = max(map(gain, allowed))
    equals = [answer(low) for low in allowed if gain(low) > best - 1e-6]
    assert min(np.abs(scores - one).max() for one in equals) < 1e-5


@pytest.mark.parametrize("n_rows", [60, 700])
def test_one_round_of_full_trees_is_a_regression_tree(n_rows):
    X, y = make_friedman1(n_rows, random_state=0)
    X = np.round(X * 30)
    split = table(X, y, task="regression")
    tree = TreeLearner(min_leaf=9, task="regression").predict(split, whole(split), split.X)
    once = BoostingLearner(1, learning_rate=1.0, max_leaves=256, min_leaf=9, l2=0.0, task="regression")
    np.testing.assert_allclose(once.predict(split, whole(split), split.X), tree, rtol=1e-4)


def test_millions_of_rows_are_split_as_well_as_a_few():
    """So many that a row has less than a step of curvature: rounded by itself, it would have none."""
    n = 2_200_000
    X = np.arange(n)[:, None] * 7919 % n * (40 / n)
    y = np.where(X[:, 0] < 13, -1.0, 0.5) + np.resize([0.01, -0.01], n)
    split = table(X, y, task="regression")
    once = BoostingLearner(1, learning_rate=1.0, max_leaves=2, l2=0.0, task="regression")
    asked = np.array([[1.0], [11.9], [14.1], [39.0]])
    np.testing.assert_allclose(once.predict(split, whole(split), asked)[0], [-1, -1, 0.5, 0.5], atol=0.05)
