from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from cases import N_TRAIN, draw, peer_labels, peer_scores, score_gap, split_of
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from cdvm._runtime.parallel import run_tasks
from cdvm.data.split import Split
from cdvm.errors import InputError
from cdvm.learners import logistic
from cdvm.learners.batched import lbfgs, linear
from cdvm.learners.logistic import LogisticLearner
from cdvm.sampling import Design, Subsets


def optimum(C=1.0, **parameters):
    return LogisticRegression(C=C, tol=1e-10, max_iter=20_000, **parameters)


def check(split, subsets, C=1.0, gap=0.03, **parameters):
    """Labels as at scikit-learn's optimum; scores too, and labels their maximum."""
    trainer = LogisticLearner(C=C, **parameters).bind(split, split.X_val)
    labels, scores = trainer.predict(subsets), trainer.scores(subsets)
    peer = peer_scores(optimum(C, **parameters), split, subsets)
    assert score_gap(scores, peer) < gap
    best = np.nanargmax(peer, axis=2)
    assert (labels == best).mean() >= 0.999
    assert (labels == scores.argmax(axis=2)).all()
    assert np.isfinite(scores).all()
    return labels


@pytest.mark.parametrize("C", [0.01, 0.1, 1, 10, 100])
@pytest.mark.parametrize("name", ["digits", "wine", "breast_cancer", "synthetic"])
def test_matches_scikit_learn(name, C):
    check(split_of(name), draw(8), C)


def test_matches_scikit_learn_on_features_that_are_not_scaled():
    check(split_of("digits_raw"), draw(3), C=1)


@pytest.mark.parametrize(("name", "C"), [("wine", 1), ("wine", 100), ("breast_cancer", 10)])
def test_sets_with_more_rows_than_features(name, C):
    subsets = draw(10, inclusion=0.5)
    assert subsets.sizes.min() > split_of(name).X.shape[1]
    check(split_of(name), subsets, C)


@pytest.mark.parametrize("inclusion", [0.2, 0.6])
def test_tight_tolerance_reaches_the_optimum(inclusion):
    split, subsets = split_of("wine"), draw(8, inclusion)
    scores = LogisticLearner(C=3.0, tol=1e-9).bind(split, split.X_val).scores(subsets)
    peer = peer_scores(LogisticRegression(C=3.0, solver="newton-cholesky", tol=1e-12), split, subsets)
    assert score_gap(scores, peer) < 1e-5


@pytest.mark.parametrize("inclusion", [0.2, 0.6])
def test_repeated_rows_count_as_often_as_they_occur(inclusion):
    subsets = draw(10, inclusion, kind="bootstrap")
    assert subsets.members.data.max() > 1
    check(split_of("wine"), subsets)


@pytest.mark.parametrize("inclusion", [0.2, 0.6])
def test_without_intercept(inclusion):
    split = split_of("wine")
    moved = replace(split, X=split.X + 1.0, X_val=split.X_val + 1.0)
    check(moved, draw(8, inclusion), fit_intercept=False)


def test_absent_classes_are_never_predicted():
    split = split_of("digits")
    rows = [np.flatnonzero(np.isin(split.y, classes))[:12] for classes in ([3, 8], [0, 5, 9], [1, 2, 4, 7])]
    subsets = Subsets.of(rows, N_TRAIN)
    labels = check(split, subsets)
    assert set(labels[0].tolist()) <= {3, 8}
    assert set(labels[1].tolist()) <= {0, 5, 9}


def test_fewer_rows_than_classes_and_single_rows_of_a_class():
    split = split_of("digits")
    one_each = [int(np.flatnonzero(split.y == c)[0]) for c in range(10)]
    check(split, Subsets.of([one_each, one_each[:4], one_each[7:9]], N_TRAIN))


def test_sets_no_model_learns_from():
    split = split_of("wine")
    ones = np.flatnonzero(split.y == 1)
    labels = LogisticLearner().predict(split, Subsets.of([[], ones[:5], ones[:1]], N_TRAIN), split.X_val)
    assert (labels[0] == np.bincount(split.y).argmax()).all()
    assert (labels[1:] == 1).all()


def test_duplicate_rows_and_constant_columns():
    split = split_of("wine")
    X = np.concatenate([split.X[:60]] * 2)
    X = np.column_stack([X, np.full(N_TRAIN, 7.0), np.zeros(N_TRAIN)])
    m = len(split.X_val)
    X_val = np.column_stack([split.X_val, np.full(m, 7.0), np.ones(m)])
    doubled = replace(split, X=X, y=np.concatenate([split.y[:60]] * 2), X_val=X_val)
    check(doubled, draw(10, 0.1))
    check(doubled, Subsets.of([[0, 60, 1, 61, 2, 62, 5, 65, 8]], N_TRAIN))


