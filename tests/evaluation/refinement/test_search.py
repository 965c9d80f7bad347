import time
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from sklearn.metrics import f1_score

from cdvm import (
    PaperLearner,
    RidgeLearner,
    Subsets,
    refine,
)
from cdvm.evaluation.refinement.scorer import HeldOutScorer
from cdvm.evaluation.refinement.search import Search, _largest
from cdvm.optimize.conditions import Conditions
from cdvm.optimize.rounding import class_floors


def searching(split, start, learner=None, fits=400):
    return Search(
        HeldOutScorer(split, learner or RidgeLearner(), n_jobs=1), np.asarray(start), fits, None, None
    )


def test_proposals_keep_the_floor_of_every_class(rare):
    ones = np.flatnonzero(rare.y == 1)
    start = np.sort(np.r_[ones[:6], np.flatnonzero(rare.y == 0)[:94]])
    search = searching(rare, start)
    search._covariance[ones] = -1e3  # all evidence is against them
    sets = search._propose(20)
    floor = int(class_floors(rare.y, 100)[1])
    assert 2 <= floor < 6
    assert all(len(np.unique(rows)) == 100 for rows in sets)
    assert (rare.y[sets].sum(axis=1) >= floor).all()
    within = [np.setdiff1d(rows[rare.y[rows] == 1], start) for rows in sets]
    assert max(map(len, within)) > 0  # they may be exchanged for others of their class


def test_a_class_below_its_floor_loses_no_row_and_may_gain_some(rare):
    ones = np.flatnonzero(rare.y == 1)
    search = searching(rare, np.r_[ones[:1], np.flatnonzero(rare.y == 0)[:99]])
    counts = rare.y[search._propose(30)].sum(axis=1)
    assert counts.min() == 1
    assert counts.max() > 1


def test_what_rounds_found_guides_the_next(rare):
    """Rows leave and enter by the covariance of their presence with the gains, older rounds counting less."""
    search = searching(rare, np.arange(100))
    draws = np.random.default_rng(1)
    rounds = [
        (np.stack([np.sort(draws.permutation(1000)[:100]) for _ in range(16)]), draws.normal(size=16))
        for _ in range(2)
    ]
    for sets, gains in rounds:
        search._learn(sets, gains)
    there = [np.array([np.isin(np.arange(1000), rows) for rows in sets], dtype=float) for sets, _ in rounds]
    covariance = [(g - g.mean()) @ x for x, (_, g) in zip(there, rounds, strict=True)]
    variance = [((x - x.mean(axis=0)) ** 2).sum(axis=0) for x in there]
    np.testing.assert_allclose(search._covariance, 0.9 * covariance[0] + covariance[1], atol=1e-9)
    np.testing.assert_allclose(search._variance, 0.9 * variance[0] + variance[1], atol=1e-9)


def test_bad_rows_leave_and_good_rows_enter(rare):
    search = searching(rare, np.flatnonzero(rare.y == 0)[:100])
    bad, good = search.best[7], np.setdiff1d(np.flatnonzero(rare.y == 0), search.best)[33]
    before = search._propose(5)
    search._covariance[[bad, good]] = -50.0, 50.0
    search._variance[[bad, good]] = 4.0
    after = search._propose(5)
    left, entered = ((~(sets == bad).any(axis=1)).mean() for sets in (before, after))
    assert left < 0.2 < 0.9 < entered
    joined = [(sets == good).any(axis=1).mean() for sets in (before, after)]
    assert joined[0] < 0.2 < 0.9 < joined[1]
    # as much covariance over more trials is less of an effect
    search._covariance[:] = 0.0
    search._covariance[[bad, search.best[8]]] = -3.0
    search._variance[:] = 0.0
    search._variance[bad] = 1e4
    greedy = search._propose(1)[0]
    assert search.best[8] not in greedy
    assert bad in greedy


def test_of_many_rows_a_sample_may_enter(rare, monkeypatch):
    monkeypatch.setattr("cdvm.evaluation.refinement.search._POOL", 30)
    search = searching(rare, np.arange(100))
    sets = search._propose(20)
    assert all(len(np.unique(rows)) == 100 for rows in sets)
    assert 20 < len(np.setdiff1d(sets, search.best)) <= 30


