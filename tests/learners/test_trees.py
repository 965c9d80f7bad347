from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from cases import N_TRAIN, draw, split_of
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification, make_friedman1
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits
from tree_cases import table, whole

from cdvm.data.split import Split
from cdvm.errors import InputError
from cdvm.learners import BoostingLearner, ForestLearner, TreeLearner
from cdvm.sampling import Design, Subsets

pytest.importorskip("numba", reason="Numba is not installed: pip install cdvm[trees]")

LEARNERS = [TreeLearner, ForestLearner, BoostingLearner]
KINDS = [(kind, task) for kind in LEARNERS for task in ("classification", "regression")]


@pytest.mark.parametrize("kind", [TreeLearner, BoostingLearner])
def test_of_equal_cuts_the_widest_gap_wins_and_is_halved(kind):
    X = np.zeros((24, 3))
    X[:12] = [4, 2, 9]
    X[12:] = [6, 12, 9]
    others = np.repeat(np.arange(20.0)[:, None], 3, axis=1)  # fill the table's ranges, belong to no model
    split = table(np.r_[X, others], np.r_[[0] * 12, [1] * 12, [0] * 20], [[9, 6, 0], [0, 8, 0], [0, 6, 9]])
    labels = kind().predict(split, Subsets.of([range(24)], 44), split.X_val)
    assert labels.tolist() == [[0, 1, 0]]


def case(task):
    return split_of("digits_raw") if task == "classification" else split_of("regression", "regression")


@pytest.mark.parametrize(("kind", "task"), KINDS)
def test_models_depend_on_nothing_but_their_rows_and_number(kind, task):
    split, subsets = case(task), draw(12, 0.4, kind="bootstrap")
    trainer = kind(task=task).bind(split, split.X_val)
    labels = trainer.predict(subsets)
    alone = [trainer.predict(subsets[k : k + 1]) for k in range(12)]
    np.testing.assert_array_equal(np.concatenate(alone), labels)
    np.testing.assert_array_equal(trainer.predict(subsets[[7, 2]]), labels[[7, 2]])
    pieces = Parallel(n_jobs=2, prefer="threads")(
        delayed(trainer.predict)(subsets[k : k + 3]) for k in range(0, 12, 3)
    )
    np.testing.assert_array_equal(np.concatenate(pieces), labels)
    assert len(np.unique(labels, axis=0)) == 12


@pytest.mark.parametrize(("kind", "task"), KINDS)
def test_the_order_of_the_rows_does_not_matter(kind, task):
    split, subsets = case(task), draw(6, 0.4, kind="bootstrap")
    members = subsets.members.copy()
    for k in range(6):
        part = slice(*members.indptr[k : k + 2])
        members.indices[part] = members.indices[part][::-1]
        members.data[part] = members.data[part][::-1]
    members.has_sorted_indices = False
    turned = Subsets(members, subsets.models, subsets.seed)
    trainer = kind(task=task).bind(split, split.X_val)
    np.testing.assert_array_equal(trainer.predict(turned), trainer.predict(subsets))


def test_only_forests_are_random():
    split = split_of("digits_raw")
    same = Subsets.of([range(90)] * 4, N_TRAIN)
    for learner, distinct in ((TreeLearner(), 1), (BoostingLearner(), 1), (ForestLearner(5), 4)):
        assert len(np.unique(learner.predict(split, same, split.X_val), axis=0)) == distinct
        assert learner.stochastic == (distinct > 1)
    other = Subsets(same.members, same.models, seed=1)
    forest = ForestLearner(5).bind(split, split.X_val)
    assert (forest.predict(other) != forest.predict(same)).any()


@pytest.mark.parametrize(("kind", "task"), [k for k in KINDS if k[0] is not ForestLearner])
def test_a_row_that_counts_twice_is_two_rows(kind, task):
    split = case(task)
    twice = replace(split, X=np.concatenate([split.X] * 2), y=np.concatenate([split.y] * 2))
    rows = np.arange(0, 100, 2)
    counted = Subsets.of([np.r_[rows, rows[:30]]], N_TRAIN)
    copied = Subsets.of([np.r_[rows, N_TRAIN + rows[:30]]], 2 * N_TRAIN)
    few = {} if kind is TreeLearner else {"n_trees": 5}  # in single precision later trees part ways
    learner = kind(task=task, **few)
    a, b = (learner.predict(s, sets, split.X_val) for s, sets in ((split, counted), (twice, copied)))
    if task == "classification":
        assert (a == b).mean() >= 0.99
    else:
        np.testing.assert_allclose(a, b, atol=0.02 * split.y.std())
    assert (a != learner.predict(split, Subsets.of([rows], N_TRAIN), split.X_val)).any()


