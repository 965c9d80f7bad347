"""Hard rows that a set has not learnt yet."""

import numpy as np
import pytest

from cdvm import Split
from cdvm.evaluation import difficulty
from cdvm.evaluation.difficulty import PARTS, Difficulty, ease_around, find_difficulty
from cdvm.evaluation.refinement import mining
from cdvm.evaluation.refinement.mining import Miner, easier, exchange
from cdvm.evaluation.refinement.scorer import HeldOutScorer
from cdvm.learners import NeighborsLearner, make_learner


def noisy(wrong, n=600, seed=0, apart=2.4):
    """Two Gaussians with some of the labels wrong."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 2)) + apart * y[:, None] * [1, 0]
    flipped = rng.random(n) < wrong
    return Split.from_arrays(X, np.where(flipped, 1 - y, y), validation="out_of_bag", random_state=0), flipped


def squares(n=900, seed=0):
    """A chessboard, no label wrong: what a set has not seen it cannot know."""
    X = np.random.default_rng(seed).random((n, 2))
    y = (np.floor(3 * X).sum(axis=1) % 2).astype(int)
    return Split.from_arrays(X[:600], y[:600], X[600:], y[600:], random_state=0)


def miner_of(split, name, **options):
    learner = make_learner(name)
    scorer = HeldOutScorer(split, learner, n_jobs=1, **options)
    return Miner(
        scorer, learner, find_difficulty(split, learner, n_jobs=1, progress=False), n_jobs=1, progress=False
    )


def drawn(miner, size, draws):
    return miner.draw(miner.choose(size, fits=256), size, draws, fits=32 * draws)


@pytest.mark.parametrize(
    ("fraction", "size", "left"),
    [(0.0, 2, [4, 3, 2, 0]), (0.25, 2, [3, 2, 0]), (0.6, 1, [2, 0]), (0.6, 3, [3, 2, 0])],
)
def test_the_hardest_of_the_given_rows_are_left_out(fraction, size, left):
    ease = np.array([0.9, -2.0, 0.5, 0.1, -1.0])
    assert easier(np.array([0, 2, 3, 4]), ease, fraction, size).tolist() == left


def test_the_easiest_rows_leave_for_the_hardest_outside():
    ease, rng = np.array([0.5, 0.9, 0.1, 0.7, 0.2, 0.3]), np.random.default_rng(0)
    for most, expected in ((1, [0, 2, 3]), (2, [0, 2, 4]), (3, [2, 4, 5])):
        found = exchange(np.array([0, 1, 3]), np.arange(6), ease, most, rng)
        assert sorted(found) == expected
    assert sorted(exchange(np.array([0, 1, 3]), np.array([0, 1, 3, 5]), ease, 3, rng)) == [0, 3, 5]
    assert sorted(exchange(np.array([2, 4]), np.arange(6), ease, 2, rng)) == [2, 4]  # nothing is harder


def test_of_equally_hard_rows_chance_decides():
    rng = np.random.default_rng(0)
    ease = np.r_[np.ones(4), np.zeros(20)]
    drawn = [set(exchange(np.arange(4), np.arange(24), ease, 2, rng).tolist()) for _ in range(60)]
    assert len(set.union(*drawn)) == 24


def test_rows_of_a_set_are_asked_of_the_models_without_them():
    """One neighbour knows every row that it has seen."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 2, 80)
    split = Split.from_arrays(X, y, validation="out_of_bag", random_state=0)
    trainer = NeighborsLearner(1).bind(split, split.X)
    inside = np.arange(40)
    (ease,) = ease_around(trainer, [inside], np.random.default_rng(1), n_jobs=1)
    assert 0.2 < (ease[inside] > 0).mean() < 0.8
    (again,) = ease_around(trainer, [inside], np.random.default_rng(1), n_jobs=2)
    np.testing.assert_array_equal(ease, again)
    assert len(np.unique(ease[40:])) > 2  # a mean of several models


@pytest.mark.parametrize(("answers", "most"), [(10**7, 16), (620, 3), (10, 1)])
def test_models_of_many_rows_are_asked_a_few_at_a_time(monkeypatch, answers, most):
    split, _ = noisy(0.1, 200)
    trainer, together = make_learner("ridge").bind(split, split.X), []
    sets = [np.arange(k, k + 30) for k in range(5)]
    expected = ease_around(trainer, sets, np.random.default_rng(0), n_jobs=1)
    margins = difficulty._margins
    monkeypatch.setattr(difficulty, "_ANSWERS", answers)
    monkeypatch.setattr(
        difficulty,
        "_margins",
        lambda bound, subsets: together.append(len(subsets)) or margins(bound, subsets),
    )
    found = ease_around(trainer, sets, np.random.default_rng(0), n_jobs=1)
    assert max(together) == most
    assert sum(together) == 5 * PARTS
    np.testing.assert_array_equal(found, expected)


