import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog

from cdvm import Program
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
