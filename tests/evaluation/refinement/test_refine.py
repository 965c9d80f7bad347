from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from cdvm import (
    CDVM,
    InputError,
    LogisticLearner,
    PaperLearner,
    Program,
    RidgeLearner,
    Selection,
    SklearnLearner,
    Split,
    Subsets,
    TorchLearner,
    evaluate_sets,
    refine,
    select_with,
)
from cdvm.evaluation.refinement.refine import _start, check_options, default_fits
from cdvm.evaluation.refinement.scorer import HeldOutScorer
from cdvm.evaluation.refinement.search import Search


def accuracy(split, learner, rows):
    return float(evaluate_sets(split, learner, [rows], (split.X_test, split.y_test), n_jobs=1)[0, 0, 0])


def test_mislabelled_rows_are_exchanged_for_good_ones(noisy):
    split, wrong = noisy
    start = np.concatenate([wrong[:15], np.setdiff1d(np.arange(400), wrong)[:15]])
    found = refine(start, split, LogisticLearner(), fits=1200, n_jobs=1)
    assert len(found) == 30
    assert np.isin(found.indices, wrong).sum() < 12
    before, after = (accuracy(split, LogisticLearner(), rows) for rows in (start, found.rows))
    assert after > before + 0.05
    assert found.fits <= 1200
    assert found.method == "rows+refine"
    assert (np.flatnonzero(found.weights) == found.indices).all()


def test_the_answer_follows_the_seed_and_not_the_number_of_jobs(noisy):
    split, _ = noisy
    options = {"fits": 300, "seed": 4}
    one, two = (refine(np.arange(40), split, LogisticLearner(), n_jobs=n, **options) for n in (1, 2))
    assert (one.indices == two.indices).all()
    assert (one.optimism, one.score, one.fits) == (two.optimism, two.score, two.fits)
    other = refine(np.arange(40), split, LogisticLearner(), fits=300, seed=5)
    assert not np.array_equal(one.indices, other.indices)


@pytest.mark.parametrize(
    "learner",
    [SklearnLearner(DecisionTreeClassifier(splitter="random", max_depth=3)), PaperLearner(batch_size=15)],
)
def test_learners_with_randomness_give_one_answer_too(noisy, learner):
    split, _ = noisy
    found = [refine(np.arange(20), split, learner, fits=110, n_jobs=n) for n in (1, 2)]
    assert (found[0].indices == found[1].indices).all()
    assert found[0].fits == found[1].fits <= 110


def test_the_callback_sees_ever_better_sets_and_the_answer_last(noisy):
    split, _ = noisy
    seen = []
    found = refine(
        np.arange(40), split, "ridge", fits=500, n_jobs=1, callback=lambda *told: seen.append(told)
    )
    counts = [count for count, _ in seen]
    assert counts == sorted(counts)
    assert counts[0] == 0
    assert counts[-1] <= 500
    assert all(len(np.unique(rows)) == 40 and (np.diff(rows) > 0).all() for _, rows in seen)
    assert (seen[-1][1] == found.rows).all()
    scorer = HeldOutScorer(split, RidgeLearner(), n_jobs=1)
    scorer.attune(40)
    gains = [
        scorer.compare(scorer.score_rows(b[None]), scorer.score_rows(a[None]))[0]
        for (_, a), (_, b) in pairwise(seen)
    ]
    assert min(gains) >= 0
    assert max(gains) > 0


def test_an_interrupt_gives_the_best_set_so_far(noisy):
    split, _ = noisy
    seen = []

    def stop(count, rows):
        seen.append(rows)
        if count > 200:
            raise KeyboardInterrupt

    with pytest.warns(RuntimeWarning, match="interrupted after"):
        found = refine(np.arange(40), split, "ridge", fits=2000, n_jobs=1, callback=stop)
    assert (found.rows == seen[-1]).all()
    assert not np.array_equal(found.rows, np.arange(40))
    assert 200 < found.fits < 400


def test_no_time_leaves_the_start(noisy):
    split, _ = noisy
    found = refine(np.arange(40), split, "ridge", seconds=1e-9, n_jobs=1)
    assert (found.indices == np.arange(40)).all()
    assert (np.flatnonzero(found.weights) == np.arange(40)).all()
    assert found.optimism == 0
    assert found.fits == 2