def test_copies_of_a_row_with_both_labels():
    split = Split.from_arrays([[1.0, 2.0]] * 20, [0, 1] * 10, [[1.0, 2.0], [3.0, 0.0]] * 2, [0, 1, 0, 1])
    scores = LogisticLearner().bind(split, split.X_val).scores(Subsets.of([[0, 1], [0, 1, 2]], 20))
    assert np.allclose(scores[0], 0, atol=1e-6)
    assert np.allclose(scores[1, :, 0] - scores[1, :, 1], 2 * np.log(2), atol=1e-3)


@pytest.mark.parametrize("C", [1.0, 1e4])
def test_separable_classes(C):
    X = np.concatenate([np.random.default_rng(0).normal(c, 0.1, (40, 3)) for c in (-5, 0, 5)])
    y = np.repeat([0, 1, 2], 40)
    check(Split.from_arrays(X, y, X[1::2], y[1::2]), draw(6, 0.1), C, gap=0.05)


def test_features_of_very_different_scales():
    split, subsets = split_of("wine_raw"), draw(10)
    labels = LogisticLearner().predict(split, subsets, split.X_val)
    peer = LogisticRegression(solver="newton-cholesky", tol=1e-12, max_iter=1000)
    assert (labels == peer_labels(peer, split, subsets)).mean() >= 0.999


def test_models_single_precision_does_not_finish_are_finished_in_double(monkeypatch):
    monkeypatch.setitem(lbfgs._ITERATIONS, 4, 3)
    check(split_of("digits"), draw(4))


def test_double_precision_begins_where_single_ended(monkeypatch):
    split, subsets = split_of("digits"), draw(4)
    labels = check(split, subsets)
    monkeypatch.setitem(lbfgs._ITERATIONS, 8, 3)  # too few from the beginning
    monkeypatch.setattr(logistic, "minimise", _unfinished(lbfgs.minimise))
    assert (check(split, subsets) == labels).all()


def _unfinished(minimise):
    """Single precision goes all the way, and says that it did not."""

    def run(problem, tol, start=None):
        coefficients, intercepts, done = minimise(problem, tol, start)
        return coefficients, intercepts, done & (problem.design.itemsize == 8)

    return run


def test_sparse_features():
    split = split_of("digits_raw")
    thin = replace(split, X=sparse.csr_array(split.X / 16), X_val=sparse.csr_array(split.X_val / 16))
    dense = replace(split, X=split.X / 16, X_val=split.X_val / 16)
    for subsets in (draw(10), draw(4, 0.8)):
        a, b = (LogisticLearner().bind(s, s.X_val).scores(subsets) for s in (thin, dense))
        assert np.allclose(a, b, atol=2e-3)


def test_answers_do_not_depend_on_the_chunk():
    split, subsets = split_of("digits"), draw(30)
    trainer = LogisticLearner().bind(split, split.X_val)
    whole, labels = trainer.scores(subsets), trainer.predict(subsets)
    for k in (0, 7, 29):
        assert np.allclose(trainer.scores(subsets[k : k + 1])[0], whole[k], atol=1e-4)
        assert (trainer.predict(subsets[k : k + 1])[0] == labels[k]).all()
    chunks = [(subsets[np.arange(start, 30, 3)],) for start in range(3)]
    for start, part in run_tasks(trainer.predict, chunks, n_jobs=2):
        assert (part == labels[start::3]).all()


@pytest.mark.parametrize("inclusion", [0.2, 0.8])
def test_little_memory_gives_the_same_answers(monkeypatch, inclusion):
    split, subsets = split_of("digits"), draw(6, inclusion)
    expected = LogisticLearner().bind(split, split.X_val).scores(subsets)
    monkeypatch.setattr(linear, "MEMORY_LIMIT", 10_000)
    trainer = LogisticLearner().bind(split, split.X_val)
    assert trainer.geometry._gram is None
    assert np.allclose(trainer.scores(subsets), expected, atol=2e-3)


def test_from_sklearn_takes_what_it_reproduces():
    learner = LogisticLearner.from_sklearn(LogisticRegression(C=0.3, fit_intercept=False, max_iter=5, tol=1))
    assert learner is not None
    assert (learner.C, learner.fit_intercept) == (0.3, False)
    assert LogisticLearner.from_sklearn(LogisticRegression(solver="newton-cg")) is not None


