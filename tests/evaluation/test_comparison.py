from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import log_loss, r2_score
from sklearn.naive_bayes import GaussianNB

from cdvm import (
    InputError,
    SklearnLearner,
    Split,
    compare_with_random,
    evaluate_sets,
    random_sets,
    score_sets,
)
from cdvm.evaluation.comparison import Comparison, affordable_sets


def test_random_sets_are_distinct_rows_and_follow_the_seed():
    sets = random_sets(50, 20, 30, seed=4)
    assert all(len(np.unique(s)) == 20 and s.min() >= 0 and s.max() < 50 for s in sets)
    assert [s.tolist() for s in random_sets(50, 20, 30, seed=4)] == [s.tolist() for s in sets]
    frequency = np.bincount(np.concatenate(random_sets(50, 20, 2000)), minlength=50) / 2000
    assert np.abs(frequency - 0.4).max() < 5 * np.sqrt(0.24 / 2000)
    assert [len(random_sets(50, size, 1)[0]) for size in (1, 50)] == [1, 50]
    with pytest.raises(InputError, match="size=51"):
        random_sets(50, 51, 1)


def test_comparison_puts_each_figure_in_its_place(wine):
    learner = SklearnLearner(GaussianNB())
    sets = [np.arange(0, 142, 5), np.arange(0, 142, 2)]
    lines = compare_with_random(wine, learner, sets, draws=7, seed=3, n_jobs=1)
    all_rows = GaussianNB().fit(wine.X, wine.y).score(wine.X_val, wine.y_val)
    for rows, line in zip(sets, lines, strict=True):
        assert set(line) == {"validation"}
        figures = line["validation"]
        drawn = evaluate_sets(
            wine, learner, random_sets(142, len(rows), 7, seed=3), wine.evaluation, n_jobs=1
        ).ravel()
        kept = GaussianNB().fit(wine.X[rows], wine.y[rows]).score(wine.X_val, wine.y_val)
        assert figures.kept == pytest.approx(kept)
        assert figures.all_rows == pytest.approx(all_rows)
        assert figures.random == pytest.approx(drawn.mean())
        assert figures.random_std == pytest.approx(drawn.std(ddof=1))


def test_comparison_without_validation_rows(wine):
    split, learner = wine.out_of_bag(), SklearnLearner(GaussianNB())
    rows = np.arange(0, 142, 5)
    lines = compare_with_random(split, learner, [rows, np.arange(142)], draws=4, seed=3, n_jobs=1)
    figures, whole = lines[0]["outside"], lines[1]["outside"]
    scores = score_sets(split, learner, [rows, *random_sets(142, len(rows), 4, seed=3)], n_jobs=1)
    assert figures.kept == pytest.approx(scores[0])
    assert figures.random == pytest.approx(scores[1:].mean())
    fold = np.empty(142, dtype=int)
    fold[np.random.RandomState(3).permutation(142)] = np.arange(142) % 5
    models = [GaussianNB().fit(wine.X[fold != k], wine.y[fold != k]) for k in range(5)]
    right = [models[f].predict(x[None])[0] == y for f, x, y in zip(fold, wine.X, wine.y, strict=True)]
    assert figures.all_rows == pytest.approx(np.mean(right))
    assert whole.kept == whole.random == whole.all_rows == figures.all_rows
    assert set(
        compare_with_random(replace(split, X_test=wine.X_val, y_test=wine.y_val), learner, [rows])[0]
    ) == {
        "outside",
        "test",
    }


def test_no_score_of_a_comparison_is_above_one():
    X = np.r_[np.linspace(0, 4, 30), np.linspace(5, 9, 30)][:, None]
    split = Split.from_arrays(X, [0] * 30 + [1] * 30, validation="out_of_bag")
    rows = np.array([1, 58])  # perfect, and made comparable a little better than that
    assert score_sets(split, "neighbors", [rows, *random_sets(60, 2, 20)], n_jobs=1)[0] > 1
    assert compare_with_random(split, "neighbors", [rows], n_jobs=1)[0]["outside"].kept == 1.0


def test_above_random_is_more_than_two_standard_errors():
    def found(kept):
        return Comparison(kept, random=0.8, random_std=0.04, all_rows=0.9, standard_error=0.01)

    assert found(0.83).above_random
    assert not found(0.81).above_random
    assert not found(0.7).above_random


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((50, 0, 1), "size=0"),
        ((50, 2.5, 1), "size=2.5"),
        ((50, 5, 0), "draws=0"),
        ((50, 5, "a"), "draws='a'"),
        (("a", 5, 1), "n_rows='a'"),
    ],
)
def test_random_sets_refuse(given, message):
    with pytest.raises(InputError, match=message):
        random_sets(*given)
    with pytest.raises(InputError, match="seed=-1"):
        random_sets(50, 5, 1, seed=-1)