def test_a_mined_set_knows_more_of_what_can_be_learnt():
    """Where no label is wrong: against random sets, on rows that no choice has seen."""
    split = squares()
    miner = miner_of(split, "boosting")
    sets = drawn(miner, 120, 4)
    assert all(len(np.unique(rows)) == 120 and (np.diff(rows) > 0).all() for rows in sets)
    rng = np.random.default_rng(0)
    random = [np.sort(rng.permutation(600)[:120]) for _ in range(8)]
    scorer = HeldOutScorer(split, make_learner("boosting"), evaluation="validation", n_jobs=1)
    mined, chance = (scorer.score_rows(np.stack(s)).right.mean() for s in (sets, random))
    assert mined > chance + 0.03


def test_wrong_labels_are_left_out():
    split, flipped = noisy(0.25, apart=5.0)
    miner = miner_of(split, "logistic")
    assert flipped[np.stack(drawn(miner, 60, 2))].mean() < 0.05
    assert miner._choose(60, 8) >= 0.5 * flipped.mean()
    rows = miner.draw(np.arange(600), 60, 1, fits=32)[0]
    assert flipped[rows].mean() > flipped.mean() + 0.1  # which are the hardest, were none left out


def test_a_fold_is_asked_of_sets_and_difficulties_without_it(monkeypatch):
    split, _ = noisy(0.1, 203)
    miner, seen = miner_of(split, "logistic"), []
    hard, scorer = miner._difficulty, miner._scorer
    mine, score = miner._mine, scorer.score_rows

    def watched(sets, among, *rest):
        seen.append((among, len(sets[0])))
        return mine(sets, among, *rest)

    def right_where(sets, number=0):
        """The second of three fractions is right on the fold that it did not see, the others elsewhere."""
        found = score(sets, number)
        fraction, fold = np.divmod(np.arange(len(sets)), 4)
        own = hard.folds[scorer.rows] == fold[:, None]
        found.right[:] = np.where((fraction == 1)[:, None], own, ~own)
        return found

    monkeypatch.setattr(miner, "_mine", watched)
    monkeypatch.setattr(scorer, "score_rows", right_where)
    wrong = (hard.ease < 0).mean()
    assert miner._choose(40, 8) == pytest.approx(wrong)
    ((among, size),) = seen
    assert size == 30
    assert len(among) == 12
    for k, rows in enumerate(among):
        others = np.flatnonzero(hard.folds != k % 4)
        expected = easier(others, hard.without[k % 4], [wrong / 2, wrong, wrong + 0.07][k // 4], 30)
        np.testing.assert_array_equal(rows, expected)


@pytest.mark.parametrize(("best", "asked"), [(0, [1, 2, 3, 0]), (2, [1, 2, 3]), (5, [1, 2, 3, 4, 5])])
def test_fractions_are_tried_as_long_as_they_get_better(monkeypatch, best, asked):
    split, _ = noisy(0.2, 200)
    miner, tried = miner_of(split, "ridge"), []
    fractions = miner._fractions()
    assert fractions == sorted(fractions)

    def scores(some, size, rounds, until):
        tried.extend(fractions.index(x) for x in some)
        return [-abs(fractions.index(x) - best) for x in some]

    monkeypatch.setattr(miner, "_cross_fit", scores)
    assert miner._choose(20, 8) == fractions[best]
    assert tried == asked


def test_rows_count_as_the_metric_weighs_them(monkeypatch):
    """Of fractions that are right on one class each: the rare one's, where classes count the same."""
    rng = np.random.default_rng(0)
    y = np.r_[np.zeros(270, int), np.ones(30, int)]
    X = rng.normal(size=(300, 2)) + y[:, None]
    split = Split.from_arrays(X, y, validation="out_of_bag", random_state=0)
    for metric, best in ((None, 0), ("balanced_accuracy", 1)):
        miner = miner_of(split, "logistic", metric=metric)
        scorer = miner._scorer
        score = scorer.score_rows

        def one_class_each(sets, number=0, score=score, scorer=scorer):
            found = score(sets, number)
            fraction = np.repeat(np.arange(2), 4)[:, None]
            found.right[:] = np.where(fraction == 0, 0.2 * (scorer.y == 0), scorer.y == 1)
            return found

        monkeypatch.setattr(scorer, "score_rows", one_class_each)
        assert int(np.argmax(miner._cross_fit([0.0, 0.1], 30, 8))) == best


def test_targets_have_no_wrong_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X @ [1.0, 2.0, 0.0] + rng.normal(size=200)
    split = Split.from_arrays(X, y, validation="out_of_bag", task="regression", random_state=0)
    miner = miner_of(split, "ridge_regression")
    assert miner._fractions() == [beside for _, beside in mining._LEFT_OUT]
    assert [len(rows) for rows in drawn(miner, 20, 2)] == [20, 20]


@pytest.mark.parametrize(("fits", "rounds"), [(192, 16), (100, 8), (20, 4)])
def test_fits_are_counted_and_do_not_depend_on_the_workers(fits, rounds):
    split, _ = noisy(0.1, 200)
    learner, found = make_learner("logistic"), []
    for jobs in (1, 2):
        difficulty = find_difficulty(split, learner, n_jobs=jobs, progress=False)
        scorer = HeldOutScorer(split, learner, n_jobs=jobs)
        miner = Miner(scorer, learner, difficulty, n_jobs=jobs, progress=False)
        among = miner.choose(20, fits=64 * (rounds // 2))
        tried, rest = divmod(miner.fits, 4 * (rounds // 2 * PARTS + 1))
        assert 3 <= tried <= 6
        assert rest == 0
        before = miner.fits
        sets = miner.draw(among, 20, 3, fits=fits)
        assert miner.fits - before == 3 * rounds * PARTS
        found.append(np.stack([*sets, miner.go_on(sets[0], among, fits=32)]))
        assert miner.fits - before == 3 * rounds * PARTS + 8 * PARTS
    np.testing.assert_array_equal(*found)


def test_fewer_rows_are_exchanged_each_round(monkeypatch):
    split, _ = noisy(0.1, 200)
    miner, most = miner_of(split, "ridge"), []
    monkeypatch.setattr(mining, "exchange", lambda *given: most.append(given[3]) or given[0])
    everything = np.arange(200)
    miner.draw(everything, 100, 1, fits=64)
    assert most == [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 1]
    most.clear()
    miner.go_on(everything[:100], everything, fits=32)
    assert most == [15, 13, 11, 9, 7, 5, 3, 1]
    most.clear()
    miner.draw(everything, 100, 1, fits=0)
    assert most == [60, 45, 30, 15]


def test_time_that_is_over_ends_the_rounds():
    split, _ = noisy(0.1, 200)
    miner = miner_of(split, "logistic")
    among = miner.choose(20, fits=10**6, seconds=1e-9)
    assert miner.fits == 3 * 4 * (PARTS + 1)  # one round for each of three fractions, and their scores
    sets = miner.draw(among, 20, 2, fits=10**6, seconds=1e-9)
    miner.go_on(sets[0], among, fits=10**6, seconds=1e-9)
    assert miner.fits == 3 * 4 * (PARTS + 1) + 3 * PARTS
    assert [len(np.unique(rows)) for rows in sets] == [20, 20]


def test_a_model_goes_on_from_the_rows_of_another():
    """A set that was mined for linear models knows more of a chessboard once boosting has mined on."""
    split = squares()
    linear, boosting = miner_of(split, "logistic"), miner_of(split, "boosting")
    everything = np.arange(600)
    start = linear.draw(everything, 120, 1, fits=64)[0]
    found = boosting.go_on(start, everything, fits=32)
    assert len(np.unique(found)) == 120
    assert 0 < len(np.setdiff1d(found, start)) <= 72
    scorer = HeldOutScorer(split, make_learner("boosting"), evaluation="validation", n_jobs=1)
    before, after = scorer.score_rows(np.stack([start, found])).right.mean(axis=1)
    assert after > before + 0.02
    some = np.setdiff1d(everything, np.arange(0, 600, 3))
    assert np.isin(np.setdiff1d(boosting.go_on(start, some, fits=32), start), some).all()


@pytest.mark.parametrize("size", [1, 3, 7])
def test_a_handful_of_rows(size):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(8, 2)), np.arange(8) % 2
    split = Split.from_arrays(X, y, validation="out_of_bag", random_state=0)
    assert [len(rows) for rows in drawn(miner_of(split, "logistic"), size, 2)] == [size, size]


def test_difficulty_does_not_depend_on_the_workers():
    split, _ = noisy(0.1, 200)
    found = [find_difficulty(split, make_learner("logistic"), n_jobs=jobs, progress=False) for jobs in (1, 2)]
    assert isinstance(found[0], Difficulty)
    np.testing.assert_array_equal(found[0].without, found[1].without)
    np.testing.assert_array_equal(found[0].ease, found[1].ease)