def test_all_rows_leave_nothing_to_exchange(wine):
    found = refine(wine.rows, wine, "ridge", n_jobs=1)
    assert (found.rows == np.arange(wine.n_rows)).all()
    assert found.method == "rows+refine"
    assert found.optimism == 0.0
    solved = replace(found, method="cdvm", objective=3.0, gap=0.25, weights=np.full(wine.n_rows, 0.5))
    kept = refine(solved, wine, "ridge", n_jobs=1)  # what is known of the rows still holds
    assert (kept.method, kept.objective, kept.gap) == ("cdvm+refine", 3.0, 0.25)
    assert (kept.weights == 0.5).all()


@pytest.mark.parametrize("seed", range(4))
def test_held_back_evaluation_rows_can_send_the_search_back_to_its_start(rng, seed):
    """Labels are a coin's: what is gained on some evaluation rows is not there on others."""
    X, y = rng.normal(size=(160, 5)), rng.integers(2, size=160)
    split = Split.from_arrays(X[:100], y[:100], X[100:], y[100:])
    last = []
    start = np.arange(20)
    found = refine(
        start, split, "ridge", fits=600, seed=seed, n_jobs=1, callback=lambda _, rows: last.append(rows)
    )
    scorer = HeldOutScorer(split, RidgeLearner(), seed=seed, n_jobs=1)
    scorer.attune(20)
    scored = scorer.score_rows(np.stack([start, last[-1]]))
    gain, error = scorer.confirm(scored[1], scored[0])
    worse = gain < -2 * error or scorer.plain_gain(scored[1], scored[0]) < 0
    assert (found.rows == (start if worse else last[-1])).all()
    searched = scorer.compare(scored[1], scored[0])[0]
    assert searched > 0.02
    assert found.optimism == pytest.approx(searched - gain, abs=1e-5)


def test_balanced_score_looks_after_the_rare_class(rng):
    y = (rng.random(2400) < 0.08).astype(int)
    X = rng.normal(size=(2400, 3)) + y[:, None] * 1.2
    split = Split.from_arrays(X[:400], y[:400], X[400:800], y[400:800], X[800:], y[800:])
    start = np.sort(rng.permutation(400)[:40])
    kept = {
        metric: refine(start, split, LogisticLearner(), metric=metric, fits=600, n_jobs=1).rows
        for metric in ("accuracy", "balanced_accuracy")
    }
    found = {
        score: balanced_accuracy_score(
            split.y_test, LogisticLearner().predict(split, _subset(split, rows), split.X_test)[0]
        )
        for score, rows in kept.items()
    }
    assert found["balanced_accuracy"] > found["accuracy"] + 0.05


def _subset(split, rows):
    return Subsets.of([rows], split.n_rows)


def test_regression_loses_error(rng):
    X = rng.normal(size=(900, 8))
    y = X @ rng.normal(size=8) + rng.normal(size=900)
    y[:300:3] += rng.normal(scale=8, size=100)
    split = Split.from_arrays(X[:300], y[:300], X[300:500], y[300:500], X[500:], y[500:], task="regression")
    learner = RidgeLearner(task="regression")
    found = refine(np.arange(30), split, learner, fits=800, n_jobs=1)
    assert accuracy(split, learner, found.rows) > accuracy(split, learner, np.arange(30)) + 0.02


def test_many_classes_and_a_baselines_rows(digits):
    start = select_with(digits, RidgeLearner(), "stratified", [40])[0]
    found = refine(start, digits, RidgeLearner(), fits=400, n_jobs=1)
    assert found.method == "stratified+refine"
    before, after = (
        evaluate_sets(digits, RidgeLearner(), [s.rows], digits.evaluation, n_jobs=1).item()
        for s in (start, found)
    )
    assert after > before