def test_the_most_promising_sets_are_trained_again_where_luck_plays_a_part(noisy, monkeypatch):
    search = searching(noisy[0], np.arange(20), PaperLearner(batch_size=15, epochs=2), fits=300)
    scorer, trained, answers = search.scorer, [], []
    score_rows = scorer.score_rows

    def watched(sets, number=0):
        trained.append((sets, number))
        answers.append(score_rows(sets, number))
        return answers[-1]

    monkeypatch.setattr(scorer, "score_rows", watched)
    sets = search._propose(3)
    assert len(sets) > 8
    search._round(sets)
    (best, first), (tried, second), *again = trained
    assert (best == np.arange(20)).all()
    assert first == second  # the same luck for the best set and those compared with it
    assert (tried == sets).all()
    gains = scorer.compare(answers[1], answers[0])
    promising = sets[np.argsort(-gains)[:8]]
    assert len(again) == 3
    assert all((rows == np.concatenate([best, promising])).all() for rows, _ in again)
    assert len({first, *(number for _, number in again)}) == 4
    scores = np.mean([answer.scores for answer in answers[2:]], axis=0)
    mean = replace(answers[2], scores=scores)
    average = scorer.compare(mean, mean[0])[1:]
    chosen = promising[average.argmax()] if average.max() > 0 else np.arange(20)
    assert (search.best == chosen).all()


def test_what_is_spent_is_the_larger_of_fits_and_time(noisy):
    search = searching(noisy[0], np.arange(20), fits=403)  # three for the look at the end
    assert search._spent() == 0.0
    search.scorer.fits = 100
    assert search._spent() == pytest.approx(0.25)
    search._seconds, search._started = 1000.0, time.perf_counter() - 600.0
    assert search._spent() == pytest.approx(0.6, abs=0.01)
    search._seconds = 10_000.0
    assert search._spent() == pytest.approx(0.25)
    search._seconds = 100.0
    assert search._spent() == 1.0
    search._seconds = None
    search.scorer.fits = 400 - search._proposals  # one more round fits
    assert search._spent() < 1.0
    search.scorer.fits += 1
    assert search._spent() == 1.0


@pytest.mark.parametrize("fits", [50, 51, 52, 53, 71])
def test_never_more_trainings_than_allowed_and_no_round_less(noisy, fits):
    """A round tries 4 sets; where luck plays a part, also the best, and all five three times over."""
    for learner, one_round in (RidgeLearner(), 4), (PaperLearner(batch_size=15, epochs=2), 5 + 3 * 5):
        found = refine(np.arange(20), noisy[0], learner, fits=fits, n_jobs=1)
        assert fits - one_round < found.fits <= fits


def test_the_largest_entries_of_each_line_come_first(rng):
    for count in (1, 2, 7, 2000):
        keys = rng.normal(size=(5, 2000))
        np.testing.assert_array_equal(_largest(keys, count), np.argsort(-keys, axis=1)[:, :count])


def test_exchanges_beyond_what_a_class_can_spare_are_bound_to_it(rare, rng):
    ones = np.flatnonzero(rare.y == 1)
    start = np.sort(np.r_[ones[:9], np.flatnonzero(rare.y == 0)[:91]])
    search = searching(rare, start)
    spare = np.bincount(rare.y[start], minlength=2) - class_floors(rare.y, 100)
    leaving = np.stack([rng.permutation(100)[:60] for _ in range(6)])
    leaving[0, :9] = np.flatnonzero(np.isin(start, ones))
    exchanges = np.arange(60) < rng.integers(20, 61, size=6)[:, None]
    bound = search._bound(leaving, exchanges)
    for line, made, found in zip(leaving, exchanges, bound, strict=True):
        left = np.zeros(2, dtype=int)
        for place, counts, told in zip(line, made, found, strict=True):
            own = rare.y[start[place]]
            left[own] += counts
            assert told == (left[own] > spare[own])
    assert bound[0, :9].sum() == 9 - spare[1] > 0


def test_the_most_promising_row_of_a_class_takes_the_place(rare):
    ones, zeros = np.flatnonzero(rare.y == 1), np.flatnonzero(rare.y == 0)
    search = searching(rare, np.r_[ones[:3], zeros[:17]])
    outside = np.r_[zeros[17:22], ones[3:7]]
    into = np.array([9.0, 8.0, 7.0, 6.0, 5.0, 1.0, 3.0, 2.0, 0.0])
    rows = search.best.copy()
    search._exchange_within_class(rows, 1, outside, into)
    assert rows.tolist() == [ones[0], ones[4], ones[2], *zeros[:17]]
    search._exchange_within_class(rows, 2, outside, into)  # the best of them is in the set already
    assert rows[2] == ones[5]
    search._exchange_within_class(rows, 5, outside[5:], into[5:])  # none of its class is left
    assert rows[5] == zeros[2]


@pytest.mark.parametrize(("fits", "proposals"), [(50, 4), (203, 12), (3000, 64)])
def test_a_round_tries_a_sixteenth_of_what_may_be_trained(noisy, fits, proposals):
    assert len(searching(noisy[0], np.arange(20), fits=fits)._propose(3)) == proposals


