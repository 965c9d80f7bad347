"""Fractions over strata: sets of the right size, scores free of which rows a set leaves out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

from cdvm import Split
from cdvm.evaluation.difficulty import ease_of_rows
from cdvm.evaluation.refinement.fractions import Strata, _apportion, learn_fractions, stratify
from cdvm.evaluation.refinement.scorer import HeldOutScorer, RowScores
from cdvm.learners import make_learner


@settings(max_examples=60, deadline=None)
@given(
    counts=st.lists(st.integers(1, 20), min_size=1, max_size=8),
    theta=st.lists(st.floats(-9, 9), min_size=8, max_size=8),
    part=st.floats(0.01, 1),
)
def test_a_draw_has_the_size_asked_for(counts, theta, part):
    code = np.repeat(np.arange(len(counts)), counts)
    strata = Strata(code, np.eye(len(counts)))
    size = max(1, int(part * len(code)))
    rows = strata.draw(np.array(theta[: len(counts)]), size, np.random.default_rng(0))
    assert len(np.unique(rows)) == size
    assert rows[0] >= 0
    assert rows[-1] < len(code)


def test_a_draw_follows_the_densities():
    strata = Strata(np.repeat([0, 1], [300, 300]), np.eye(2))
    rows = strata.draw(np.log([3.0, 1.0]), 100, np.random.default_rng(0))
    assert np.bincount(strata.code[rows]).tolist() == [75, 25]
    full = strata.draw(np.array([6.0, -6.0]), 400, np.random.default_rng(0))
    assert np.bincount(strata.code[full]).tolist() == [300, 100]


def filled(counts, density, size):
    """Parts of rows of each stratum, by looking for the level at which they add up."""
    low, high = 0.0, 1e9
    for _ in range(200):
        level = (low + high) / 2
        low, high = (
            (level, high) if np.minimum(counts, level * counts * density).sum() < size else (low, level)
        )
    return np.minimum(counts, high * counts * density)


@pytest.mark.parametrize("size", [1, 5, 17, 30, 45])
def test_draws_take_from_each_stratum_what_its_density_says_on_average(size):
    counts, density = np.array([3, 20, 10, 5, 9]), np.exp([2.0, -1.0, 0.3, 4.0, -3.0])
    rng = np.random.default_rng(0)
    taken = np.array([_apportion(counts, density, size, rng) for _ in range(2000)])
    assert (taken.sum(axis=1) == size).all()
    assert (taken <= counts).all()
    expected = filled(counts, density, size)
    # whole rows are certain, and only what is left of them is drawn
    assert (taken >= np.floor(expected + 1e-6)).all()
    assert (taken <= np.floor(expected + 1e-6) + 1 + (expected < 0)).all()
    if (expected % 1).sum() < 1.5:  # one row to draw: as often as its part
        np.testing.assert_allclose(taken.mean(axis=0), expected, atol=0.05)


def test_rows_of_a_stratum_are_drawn_alike(rng):
    strata = Strata(np.array([1, 0, 1, 1, 0, 0, 1, 1]), np.eye(2))
    taken = np.zeros(8)
    for _ in range(3000):
        taken[strata.draw(np.log([4.0, 0.25]), 4, rng)] += 1 / 3000
    # 3 rows of density 4 and 5 of a quarter: all of the first, one of the others
    np.testing.assert_allclose(taken[strata.code == 0], 1.0)
    np.testing.assert_allclose(taken[strata.code == 1], 0.2, atol=0.03)


def test_strata_of_targets_are_quarters():
    y = np.random.default_rng(0).normal(size=400)
    split = Split.from_arrays(y[::-1, None], y, task="regression", validation="out_of_bag")
    strata = stratify(split, np.tile(np.arange(6.0), 67)[:400])
    assert strata.parts.shape == (24, 6 + 4)
    assert strata.counts.sum() == 400
    edges = np.quantile(y, [0.25, 0.5, 0.75])
    for code in range(24):
        inside = y[strata.code == code]
        assert np.searchsorted(edges, inside.min()) == np.searchsorted(edges, inside.max())


def test_evaluation_rows_have_the_stratum_of_the_rows_that_they_are():
    strata = Strata(np.array([0, 1, 1, 0]), np.eye(2))
    assert strata.of_evaluation(np.array([2, 0]), 5).tolist() == [2, 2, 2, 1, 0]
    # of a stratum that a set holds whole, the other sets' mean
    scores = np.array([[0.2, 0.9, 0.8, 0.4], [0.6, 0.1, 0.3, 0.6]])
    outside = np.array([[True, False, False, True], [True, True, True, True]])
    found = strata.score(RowScores(scores, scores, outside), np.arange(4))
    np.testing.assert_allclose(found, [(2 * 0.3 + 2 * 0.2) / 4, (2 * 0.6 + 2 * 0.2) / 4])


def test_a_set_that_holds_the_hard_rows_is_not_better_for_it():
    """Half of the rows are never right: whatever a set holds, half is right."""
    strata = Strata(np.repeat([0, 1], [50, 50]), np.eye(2))
    scores = np.tile(np.repeat([0.0, 1.0], 50), (2, 1))
    outside = np.ones((2, 100), dtype=bool)
    outside[0, :40], outside[1, 60:] = False, False
    found = RowScores(scores, scores, outside)
    np.testing.assert_allclose(strata.score(found, np.arange(100)), 0.5)
    plain = (scores * outside).sum(axis=1) / outside.sum(axis=1)
    assert plain[0] > 0.8
    assert plain[1] < 0.2


def test_validation_rows_count_as_they_are():
    strata = Strata(np.zeros(4, dtype=np.int64), np.ones((1, 1)))
    scores = np.array([[1.0, 1.0, 0.0, 0.0, 0.0, 0.0]])
    found = RowScores(scores, scores, np.ones((1, 6), dtype=bool))
    np.testing.assert_allclose(strata.score(found, np.arange(4)), 1 / 3)


@pytest.fixture(scope="module")
def wrong_labels():
    X, y = make_blobs(600, centers=[[-2, 0], [2, 0]], random_state=1)
    wrong = np.random.default_rng(1).random(600) < 0.3
    return Split.from_arrays(X, np.where(wrong, 1 - y, y), validation="out_of_bag", random_state=0), wrong


def test_learnt_fractions_leave_wrong_labels_out(wrong_labels):
    split, wrong = wrong_labels
    learner = make_learner("neighbors")
    strata = stratify(split, ease_of_rows(split, learner, n_jobs=1))
    scorer = HeldOutScorer(split, learner, n_jobs=1)
    sets = learn_fractions(scorer, strata, 60, fits=320)
    assert len(sets) == 3
    assert scorer.fits == 323
    assert np.mean([wrong[rows].mean() for rows in sets]) < 0.1 < 0.25 < wrong.mean()


def test_strata_are_made_of_difficulty_and_class(wrong_labels):
    split, _ = wrong_labels
    ease = np.linspace(-1, 1, split.n_rows)
    strata = stratify(split, ease)
    assert strata.parts.shape == (12, 6 + 2)
    assert (strata.parts.sum(axis=1) == 2).all()
    assert strata.counts.sum() == split.n_rows
    for code in range(12):
        assert len(np.unique(split.y[strata.code == code])) == 1


def test_the_best_draw_comes_first_and_time_ends_the_search(wrong_labels):
    split, _ = wrong_labels
    learner = make_learner("neighbors")
    strata = stratify(split, ease_of_rows(split, learner, n_jobs=1))
    scorer = HeldOutScorer(split, learner, n_jobs=1)
    sets = learn_fractions(scorer, strata, 30, fits=320, seconds=1e-9, draws=6)
    assert scorer.fits == 32 + 6  # one round, and the draws
    assert all(len(np.unique(rows)) == 30 for rows in sets)
    scores = strata.score(scorer.score_rows(np.stack(sets)), scorer.rows, scorer.weights)
    assert (np.diff(scores) <= 0).all()
    assert scores[0] > scores[-1]
    again = learn_fractions(HeldOutScorer(split, learner, n_jobs=1), strata, 30, fits=31, draws=6)
    np.testing.assert_array_equal(np.stack(again), np.stack(sets))  # too few for one round are one round
    other = learn_fractions(HeldOutScorer(split, learner, n_jobs=1, seed=1), strata, 30, fits=31, draws=6)
    assert not np.array_equal(np.stack(other), np.stack(sets))
    scorer = HeldOutScorer(split, learner, n_jobs=1)
    learn_fractions(scorer, strata, 30, fits=64, seconds=1e3)
    assert scorer.fits == 2 * 32 + 3  # there is time for both


def test_rows_count_as_much_as_they_weigh_in_a_stratum(rng):
    strata = Strata(np.array([0, 1, 1, 0, 1]), np.eye(2))
    scores, outside = rng.random((3, 7)), rng.random((3, 7)) < 0.7
    outside[:, 1:4] = True  # something of every stratum is outside of each set
    rows, weights = np.array([3, 1, 0, 4, 2]), rng.uniform(0.5, 2, 7)
    found = strata.score(RowScores(scores, scores, outside), rows, weights)
    kind = np.r_[2, 2, strata.code[rows]]  # two validation rows
    for k in range(3):
        means = [
            np.average(scores[k][(kind == code) & outside[k]], weights=weights[(kind == code) & outside[k]])
            for code in range(3)
        ]
        assert found[k] == pytest.approx(np.average(means, weights=np.bincount(kind, weights)))


def test_densities_differ_by_so_much_and_no_more():
    strata = Strata(np.repeat([0, 1], [1000, 100_000]), np.eye(2))
    share = np.array([1000 * np.exp(6), 100_000]) / (1000 * np.exp(6) + 100_000)
    for theta in ([20.0, 0.0], [6.0, 0.0]):
        rows = strata.draw(np.array(theta), 500, np.random.default_rng(0))
        np.testing.assert_allclose(np.bincount(strata.code[rows]), 500 * share, atol=1)
    rows = strata.draw(np.array([0.0, -20.0]), 500, np.random.default_rng(0))
    np.testing.assert_allclose(np.bincount(strata.code[rows]), 500 * share, atol=1)


def test_rows_that_are_usually_wrong_are_strata_of_their_own(wrong_labels):
    split, _ = wrong_labels
    ease = np.random.default_rng(0).normal(0.5, 1, split.n_rows)
    strata = stratify(split, ease)
    assert ((strata.parts[strata.code][:, 0] == 1) == (ease < 0)).all()


def test_every_class_has_its_strata(digits):
    strata = stratify(digits, np.linspace(-1, 1, digits.n_rows))
    assert strata.parts.shape[1] == 6 + 10
    for code in range(len(strata.parts)):
        assert len(np.unique(digits.y[strata.code == code])) == 1


def test_draws_are_compared_as_the_metric_weighs_rows(rare):
    scorer = HeldOutScorer(rare, make_learner("ridge"), metric="balanced_accuracy", n_jobs=1)
    strata = stratify(rare, np.random.default_rng(0).normal(0.5, 1, rare.n_rows))
    sets = learn_fractions(scorer, strata, 30, fits=32, draws=12)
    found = scorer.score_rows(np.stack(sets))
    assert (np.diff(strata.score(found, scorer.rows, scorer.weights)) <= 0).all()
    assert (
        np.diff(strata.score(found, scorer.rows)) > 0
    ).any()  # as they are, they would be in another order


def test_every_round_weighs_rows_as_the_metric_does(rare, monkeypatch):
    scorer = HeldOutScorer(rare, make_learner("ridge"), metric="balanced_accuracy", n_jobs=1)
    strata = stratify(rare, np.random.default_rng(0).normal(0.5, 1, rare.n_rows))
    score, asked = Strata.score, []

    def noted(self, found, rows, weights=None):
        asked.append((rows, weights))
        return score(self, found, rows, weights)

    monkeypatch.setattr(Strata, "score", noted)
    learn_fractions(scorer, strata, 30, fits=96)
    assert len(asked) == 3 + 1  # rounds, and the draws
    assert len(np.unique(scorer.weights)) == 2
    assert all(rows is scorer.rows and weights is scorer.weights for rows, weights in asked)