def test_cdvm_refines_its_own_rows(noisy):
    split, _ = noisy
    pruner = CDVM("ridge", effort="low", n_models=300, inclusion=0.1, n_jobs=1, random_state=0).fit_split(
        split
    )
    plain = pruner.select(20)
    pruner.set_params(refine=300)
    better = pruner.select(20)
    assert clone(pruner).get_params()["refine"] == 300
    by_hand = refine(plain, pruner.split_, RidgeLearner(), fits=300, seed=pruner.seed_, n_jobs=1)
    assert (better.indices == by_hand.indices).all()
    assert not np.array_equal(better.indices, plain.indices)
    program = Program(pruner.attribution_, 20, plain.alpha, plain.kappa)
    weights = np.zeros(400)
    weights[better.rows] = 1
    assert better.objective == pytest.approx(program.objective(weights), rel=1e-5)
    assert better.gap > plain.gap
    assert plain.fits is None
    assert better.fits <= 300


def test_rows_evaluate_each_other_where_there_are_no_validation_rows(noisy):
    split, wrong = noisy
    alone = Split.from_arrays(split.X, split.y, validation="out_of_bag")
    start = np.concatenate([wrong[:15], np.setdiff1d(np.arange(400), wrong)[:15]])
    found = refine(start, alone, LogisticLearner(), fits=1200, n_jobs=1)
    scorer = HeldOutScorer(alone, LogisticLearner(), n_jobs=1)
    scored = scorer.score_rows(found.rows[None])
    assert (scorer.rows == np.arange(400)).all()
    assert (scored.outside[0] == ~np.isin(np.arange(400), found.rows)).all()
    before, after = (accuracy(split, LogisticLearner(), rows) for rows in (start, found.rows))
    assert after > before + 0.05


def test_a_refined_selection_can_be_saved(noisy, tmp_path):
    split, _ = noisy
    found = refine(np.arange(20), split, "ridge", fits=100, n_jobs=1)
    again = Selection.load(found.save(tmp_path / "found.npz"))
    assert (again.optimism, again.fits, again.score) == (found.optimism, found.fits, found.score)
    assert (again.indices == found.indices).all()


def test_trainings_grow_fewer_with_larger_sets(wine, digits):
    assert default_fits(HeldOutScorer(wine, LogisticLearner()), 10) == 3000
    scorer = HeldOutScorer(digits, LogisticLearner())
    few, many = default_fits(scorer, 300), default_fits(scorer, 50)
    assert 500 <= few < many < 3000


def test_learners_with_randomness_get_more_trainings_where_they_train_in_batches(wine):
    learners = PaperLearner(), SklearnLearner(DecisionTreeClassifier(splitter="random"))
    assert [default_fits(HeldOutScorer(wine, learner), 10) for learner in learners] == [9000, 3000]


@pytest.mark.parametrize(
    ("start", "options", "message"),
    [
        ([1, 1], {}, "names 1 rows twice"),
        ([], {}, "sequence of row positions"),
        ([0.5], {}, "sequence of row positions"),
        ([[1, 2]], {}, "sequence of row positions"),
        ([10_000], {}, "names row 10000"),
        ([1, 2], {"fits": 3}, "fits=3"),
        ([1, 2], {"fits": True}, "fits=True"),
        ([1, 2], {"seconds": 0}, "seconds=0"),
        ([1, 2], {"evaluation": "test"}, "evaluation=.test'"),
        ([1, 2], {"metric": "auc"}, "metric='auc' is unknown"),
        ([1, 2], {"metric": "mae"}, "does not fit a classification task"),
        ([1, 2], {"seconds": "10"}, "seconds='10'"),
        ([1, 2], {"seed": -1}, "seed=-1"),
        ([1, 2], {"seed": 2**63}, "seed=9223372036854775808"),
        ([1, 2], {"callback": 3}, "callback=3"),
    ],
)
def test_wrong_arguments_are_named(noisy, start, options, message):
    with pytest.raises(InputError, match=message):
        refine(start, noisy[0], "ridge", **options)


def test_validation_rows_that_there_are_not_cannot_evaluate(noisy):
    alone = noisy[0].out_of_bag()
    with pytest.raises(InputError, match="evaluation='validation' needs validation rows"):
        refine([1, 2], alone, "ridge", evaluation="validation")
    pruner = CDVM("ridge", refine={"evaluation": "validation"}, progress=False)
    with pytest.raises(InputError, match="evaluation='validation' needs validation rows"):
        pruner.fit(alone.X, alone.y)
    assert not hasattr(pruner, "outcomes_")


