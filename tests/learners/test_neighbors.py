from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from cases import N_TRAIN, draw, peer_labels, split_of
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, RadiusNeighborsClassifier

from cdvm.data.split import Split
from cdvm.errors import InputError
from cdvm.learners import neighbors
from cdvm.learners.batched import nearest
from cdvm.learners.batched.nearest import NearestRows
from cdvm.learners.neighbors import NeighborsLearner
from cdvm.sampling import Design, Subsets


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("k", [1, 2, 5, 18])
@pytest.mark.parametrize("name", ["digits", "wine", "synthetic"])
def test_classifier_matches_scikit_learn(name, k, weights):
    split, subsets = split_of(name), draw(15, 0.3)
    assert subsets.sizes.min() >= k
    labels = NeighborsLearner(k, weights).predict(split, subsets, split.X_val)
    peer = peer_labels(KNeighborsClassifier(k, weights=weights, algorithm="brute"), split, subsets)
    assert (labels == peer).mean() >= 0.999


@pytest.mark.parametrize("metric", ["manhattan", "cosine", "chebyshev"])
def test_metrics(metric):
    split, subsets = split_of("wine"), draw(10)
    labels = NeighborsLearner(3, metric=metric).predict(split, subsets, split.X_val)
    assert (labels == peer_labels(KNeighborsClassifier(3, metric=metric), split, subsets)).mean() >= 0.999


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_regression_matches_scikit_learn(weights):
    split, subsets = split_of("regression", "regression"), draw(10)
    learner = NeighborsLearner(4, weights, task="regression")
    peer = peer_labels(KNeighborsRegressor(4, weights=weights), split, subsets)
    np.testing.assert_allclose(learner.predict(split, subsets, split.X_val), peer, rtol=1e-6)


def test_repeated_rows_vote_as_often_as_they_occur():
    split, subsets = split_of("wine"), draw(10, 0.4, kind="bootstrap")
    assert subsets.members.data.max() > 1
    labels = NeighborsLearner(5).predict(split, subsets, split.X_val)
    assert (labels == peer_labels(KNeighborsClassifier(5), split, subsets)).mean() >= 0.999


def line(y, X_val):
    X = np.arange(len(y), dtype=float)[:, None]
    return Split.from_arrays(X, y, np.array(X_val, dtype=float)[:, None], [0] * len(X_val))


def test_scores_are_shares_of_the_vote():
    split = line([0, 1, 1, 2, 2, 2], [0.1, 4.1, 4.9])
    scores = NeighborsLearner(3).bind(split, split.X_val).scores(Subsets.of([range(6), [0, 1, 5, 5]], 6))
    third = 1 / 3
    np.testing.assert_allclose(scores[0], [[third, 2 * third, 0], [0, 0, 1], [0, 0, 1]], atol=1e-6)
    np.testing.assert_allclose(scores[1, 0], [third, third, third], atol=1e-6)
    np.testing.assert_allclose(scores[1, 2], [0, third, 2 * third], atol=1e-6)


def test_fewer_rows_than_neighbours_all_vote():
    split = line([0, 1, 1, 2, 2, 2], [0.0, 5.0, 2.0])
    labels = NeighborsLearner(5).predict(split, Subsets.of([[0, 1, 2], [0, 3, 4], range(6)], 6), split.X_val)
    assert labels[:2].tolist() == [[1, 1, 1], [2, 2, 2]]
    assert labels[2].tolist() == [1, 2, 1]
    by_distance = NeighborsLearner(5, "distance").predict(split, Subsets.of([[0, 1, 5]], 6), split.X_val)
    assert by_distance[0].tolist() == [0, 2, 1]
    targets = replace(split, y=np.arange(6.0), classes=None)
    means = NeighborsLearner(5, task="regression").predict(targets, Subsets.of([[0, 4]], 6), split.X_val)
    assert means.tolist() == [[2.0, 2.0, 2.0]]


def test_ties_go_to_the_earlier_row_and_the_smaller_class():
    split = line([2, 1, 0, 1, 2, 0], [1.0, 3.0, 2.5])
    nearest = NeighborsLearner(1).predict(split, Subsets.of([[0, 2], [2, 4]], 6), split.X_val)
    assert nearest[0, 0] == 2
    assert nearest[1, 1] == 0
    voted = NeighborsLearner(2).predict(split, Subsets.of([[0, 2], [3, 4]], 6), split.X_val)
    assert voted[0, 0] == 0
    assert voted[1, 1] == 1


