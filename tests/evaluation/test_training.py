from dataclasses import replace

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.tree import DecisionTreeClassifier

from cdvm import InputError, Selection, SklearnLearner, compare_with_random, evaluate_sets, score_sets
from cdvm.learners.fitting import fit_models


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


@pytest.mark.parametrize("behind", [(), (Normalizer(),)], ids=["alone", "pipeline"])
def test_rows_are_ranked_for_many_models_only(wine, monkeypatch, behind):
    monkeypatch.setattr("cdvm.learners.neighbors.rank_rows", None)
    learner, one = make_pipeline(*behind, KNeighborsClassifier()), np.arange(71)
    few = [one] * (8 * wine.n_rows // len(one))
    assert len(score_sets(wine, learner, few, n_jobs=1)) == 16
    with pytest.raises(TypeError):
        score_sets(wine, learner, [*few, one], n_jobs=1)


@pytest.mark.parametrize(
    ("learner", "tasks"), [(GaussianNB(), 3), ("tree", 3), ("ridge", 1)], ids=["estimator", "tree", "ridge"]
)
def test_models_that_are_trained_one_by_one_are_shared_among_workers(wine, monkeypatch, learner, tasks):
    asked = []

    def noting(trainer, parts, *args, **options):
        asked.append(len(parts))
        return fit_models(trainer, parts, *args, **options)

    monkeypatch.setattr("cdvm.evaluation.training.fit_models", noting)
    score_sets(wine, learner, [np.arange(k, 142, 5) for k in range(3)], n_jobs=1)
    assert asked == [tasks]


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
        (([X, y],), "part 0: pass a pair"),
        (((X, y, y),), "part 0: pass a pair"),
        ((([[1.0]], [0]),), "part 0: pass a pair"),
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


def test_without_randomness_one_training_stands_for_all(wine):
    learner = Counting()
    scores = evaluate_sets(wine, learner, [np.arange(0, 142, 5)], wine.evaluation, repeats=3, n_jobs=1)
    assert scores.shape == (1, 1, 3)
    assert len(np.unique(scores)) == len(learner.trained) == 1


def test_sets_of_another_task_have_luck_of_their_own(wine):
    tree = SklearnLearner(DecisionTreeClassifier(splitter="random", max_depth=3))
    sets = [np.arange(0, 142, 5)] * 52  # 50 a task
    scores = evaluate_sets(wine, tree, sets, (wine.X, wine.y), metric="log_loss", n_jobs=1)[0, :, 0]
    assert (scores[:2] != scores[50:]).any()
