from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.metrics import balanced_accuracy_score, r2_score
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from cdvm import (
    SklearnLearner,
    Split,
    compare_with_random,
    evaluate_sets,
    random_sets,
    score_sets,
)
from cdvm.evaluation.scoring import _mean_outside


def test_scores_are_those_of_models_fitted_by_hand(wine):
    sets = [np.arange(0, 60), np.arange(20, 142, 3)]
    scores = evaluate_sets(
        wine, SklearnLearner(GaussianNB()), sets, wine.evaluation, (wine.X, wine.y), repeats=3, n_jobs=1
    )
    assert scores.shape == (2, 2, 3)
    for k, rows in enumerate(sets):
        model = GaussianNB().fit(wine.X[rows], wine.y[rows])
        assert scores[0, k] == pytest.approx(model.score(wine.X_val, wine.y_val))
        assert scores[1, k] == pytest.approx(model.score(wine.X, wine.y))


def test_a_learner_with_randomness_is_trained_anew_each_time(wine):
    forest = SklearnLearner(RandomForestClassifier(n_estimators=2))
    rows = [np.arange(0, 142, 7)] * 2
    one, two = (evaluate_sets(wine, forest, rows, wine.evaluation, repeats=6, n_jobs=n) for n in (1, 2))
    assert (one == two).all()
    assert len(np.unique(one)) > 1
    assert (one[0, 0] != one[0, 1]).any()  # nor alike for two that are the same
    assert not SklearnLearner(RandomForestClassifier(random_state=0)).stochastic


def test_without_validation_rows_sets_are_scored_on_the_rows_outside_them(wine):
    split, learner = wine.out_of_bag(), SklearnLearner(GaussianNB())
    sets = [np.arange(0, 142, 5), np.arange(1, 142, 5)[:29], np.arange(0, 142, 2)]
    assert len(sets[0]) == len(sets[1])
    scores = score_sets(split, learner, sets, n_jobs=1)
    right = np.array([GaussianNB().fit(wine.X[s], wine.y[s]).predict(wine.X) == wine.y for s in sets])
    outside = np.array([~np.isin(np.arange(142), s) for s in sets])
    assert scores[2] == pytest.approx(right[2, outside[2]].mean())  # the only one of its size
    usual = np.array([right[:2, j][outside[:2, j]].mean() for j in range(142)])
    for k in (0, 1):
        gain = (right[k] - usual)[outside[k]].mean()
        assert scores[k] == pytest.approx(usual.mean() + gain)
    some = wine.out_of_bag([7, 8, 20, 90])
    assert score_sets(some, learner, sets[2:], n_jobs=1) == pytest.approx(right[2, [7]].mean())
    for metric in (None, "f1_macro"):
        assert np.isnan(score_sets(split, learner, [np.arange(142)], metric=metric, n_jobs=1)).all()


def test_a_set_is_credited_with_what_it_gains_on_the_rows_outside_it():
    losses = np.array([[0.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0], [1.0, 0.0, 1.0, 1.0]])
    outside = np.array([[1, 1, 0, 1], [0, 1, 1, 1], [1, 0, 1, 1]], dtype=bool)
    usual = np.array([0.5, 1.0, 1.0, 1 / 3])  # of each row, over the sets without it
    gains = [[-0.5, 0.0, -1 / 3], [0.0, 0.0, -1 / 3], [0.5, 0.0, 2 / 3]]
    expected = usual.mean() + np.mean(gains, axis=1)
    np.testing.assert_allclose(_mean_outside(losses, outside, np.ones(4)), expected)
    assert np.argsort(expected).tolist() == [0, 1, 2]


def test_regression_is_scored_by_r2(rng):
    X = rng.normal(size=(60, 2))
    y = X @ [1.0, 2.0] + rng.normal(size=60)
    split = Split.from_arrays(X, y, task="regression", random_state=0)
    score = evaluate_sets(
        split, SklearnLearner(LinearRegression()), [np.arange(20)], split.evaluation, n_jobs=1
    )
    model = LinearRegression().fit(split.X[:20], split.y[:20])
    assert score.item() == pytest.approx(r2_score(split.y_val, model.predict(split.X_val)))
    own = split.out_of_bag(np.arange(20, 48))
    score = score_sets(own, SklearnLearner(LinearRegression()), [np.arange(20)], n_jobs=1)
    assert score.item() == pytest.approx(r2_score(split.y[20:], model.predict(split.X[20:])))


@pytest.mark.parametrize("learner", ["naive_bayes", "GaussianNB", GaussianNB()])
def test_learners_by_name_or_as_estimators(wine, learner):
    sets = [np.arange(0, 142, 5)]
    made = SklearnLearner(GaussianNB())
    for split in (wine, wine.out_of_bag()):
        assert score_sets(split, learner, sets, n_jobs=1) == score_sets(split, made, sets, n_jobs=1)
    assert evaluate_sets(wine, learner, sets, wine.evaluation, n_jobs=1) == evaluate_sets(
        wine, made, sets, wine.evaluation, n_jobs=1
    )
    assert compare_with_random(wine, learner, sets, draws=2, n_jobs=1) == compare_with_random(
        wine, made, sets, draws=2, n_jobs=1
    )