def test_proposals_within_conditions_follow_what_is_known_of_rows(rare):
    zeros = np.flatnonzero(rare.y == 0)
    conditions = Conditions.of(1000, groups=np.arange(1000) % 4, at_least=3, at_most=9)
    start = zeros[:20]
    scorer = HeldOutScorer(rare, RidgeLearner(), n_jobs=1)
    search = Search(scorer, start, 400, None, None, conditions, 20)
    good = next(row for row in zeros[20:] if row % 4 == start[3] % 4)
    search._covariance[[start[3], good]] = -50.0, 50.0
    sets = search._propose(4)
    assert len(sets) == search._proposals
    for rows in sets:
        weights = np.isin(np.arange(1000), rows).astype(float)
        assert conditions.satisfied(weights, 20, 1e-9)
        assert 1 <= len(np.setdiff1d(rows, start)) <= 4
    assert (~(sets == start[3]).any(axis=1)).mean() > 0.9  # the bad one leaves
    assert (sets == good).any(axis=1).mean() > 0.9
    greedy = sets[0]
    assert np.setdiff1d(start, greedy).tolist() == [start[3]]
    assert np.setdiff1d(greedy, start).tolist() == [good]


def test_as_many_rows_are_exchanged_as_are_drawn(rare):
    search = searching(rare, np.flatnonzero(rare.y == 0)[:100])
    counts = [len(np.setdiff1d(rows, search.best)) for _ in range(4) for rows in search._propose(3)]
    assert np.bincount(counts).tolist()[0] == 0
    np.testing.assert_allclose(np.bincount(counts)[1:] / len(counts), 1 / 3, atol=0.15)


def test_gains_without_luck_are_those_over_the_best_set(rare):
    search = searching(rare, np.arange(100))
    sets = search._propose(20)
    expected = search.scorer.compare(
        search.scorer.score_rows(sets), search.scorer.score_rows(search.best[None])
    )
    np.testing.assert_allclose(search._average_gains(sets), expected, atol=1e-6)


@pytest.mark.parametrize(("metric", "kept"), [("accuracy", 3), ("f1", 5)])
def test_trainings_for_the_look_at_the_end_are_kept(noisy, metric, kept):
    scorer = HeldOutScorer(noisy[0], RidgeLearner(), metric=metric, n_jobs=1)
    search = Search(scorer, np.arange(20), 400 + kept, None, None)
    scorer.fits = 100
    assert search._spent() == pytest.approx(0.25)


def test_the_last_look_is_at_several_trainings_where_luck_plays_a_part(noisy, monkeypatch):
    search = searching(noisy[0], np.arange(20), PaperLearner(batch_size=15, epochs=2), fits=300)
    search.best = np.arange(20, 40)
    score_rows, numbers = search.scorer.score_rows, []
    monkeypatch.setattr(
        search.scorer, "score_rows", lambda sets, n=0: numbers.append(n) or score_rows(sets, n)
    )
    search.answer()
    assert len(numbers) == len(set(numbers)) == 3


def test_proposals_follow_the_seed(rare):
    def proposed(seed):
        return Search(HeldOutScorer(rare, RidgeLearner(), seed=seed, n_jobs=1), np.arange(100), 400)._propose(
            5
        )

    np.testing.assert_array_equal(proposed(3), proposed(3))
    assert not np.array_equal(proposed(3), proposed(4))


def test_what_is_won_is_told_by_the_metric_on_rows_outside_both(noisy):
    split = noisy[0]
    scorer = HeldOutScorer(split, RidgeLearner(), metric="f1", n_jobs=1)
    search = Search(scorer, np.arange(20), 400)
    search.best = np.arange(10, 40)[::-1][:20]
    X = np.concatenate([split.X_val, split.X])
    y = np.concatenate([split.y_val, split.y])
    outside = np.r_[np.ones(len(split.y_val), dtype=bool), np.arange(400) >= 40]
    outside[len(split.y_val) + np.setdiff1d(np.arange(40), [*search.best, *search.start])] = True
    answers = RidgeLearner().predict(split, Subsets.of([search.best, search.start], 400), X)
    after, before = (f1_score(y[outside], answer[outside]) for answer in answers)
    assert search._plain_gain(None) == pytest.approx(after - before)
    assert after != before


def test_rows_held_back_that_find_the_best_set_worse_undo_a_search(noisy, rng):
    """Where they find it worse by more than two standard errors, whatever the others say."""
    scorer = HeldOutScorer(noisy[0], RidgeLearner(), n_jobs=1)
    sets = np.stack([np.sort(rng.permutation(400)[:30]) for _ in range(60)])
    scored = scorer.score_rows(sets)
    tried = 0
    for a, b in permutations(range(60), 2):
        gain, error = scorer.confirm(scored[b], scored[a])
        if tried < 3 and gain < -2.2 * error and scorer.plain_gain(scored[b], scored[a]) > 0:
            search = Search(scorer, sets[a], 100)
            search.best = sets[b]
            assert (search.answer()[0] == sets[a]).all()
            tried += 1
    assert tried > 0