@pytest.mark.parametrize(
    "parameters",
    [
        {"class_weight": "balanced"},
        {"solver": "liblinear"},
        {"solver": "saga", "l1_ratio": 0.5},
        {"C": np.inf},
    ],
)
def test_from_sklearn_refuses_what_it_does_not_reproduce(parameters):
    assert LogisticLearner.from_sklearn(LogisticRegression(**parameters)) is None


def test_from_sklearn_refuses_other_estimators():
    class Special(LogisticRegression):
        pass

    assert LogisticLearner.from_sklearn(Special()) is None
    assert LogisticLearner.from_sklearn(object()) is None


def test_parameters_are_checked_and_recorded():
    for wrong in ({"C": 0}, {"C": -1.0}, {"C": np.nan}, {"tol": 0}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            LogisticLearner(**wrong)
    spec = json.loads(json.dumps(LogisticLearner(C=2, tol=1e-5).spec()))
    assert spec == {"name": "logistic", "C": 2.0, "fit_intercept": True, "tol": 1e-5}


def test_targets_are_refused():
    split = split_of("regression", "regression")
    with pytest.raises(InputError, match="ridge_regression"):
        LogisticLearner().bind(split, split.X_val)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kind", ["bernoulli", "bootstrap", "fixed"])
def test_models_on_large_parts_of_two_classes_reach_the_same_optimum(kind, fit_intercept):
    """These are fitted on the whole table, with rows left out at weight 0."""
    X, y = load_breast_cancer(return_X_y=True)
    split = Split.from_arrays(StandardScaler().fit_transform(X), y, random_state=0)
    subsets = Design(split.n_rows, 0.6 if kind != "bootstrap" else 1.0, kind, seed=2).take(range(40))
    trainer = LogisticLearner(C=0.5, fit_intercept=fit_intercept).bind(split, split.X_val)
    assert trainer._shares_table(split.n_rows)
    scores = trainer.scores(subsets)
    model = optimum(C=0.5, fit_intercept=fit_intercept)
    for k in range(len(subsets)):
        rows = subsets.rows(k)
        exact = model.fit(split.X[rows], split.y[rows]).decision_function(split.X_val)
        assert np.abs(scores[k, :, 1] - exact).max() < 0.01 * np.abs(exact).max()
    labels = trainer.predict(subsets)
    apart = np.concatenate([trainer.predict(subsets[k : k + 3]) for k in range(0, 40, 3)])
    assert (labels == apart).all()


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n_features", [150, 420])
@pytest.mark.parametrize("classes", [2, 4])
def test_models_on_large_parts_with_many_features_share_an_inverse(classes, n_features, fit_intercept):
    """With more features than rows the table is turned; a rare class is missing from some sets."""
    rng = np.random.default_rng(classes + n_features)
    X = rng.normal(size=(400, n_features))
    scores = X[:, :classes] + 1.5 * rng.normal(size=(400, classes))
    y = scores.argmax(axis=1)
    rare = np.flatnonzero(y[:300] == classes - 1) if classes > 2 else []
    y[rare[2:]] = 0
    split = Split.from_arrays(X[:300], y[:300], X[300:], np.minimum(y[300:], 1))
    subsets = [
        Design(300, p, kind, seed=2).take(range(6)) for p, kind in ((0.6, "bernoulli"), (1.0, "bootstrap"))
    ]
    trainer = LogisticLearner(C=0.01, fit_intercept=fit_intercept).bind(split, split.X_val)
    assert trainer._whole < 160
    for drawn in subsets:
        check(split, drawn, C=0.01, fit_intercept=fit_intercept)
        one_by_one = np.concatenate([trainer.predict(drawn[k : k + 1]) for k in range(6)])
        assert (trainer.predict(drawn) == one_by_one).all()


def test_small_sets_do_not_wait_for_the_optimum_of_the_table():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 150)), rng.integers(0, 2, 400)
    split = Split.from_arrays(X[:300], y[:300], X[300:], y[300:])
    trainer = LogisticLearner(C=0.01).bind(split, split.X_val)
    few, many = (Design(300, p, seed=0).take(range(4)) for p in (0.05, 0.6))
    alone = trainer.predict(few)
    assert "_table" not in trainer.__dict__
    trainer.predict(many)
    assert "_table" in trainer.__dict__
    assert (trainer.predict(few) == alone).all()