def test_one_training_gives_the_scores_on_all_parts(wine):
    split, learner = replace(wine, X_test=wine.X_val, y_test=wine.y_val).out_of_bag(), "naive_bayes"
    rows = np.arange(0, 142, 5)
    line = compare_with_random(split, learner, [rows], draws=4, seed=3, n_jobs=1)[0]
    drawn = random_sets(142, len(rows), 4, seed=3)
    tested = evaluate_sets(wine, learner, [rows, *drawn, np.arange(142)], wine.evaluation, n_jobs=1)[0, :, 0]
    test = line["test"]
    assert (test.kept, test.all_rows) == (pytest.approx(tested[0]), pytest.approx(tested[-1]))
    assert test.random == pytest.approx(tested[1:-1].mean())
    assert test.standard_error == pytest.approx(tested[1:-1].std(ddof=1) / 2)
    outside = score_sets(split, learner, [rows, *drawn], n_jobs=1)
    assert line["outside"].kept == pytest.approx(outside[0])
    assert line["outside"].random == pytest.approx(outside[1:].mean())


def test_the_unit_of_weights_does_not_matter(rng):
    losses, outside, weights = rng.random((4, 9)), rng.random((4, 9)) < 0.7, rng.random(9)
    plain = _mean_outside(losses, outside, weights)
    for unit in (1e-3, 1e3):
        np.testing.assert_allclose(_mean_outside(losses, outside, unit * weights), plain)
    # row by row: what the sets without a row say of it, and what each gains on that
    usual = np.array([losses[outside[:, j], j].mean() for j in range(9)])
    for k in range(4):
        own = outside[k]
        gained = np.average((losses[k] - usual)[own], weights=weights[own])
        assert plain[k] == pytest.approx(np.average(usual, weights=weights) + gained)


@pytest.mark.parametrize("metric", ["accuracy", "f1_macro", "log_loss"])
@pytest.mark.parametrize("own", [False, True])
def test_repeats_are_the_mean_over_seeds(wine, metric, own):
    split = wine.out_of_bag() if own else wine
    learner = SklearnLearner(DecisionTreeClassifier(splitter="random", max_depth=3))
    sets = [np.arange(0, 142, 5), np.arange(1, 142, 5), np.arange(0, 142, 3)]
    once = [score_sets(split, learner, sets, metric=metric, seed=seed, n_jobs=1) for seed in (4, 5, 6)]
    assert len({tuple(scores) for scores in once}) == 3
    found = score_sets(split, learner, sets, metric=metric, seed=4, repeats=3, n_jobs=1)
    np.testing.assert_allclose(found, np.mean(once, axis=0))
    usual = score_sets(split, learner, sets, metric=metric, n_jobs=1)
    np.testing.assert_array_equal(usual, score_sets(split, learner, sets, metric=metric, seed=0, n_jobs=1))
    if not own:
        lines = evaluate_sets(
            split, learner, sets, split.evaluation, metric=metric, seed=4, repeats=3, n_jobs=1
        )
        np.testing.assert_allclose(lines[0].T, once)
        usual, zero = (
            evaluate_sets(split, learner, sets, split.evaluation, metric=metric, n_jobs=1, **seed)
            for seed in ({}, {"seed": 0})
        )
        np.testing.assert_array_equal(usual, zero)


def test_a_set_of_all_evaluation_rows_has_no_score(rng):
    losses, outside = rng.random((3, 4)), np.array([[0, 0, 0, 0], [1, 1, 0, 1], [0, 1, 1, 0]], dtype=bool)
    found = _mean_outside(losses, outside, np.ones(4))
    assert np.isnan(found).tolist() == [True, False, False]


def test_test_rows_are_scored_by_the_metric_beside_those_outside(wine):
    split = replace(wine, X_test=wine.X_val, y_test=wine.y_val).out_of_bag()
    rows = np.r_[
        np.flatnonzero(wine.y == 0)[:3], np.flatnonzero(wine.y == 1)[:9], np.flatnonzero(wine.y == 2)[:2]
    ]
    options = {"metric": "balanced_accuracy", "draws": 2, "n_jobs": 1}
    line = compare_with_random(split, SklearnLearner(GaussianNB()), [rows], **options)[0]
    answers = GaussianNB().fit(wine.X[rows], wine.y[rows]).predict(wine.X_val)
    assert line["test"].kept == pytest.approx(balanced_accuracy_score(wine.y_val, answers))
    again = compare_with_random(split, SklearnLearner(GaussianNB()), [rows], seed=0, **options)[0]
    assert again == line
