from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from cases import N_TRAIN, draw, peer_labels, peer_scores, split_of
from scipy import sparse
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier

from cdvm.errors import InputError
from cdvm.learners.batched import linear
from cdvm.learners.ridge import RidgeLearner
from cdvm.sampling import Subsets


def check(split, subsets, **parameters):
    trainer = RidgeLearner(**parameters).bind(split, split.X_val)
    peer = peer_scores(RidgeClassifier(**parameters), split, subsets)
    seen = ~np.isnan(peer)
    scores = trainer.scores(subsets)
    np.testing.assert_allclose(scores[seen], peer[seen], rtol=1e-4, atol=1e-5)
    assert np.isfinite(scores).all()
    labels = trainer.predict(subsets)
    assert (labels == np.nanargmax(peer, axis=2)).mean() >= 0.999
    return labels


@pytest.mark.parametrize("alpha", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("name", ["digits", "wine", "breast_cancer", "synthetic"])
@pytest.mark.parametrize("inclusion", [0.15, 0.6])
def test_classifier_matches_scikit_learn(name, alpha, inclusion):
    check(split_of(name), draw(8, inclusion), alpha=alpha)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("kind", "inclusion"), [("bernoulli", 0.15), ("bernoulli", 0.7), ("bootstrap", 0.5)])
def test_regression_matches_scikit_learn(fit_intercept, kind, inclusion):
    split = split_of("regression", "regression")
    subsets = draw(10, inclusion, kind)
    learner = RidgeLearner(alpha=2.0, task="regression", fit_intercept=fit_intercept)
    peer = peer_labels(Ridge(alpha=2.0, fit_intercept=fit_intercept), split, subsets)
    np.testing.assert_allclose(learner.predict(split, subsets, split.X_val), peer, rtol=1e-8, atol=1e-7)


@pytest.mark.parametrize("inclusion", [0.15, 0.7])
def test_repeated_rows_and_no_intercept(inclusion):
    subsets = draw(8, inclusion, kind="bootstrap")
    assert subsets.members.data.max() > 1
    check(split_of("wine"), subsets)
    split = split_of("wine")
    check(replace(split, X=split.X + 1, X_val=split.X_val + 1), subsets, fit_intercept=False)


def test_absent_classes_duplicates_and_constant_columns():
    split = split_of("digits_raw")
    rows = [np.flatnonzero(np.isin(split.y, classes))[:12] for classes in ([3, 8], [0, 5, 9])]
    one_each = [int(np.flatnonzero(split.y == c)[0]) for c in range(10)]
    labels = check(split, Subsets.of([*rows, one_each, one_each[2:5], [*rows[0], *rows[0]]], N_TRAIN))
    assert set(labels[0].tolist()) <= {3, 8}


def test_sets_no_model_learns_from():
    split = split_of("regression", "regression")
    labels = RidgeLearner(task="regression").predict(split, Subsets.of([[], [4]], N_TRAIN), split.X_val)
    assert np.allclose(labels[0], split.y.mean())
    assert np.allclose(labels[1], split.y[4])


def test_sparse_features():
    split = split_of("digits_raw")
    thin = replace(split, X=sparse.csr_array(split.X), X_val=sparse.csr_array(split.X_val))
    for subsets in (draw(8), draw(3, 0.9)):
        a, b = (RidgeLearner().bind(s, s.X_val).scores(subsets) for s in (thin, split))
        np.testing.assert_allclose(a, b, atol=1e-4)


def test_answers_depend_neither_on_the_chunk_nor_on_memory(monkeypatch):
    split, subsets = split_of("digits"), draw(20)
    trainer = RidgeLearner().bind(split, split.X_val)
    labels = trainer.predict(subsets)
    assert (np.concatenate([trainer.predict(subsets[k : k + 1]) for k in range(20)]) == labels).all()
    monkeypatch.setattr(linear, "MEMORY_LIMIT", 10_000)
    assert (RidgeLearner().predict(split, subsets, split.X_val) == labels).all()


def test_from_sklearn():
    taken = RidgeLearner.from_sklearn(RidgeClassifier(alpha=3, fit_intercept=False))
    assert taken is not None
    assert (taken.alpha, taken.task, taken.fit_intercept) == (3.0, "classification", False)
    regression = RidgeLearner.from_sklearn(Ridge())
    assert regression is not None
    assert regression.task == "regression"
    for other in (
        Ridge(alpha=0.0),
        Ridge(alpha=[1.0, 2.0]),
        Ridge(positive=True),
        Ridge(solver="sag"),
        RidgeClassifier(class_weight="balanced"),
        LinearRegression(),
    ):
        assert RidgeLearner.from_sklearn(other) is None


def test_parameters_are_checked_and_recorded():
    for wrong in ({"alpha": 0}, {"alpha": np.inf}, {"task": "ranking"}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            RidgeLearner(**wrong)
    assert json.loads(json.dumps(RidgeLearner(alpha=2).spec()))["alpha"] == 2.0
    split = split_of("wine")
    with pytest.raises(InputError, match="regression"):
        RidgeLearner(task="regression").bind(split, split.X_val)
    targets = split_of("regression", "regression")
    with pytest.raises(InputError, match="scores"):
        RidgeLearner(task="regression").bind(targets, targets.X_val).scores(draw(2))
