import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import Ridge
from sklearn.metrics import balanced_accuracy_score, r2_score
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from cdvm import InputError, NeighborsLearner, PaperLearner, RidgeLearner, SklearnLearner, Split
from cdvm.evaluation.refinement.scorer import HeldOutScorer, RowScores


class Nearest(ClassifierMixin, BaseEstimator):
    """One nearest neighbour, and no scores."""

    def fit(self, X, y):
        self.X_, self.y_, self.classes_ = X, y, np.unique(y)
        return self

    def predict(self, X):
        return self.y_[((X[:, None] - self.X_) ** 2).sum(axis=2).argmin(axis=1)]


@pytest.fixture(scope="module")
def sets(wine):
    return np.stack([np.arange(0, 140, 7), np.arange(14, 134, 6)])


def everyone(split):
    return np.concatenate([split.X_val, split.X]), np.concatenate([split.y_val, split.y])


def test_evaluation_rows_are_validation_rows_and_training_rows_outside_the_set(wine, sets):
    scorer = HeldOutScorer(wine, SklearnLearner(GaussianNB()), n_jobs=1)
    scored = scorer.score_rows(sets)
    X, y = everyone(wine)
    assert (scorer.y == y).all()
    assert scorer.fits == 2
    for scores, outside, rows in zip(scored.scores, scored.outside, sets, strict=True):
        model = GaussianNB().fit(wine.X[rows], wine.y[rows])
        chances = model.predict_proba(X)
        others = np.where(np.arange(3) == y[:, None], -1.0, chances).max(axis=1)
        margin = chances[np.arange(len(y)), y] - others
        np.testing.assert_allclose(scores, 1 / (1 + np.exp(-16 * margin / np.abs(margin).mean())), atol=1e-5)
        inside = np.zeros(len(y), dtype=bool)
        inside[len(wine.y_val) + rows] = True
        assert (outside == ~inside).all()


def test_sets_are_compared_on_evaluation_rows_outside_both(wine, sets):
    scorer = HeldOutScorer(wine, SklearnLearner(GaussianNB()), n_jobs=1, seed=5)
    scored = scorer.score_rows(sets)
    free = ~np.isin(np.arange(wine.n_rows), sets)
    both = np.r_[np.ones(len(wine.y_val), dtype=bool), free]
    held = scorer.held
    assert 0.08 < held.mean() < 0.12
    assert {int(k) for k in scorer.y[held]} == {0, 1, 2}
    difference = scored.scores[1] - scored.scores[0]
    assert scorer.compare(scored[1], scored[0])[0] == pytest.approx(difference[both & ~held].mean(), abs=1e-6)
    assert scorer.compare(scored, scored[0])[0] == 0
    gain, error = scorer.confirm(scored[1], scored[0])
    part = difference[both & held]
    assert gain == pytest.approx(part.mean(), abs=1e-6)
    assert error == pytest.approx(part.std() / np.sqrt(len(part)), abs=1e-6)


@pytest.mark.parametrize("metric", [None, "balanced_accuracy"])
def test_gains_are_means_over_rows_outside_both(wine, rng, metric):
    scorer = HeldOutScorer(wine, SklearnLearner(GaussianNB()), metric=metric, n_jobs=1)
    n = len(scorer.y)
    scores, right = rng.random((4, n)).astype(np.float32), rng.random((4, n)).astype(np.float32)
    models = RowScores(scores, right, rng.random((4, n)) < 0.8)
    other = models[0]
    gains = scorer.compare(models, other)
    assert gains[0] == 0
    for k in range(1, 4):
        both = models.outside[k] & models.outside[0]
        for rows, found, values in (
            (both & ~scorer.held, gains[k], scores),
            (both & scorer.held, scorer.confirm(models[k], other)[0], scores),
            (both, scorer.plain_gain(models[k], other), right),
        ):
            expected = np.average((values[k] - values[0])[rows], weights=scorer.weights[rows])
            assert found == pytest.approx(expected, abs=1e-6)
        rows, weight = both & scorer.held, scorer.weights
        apart = (scores[k] - scores[0])[rows] - scorer.confirm(models[k], other)[0]
        error = np.linalg.norm(weight[rows] * apart) / weight[rows].sum()
        assert scorer.confirm(models[k], other)[1] == pytest.approx(error, abs=1e-6)


