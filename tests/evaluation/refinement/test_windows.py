"""Windows of difficulty, and which of them is best without a look at the rows that tell."""

import numpy as np
import pytest

from cdvm import Split
from cdvm.evaluation.refinement import windows
from cdvm.evaluation.refinement.scorer import HeldOutScorer
from cdvm.evaluation.refinement.windows import WINDOWS, Window, choose_window, find_difficulty
from cdvm.learners import make_learner

EASE = np.array([0.9, -0.5, 0.3, 0.1, -0.2, 0.5, 0.7, 0.8, 0.6, 0.4])  # from the hardest: 1, 4, 3, 2, 9, 5, …


@pytest.mark.parametrize(
    ("window", "sure", "never"),
    [
        (Window(0.0, 1.0), {1, 4, 3, 2}, {0}),
        (Window(0.1, 1.0), {4, 3, 2, 9}, {1}),
        (Window(None, 1.0), {3, 2, 9, 5}, {1, 4}),
        (Window(None, 0.5), {3, 2}, {1, 4}),
        (Window(0.9, 1.0), {8, 6, 7, 0}, {1, 4, 3, 2, 9, 5}),  # as many are left as are asked for
    ],
)
def test_a_window_leaves_the_hardest_out_and_takes_the_next(window, sure, never):
    drawn = [set(window.draw(EASE, 4, np.random.default_rng(k)).tolist()) for k in range(40)]
    assert all(len(rows) == 4 and sure <= rows and not never & rows for rows in drawn)
    if window.hard < 1:
        assert set().union(*drawn) == set(range(10)) - never


def noisy(wrong, n=600, seed=0):
    """Two Gaussians with some of the labels wrong."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 2)) + 2.4 * y[:, None] * [1, 0]
    flipped = rng.random(n) < wrong
    return Split.from_arrays(X, np.where(flipped, 1 - y, y), validation="out_of_bag", random_state=0), flipped


def chosen(split, learner, size, **options):
    learner = make_learner(learner)
    scorer = HeldOutScorer(split, learner, n_jobs=1, **options)
    return choose_window(
        scorer, find_difficulty(split, learner, n_jobs=1, progress=False), size, progress=False
    )


def test_wrong_labels_are_left_out():
    split, flipped = noisy(0.25)
    ease = find_difficulty(split, make_learner("logistic"), n_jobs=1, progress=False).ease
    kept = chosen(split, "logistic", 120).draw(ease, 120, np.random.default_rng(0))
    assert flipped[kept].mean() < 0.18
    assert flipped[Window(0.0, 1.0).draw(ease, 120, np.random.default_rng(0))].mean() > 0.8


def test_a_fold_is_asked_of_sets_and_difficulties_without_it(monkeypatch):
    split, _ = noisy(0.1, 200)
    learner = make_learner("logistic")
    difficulty = find_difficulty(split, learner, n_jobs=1, progress=False)
    scorer, seen = HeldOutScorer(split, learner, n_jobs=1), []
    score = scorer.score_rows

    def watched(sets, number=0):
        seen.append(sets)
        found = score(sets, number)
        mine = difficulty.folds[scorer.rows] == number
        found.right[:, mine] = np.repeat(np.arange(len(sets) // 2), 2)[:, None] == 3  # the fourth window
        found.right[:, ~mine] = np.repeat(np.arange(len(sets) // 2), 2)[:, None] == 5
        return found

    monkeypatch.setattr(scorer, "score_rows", watched)
    assert choose_window(scorer, difficulty, 40, progress=False) == WINDOWS[3]
    assert len(seen) == windows._FOLDS
    for fold, sets in enumerate(seen):
        assert sets.shape == (2 * len(WINDOWS), 30)
        assert (difficulty.folds[sets] != fold).all()
        hardest = np.flatnonzero(difficulty.folds != fold)
        hardest = hardest[np.argsort(difficulty.without[fold, hardest], kind="stable")]
        np.testing.assert_array_equal(sets[2 * WINDOWS.index(Window(0.0, 1.0))], np.sort(hardest[:30]))


def test_rows_count_as_the_metric_weighs_them(monkeypatch):
    """Of windows that are right on one class each: the rare one's, where classes count the same."""
    rng = np.random.default_rng(0)
    y = np.r_[np.zeros(270, int), np.ones(30, int)]
    split = Split.from_arrays(
        rng.normal(size=(300, 2)) + y[:, None], y, validation="out_of_bag", random_state=0
    )
    learner = make_learner("logistic")
    difficulty = find_difficulty(split, learner, n_jobs=1, progress=False)
    for metric, best in ((None, 0), ("balanced_accuracy", 1)):
        scorer = HeldOutScorer(split, learner, metric=metric, n_jobs=1)
        score = scorer.score_rows

        def one_class_each(sets, number=0, score=score, scorer=scorer):
            found = score(sets, number)
            window = np.repeat(np.arange(len(sets) // 2), 2)[:, None]
            found.right[:] = np.where(window == 0, 0.2 * (scorer.y == 0), (window == 1) * (scorer.y == 1))
            return found

        monkeypatch.setattr(scorer, "score_rows", one_class_each)
        assert choose_window(scorer, difficulty, 30, progress=False) == WINDOWS[best]


def test_targets_have_no_wrong_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X @ [1.0, 2.0, 0.0] + rng.normal(size=200)
    split = Split.from_arrays(X, y, validation="out_of_bag", task="regression", random_state=0)
    assert chosen(split, "ridge_regression", 40).dropped is not None


def test_the_window_does_not_depend_on_the_workers():
    split, _ = noisy(0.1, 200)
    learner = make_learner("logistic")
    found = [find_difficulty(split, learner, n_jobs=jobs, progress=False) for jobs in (1, 2)]
    np.testing.assert_array_equal(found[0].without, found[1].without)
    np.testing.assert_array_equal(found[0].ease, found[1].ease)
