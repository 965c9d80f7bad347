from __future__ import annotations

import numpy as np

from cdvm import Split, make_learner
from cdvm.learners.relatives import StandIn
from cdvm.report.html.oddities import doubt_labels, find_twins


def test_twins_are_found_whatever_the_features_are():
    from scipy import sparse

    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    X[20] = X[4]
    X[30] = X[5] + 1e-4
    y = np.arange(60) % 2
    for features in (X, sparse.csr_array(X)):
        split = Split.from_arrays(features, y, validation="out_of_bag")
        twins, searched = find_twins(split)
        assert [(t.row, t.other) for t in twins] == [(20, 4), (30, 5)]
        assert twins[0].distance == 0 < twins[1].distance < 0.1
        assert searched == 59


def test_a_wrong_label_is_doubted_and_the_models_say_what_it_is():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.standard_normal((90, 2)) + 8.0 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    wrong = np.where(np.arange(90) == 31, 0, y)
    split = Split.from_arrays(X, wrong, X[:5], y[:5])
    doubts = doubt_labels(StandIn(make_learner("ridge"), split), seed=0, jobs=1)
    assert doubts.suspects.tolist() == [31]
    assert (doubts.said == y).all()
    assert doubts.right[31] < 0.1 < 0.8 < np.delete(doubts.right, 31).min()
    assert doubts.p_values[31] <= doubts.rate
    targets = Split.from_arrays(X, X[:, 0], X[:5], X[:5, 0], task="regression")
    assert doubt_labels(StandIn(make_learner("ridge_regression"), targets), seed=0, jobs=1) is None