def test_balanced_evaluation_rows_give_every_class_the_same_say(rng):
    y = np.repeat([0, 1, 2], [60, 25, 15])
    X = rng.normal(size=(100, 2)) + y[:, None]
    split = Split.from_arrays(X, y, random_state=0)
    rows = np.arange(0, split.n_rows, 5)
    scorer = HeldOutScorer(split, SklearnLearner(GaussianNB()), metric="balanced_accuracy", n_jobs=1)
    totals = np.bincount(scorer.y, scorer.weights)
    score = scorer.score(rows, repeats=1)
    np.testing.assert_allclose(totals, totals[0], rtol=1e-5)
    X, y = everyone(split)
    answers = GaussianNB().fit(split.X[rows], split.y[rows]).predict(X)
    outside = np.r_[np.ones(len(split.y_val), dtype=bool), ~np.isin(np.arange(split.n_rows), rows)]
    assert score == pytest.approx(balanced_accuracy_score(y[outside], answers[outside]))


def test_a_learner_without_scores_is_asked_right_or_wrong(wine, sets):
    scorer = HeldOutScorer(wine, SklearnLearner(Nearest()), n_jobs=1)
    scored = scorer.score_rows(sets)
    X, y = everyone(wine)
    for scores, rows in zip(scored.scores, sets, strict=True):
        assert (scores == (Nearest().fit(wine.X[rows], wine.y[rows]).predict(X) == y)).all()


def test_regression_is_scored_by_its_squared_error(rng):
    X = rng.normal(size=(120, 3))
    y = X @ [1.0, -2.0, 0.5] + rng.normal(size=120)
    split = Split.from_arrays(X, y, task="regression", random_state=0)
    rows = np.arange(0, split.n_rows, 4)
    scorer = HeldOutScorer(split, RidgeLearner(task="regression"), evaluation="validation", n_jobs=1)
    scored = scorer.score_rows(rows[None])
    score = scorer.score(rows, repeats=1)
    answer = Ridge().fit(split.X[rows], split.y[rows]).predict(split.X_val)
    np.testing.assert_allclose(
        scored.scores[0], -((answer - split.y_val) ** 2) / split.y.var(), rtol=1e-3, atol=1e-4
    )
    assert scored.outside.all()
    assert (scored.right == scored.scores).all()
    assert score == pytest.approx(r2_score(split.y_val, answer), abs=1e-4)
    with pytest.raises(InputError, match="metric='balanced_accuracy' does not fit a regression task"):
        HeldOutScorer(split, RidgeLearner(task="regression"), metric="balanced_accuracy")


def test_a_large_table_is_scored_by_a_sample_of_its_rows(rng, monkeypatch, wine, sets):
    monkeypatch.setattr("cdvm.data.split.MAX_EVALUATION_ROWS", 30)
    scorer = HeldOutScorer(wine, SklearnLearner(GaussianNB()), n_jobs=1)
    scored = scorer.score_rows(sets)
    assert len(scorer.rows) == len(np.unique(scorer.rows)) == 30
    assert (scorer.y[len(wine.y_val) :] == wine.y[scorer.rows]).all()
    assert (scored.outside[0, len(wine.y_val) :] == ~np.isin(scorer.rows, sets[0])).all()


def test_evaluation_rows_that_there_are_not_are_refused(wine):
    with pytest.raises(InputError, match="evaluation='validation' needs validation rows"):
        HeldOutScorer(wine.out_of_bag(), RidgeLearner(), evaluation="validation")
    with pytest.raises(InputError, match="evaluation='test': use 'all' or 'validation'"):
        HeldOutScorer(wine, RidgeLearner(), evaluation="test")


