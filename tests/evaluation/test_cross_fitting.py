from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score, r2_score
from sklearn.naive_bayes import GaussianNB

from cdvm import CDVM, InputError, SklearnLearner, Split, Subsets, random_sets
from cdvm.evaluation.cross_fitting import cross_fit
from cdvm.evaluation.metrics import Metric, make_metric
from cdvm.learners import make_learner


def first_rows(pruner, metric=None, folds=4):
    """A cross-fit that keeps the first rows, and the splits that it was fitted on."""
    seen = []

    def fit(held):
        seen.append(held)
        return np.arange

    made = make_metric(metric, pruner.split_)
    return cross_fit(pruner.split_, pruner.learner_, made, fit, folds=folds, n_jobs=1, progress=False), seen


def answers_of(pruner, held):
    """Answers for a fold of models on the first tenth of the other rows, and on all."""
    sets = [np.arange(round(0.1 * held.split.n_rows)), np.arange(held.split.n_rows)]
    return pruner.learner_.bind(held.split, held.X).predict(Subsets.of(sets, held.split.n_rows))


def test_every_row_is_asked_once_by_what_was_fitted_without_it(pruner):
    fitted, seen = first_rows(pruner)
    split = pruner.split_
    asked = [tuple(row) for held in seen for row in held.X]
    assert len(asked) == len(set(asked)) == 600
    for held in seen:
        assert not {tuple(row) for row in held.X} & {tuple(row) for row in held.split.X}
        assert (split.X[held.inside] == held.split.X).all()
        assert held.split.X_val is None
        assert abs(np.mean(held.y) - split.y.mean()) < 0.01
    point = fitted.point(0.1)
    answers = [answers_of(pruner, held) for held in seen]
    score, whole = (
        np.mean([accuracy_score(held.y, a[k]) for held, a in zip(seen, answers, strict=True)]) for k in (0, 1)
    )
    assert point.score == pytest.approx(score)
    assert point.all_rows == pytest.approx(whole)
    assert point.loss == pytest.approx(whole - score)
    apart = np.concatenate([(a[0] != h.y) * 1.0 - (a[1] != h.y) for h, a in zip(seen, answers, strict=True)])
    assert point.loss_error == pytest.approx(np.r_[apart, 1, -1].std(ddof=1) / np.sqrt(602))
    assert point.score_error == pytest.approx(np.sqrt(score * (1 - score) / 599))
    assert point.n_rows == 600


def test_validation_rows_are_the_ones_that_are_asked(rows):
    X, y = rows
    settings = {"effort": "low", "n_models": 200, "random_state": 0, "n_jobs": 1, "progress": False}
    pruner = CDVM("ridge", **settings).fit(X[:400], y[:400], X[400:], y[400:])
    fitted, seen = first_rows(pruner)
    assert sorted(tuple(row) for held in seen for row in held.X) == sorted(map(tuple, pruner.split_.X_val))
    assert all(held.split.n_rows == 400 and len(held.split.y_val) == 150 for held in seen)
    assert all((held.inside == np.arange(400)).all() for held in seen)
    for held in seen:
        assert (held.split.X_val == pruner.split_.X_val[held.others]).all()
        assert (pruner.split_.X_val[held.asked] == held.X).all()
    # the first rows are the same set without every fold, and no row asked is in it
    assert fitted.point(0.1).set_error == 0
    for k, fold in enumerate(fitted.folds):  # other sets, asked about all 200
        object.__setattr__(fold, "choose", lambda size, k=k: np.arange(100 * k, 100 * k + size))
    sets = Subsets.of([np.arange(100 * k, 100 * k + 4) for k in range(4)], 400)
    right = pruner.learner_.bind(pruner.split_, pruner.split_.X_val).predict(sets) == pruner.split_.y_val
    squares = []
    for a, b in combinations(right * 1.0, 2):
        squares.append((a - b).mean() ** 2 - (a - b).var(ddof=1) / 200)
    assert fitted.point(0.01).set_error == pytest.approx(np.sqrt(np.mean(squares) / 2))


def test_other_metrics_have_their_points_too(pruner):
    fitted, seen = first_rows(pruner, "balanced_accuracy")
    y = np.concatenate([held.y for held in seen])
    found = np.concatenate([answers_of(pruner, held)[0] for held in seen])
    assert fitted.point(0.1).score == pytest.approx(balanced_accuracy_score(y, found))
    fitted, seen = first_rows(pruner, "f1")
    expected = np.mean([f1_score(held.y, answers_of(pruner, held)[0]) for held in seen])
    point = fitted.point(0.1)
    assert point.score == pytest.approx(expected)
    assert 0.005 < point.loss_error < 0.05
    assert point.loss_error < point.score_error + point.all_rows_error
    whole = fitted.point(1.0)  # the same rows on both sides
    assert (whole.loss, whole.loss_error) == (0.0, 0.0)
    assert whole.score == whole.random == whole.all_rows
    assert whole.score_error == whole.all_rows_error > 0