def test_copies_of_a_row_are_at_the_same_distance():
    X = np.random.default_rng(0).normal(size=(20, 33))
    split = Split.from_arrays(np.concatenate([X] * 6), np.arange(120) // 20, X + 0.01, [0] * 20)
    later = Subsets.of([range(20, 120), range(119, 39, -1)], 120)
    labels = NeighborsLearner(1).predict(split, later, split.X_val)
    assert (labels == [[1], [2]]).all()


def test_sets_no_model_learns_from():
    split = split_of("wine")
    ones = np.flatnonzero(split.y == 1)
    labels = NeighborsLearner(5).predict(split, Subsets.of([[], ones[:2]], N_TRAIN), split.X_val)
    assert (labels[0] == np.bincount(split.y).argmax()).all()
    assert (labels[1] == 1).all()


def test_sparse_features():
    split = split_of("digits_raw")
    thin = replace(split, X=sparse.csr_array(split.X), X_val=sparse.csr_array(split.X_val))
    a, b = (NeighborsLearner(3).predict(s, draw(10), s.X_val) for s in (split, thin))
    assert (a == b).mean() >= 0.999
    with pytest.raises(InputError, match="chebyshev"):
        NeighborsLearner(metric="chebyshev").bind(thin, thin.X_val)


def without_tables(monkeypatch, listed, limit=20_000):
    """Models read lists of the nearest rows, where they reach, or search."""
    monkeypatch.setattr(neighbors, "MEMORY_LIMIT", limit)
    if not listed:
        monkeypatch.setattr(NearestRows, "reach", lambda *_: False)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("listed", [True, False])
def test_answers_depend_neither_on_the_chunk_nor_on_memory(monkeypatch, weights, listed):
    split, subsets = split_of("digits"), draw(20)
    trainer = NeighborsLearner(3, weights).bind(split, split.X_val)
    labels = trainer.predict(subsets)
    assert (np.concatenate([trainer.predict(subsets[k : k + 1]) for k in range(20)]) == labels).all()
    without_tables(monkeypatch, listed)
    small = NeighborsLearner(3, weights).bind(split, split.X_val)
    assert not small._ranked
    assert (small.predict(subsets) == labels).all()
    np.testing.assert_allclose(small.scores(subsets), trainer.scores(subsets), rtol=1e-6)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "chebyshev"])
@pytest.mark.parametrize("kind", ["bernoulli", "bootstrap"])
@pytest.mark.parametrize("listed", [200, 16, 0])
def test_ties_are_broken_alike_with_tables_and_without(monkeypatch, weights, metric, kind, listed):
    rng = np.random.default_rng(0)
    X = rng.integers(1, 4, size=(300, 3)).astype(float)  # most rows have copies, and others as far
    split = Split.from_arrays(X, rng.integers(0, 3, 300), X[:90] + (rng.random((90, 1)) < 0.5), [0] * 90)
    subsets = Design(300, 0.2, kind=kind, seed=2).take(range(12))
    ranked = NeighborsLearner(4, weights, metric).bind(split, split.X_val)
    scores, labels = ranked.scores(subsets), ranked.predict(subsets)
    without_tables(monkeypatch, listed > 0)
    monkeypatch.setattr(nearest, "_LISTED", listed)
    monkeypatch.setattr(nearest, "_DEPTH", 0.5)  # so that some lists have too few rows of a model
    other = NeighborsLearner(4, weights, metric).bind(split, split.X_val)
    assert not other._ranked
    np.testing.assert_allclose(other.scores(subsets), scores, rtol=1e-6, atol=1e-12)
    assert (other.predict(subsets) == labels).all()