def test_a_selection_of_other_rows_is_refused(noisy, wine):
    with pytest.raises(InputError, match="made of other rows"):
        refine(Selection.of_rows(wine, np.arange(5), method="x", seconds=0), noisy[0], "ridge")


@pytest.mark.parametrize(
    ("value", "message"),
    [("yes", "refine='yes'"), (7, "fits=7"), ({"trials": 5}, "refine has no option 'trials'")],
)
def test_the_pruner_checks_how_to_refine(wine, value, message):
    with pytest.raises(InputError, match=message):
        CDVM("ridge", refine=value).fit_split(wine)


def test_processes_are_used_for_estimators_of_scikit_learn(wine):
    found = [refine(wine.rows[:12], wine, SklearnLearner(GaussianNB()), fits=60, n_jobs=n) for n in (1, 2)]
    assert (found[0].indices == found[1].indices).all()


def test_refining_keeps_a_rare_class(rare):
    pruner = CDVM("logistic", effort="low", n_models=200, solver="first_order", n_jobs=1, random_state=0)
    plain = pruner.fit_split(rare).select(30)
    assert rare.y[plain.rows].sum() >= 2
    seen = []
    found = refine(plain, rare, "logistic", fits=400, n_jobs=1, callback=lambda _, r: seen.append(r))
    assert all(rare.y[rows].sum() >= 2 for rows in seen)
    assert rare.y[found.rows].sum() >= 2
    assert not np.array_equal(found.rows, plain.rows)
    random = [np.random.default_rng(k).permutation(1000)[:30] for k in range(20)]
    answers = LogisticLearner().predict(
        rare, Subsets.of([plain.rows, found.rows, *random], 1000), rare.X_test
    )
    start, refined, *drawn = (balanced_accuracy_score(rare.y_test, a) for a in answers)
    assert min(start, refined) > np.mean(drawn)


def test_fewer_right_answers_undo_a_search_that_the_smooth_score_likes(noisy, rng):
    split, _ = noisy
    scorer = HeldOutScorer(split, LogisticLearner(), n_jobs=1)
    sets = np.stack([np.sort(rng.permutation(400)[:30]) for _ in range(60)])
    scored = scorer.score_rows(sets)
    undone = 0
    for a in range(0, 60, 2):
        plain = scorer.plain_gain(scored[a + 1], scored[a])
        gain, error = scorer.confirm(scored[a + 1], scored[a])
        if gain < -2 * error:
            continue
        search = Search(scorer, sets[a], 100, None, None)
        search.best = sets[a + 1]
        assert (search.answer()[0] == sets[a if plain < 0 else a + 1]).all()
        undone += plain < 0
    both = (scored.outside[0] & scored.outside[1]).astype(bool)
    assert 0 < undone < 30
    right = scored.right[1][both].mean() - scored.right[0][both].mean()
    assert scorer.plain_gain(scored[1], scored[0]) == pytest.approx(right, abs=1e-6)


def test_a_module_of_pytorch_is_refined_as_a_learner_with_randomness(noisy):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install cdvm[torch]")
    torch.set_num_threads(1)
    learner = TorchLearner(lambda: torch.nn.Linear(10, 2), epochs=2)
    split, start = noisy[0], np.arange(20)
    scorer = HeldOutScorer(split, learner, n_jobs=1)
    alike = scorer.score_rows(np.stack([start, start]), 1)
    other = scorer.score_rows(start[None], 2)
    assert scorer.compare(alike, alike[0]) == pytest.approx(0, abs=1e-6)
    assert abs(scorer.compare(other, alike[0])[0]) > 1e-3  # what luck alone is worth
    found = refine(start, split, learner, fits=80, n_jobs=1)
    assert found.fits <= 80


@pytest.mark.parametrize("size", [1, 40, 100, 320, 20_000])
def test_trainings_fall_with_a_power_of_the_numbers_of_a_set(digits, size):
    numbers = size * 64 * 10 / 2**14
    fits = default_fits(HeldOutScorer(digits, LogisticLearner()), size)
    assert fits == int(np.clip(3000 / numbers**0.3, 500, 3000))
    fits = default_fits(HeldOutScorer(digits, PaperLearner()), size)
    assert fits == int(np.clip(9000 / numbers**0.5, 500, 9000))