def test_right_or_wrong_stands_beside_the_smooth_score(wine, sets):
    scorer = HeldOutScorer(wine, SklearnLearner(GaussianNB()), n_jobs=1)
    scored = scorer.score_rows(sets)
    scores = [scorer.score(rows, repeats=1) for rows in sets]
    for rows, right, outside, score in zip(sets, scored.right, scored.outside, scores, strict=True):
        answers = GaussianNB().fit(wine.X[rows], wine.y[rows]).predict(everyone(wine)[0])
        assert (right == (answers == scorer.y)).all()
        assert right[outside].mean() == pytest.approx(score)


@pytest.mark.parametrize(
    "learner",
    [
        PaperLearner(batch_size=5, epochs=3),
        SklearnLearner(DecisionTreeClassifier(max_features=2, splitter="random")),
    ],
    ids=["batches", "tree"],
)
def test_sets_of_one_number_share_their_randomness(wine, sets, learner):
    same = np.stack([sets[0]] * 20)  # more than one task
    scorer = HeldOutScorer(wine, learner, n_jobs=1, seed=3)
    assert scorer.stochastic
    first, other, later = (
        scorer.score_rows(same, 4),
        scorer.score_rows(same[:1], 5),
        scorer.score_rows(same[:1], 4),
    )
    np.testing.assert_allclose(first.scores, np.repeat(later.scores, 20, axis=0), atol=1e-5)
    assert np.abs(first.scores[0] - other.scores[0]).max() > 0.01


def test_a_row_exchanged_does_not_move_the_others_in_their_order(wine, sets):
    """The rest of a set is seen at the same times, so one row's effect is not drowned by another order."""
    exchanged = sets[:1].copy()
    exchanged[0, 10] = np.setdiff1d(np.arange(wine.n_rows), sets)[0]
    learner = PaperLearner(batch_size=4, epochs=4, learning_rate=0.1)
    scorer = HeldOutScorer(wine, learner, n_jobs=1)
    alike, apart = [], []
    for number in range(8):
        before = scorer.score_rows(sets[:1], number)
        alike.append(scorer.compare(scorer.score_rows(exchanged, number), before)[0])
        apart.append(scorer.compare(scorer.score_rows(np.sort(exchanged), number), before)[0])
    assert np.std(alike) < 0.75 * np.std(apart)


def test_a_scorer_of_targets_is_led_by_the_squared_error(rng):
    X = rng.normal(size=(120, 3))
    y = 5 + X @ [1.0, -2.0, 0.5] + rng.normal(size=120)
    split, rows = Split.from_arrays(X, y, task="regression", random_state=0), np.arange(0, 90, 4)
    learner = RidgeLearner(task="regression")
    scorer = HeldOutScorer(split, learner, metric="neg_median_absolute_error", n_jobs=1)
    X, y = everyone(split)
    answer = Ridge().fit(split.X[rows], split.y[rows]).predict(X)
    expected = -((answer - y) ** 2) / y.var()
    np.testing.assert_allclose(scorer.score_rows(rows[None]).scores[0], expected, rtol=1e-3, atol=1e-4)
    assert scorer.level == 0.0


def test_two_classes_have_the_margin_between_them(rng):
    X = rng.normal(size=(80, 2))
    split = Split.from_arrays(X, (X[:, 0] + rng.normal(size=80) > 0).astype(int), random_state=0)
    rows = np.arange(0, 60, 3)
    found = HeldOutScorer(split, SklearnLearner(GaussianNB()), n_jobs=1).score_rows(rows[None])
    X, y = everyone(split)
    chances = GaussianNB().fit(split.X[rows], split.y[rows]).predict_proba(X)
    margin = chances[np.arange(len(y)), y] - chances[np.arange(len(y)), 1 - y]
    expected = 1 / (1 + np.exp(-16 * margin / np.abs(margin).mean()))
    np.testing.assert_allclose(found.scores[0], expected, atol=1e-5)