def test_few_models_search_and_many_share_tables():
    split, subsets = split_of("digits"), draw(20)
    rows = int(subsets.sizes.sum())
    learner = NeighborsLearner(3)
    few = learner.bind_for(split, split.X_val, rows)
    many = learner.bind_for(split, split.X_val, 1 + neighbors._SEARCHED * split.n_rows)
    assert not few._ranked
    assert many._ranked
    np.testing.assert_array_equal(few.predict(subsets), many.predict(subsets))
    np.testing.assert_array_equal(learner.predict(split, subsets, split.X_val), many.predict(subsets))


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("k", [1, 5, 20])
def test_models_of_few_rows_and_of_many_in_one_call(monkeypatch, weights, k):
    split, rng = split_of("digits"), np.random.default_rng(0)
    sizes = (40, 70, 30, 110, 69)
    subsets = Subsets.of([rng.permutation(split.n_rows)[:size] for size in sizes], split.n_rows)
    listed, first = [], NearestRows.first
    monkeypatch.setattr(NearestRows, "first", lambda *given: listed.append(len(given[1])) or first(*given))
    monkeypatch.setattr(neighbors, "_MANY", 40)  # from 70 of 120 rows
    trainer = NeighborsLearner(k, weights).bind(split, split.X_val)
    labels, scores = trainer.predict(subsets), trainer.scores(subsets)
    assert listed == [70, 110] * 2
    monkeypatch.setattr(neighbors, "_MANY", 1e9)
    np.testing.assert_array_equal(trainer.predict(subsets), labels)
    np.testing.assert_allclose(trainer.scores(subsets), scores, rtol=1e-6)
    assert listed == [70, 110] * 2
    peer = peer_labels(KNeighborsClassifier(k, weights=weights, algorithm="brute"), split, subsets)
    assert (labels == peer).mean() >= 0.999


def test_models_of_repeated_rows_are_ranked_whatever_their_size(monkeypatch):
    split, subsets = split_of("digits"), draw(6, 0.8, kind="bootstrap")
    monkeypatch.setattr(neighbors, "_MANY", 1)
    trainer = NeighborsLearner(3).bind(split, split.X_val)
    monkeypatch.setattr(trainer, "_nearest_rows", None)
    peer = peer_labels(KNeighborsClassifier(3, algorithm="brute"), split, subsets)
    assert (trainer.predict(subsets) == peer).mean() >= 0.99


def test_few_models_make_no_lists(monkeypatch):
    split, subsets = split_of("digits"), draw(20)
    without_tables(monkeypatch, listed=True)
    made, first = [], NearestRows.first
    monkeypatch.setattr(NearestRows, "first", lambda *given: made.append(1) or first(*given))
    NeighborsLearner(3).predict(split, subsets, split.X_val)
    assert not made
    NeighborsLearner(3).bind(split, split.X_val).predict(subsets)
    assert len(made) == 20


@pytest.mark.parametrize("listed", [True, False])
def test_targets_and_small_sets_without_tables(monkeypatch, listed):
    without_tables(monkeypatch, listed, 0)
    test_fewer_rows_than_neighbours_all_vote()
    test_sets_no_model_learns_from()
    test_repeated_rows_vote_as_often_as_they_occur()
    test_copies_of_a_row_are_at_the_same_distance()
    test_regression_matches_scikit_learn("uniform")
    test_regression_matches_scikit_learn("distance")
    test_sparse_features()


def test_from_sklearn():
    taken = NeighborsLearner.from_sklearn(KNeighborsClassifier(7, weights="distance", p=1))
    assert taken is not None
    assert taken.spec() == {
        "name": "neighbors",
        "n_neighbors": 7,
        "weights": "distance",
        "metric": "manhattan",
        "task": "classification",
    }
    regression = NeighborsLearner.from_sklearn(KNeighborsRegressor())
    assert regression is not None
    assert regression.task == "regression"
    for other in (
        KNeighborsClassifier(weights=lambda d: d),
        KNeighborsClassifier(p=3),
        KNeighborsClassifier(metric="canberra"),
        KNeighborsClassifier(metric=lambda a, b: 0.0),
        KNeighborsClassifier(metric_params={"w": np.ones(3)}),
        RadiusNeighborsClassifier(),
    ):
        assert NeighborsLearner.from_sklearn(other) is None


def test_parameters_are_checked_and_recorded():
    for wrong in ({"n_neighbors": 0}, {"weights": "rank"}, {"metric": "edit"}, {"task": "ranking"}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            NeighborsLearner(**wrong)
    assert json.loads(json.dumps(NeighborsLearner().spec()))["n_neighbors"] == 1
    targets = split_of("regression", "regression")
    with pytest.raises(InputError, match="classification"):
        NeighborsLearner().bind(targets, targets.X_val)
    with pytest.raises(InputError, match="scores"):
        NeighborsLearner(task="regression").bind(targets, targets.X_val).scores(draw(2))