def test_sets_are_compared_on_the_rows_outside_both(pruner):
    fitted, seen = first_rows(pruner)
    right = np.full((4, 600), np.nan)
    for k, held in enumerate(seen):
        size = round(0.1 * held.split.n_rows)
        X = np.concatenate([held.X, held.split.X[size:]])
        asked = np.concatenate([np.setdiff1d(np.arange(600), held.inside), held.inside[size:]])
        answers = pruner.learner_.bind(held.split, X).predict(Subsets.of([np.arange(size)], 450))[0]
        right[k, asked] = answers == pruner.split_.y[asked]
    squares = []
    for a, b in combinations(range(4), 2):
        apart = (right[a] - right[b])[~np.isnan(right[a] - right[b])]
        squares.append(apart.mean() ** 2 - apart.var(ddof=1) / len(apart))
    point = fitted.point(0.1)
    assert point.set_error == pytest.approx(np.sqrt(max(np.mean(squares) / 2, 0)), abs=1e-12)
    assert point.set_error > 0
    assert point.one_set_error == pytest.approx(point.set_error * np.sqrt(1.25))


def test_the_loss_of_a_regression_has_the_error_of_its_own_differences(rng):
    X = rng.normal(size=(80, 2))
    split = Split.from_arrays(X, X @ [1.0, 2.0] + rng.normal(size=80), task="regression", random_state=0)
    split, learner, seen = split.out_of_bag(), make_learner("ridge_regression"), []

    def fit(held):
        seen.append(held)
        return np.arange

    fitted = cross_fit(split, learner, make_metric(None, split), fit, folds=4, n_jobs=1, progress=False)
    point = fitted.point(0.2)
    y = np.concatenate([held.y for held in seen])
    answers = []
    for held in seen:
        n = held.split.n_rows
        sets = [np.arange(round(0.2 * n)), np.arange(n)]
        answers.append(learner.bind(held.split, held.X).predict(Subsets.of(sets, n)))
    few, whole = (np.concatenate([a[k] for a in answers]) for k in (0, 1))
    assert point.score == pytest.approx(r2_score(y, few), abs=1e-6)
    assert point.all_rows == pytest.approx(r2_score(y, whole), abs=1e-6)
    apart = ((few - y) ** 2 - (whole - y) ** 2) / y.var()
    more = np.r_[apart, np.abs(apart).max(), -np.abs(apart).max()]
    assert point.loss_error == pytest.approx(more.std(ddof=1) / np.sqrt(len(more)), rel=1e-5)
    assert fitted.curve([0.2], progress=False).metric == "R2"
    n = split.n_rows
    most = cross_fit(split, learner, make_metric(None, split), fit, folds=n // 4, n_jobs=1, progress=False)
    assert len(most.folds) == n // 4
    with pytest.raises(
        InputError, match=f"folds={n // 4 + 1}: use at least 2, and no more than a quarter of {n}"
    ):
        cross_fit(split, learner, make_metric(None, split), fit, folds=n // 4 + 1)


def test_resampled_errors_are_those_of_means_where_the_metric_is_one(pruner):
    """Of a metric that is not known to be a mean, errors are resampled, and must come out the same."""
    whole = Metric("right", whole=lambda split, y, answers: (answers == y).mean(axis=1))
    (plain, seen), (scorer, _) = first_rows(pruner), first_rows(pruner, whole)
    by_rows, resampled = plain.point(0.1), scorer.point(0.1)
    for name in ("score", "random", "all_rows", "loss"):
        assert getattr(resampled, name) == pytest.approx(getattr(by_rows, name)), name
    for name in ("score_error", "random_error", "all_rows_error", "loss_error"):
        assert getattr(resampled, name) == pytest.approx(getattr(by_rows, name), rel=0.2), name
    assert resampled.set_error == pytest.approx(by_rows.set_error, rel=0.25)
    assert first_rows(pruner, whole)[0].point(0.1) == resampled
    assert (by_rows.n_sets, by_rows.n_rows, by_rows.fraction) == (4, 600, 0.1)
    y = np.concatenate([held.y for held in seen])
    random = [
        (fold.answers(random_sets(450, 45, 5, seed=0)) != 0).mean(axis=0) for fold in plain.folds
    ]  # losses of five random sets, by row
    losses = np.concatenate(random)
    assert by_rows.random == pytest.approx(1 - losses.mean())
    assert by_rows.random_error == pytest.approx(losses.std(ddof=1) / np.sqrt(len(y)))


def test_points_of_a_curve_are_in_order_and_each_but_once(pruner):
    curve = first_rows(pruner)[0].curve([0.05, 0.2, 0.05], progress=False)
    assert [point.fraction for point in curve.points] == [0.2, 0.05]
    assert curve.metric == "accuracy"


def test_no_row_that_differs_does_not_mean_that_none_could(pruner):
    """Two rows more, one each way: by as much as rows can differ, which is known of right and wrong."""
    point = first_rows(pruner)[0].point(1.0)
    assert point.loss == 0.0
    assert point.loss_error == pytest.approx(np.r_[np.zeros(600), 1, -1].std(ddof=1) / np.sqrt(602))
    split, learner = pruner.split_, SklearnLearner(GaussianNB())
    made = make_metric("log_loss", split)
    fitted = cross_fit(split, learner, made, lambda held: np.arange, folds=3, n_jobs=1, progress=False)
    assert fitted.point(1.0).loss_error == 0.0  # of chances it is not
    balanced = first_rows(pruner, "balanced_accuracy")[0].point(1.0)
    share = 600 / (2 * np.bincount(split.y).min())  # what a row of the smaller class counts
    extreme = np.r_[np.zeros(600), share, -share]
    assert balanced.loss_error == pytest.approx(extreme.std(ddof=1) / np.sqrt(602))


def test_where_rows_cost_budgets_are_parts_of_what_they_cost(pruner, rng):
    costs, asked = rng.uniform(0.5, 3, 600), []

    def fit(held):
        return lambda spend: asked.append(spend) or np.arange(30)

    made = make_metric(None, pruner.split_)
    fitted = cross_fit(
        pruner.split_, pruner.learner_, made, fit, costs=costs, folds=4, draws=6, n_jobs=1, progress=False
    )
    fitted.point(0.25)
    for fold, spend in zip(fitted.folds, asked, strict=True):
        inside = costs[fold.held.inside]
        assert spend == pytest.approx(inside.sum() / 4)
        found, sets = fitted._beside(fold.held, 0.25)
        assert found == spend
        assert len(sets) == 6
        assert all(spend - 3 < inside[rows].sum() <= spend for rows in sets)


def test_sets_of_a_regression_are_compared_in_units_of_its_variance(rng):
    X = rng.normal(size=(80, 2))
    split = Split.from_arrays(
        X, 7 * X @ [1.0, 2.0] + 7 * rng.normal(size=80), task="regression", random_state=0
    )
    split, learner, held = split.out_of_bag(), make_learner("ridge_regression"), []
    made = make_metric(None, split)
    fitted = cross_fit(
        split, learner, made, lambda one: held.append(one) or np.arange, folds=4, n_jobs=1, progress=False
    )
    loss = np.full((4, split.n_rows), np.nan)
    for k, one in enumerate(held):
        size = round(0.1 * one.split.n_rows)
        asked = np.r_[one.asked, one.others[size:]]
        answers = learner.bind(one.split, split.X[asked]).predict(
            Subsets.of([np.arange(size)], one.split.n_rows)
        )
        loss[k, asked] = (answers[0] - split.y[asked]) ** 2
    squares = []
    for a, b in combinations(range(4), 2):
        both = ~np.isnan(loss[a] - loss[b])
        apart = (loss[a] - loss[b])[both] / split.y[both].var()
        squares.append(apart.mean() ** 2 - apart.var(ddof=1) / both.sum())
    expected = np.sqrt(max(np.mean(squares) / 2, 0))
    assert fitted.point(0.1).set_error == pytest.approx(expected, rel=1e-3)
    assert expected > 0


def test_folds_of_validation_rows_are_as_many_as_these_allow(rows):
    X, y = rows
    split = Split.from_arrays(X[:400], y[:400], X[400:440], y[400:440], X[440:], y[440:])
    learner, seen = make_learner("ridge"), []
    made = make_metric(None, split)
    with pytest.raises(InputError, match="folds=11: use at least 2, and no more than a quarter of 40 rows"):
        cross_fit(split, learner, made, seen.append, folds=11)
    cross_fit(split, learner, made, seen.append, folds=10, n_jobs=1, progress=False)
    alone = split.out_of_bag()
    cross_fit(alone, learner, made, seen.append, folds=2, n_jobs=1, progress=False)
    assert [len(held.y) for held in seen] == [4] * 10 + [200] * 2
    for held in seen:  # nothing is known of test rows, nor of rows that are asked
        assert held.split.X_test is None
        assert held.split.y_test is None
        assert (held.split.y_val is None) == (len(held.y) == 200)


def test_sets_of_unequal_classes_are_compared_as_the_metric_weighs_them():
    X, y = make_classification(300, 4, n_informative=3, n_redundant=0, weights=[0.8], random_state=2)
    split, learner, held = Split.from_arrays(X, y, validation="out_of_bag"), SklearnLearner(GaussianNB()), []
    made = make_metric("balanced_accuracy", split)
    fitted = cross_fit(
        split, learner, made, lambda one: held.append(one) or np.arange, folds=4, n_jobs=1, progress=False
    )
    wrong = np.full((4, 300), np.nan)
    for k, one in enumerate(held):
        model = GaussianNB().fit(one.split.X[:11], one.split.y[:11])
        asked = np.r_[one.asked, one.others[11:]]
        wrong[k, asked] = model.predict(X[asked]) != y[asked]
    squares = []
    for a, b in combinations(range(4), 2):
        both = ~np.isnan(wrong[a] - wrong[b])
        weight = both.sum() / (2 * np.bincount(y[both]))
        apart = (wrong[a] - wrong[b])[both] * weight[y[both]]
        squares.append(apart.mean() ** 2 - apart.var(ddof=1) / both.sum())
    expected = np.sqrt(max(np.mean(squares) / 2, 0))
    assert fitted.point(11 / 225).set_error == pytest.approx(expected)
    assert expected > 0
