from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from cdvm import ImplicitAttribution, Program
from cdvm.optimize.conditions import Conditions
from cdvm.optimize.feasibility import can_be_met
from cdvm.optimize.grouped import can_be_grouped, group_program


def draw(seed):
    """A program on groups, some rows of which are in none, with limits that can be met."""
    rng = np.random.default_rng(seed)
    n, size = int(rng.integers(6, 30)), 0
    size = int(rng.integers(1, n))
    groups = [None if g == 3 else int(g) for g in rng.integers(0, 4, n)]
    low = {g: int(rng.integers(0, 1 + min(groups.count(g), size // 4))) for g in range(3) if g in groups}
    high = {g: int(rng.integers(max(low[g], 1), groups.count(g) + 1)) for g in low}
    conditions = Conditions.of(n, groups=groups, at_least=low, at_most=high)
    return Program(rng.normal(size=(n, 4)), size, kappa=0.5, conditions=conditions), rng


def feasible(seed):
    program, rng = draw(seed)
    if not can_be_met(program.conditions, program.budget):
        return None
    return program, group_program(program).program, rng


@pytest.mark.parametrize("seed", [seed for seed in range(40) if feasible(seed) is not None])
def test_projection_and_largest_total_are_those_of_general_solvers(seed):
    program, grouped, rng = feasible(seed)
    n, c = program.n_rows, program.conditions
    member = c.membership.toarray().T
    z = 2 * rng.normal(size=n)
    w = cp.Variable(n)
    limits = [w >= 0, w <= 1, cp.sum(w) == program.budget, member @ w >= c.low, member @ w <= c.high]
    cp.Problem(cp.Minimize(cp.sum_squares(w - z)), limits).solve(solver="CLARABEL")
    projected, shift = grouped.project(z)
    assert c.satisfied(projected, program.budget, 1e-10)
    assert ((projected - z) ** 2).sum() <= ((w.value - z) ** 2).sum() + 1e-9  # no farther than theirs
    np.testing.assert_allclose(projected, w.value, atol=1e-4)
    np.testing.assert_allclose(grouped.project(z, shift + 0.1)[0], projected, atol=1e-9)
    best = linprog(
        -z,
        A_ub=np.concatenate([member, -member]),
        b_ub=np.r_[c.high, -c.low],
        A_eq=np.ones((1, n)),
        b_eq=[program.budget],
        bounds=[(0, 1)] * n,
        method="highs",
    )
    assert grouped._fill(z) @ z == pytest.approx(-best.fun)
    assert c.satisfied(grouped._fill(z), program.budget)
    assert c.satisfied(grouped.uniform(), program.budget)


def best_total(values, conditions, budget):
    """The largest total value of a set, group by group; -inf where there is none."""
    member = conditions.membership.toarray() > 0
    limits = [*zip(member.T, conditions.low, conditions.high, strict=True)]
    limits.append((~member.any(axis=1), 0, len(values)))  # rows of no group
    best = np.r_[0.0, np.full(budget, -np.inf)]  # by the number of rows taken so far
    for own, low, high in limits:
        sums = np.r_[0.0, np.cumsum(-np.sort(-values[own]))]
        before, best = best, np.full(budget + 1, -np.inf)
        for count in range(max(0, int(low)), int(min(high, own.sum(), budget)) + 1):
            best[count:] = np.maximum(best[count:], before[: budget + 1 - count] + sums[count])
    return best[budget]


def test_the_level_is_what_the_last_row_of_the_budget_gains():
    tried = 0
    for seed in range(40):
        if (made := feasible(seed)) is None:
            continue
        program, grouped, rng = made
        values = rng.normal(size=program.n_rows)
        less = best_total(values, program.conditions, program.budget - 1)
        if np.isinf(less):
            continue
        tried += 1
        whole = best_total(values, program.conditions, program.budget)
        assert grouped.level(values) == pytest.approx(whole - less), seed
    assert tried > 10


def test_the_price_of_a_limit_lies_between_one_row_more_and_one_fewer():
    tried = {"at_most": 0, "at_least": 0}
    for seed in range(80):
        program, rng = draw(seed)
        c = program.conditions
        T = rng.normal(size=(program.n_rows, 1))
        if np.isinf(whole := best_total(T[:, 0], c, program.budget)):
            continue
        reduced = group_program(Program(T, program.budget, alpha=1.0, kappa=1e3, conditions=c))
        told = reduced.prices(np.zeros(1))
        for g, name in enumerate(c.names):
            for word, limit in (("at_most", c.high), ("at_least", c.low)):
                sides = []
                for step in (1, -1):
                    moved = limit.copy()
                    moved[g] += step
                    other = replace(c, **{"high" if word == "at_most" else "low": moved})
                    sides.append(best_total(T[:, 0], other, program.budget) - whole)
                sign = 1 if word == "at_most" else -1  # loosened upwards, or downwards
                gained, lost = sides[::sign]
                price = told.get((name, word), 0.0)
                assert gained - 1e-9 <= price <= -lost + 1e-9 or price == 0.0, seed
                assert (gained > 1e-9) <= (price > 0), seed
                tried[word] += price > 0
    assert min(tried.values()) > 5


def test_groups_that_overlap_and_budgets_that_may_stay_below_cannot_be():
    plain = Conditions.of(4, groups=list("aabb"), at_most=1)
    assert can_be_grouped(plain)
    assert not can_be_grouped(plain.with_least(np.array([0, 1, 0, 1]), np.array([1, 1]), ["x", "y"]))
    assert not can_be_grouped(Conditions.of(4, costs=[1, 2, 3, 4]))
    assert not can_be_grouped(Conditions.of(4, together=list("aabc")))


def test_prices_lie_between_one_row_more_and_one_row_fewer():
    T = np.array([[4.0], [3.0], [2.0], [1.0]])
    conditions = Conditions.of(4, groups=list("aabb"), at_most={"a": 1})
    reduced = group_program(Program(T, 2, alpha=1.0, kappa=100.0, conditions=conditions))
    assert reduced.prices(np.zeros(1)) == {("a", "at_most"): 1.0}
    least = Conditions.of(4, groups=list("aabb"), at_least={"b": 1})
    reduced = group_program(Program(T, 2, alpha=1.0, kappa=100.0, conditions=least))
    assert reduced.prices(np.zeros(1)) == {("b", "at_least"): 2.0}  # 4 in the place of 2


@pytest.mark.parametrize("kind", ["array", "models"])
def test_rows_that_are_kept_or_dropped_leave_the_program(kind):
    tried = 0
    for seed in range(40):
        program, rng = draw(seed)
        c, n = program.conditions, program.n_rows
        fixed = rng.permutation(n)[: n // 3]
        keep, drop = fixed[::3], np.r_[fixed[1::3], fixed[2::3]]
        keep_mask, drop_mask = (np.isin(np.arange(n), rows) for rows in (keep, drop))
        c = replace(c, keep=keep_mask, drop=drop_mask)
        T = rng.normal(size=(n, 3))
        if kind == "models":
            T = ImplicitAttribution((rng.random((50, n)) < 0.4).astype(float), rng.random((50, 3)) < 0.5)
        whole = Program(T, program.budget, alpha=1.0, kappa=1e3, conditions=c)
        values = whole.gains
        sure = values + 1e3 * keep_mask - 1e3 * drop_mask  # kept at any price, dropped at any price
        expected = best_total(sure, c, program.budget) - 1e3 * len(keep)
        if abs(expected) > 500 or not can_be_met(c, program.budget):
            continue
        tried += 1
        reduced = group_program(whole)
        inner = reduced.program
        assert reduced.free.tolist() == np.flatnonzero(~keep_mask & ~drop_mask).tolist()
        assert reduced.kept.tolist() == np.sort(keep).tolist()
        dense = whole.attribution.dense()
        np.testing.assert_allclose(inner.attribution.dense(), dense[reduced.free], atol=1e-6)
        found = reduced.weights(inner.greedy())
        assert c.satisfied(found, program.budget), seed
        assert whole.objective(found) == pytest.approx(expected, abs=1e-4)
        assert reduced.constant + inner.objective(inner.greedy()) == pytest.approx(expected, abs=1e-4)
    assert tried > 8


@pytest.mark.parametrize("as_matrix", [np.asarray, sparse.csr_array])
def test_as_many_rows_as_evaluation_rows_may_be_left(as_matrix):
    T = np.arange(24.0).reshape(6, 4)
    conditions = Conditions.of(6, keep=[1], drop=[3])
    reduced = group_program(Program(as_matrix(T), 3, conditions=conditions))
    np.testing.assert_array_equal(reduced.program.attribution.dense(), T[[0, 2, 4, 5]])


def test_evaluation_rows_count_as_much_as_they_are_important(rng):
    T, importance = rng.normal(size=(8, 3)), np.array([0.5, 2.0, 1.0])
    conditions = Conditions.of(8, groups=list("aaaabbbb"), at_most={"a": 2}, keep=[1], drop=[6])
    program = Program(T, 4, alpha=0.3, kappa=0.4, importance=importance, conditions=conditions)
    reduced = group_program(program)
    for _ in range(5):
        w = reduced.program.project(rng.normal(size=6))[0]
        found = reduced.constant + reduced.program.objective(w)
        assert found == pytest.approx(program.objective(reduced.weights(w)))


@pytest.mark.parametrize(("passes", "off"), [(6, None), (3, 0.02)])
def test_few_passes_are_enough(passes, off, monkeypatch):
    cases = []
    for made in filter(None, map(feasible, range(40))):
        _, grouped, rng = made
        z = 2 * rng.normal(size=grouped.n_rows)
        weights, shift = grouped.project(z)
        cases.append((grouped, z, None if off is None else shift + off, weights))
    monkeypatch.setattr("cdvm.optimize.grouped._PASSES", passes)
    for grouped, z, start, weights in cases:
        np.testing.assert_allclose(grouped.project(z, start)[0], weights, atol=1e-12)


def test_a_start_from_which_no_weight_would_move_is_left():
    conditions = Conditions.of(4, groups=list("abab"), at_most=1, at_least={"a": 1})
    grouped = group_program(Program(np.ones((4, 1)), 2, conditions=conditions)).program
    found = grouped.project(np.array([5.0, 0.0, -5.0, -10.0]), 2.0)[0]
    np.testing.assert_allclose(found, [1.0, 1.0, 0.0, 0.0], atol=1e-12)