@pytest.mark.parametrize("kind", LEARNERS)
def test_missing_values_are_told_apart(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.arange(80) % 2
    split = table(X, y, [[np.nan, 0.0], [0.0, 0.0], [np.nan, np.nan]])
    split = replace(split, X=np.where((y == 1)[:, None] & [True, False], np.nan, X))
    labels = kind().predict(split, whole(split), split.X_val)
    assert labels.tolist() == [[1, 0, 1]]


@pytest.mark.parametrize("kind", LEARNERS)
def test_a_missing_value_never_seen_counts_as_the_least(kind):
    X = np.arange(60.0)[:, None]
    split = table(X, (X[:, 0] > 30).astype(int), [[np.nan], [-1e9], [1e9]])
    assert kind().predict(split, whole(split), split.X_val).tolist() == [[0, 0, 1]]


@pytest.mark.parametrize("kind", LEARNERS)
def test_classes_that_are_absent_come_last(kind):
    split = split_of("digits_raw")
    rows = [np.flatnonzero(split.y < 7), np.flatnonzero(split.y > 4), np.flatnonzero(split.y > 7)]
    trainer = kind().bind(split, split.X_val)
    subsets = Subsets.of(rows, N_TRAIN)
    scores, labels = trainer.scores(subsets), trainer.predict(subsets)
    assert np.isfinite(scores).all()
    for k, absent in enumerate((range(7, 10), range(5), range(8))):
        assert not np.isin(labels[k], absent).any()
        assert (scores[k][:, absent] <= scores[k].min(axis=1, keepdims=True)).all()
    np.testing.assert_array_equal(scores.argmax(axis=2), labels)


@pytest.mark.parametrize("kind", LEARNERS)
def test_two_class_scores(kind):
    X, y = make_classification(300, 8, random_state=0)
    split = Split.from_arrays(X, y, random_state=0)
    subsets = Design(split.n_rows, 0.3, seed=2).take(range(5))
    trainer = kind().bind(split, split.X_val)
    scores = trainer.scores(subsets)
    total = 0 if kind is BoostingLearner else 1
    np.testing.assert_allclose(scores.sum(axis=2), total, atol=1e-5)
    np.testing.assert_array_equal(scores.argmax(axis=2), trainer.predict(subsets))


@pytest.mark.parametrize("kind", LEARNERS)
def test_without_features_that_vary_the_largest_class_wins(kind):
    split = table(np.ones((30, 3)), np.arange(30) % 3, [[1.0] * 3, [7.0, 0.0, 1.0]])
    rows = np.flatnonzero(split.y == 2)
    labels = kind().predict(split, Subsets.of([np.r_[rows, 0, 1]], 30), split.X_val)
    assert labels.tolist() == [[2, 2]]
    many = kind().predict(split, Subsets.of([[], rows], 30), split.X_val)
    assert many.tolist() == [[0, 0], [2, 2]]


@pytest.mark.parametrize("kind", LEARNERS)
def test_tiny_training_sets(kind):
    split = split_of("wine")
    labels = kind().predict(split, Subsets.of([[k, k + 60] for k in range(40)], N_TRAIN), split.X_val)
    assert labels.shape == (40, len(split.y_val))


def test_sparse_features_are_the_same_features():
    split = split_of("digits_raw")
    thin = replace(split, X=sparse.csr_array(split.X), X_val=sparse.csr_array(split.X_val))
    for kind in LEARNERS:
        a, b = (kind().predict(s, draw(3), s.X_val) for s in (split, thin))
        np.testing.assert_array_equal(a, b)


def mean_score(models, split, subsets):
    labels = np.stack(models)
    assert labels.shape[0] == len(subsets)
    if split.task == "regression":
        return 1 - ((labels - split.y_val) ** 2).mean() / split.y_val.var()
    return (labels == split.y_val).mean()


def peers(estimator, split, subsets):
    with threadpool_limits(1):
        return [
            clone(estimator).fit(split.X[rows], split.y[rows]).predict(split.X_val)
            for rows in map(subsets.rows, range(len(subsets)))
        ]


def large(task):
    if task == "regression":
        X, y = make_friedman1(1600, noise=1.0, random_state=0)
    else:
        X, y = make_classification(1600, 12, n_informative=6, n_classes=3, random_state=0)
    return Split.from_arrays(X[:600], y[:600], X[600:], y[600:], task=task)


@pytest.mark.parametrize(
    ("learner", "estimator", "within"),
    [
        (TreeLearner(max_depth=4), DecisionTreeClassifier(max_depth=4, random_state=0), 0.02),
        (ForestLearner(40), RandomForestClassifier(40, random_state=0), 0.015),
        (
            BoostingLearner(30),
            HistGradientBoostingClassifier(
                max_iter=30, learning_rate=0.2, max_leaf_nodes=8, min_samples_leaf=5, early_stopping=False
            ),
            0.015,
        ),
        (
            ForestLearner(40, task="regression"),
            RandomForestRegressor(40, max_features=1 / 3, random_state=0),
            0.03,
        ),
        (
            BoostingLearner(30, task="regression"),
            HistGradientBoostingRegressor(
                max_iter=30, learning_rate=0.2, max_leaf_nodes=8, min_samples_leaf=5, early_stopping=False
            ),
            0.03,
        ),
    ],
    ids=["tree", "forest", "boosting", "forest of targets", "boosting of targets"],
)
def test_models_are_as_good_as_scikit_learns(learner, estimator, within):
    split = large(learner.task)
    few = Design(split.n_rows, 0.25, kind="fixed", seed=3).take(range(6))
    ours = mean_score(learner.predict(split, few, split.X_val), split, few)
    theirs = mean_score(peers(estimator, split, few), split, few)
    assert ours > theirs - within


def test_trees_are_no_worse_than_scikit_learns_on_digits():
    X, y = load_digits(return_X_y=True)
    split = Split.from_arrays(X[:900], y[:900], X[900:], y[900:])
    subsets = Design(900, 0.3, seed=0).take(range(10))
    ours = TreeLearner(max_depth=6).predict(split, subsets, split.X_val)
    theirs = np.stack(peers(DecisionTreeClassifier(max_depth=6, random_state=0), split, subsets))
    # ties go to the wider gap, which is worth about three points here
    assert 0 < (ours == split.y_val).mean() - (theirs == split.y_val).mean() < 0.06


def test_parameters_are_checked_and_recorded():
    for kind, wrong in (
        (TreeLearner, {"max_depth": 0}),
        (TreeLearner, {"min_leaf": 1.5}),
        (ForestLearner, {"n_trees": 0}),
        (ForestLearner, {"max_features": "log"}),
        (ForestLearner, {"max_features": 0.0}),
        (BoostingLearner, {"max_leaves": 257}),
        (BoostingLearner, {"max_leaves": 1}),
        (BoostingLearner, {"learning_rate": 0.0}),
        (BoostingLearner, {"l2": -1.0}),
        (BoostingLearner, {"task": "ranking"}),
    ):
        with pytest.raises(InputError, match=f"^{next(iter(wrong))}="):
            kind(**wrong)
    assert json.loads(json.dumps(BoostingLearner(20, l2=2.0).spec())) == {
        "name": "boosting",
        "l2": 2.0,
        "learning_rate": 0.2,
        "max_depth": None,
        "max_leaves": 8,
        "min_leaf": 5,
        "n_trees": 20,
        "task": "classification",
    }
    assert TreeLearner().spec() != ForestLearner(1, max_features=1.0, bootstrap=False).spec()
    targets = split_of("regression", "regression")
    for kind in LEARNERS:
        with pytest.raises(InputError, match="does not fit a regression split"):
            kind().bind(targets, targets.X_val)
        with pytest.raises(InputError, match="no class scores"):
            kind(task="regression").bind(targets, targets.X_val).scores(draw(2))


@pytest.mark.parametrize(
    ("wanted", "task", "tried"),
    [
        (None, "classification", 8),
        (None, "regression", 21),
        ("sqrt", "regression", 8),
        (0.5, "classification", 32),
        (5, "classification", 5),
        (1, "classification", 1),
        (1.0, "classification", 64),
        (1000, "classification", 64),
    ],
)
def test_features_tried_at_a_split(wanted, task, tried):
    assert ForestLearner(max_features=wanted, task=task).tried(64) == tried