def test_one_random_set_has_no_spread(wine):
    line = compare_with_random(wine, "naive_bayes", [np.arange(0, 142, 5)], draws=1, n_jobs=1)[0]
    assert (line["validation"].random_std, line["validation"].standard_error) == (0.0, 0.0)


def test_random_sets_for_some_money_spend_what_they_can():
    costs = np.random.default_rng(0).uniform(0.5, 3, 40)
    for spend in (0.1, 2.0, 17.5, 0.999 * costs.sum(), 1e3):
        sets = affordable_sets(costs, spend, 30, seed=2)
        assert len(sets) == 30
        for rows in sets:
            assert (np.diff(rows) > 0).all()
            assert costs[rows].sum() <= spend + 1e-9 or len(rows) == 1
            left = np.setdiff1d(np.arange(40), rows)
            assert not len(left) or costs[rows].sum() + costs[left].max() > spend  # the next was too dear
    again = affordable_sets(costs, 17.5, 30, seed=2)
    assert [s.tolist() for s in again] == [s.tolist() for s in affordable_sets(costs, 17.5, 30, seed=2)]
    assert [s.tolist() for s in again] != [s.tolist() for s in affordable_sets(costs, 17.5, 30, seed=3)]
    assert [len(s) for s in affordable_sets(np.ones(4), 2.0, 3)] == [2, 2, 2]  # all of it may be spent
    often = np.bincount(np.concatenate(affordable_sets(np.ones(20), 5.0, 2000)), minlength=20) / 2000
    assert np.abs(often - 0.25).max() < 5 * np.sqrt(0.1875 / 2000)


@pytest.mark.parametrize("own", [False, True])
def test_all_rows_are_scored_by_the_metric_asked_for(wine, own):
    split, learner = wine.out_of_bag() if own else wine, SklearnLearner(GaussianNB())
    line = compare_with_random(split, learner, [np.arange(9)], metric="log_loss", draws=3, seed=2, n_jobs=1)[
        0
    ]
    figures = line["outside" if own else "validation"]
    if own:
        fold = np.empty(142, dtype=int)
        fold[np.random.RandomState(2).permutation(142)] = np.arange(142) % 5
        models = [GaussianNB().fit(wine.X[fold != k], wine.y[fold != k]) for k in range(5)]
        chances = np.array([models[f].predict_proba(x[None])[0] for f, x in zip(fold, wine.X, strict=True)])
        expected = -log_loss(wine.y, chances)
    else:
        expected = -log_loss(wine.y_val, GaussianNB().fit(wine.X, wine.y).predict_proba(wine.X_val))
    assert figures.all_rows == pytest.approx(expected, rel=1e-4)
    assert figures.random_std > 0
    assert figures.standard_error == pytest.approx(figures.random_std / np.sqrt(3))


def test_targets_are_compared_by_r2_and_with_twenty_random_sets(rng):
    X = rng.normal(size=(60, 2))
    split = Split.from_arrays(X, X @ [1.0, 2.0] + rng.normal(size=60), task="regression", random_state=0)
    figures = compare_with_random(split, LinearRegression(), [np.arange(15)], n_jobs=1)[0]["validation"]
    model = LinearRegression().fit(split.X[:15], split.y[:15])
    assert figures.kept == pytest.approx(r2_score(split.y_val, model.predict(split.X_val)))
    drawn = [
        r2_score(split.y_val, LinearRegression().fit(split.X[s], split.y[s]).predict(split.X_val))
        for s in random_sets(split.n_rows, 15, 20)
    ]
    assert figures.random == pytest.approx(np.mean(drawn))
    assert figures.standard_error == pytest.approx(np.std(drawn, ddof=1) / np.sqrt(20))


def test_two_random_sets_have_a_spread(wine):
    options = {"metric": "log_loss", "n_jobs": 1}
    rows = np.arange(0, 142, 5)
    line = compare_with_random(wine, "naive_bayes", [rows], draws=2, **options)[0]["validation"]
    one, two = evaluate_sets(
        wine, "naive_bayes", random_sets(142, len(rows), 2), wine.evaluation, **options
    ).ravel()
    assert line.random_std == pytest.approx(abs(one - two) / np.sqrt(2))