def test_a_regression_has_trainings_as_if_it_had_one_class(rng):
    split = Split.from_arrays(
        rng.normal(size=(80, 2**10)), rng.normal(size=80), task="regression", random_state=0
    )
    scorer = HeldOutScorer(split, RidgeLearner(task="regression"))
    assert default_fits(scorer, 64) == int(3000 / 4**0.3)


def test_time_is_added_to_what_the_selection_took(wine):
    start = replace(
        Selection.of_rows(wine, np.arange(12), method="some", seconds=100.0), objective=3.0, gap=0.1
    )
    found = refine(start, wine, "ridge", fits=60, n_jobs=1)
    assert 100 < found.seconds < 160
    assert found.method == "some+refine"
    assert not np.array_equal(found.rows, start.rows)
    assert (found.objective, found.gap) == (None, None)  # those were of other rows
    assert found.score == HeldOutScorer(wine, RidgeLearner(), n_jobs=1).score(found.rows, 1)
    assert found.weights.sum() == 12
    assert (found.weights[found.rows] == 1).all()


def test_options_are_checked_before_there_is_a_split():
    check_options({"fits": None, "seconds": None, "metric": None, "evaluation": "all", "seed": 0})
    check_options({"fits": 50, "seconds": 0.5, "metric": "f1", "callback": print, "seed": 2**63 - 1})
    for options, message in [
        ({"metric": "acuracy"}, "metric='acuracy' is unknown"),
        ({"fits": 49}, "fits=49"),
        ({"fits": 60.5}, "fits=60.5"),
        ({"evaluation": None}, "evaluation=None"),
        ({"seed": None}, "seed=None"),
        ({"seconds": True}, "seconds=True"),
        ({"rounds": 3}, "refine has no option 'rounds': it has fits, seconds, metric"),
    ]:
        with pytest.raises(InputError, match=message):
            check_options(options)


def test_a_search_without_gain_ends_after_a_dozen_rounds():
    split = Split.from_arrays(np.ones((200, 2)), np.arange(200) % 2, random_state=0)
    whatever = DummyClassifier(strategy="constant", constant=0)  # it is trained on
    found = refine(split.rows[:20], split, whatever, fits=200, n_jobs=1)
    # random sets to find how to ask, the start twice, for it might be random, rounds of (200 − 3 · 3) / 16
    # sets, and the score at the end
    assert found.fits == 8 + 2 + 12 * 11 + 1
    assert (found.indices == split.rows[:20]).all()


def test_a_learner_that_only_may_be_random_is_found_out(noisy):
    learner = SklearnLearner(LogisticRegression())
    assert learner.stochastic
    scorer = HeldOutScorer(noisy[0], learner, n_jobs=1)
    Search(scorer, np.arange(20), 60, None, None).run(False)
    assert not scorer.stochastic
    scorer = HeldOutScorer(noisy[0], PaperLearner(batch_size=5), n_jobs=1)
    Search(scorer, np.arange(20), 60, None, None).run(False)
    assert scorer.stochastic


def test_validation_rows_alone_have_the_say_where_they_are_asked_to(noisy):
    split, _ = noisy
    found = refine(np.arange(20), split, "ridge", fits=60, evaluation="validation", n_jobs=1)
    scorer = HeldOutScorer(split, RidgeLearner(), evaluation="validation", n_jobs=1)
    assert len(scorer.y) == len(split.y_val)
    assert found.score == scorer.score(found.rows, 1)
    model = RidgeLearner().predict(split, _subset(split, found.rows), split.X_val)[0]
    assert found.score == pytest.approx((model == split.y_val).mean())


def test_the_score_is_that_of_the_metric_asked_for(noisy):
    found = refine(np.arange(20), noisy[0], "ridge", metric="f1", fits=60, n_jobs=1)
    assert found.score == HeldOutScorer(noisy[0], RidgeLearner(), metric="f1", n_jobs=1).score(found.rows, 1)


def test_rows_that_are_given_took_no_time_to_choose(wine):
    selection, rows = _start(wine.rows[[3, 1, 7]], wine)
    assert selection.seconds == 0.0
    assert rows.tolist() == [1, 3, 7]
    assert selection.rows.tolist() == [1, 3, 7]
