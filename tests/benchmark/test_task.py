import numpy as np
import pytest
from benchmark_frames import TINY

from cdvm.benchmark import task as task_module
from cdvm.benchmark.methods import get_method
from cdvm.benchmark.task import Task
from cdvm.sampling import Subsets
from cdvm.selectors import learn_of_rows
from cdvm.selectors.baselines import select_with
from cdvm.valuation import value_rows


def test_worst_class_against_a_loop():
    task = Task(TINY, "wine", 0)
    rows = np.arange(30)
    answers = task.learner.predict(
        task.split, Subsets.of([rows], task.split.n_rows, seed=task.seed), task.split.X_test
    )[0]
    expected = min((answers[task.split.y_test == k] == k).mean() for k in np.unique(task.split.y_test))
    assert task.scored([rows])["worst_class"][0] == pytest.approx(expected)


def test_models_are_trained_once_and_shared():
    task = Task(TINY, "wine", 0)
    five, _ = task.outcomes(500, 0.1)
    ten, _ = task.outcomes(1000, 0.1)
    again, _ = task.outcomes(500, 0.1)
    np.testing.assert_array_equal(five.data, ten.data[:500])
    np.testing.assert_array_equal(five.data, again.data)
    assert [len(piece.models) for piece, _ in task._recorded[0.1]] == [500, 500]


def test_methods_that_rank_by_the_same_values_compute_them_once(monkeypatch):
    asked = []

    def noting(*args, **options):
        asked.append(args[2])
        return value_rows(*args, **options)

    monkeypatch.setattr(task_module, "value_rows", noting)
    task = Task(TINY, "wine", 0)
    choices = [get_method(name).run(task)[0] for name in ("DataOOB", "DataOOB-high", "Banzhaf")]
    assert asked == ["out_of_bag", "banzhaf"]
    alone = select_with(task.split, task.learner, "out_of_bag", task.budgets, seed=task.seed, n_models=1000)
    assert [c.rows.tolist() for c in choices[0]] == [s.rows.tolist() for s in alone]


def test_selectors_share_what_they_learn_of_rows(monkeypatch):
    asked = []

    def counted(split, what, **own):
        asked.append(what)
        return learn_of_rows(split, what, **own)

    monkeypatch.setattr(task_module, "learn_of_rows", counted)
    task = Task(TINY, "wine", 0)
    (hard, first), (doubtful, second) = (get_method(name).run(task) for name in ("hardest_right", "margin"))
    assert asked == ["ease"]
    assert first == second > 0  # as if each had learnt it
    for name, choices in (("hardest_right", hard), ("margin", doubtful)):
        alone = select_with(task.split, task.learner, name, task.budgets, seed=task.seed, n_jobs=1)
        assert [c.rows.tolist() for c in choices] == [s.rows.tolist() for s in alone]
