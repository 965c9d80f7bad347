from itertools import combinations

import numpy as np
import pytest

from cdvm import InputError, Program, solve
from cdvm.optimize.conditions import Conditions
from cdvm.optimize.feasibility import _distinct, can_be_met, conflict


def random_conditions(rng):
    n = int(rng.integers(5, 12))
    groups = rng.integers(0, 3, n)
    sizes = np.bincount(groups, minlength=3)
    low = {int(g): int(rng.integers(0, sizes[g] + 1)) for g in np.unique(groups)}
    high = {g: int(rng.integers(low[g], sizes[g] + 1)) for g in low}
    fixed = rng.random(n)
    given = {"keep": np.flatnonzero(fixed < 0.15), "drop": np.flatnonzero(fixed > 0.8)}
    return Conditions.of(n, groups=groups, at_least=low, at_most=high, **given), int(rng.integers(1, n + 1))


def sets_that_fulfil(conditions, budget):
    for rows in combinations(range(conditions.n_rows), budget):
        weights = np.zeros(conditions.n_rows)
        weights[list(rows)] = 1
        if conditions.satisfied(weights, budget):
            yield weights


def test_conditions_can_be_met_where_some_set_fulfils_them(rng):
    told = []
    for _ in range(60):
        conditions, budget = random_conditions(rng)
        expected = any(True for _ in sets_that_fulfil(conditions, budget))
        assert can_be_met(conditions, budget) == expected
        assert bool(conflict(conditions, budget)) != expected
        told.append(expected)
    assert 10 < sum(told) < 50


def test_of_a_conflict_nothing_can_be_left_out():
    labels = list("aaabbbccc")
    low = {"a": 2, "b": 2, "c": 1}
    found = conflict(Conditions.of(9, groups=labels, at_least=low, at_most={"c": 2}), 3)
    assert found == ["a budget of 3", "at_least=2 of group 'a'", "at_least=2 of group 'b'"]
    kept = conflict(Conditions.of(9, groups=labels, keep=[0, 1], at_most={"a": 1}, drop=[8]), 5)
    assert kept == ["keep= of 2 rows", "at_most=1 of group 'a'"]
    few = conflict(Conditions.of(9, groups=labels, drop=[0, 1], at_least={"a": 2}), 5)
    assert few == ["drop= of 2 rows", "at_least=2 of group 'a'"]
    dear = conflict(Conditions.of(9, costs=np.arange(1.0, 10.0), keep=[8]), 5.0)
    assert dear == ["spending of 5", "keep= of 1 rows for 9"]


@pytest.mark.parametrize("method", ["interior_point", "first_order", "column_generation", "highs", "milp"])
def test_every_solver_names_it(method, rng):
    conditions = Conditions.of(8, groups=list("aaaabbbb"), at_least=3)
    with pytest.raises(InputError, match=r"a budget of 5, at_least=3 of group 'a', at_least=3 of group 'b'"):
        solve(Program(rng.random((8, 5)), 5, conditions=conditions), method)


def test_conditions_on_some_rows_go_down_with_them():
    whole = Conditions.of(
        10, groups=list("aaaaabbbbb"), at_least={"a": 4}, at_most={"b": 3}, keep=[0, 1], drop=[2, 3]
    )
    part = whole.restricted(np.array([0, 1, 2, 3, 5]))
    assert part.keep.tolist() == [True, True, False, False, False]
    assert part.low.tolist() == [2.0, 0.0]
    assert part.high.tolist() == [3.0, 2.0]
    assert whole.restricted(np.array([2, 3, 5, 6, 7])).low.tolist() == [0.0, 0.0]


def test_the_largest_of_the_limits_in_conflict_are_named():
    low = {"a": 3, "b": 2, "c": 2}  # any two of them are more than the budget, and the first two say so best
    found = conflict(Conditions.of(9, groups=list("aaabbbccc"), at_least=low), 3)
    assert found == ["a budget of 3", "at_least=3 of group 'a'", "at_least=2 of group 'c'"]
    high = {"a": 0, "b": 1}  # each of them is too little, and the smaller says so best
    found = conflict(Conditions.of(9, groups=list("aaabbbccc"), at_most=high), 8)
    assert found == ["a budget of 8", "at_most=0 of group 'a'"]


@pytest.mark.parametrize("unit", [1.0, 1e9])
def test_what_costs_add_up_to_may_be_spent(unit):
    costs = unit * np.array([0.1, 0.2, 0.3, 0.4, 0.7])
    every = Conditions.of(5, costs=costs, keep=np.arange(5))
    for spend in (costs.sum(), costs[::-1].cumsum()[-1], costs.sum() * (1 - 1e-15)):
        assert can_be_met(every, spend)
    assert not can_be_met(every, 0.999 * costs.sum())


def test_lines_that_differ_are_told_apart_however_little():
    lines = np.array(
        [[1e20, 0.0], [1e20, 1.0], [1e20, 0.0], [2.0, 1.0]]
    )  # the sums of the first are the same
    for some in (lines, lines[2:], np.arange(12.0).reshape(6, 2) % 5):
        expected, times = np.unique(some, axis=0, return_counts=True)
        found, many = _distinct(some)
        order = np.lexsort(found.T[::-1])
        np.testing.assert_array_equal(found[order], expected)
        np.testing.assert_array_equal(many[order], times)