def test_models_trained_together_are_scored_one_by_one(wine, sets):
    scorer = HeldOutScorer(wine, RidgeLearner(), n_jobs=1)
    assert scorer.batched
    together = scorer.score_rows(sets)
    for k, rows in enumerate(sets):
        np.testing.assert_allclose(together.scores[k], scorer.score_rows(rows[None]).scores[0], atol=1e-5)


def test_no_row_outside_no_score(wine):
    scorer = HeldOutScorer(wine.out_of_bag(), SklearnLearner(GaussianNB()), n_jobs=1)
    assert np.isnan(scorer.score(np.arange(wine.n_rows), 1))
    half = np.arange(0, 142, 2)
    assert np.isnan(scorer.score(half, 1, also_outside=np.arange(1, 142, 2)))
    some = scorer.score(half, 1, also_outside=np.arange(1, 100, 2))
    model = GaussianNB().fit(wine.X[half], wine.y[half])
    rest = np.arange(101, 142, 2)
    assert some == pytest.approx(model.score(wine.X[rest], wine.y[rest]))


def test_chances_are_scored_by_their_log_loss(wine, sets):
    scorer = HeldOutScorer(wine, SklearnLearner(GaussianNB()), metric="log_loss", n_jobs=1)
    found = scorer.score_rows(sets)
    X, y = everyone(wine)
    for scores, rows in zip(found.scores, sets, strict=True):
        chances = GaussianNB().fit(wine.X[rows], wine.y[rows]).predict_proba(X)[np.arange(len(y)), y]
        expected = np.log(np.maximum(chances, np.finfo(np.float32).eps))
        np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-4)
    assert (found.right == found.scores).all()


@pytest.mark.parametrize("n_rare", [200, 60, 5])
def test_the_less_models_agree_the_more_smoothly_they_are_asked(rng, n_rare):
    y = (np.arange(400) < n_rare).astype(int)
    X = rng.normal(size=(400, 8)) + 0.6 * y[:, None]
    split = Split.from_arrays(X, y, validation="out_of_bag")
    found = []
    for size in (20, 60, 300):
        scorer = HeldOutScorer(split, SklearnLearner(GaussianNB()), seed=3, n_jobs=1)
        scorer.attune(size)
        found.append(scorer.steepness)
        assert scorer.fits == 8
    draws, margins, held = np.random.default_rng([3, 4]), [], []
    for _ in range(8):  # sets of 300 rows
        rows = draws.permutation(400)[:300]
        if n_rare > 5:
            chances = GaussianNB().fit(X[rows], y[rows]).predict_proba(X)
            margin = (chances[:, 1] - chances[:, 0]) * np.where(y == 1, 1, -1)
            margins.append(margin / np.abs(margin).mean())
            held.append(~np.isin(np.arange(400), rows))
    uneven = np.sqrt(200 / n_rare)
    if n_rare > 5:
        outside = np.where(held, margins, np.nan)
        counted = np.isfinite(outside).sum(axis=0) > 1
        spread = np.nanstd(outside[:, counted], axis=0, ddof=1).mean()
        assert found[2] == pytest.approx(np.clip(4 / spread, 4 * uneven, 16), rel=1e-4)
    assert found == sorted(found)
    assert (4 * uneven <= found[0] < found[2] <= 16) if n_rare > 5 else found == [16, 16, 16]


def test_losses_votes_and_answers_without_scores_are_not_asked_more_smoothly(wine, rng):
    X = rng.normal(size=(80, 2))
    targets = Split.from_arrays(X, X[:, 0] + rng.normal(size=80), task="regression", random_state=0)
    for scorer in (
        HeldOutScorer(targets, RidgeLearner(task="regression"), n_jobs=1),
        HeldOutScorer(wine, SklearnLearner(GaussianNB()), metric="log_loss", n_jobs=1),
        HeldOutScorer(wine, SklearnLearner(Nearest()), n_jobs=1),
        HeldOutScorer(wine, NeighborsLearner(), n_jobs=1),
    ):
        scorer.attune(20)
        assert (scorer.steepness, scorer.fits) == (16, 0)
