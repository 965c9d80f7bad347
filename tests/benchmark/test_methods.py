import numpy as np
import pytest
from benchmark_frames import TINY

from cdvm.benchmark.methods import PAPER_METHODS, get_method
from cdvm.benchmark.protocol import get_protocol
from cdvm.benchmark.task import Task
from cdvm.errors import InputError
from cdvm.selectors import InfluenceProgram
from cdvm.valuation.influence import influence_vectors


@pytest.mark.parametrize(("name", "by"), [("InfOpt", "accuracy"), ("InfOpt-val", "validation")])
def test_influence_optimisation_is_the_best_of_its_sets(name, by):
    task = Task(get_protocol("paper").replace(budgets=(20, 40), train=80, validation=40, test=40), "wine", 0)
    program = InfluenceProgram(influence_vectors(task.split, "logistic", damping=0.01))
    choices, _ = get_method(name).run(task)
    for choice in choices:
        sets = [
            program.solve(size).keep(choice.budget, reverse=reverse, seed=task.seed)
            for size in (20, 40)
            for reverse in (False, True)
        ]
        scores = task.scored([choice.rows, *sets])[by]
        assert len(choice.rows) == choice.budget
        assert scores[0] == scores[1:].max()
        assert len(np.unique(scores[1:])) > 1


@pytest.mark.parametrize(
    "name", [*PAPER_METHODS, "CDVM+refine", "DataOOB-high", "CDVM1k-p10", "CDVM1k@20", "herding"]
)
def test_every_method_answers_for_every_budget(name):
    task = Task(TINY, "wine", 0)
    method = get_method(name)
    choices, seconds = method.run(task)
    wanted = [80] if name == "All" else [8, 16]
    assert sorted({c.budget for c in choices}) == wanted
    assert all(len(np.unique(c.rows)) == c.budget for c in choices)
    assert seconds >= 0


def test_data_oob_from_both_ends_keeps_other_rows():
    task = Task(TINY, "wine", 0)
    low, high = (get_method(name).run(task)[0][0].rows for name in ("DataOOB", "DataOOB-high"))
    assert not set(low) & set(high)


def test_repetitions_on_one_split_share_their_influence_program(monkeypatch):
    asked = []

    def noting(split, *args, **options):
        asked.append(split)
        return influence_vectors(split, *args, **options)

    monkeypatch.setattr("cdvm.valuation.influence.influence_vectors", noting)
    fixed, anew = TINY.replace(split_seed=7, name="fixed"), TINY.replace(name="anew")
    for protocol, expected in ((fixed, 1), (anew, 2)):
        asked.clear()
        for repetition in (0, 1):
            get_method("InfOpt").run(Task(protocol, "wine", repetition))
        assert len(asked) == expected


def test_followed_set_contains_the_smaller_and_lies_in_the_larger():
    task = Task(TINY.replace(budgets=(4, 8, 16, 40)), "wine", 0)
    kept = [set(c.rows) for c in get_method("CDVM1k@10").run(task)[0]]
    assert kept[0] < kept[1] < kept[2] < kept[3]


def test_unknown_method_names_the_nearest():
    with pytest.raises(InputError, match="Banzhaf"):
        get_method("Banzaf")
