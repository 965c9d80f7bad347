"""How hard rows are: wrong labels hardest, then those at the boundary."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_classification
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB

from cdvm import Design, SklearnLearner, Split
from cdvm.evaluation.difficulty import (
    difficulty_bins,
    ease_of_rows,
    ease_without_folds,
    errors_of_rows,
    residuals_of_rows,
)


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
    for_targets = difficulty_bins(ease, 6, task="regression")
    assert np.ptp(np.bincount(for_targets)) <= 1
    assert len(np.unique(for_targets)) == 6
    assert all(ease[for_targets == k].max() <= ease[for_targets == k + 1].min() for k in range(5))
    assert difficulty_bins(np.full(3, -1.0), 6, task="classification").tolist() == [0, 0, 0]


def by_hand(split, say):
    """What models of half of the rows say of rows they did not see, one model and row at a time."""
    design = Design(split.n_rows, 0.5, seed=5)
    said = [[] for _ in range(split.n_rows)]
    for model in range(20):
        rows = design.take([model]).rows(0)
        found = say(GaussianNB().fit(split.X[rows], split.y[rows]))
        for row in np.setdiff1d(np.arange(split.n_rows), rows):
            said[row].append(found[row])
    return np.array([np.mean(one, axis=0) for one in said])


def test_ease_residuals_and_errors_are_those_of_models_fitted_by_hand(blobs):
    split, _ = blobs
    every, learner = np.arange(split.n_rows), SklearnLearner(GaussianNB())

    def residual(model):
        return model.predict_proba(split.X) - np.eye(2)[split.y]

    def margin(model):
        chances = model.predict_proba(split.X)
        own = chances[every, split.y] - chances[every, 1 - split.y]
        return own / np.abs(own).mean()

    found = residuals_of_rows(split, learner, seed=5, n_jobs=1)
    np.testing.assert_allclose(found, by_hand(split, residual), atol=1e-6)
    found = errors_of_rows(split, learner, seed=5, n_jobs=1)
    expected = by_hand(split, lambda model: np.linalg.norm(residual(model), axis=1))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    found = ease_of_rows(split, learner, seed=5, n_jobs=1)
    np.testing.assert_allclose(found, by_hand(split, margin), atol=1e-6)


def test_residuals_of_regression_are_prediction_less_target():
    x = np.linspace(0, 1, 60)
    split = Split.from_arrays(x[:, None], np.sin(5 * x), task="regression", validation="out_of_bag")
    learner = SklearnLearner(LinearRegression())
    residuals = residuals_of_rows(split, learner, n_jobs=1)
    assert residuals.shape == (60, 1)
    near = LinearRegression().fit(split.X, split.y).predict(split.X) - split.y
    assert np.abs(residuals[:, 0] - near).max() < 0.2 < np.abs(near).max()
    assert (errors_of_rows(split, learner, n_jobs=1) >= np.abs(residuals[:, 0]) - 1e-9).all()


def test_a_row_that_every_model_saw_gets_the_mean_of_the_others(blobs, monkeypatch):
    split, _ = blobs
    monkeypatch.setattr("cdvm.evaluation.difficulty._MODELS", 1)
    seen = Design(split.n_rows, 0.5, seed=0).take([0]).rows(0)
    ease = ease_of_rows(split, "logistic", n_jobs=1)
    others = np.setdiff1d(np.arange(split.n_rows), seen)
    assert len(np.unique(ease[others])) > 100
    np.testing.assert_allclose(ease[seen], ease[others].mean())
    residuals = residuals_of_rows(split, "logistic", n_jobs=1)
    mean = np.tile(residuals[others].mean(axis=0), (len(seen), 1))
    np.testing.assert_allclose(residuals[seen], mean)


def test_a_large_half_is_cut_short(blobs, monkeypatch):
    split, _ = blobs
    sizes = []

    class Watched(SklearnLearner):
        def bind(self, split, X):
            trainer = super().bind(split, X)
            scores = trainer.scores

            def counted(subsets):
                sizes.extend(subsets.sizes.tolist())
                return scores(subsets)

            trainer.scores = counted
            return trainer

    for most, fraction in ((10_000, 0.5), (40, 0.1)):
        monkeypatch.setattr("cdvm.evaluation.difficulty._MOST_ROWS", most)
        sizes.clear()
        ease_of_rows(split, Watched(GaussianNB()), n_jobs=1)
        assert len(sizes) == 20
        assert np.mean(sizes) == pytest.approx(fraction * split.n_rows, rel=0.15)


def residuals_by_loops(split, seed):
    """The residual of every row by each model of half of the rows that did not see it."""
    found = defaultdict(list)
    subsets = Design(split.n_rows, 0.5, seed=seed).take(range(20))
    for k in range(20):
        rows = subsets.rows(k)
        model = LogisticRegression(max_iter=2000, tol=1e-8).fit(split.X[rows], split.y[rows])
        chances = model.predict_proba(split.X)
        for i in set(range(split.n_rows)) - set(rows.tolist()):
            found[i].append(chances[i] - (np.arange(split.n_classes) == split.y[i]))
    return [found[i] for i in range(split.n_rows)]


@pytest.mark.parametrize("classes", [2, 3])
def test_errors_are_the_mean_lengths_of_residuals_and_residuals_their_means(classes):
    X, y = make_classification(
        120, 6, n_informative=4, n_classes=classes, flip_y=0.1, class_sep=0.8, random_state=0
    )
    split = Split.from_arrays(X, y, validation="out_of_bag", random_state=0)
    each = residuals_by_loops(split, 5)
    lengths = [np.mean([np.linalg.norm(r) for r in rows]) for rows in each]
    np.testing.assert_allclose(errors_of_rows(split, "logistic", seed=5, n_jobs=1), lengths, atol=1e-3)
    means = [np.mean(rows, axis=0) for rows in each]
    np.testing.assert_allclose(residuals_of_rows(split, "logistic", seed=5, n_jobs=1), means, atol=1e-3)


def test_ease_of_targets_is_the_squared_error_of_models_fitted_by_hand():
    x = np.linspace(0, 1, 40)
    split = Split.from_arrays(x[:, None], 3 + np.sin(5 * x), task="regression", validation="out_of_bag")
    design, said = Design(40, 0.5, seed=5), [[] for _ in range(40)]
    for model in range(20):
        rows = design.take([model]).rows(0)
        error = LinearRegression().fit(split.X[rows], split.y[rows]).predict(split.X) - split.y
        for row in np.setdiff1d(np.arange(40), rows):
            said[row].append(-(error[row] ** 2))
    found = ease_of_rows(split, SklearnLearner(LinearRegression()), seed=5, n_jobs=1)
    np.testing.assert_allclose(found, [np.mean(one) for one in said], rtol=1e-5, atol=1e-7)


def test_ease_without_a_fold_has_not_seen_it(blobs, monkeypatch):
    """Other labels in a fold change nothing about what is said without it, and something about the rest."""
    monkeypatch.setattr(
        "cdvm.evaluation.difficulty._OF_A_FOLD", 16
    )  # none of the rows is seen by all of them
    split, _ = blobs
    folds = np.arange(split.n_rows) % 3
    before = ease_without_folds(split, "logistic", folds, n_jobs=1)
    y = split.y.copy()
    y[folds == 1] = 1 - y[folds == 1]
    after = ease_without_folds(replace(split, y=y), "logistic", folds, n_jobs=1)
    assert before.shape == (3, split.n_rows)
    np.testing.assert_array_equal(after[1, folds != 1], before[1, folds != 1])
    for fold in (0, 2):
        assert (after[fold, folds != 1] != before[fold, folds != 1]).mean() > 0.9
