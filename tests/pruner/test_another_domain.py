"""Evaluation rows may be of another domain than the rows to choose from: the rows kept are then for it."""

import numpy as np
import pytest
from scipy.stats import ttest_rel
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier

from cdvm import CDVM
from cdvm.errors import InputWarning


def turned_digits():
    """Digits, of which a quarter lie on their side."""
    X, y = load_digits(return_X_y=True)
    turned = np.random.default_rng(0).random(len(y)) < 0.25
    X[turned] = np.rot90(X[turned].reshape(-1, 8, 8), axes=(1, 2)).reshape(-1, 64)
    return X / 16, y, turned


def accuracies(seed, budget=40, effort="low"):
    """Accuracy on turned digits of rows chosen for them, and for the usual ones, from one pool."""
    X, y, turned = turned_digits()
    rng = np.random.default_rng(seed)
    there, here = rng.permutation(np.flatnonzero(turned)), rng.permutation(np.flatnonzero(~turned))
    target, test, rest = np.split(there, [100, 300])
    source, pool = here[:100], np.r_[here[100:500], rest]
    scores = []
    for rows in (target, source):
        pruner = CDVM(
            RidgeClassifier(), effort=effort, n_models=500, solver="first_order", random_state=seed, n_jobs=1
        )
        kept = pool[pruner.fit(X[pool], y[pool], X[rows], y[rows]).select(budget).indices]
        scores.append(RidgeClassifier().fit(X[kept], y[kept]).score(X[test], y[test]))
    return scores


def test_rows_chosen_for_the_target_domain_are_better_there():
    target, source = np.array([accuracies(seed) for seed in range(5)]).T
    assert (target > source + 0.1).all()
    assert ttest_rel(target, source, alternative="greater").pvalue < 0.001


def test_rows_of_another_kind_alone_decide_between_ways_to_choose():
    with pytest.warns(InputWarning, match="validation rows are of another kind"):
        target, source = accuracies(0, effort="medium")
    assert target > source + 0.1
