import numpy as np
import pytest
from condition_cases import random_program, relaxed_optimum

from cdvm import InputError, Program, swap_search, top_rows
from cdvm.optimize.conditions import Conditions


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"keep": [0, 1], "drop": [1]}, "keep and drop both name row 1"),
        ({"keep": [9]}, r"keep names a row outside 0\.\.5"),
        ({"keep": [0.5]}, "keep: pass positions of rows"),
        ({"groups": list("ab")}, "groups has 2 labels: use one for each of 6 rows"),
        ({"at_least": 1}, "name them with groups="),
        ({"groups": list("aaabbb"), "at_least": {"c": 1}}, "names group 'c', which no row belongs to"),
        ({"groups": list("aaabbb"), "at_least": 4}, "at_least=4 for group 'a', which has 3 rows"),
        ({"groups": list("aaabbb"), "at_least": 1.5}, "use a whole number of rows, or a fraction"),
        ({"groups": list("aaabbb"), "at_most": -1}, "use at least 0 rows"),
        ({"groups": list("aaabbb"), "at_least": 2, "at_most": 1}, "at_most= allows 1"),
        ({"costs": [1, 2]}, "one number for each of 6 rows"),
        ({"costs": [1, 2, 3, 4, 5, -1]}, "row 5 costs -1.0; use finite numbers above 0"),
        ({"costs": [1, 2, 3, 4, 5, np.nan]}, "row 5 costs nan"),
    ],
)
def test_a_condition_that_cannot_be_is_named(given, words):
    with pytest.raises(InputError, match=words):
        Conditions.of(6, **given)


def test_rows_that_go_together_cannot_be_kept_and_dropped():
    conditions = Conditions.of(4, together=["x", "x", None, None], keep=[0], drop=[1])
    with pytest.raises(InputError, match="row 0 must be kept and row 1 dropped, but they go together"):
        _ = conditions.fixed


def test_limits_are_numbers_or_fractions_of_a_group():
    conditions = Conditions.of(10, groups=["a"] * 8 + ["b"] * 2, at_least=0.25, at_most={"a": 5})
    assert conditions.low.tolist() == [2, 0]  # a quarter of two rows is rounded to even
    assert conditions.high.tolist() == [5, 2]


def test_a_missing_label_belongs_to_no_group_and_stands_for_itself():
    conditions = Conditions.of(5, groups=["a", None, "a", np.nan, "b"], together=["x", None, "x", None, None])
    assert conditions.membership.toarray().tolist() == [[1, 0], [0, 0], [1, 0], [0, 0], [0, 1]]
    assert len(np.unique(conditions.block)) == 4
    assert conditions.block[0] == conditions.block[2]


def test_rounded_and_exchanged_rows_fulfil_the_conditions():
    tried = gained = 0
    for seed in range(80):
        program = random_program(seed)
        if relaxed_optimum(program) is None:
            continue
        conditions = program.conditions
        weights = np.random.default_rng(seed).random(program.n_rows)
        try:
            rows = top_rows(program, weights)
        except InputError:  # a greedy way to blocks of several groups may end nowhere
            continue
        better = swap_search(program, rows)
        tried += 1
        for found in (rows, better):
            chosen = np.zeros(program.n_rows)
            chosen[found] = 1.0
            assert conditions.satisfied(chosen, program.budget), seed
        values = [program.objective(np.isin(np.arange(program.n_rows), r) * 1.0) for r in (rows, better)]
        assert values[1] >= values[0]
        gained += values[1] > values[0]
    assert tried > 40
    assert gained > tried / 2


def test_what_is_spent_is_what_may_be():
    with pytest.raises(InputError, match="budget=0: where rows have costs, use what may be spent"):
        Program(np.eye(3), 0, conditions=Conditions.of(3, costs=[1, 2, 3]))
    assert Program(np.eye(3), 3.5, conditions=Conditions.of(3, costs=[1, 2, 3])).n_needed == 2
