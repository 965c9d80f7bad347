from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.naive_bayes import GaussianNB

from cdvm import (
    InputError,
    Selection,
    SklearnLearner,
    Split,
    compare_with_random,
    evaluate_sets,
    random_sets,
    score_sets,
)
from cdvm.evaluation.comparison import Comparison
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
    assert not SklearnLearner(RandomForestClassifier(random_state=0)).stochastic


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
    assert np.isnan(score_sets(split, learner, [np.arange(142)], n_jobs=1)).all()


def test_a_set_is_credited_with_what_it_gains_on_the_rows_outside_it():
    losses = np.array([[0.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0], [1.0, 0.0, 1.0, 1.0]])
    outside = np.array([[1, 1, 0, 1], [0, 1, 1, 1], [1, 0, 1, 1]], dtype=bool)
    usual = np.array([0.5, 1.0, 1.0, 1 / 3])  # of each row, over the sets without it
    gains = [[-0.5, 0.0, -1 / 3], [0.0, 0.0, -1 / 3], [0.5, 0.0, 2 / 3]]
    expected = usual.mean() + np.mean(gains, axis=1)
    np.testing.assert_allclose(_mean_outside(losses, outside, np.ones(4)), expected)
    assert np.argsort(expected).tolist() == [0, 1, 2]


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


def test_a_selection_is_a_set(wine):
    rows = np.arange(0, 142, 5)
    selection = Selection.of_rows(wine, rows, method="rows", seconds=0.0)
    assert score_sets(wine, "ridge", [selection], n_jobs=1) == score_sets(wine, "ridge", [rows], n_jobs=1)


class Counting(SklearnLearner):
    """Notes every set it trains on."""

    def __init__(self):
        super().__init__(GaussianNB())
        self.trained = []

    def bind(self, split, X):
        trainer = super().bind(split, X)
        predict = trainer.predict

        def counted(subsets):
            self.trained += [subsets.rows(k).tobytes() for k in range(len(subsets))]
            return predict(subsets)

        trainer.predict = counted
        return trainer


@pytest.mark.parametrize("own", [False, True])
def test_no_set_is_trained_twice(wine, own):
    base = replace(wine, X_test=wine.X_val, y_test=wine.y_val)
    learner, split = Counting(), base.out_of_bag() if own else base
    compare_with_random(split, learner, [np.arange(0, 142, 5), np.arange(0, 142, 3)], draws=3, n_jobs=1)
    folds = 5 if own else 0
    assert len(learner.trained) == len(set(learner.trained)) == 2 * (1 + 3) + 1 + folds


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


def test_above_random_is_more_than_two_standard_errors():
    def found(kept):
        return Comparison(kept, random=0.8, random_std=0.04, all_rows=0.9, standard_error=0.01)

    assert found(0.83).above_random
    assert not found(0.81).above_random
    assert not found(0.7).above_random


ROWS = [np.arange(20)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"learner": "logistik"}, "did you mean 'logistic'"),
        ({"sets": 5}, "sets: pass a list of sets"),
        ({"sets": [[0.5]]}, "set 0: pass a Selection, or positions"),
        ({"sets": [[[1, 2]]]}, "set 0: pass a Selection"),
        ({"sets": [[1], np.ones(142, dtype=bool)]}, "set 1: pass a Selection"),
        ({"sets": [[142]]}, r"set 0 names a row outside 0\.\.141"),
        ({"sets": [[-1]]}, "set 0 names a row"),
        ({"repeats": 0}, "repeats=0: use a whole number of at least 1"),
        ({"repeats": True}, "repeats=True"),
        ({"seed": -1}, "seed=-1"),
        ({"seed": "a"}, "seed='a'"),
        ({"n_jobs": "a"}, "n_jobs='a': use a number of workers"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"progress": "x"}, "progress='x'"),
    ],
)
def test_arguments_are_checked(wine, change, message):
    given = {"learner": "ridge", "sets": ROWS, **change}
    learner, sets = given.pop("learner"), given.pop("sets")
    for split in (wine, wine.out_of_bag()):
        with pytest.raises(InputError, match=message):
            score_sets(split, learner, sets, **given)
        with pytest.raises(InputError, match=message):
            compare_with_random(split, learner, sets, **given)
    with pytest.raises(InputError, match=message):
        evaluate_sets(wine, learner, sets, wine.evaluation, **given)


def test_parts_are_checked(wine):
    X, y = wine.evaluation
    for parts, message in [
        ((), "name the rows to score on"),
        ((X, y), "part 0: pass a pair"),
        (((X, y), (X[:, :3], y)), "part 1: X of shape"),
        (((X, y[:3]),), "part 0: X of shape"),
        (((X, y.astype(str)),), "not the class codes"),
    ]:
        with pytest.raises(InputError, match=message):
            evaluate_sets(wine, "ridge", ROWS, *parts)


def test_no_sets_no_scores(wine):
    for split in (wine, wine.out_of_bag()):
        assert score_sets(split, "ridge", []).shape == (0,)
        assert compare_with_random(split, "ridge", [], n_jobs=1) == []
    assert evaluate_sets(wine, "ridge", [], wine.evaluation, repeats=3).shape == (1, 0, 3)


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
