import os

import numpy as np
import pytest
from condition_cases import best_set, random_program, relaxed_optimum, rows_of_program
from scipy.optimize import linprog

from cdvm import ImplicitAttribution, InputError, Program, solve
from cdvm.optimize.conditions import Conditions
from cdvm.optimize.solvers.conditioned import _repaired, solve_conditioned
from cdvm.optimize.solvers.interior_point import solve_interior_point

MANY = int(os.environ.get("CDVM_FUZZ", "60"))
SOLVERS = {
    "interior_point": {},
    "first_order": {"tolerance": 2e-7},
    "column_generation": {},
    "highs": {},
}


@pytest.mark.parametrize("method", SOLVERS)
def test_solvers_agree_with_a_program_written_down_row_by_row(method):
    tried = 0
    for seed in range(MANY):
        program = random_program(seed)
        optimum = relaxed_optimum(program)
        if optimum is None:
            with pytest.raises(InputError, match="cannot be met"):
                solve(program, "highs")
            continue
        tried += 1
        solution = solve(program, method, **SOLVERS[method])
        assert program.conditions.satisfied(solution.weights, program.budget, 1e-6), seed
        unit = max(abs(optimum), 1e-6 * program._scale)
        assert abs(solution.objective - optimum) <= 1e-6 * unit, seed
        assert solution.bound >= optimum - 1e-9 * unit, seed
        assert solution.objective == pytest.approx(program.objective(solution.weights))
        assert solution.multipliers.shape == (program.n_evaluation,)
        assert (solution.multipliers >= 0).all()
        assert (solution.multipliers <= program.penalties).all()
    assert tried > MANY / 2


def test_the_exact_program_equals_brute_force():
    tried = 0
    for seed in range(MANY // 2):
        program = random_program(1000 + seed, most_rows=10)
        expected = best_set(program)
        if expected is None:
            continue
        solution = solve(program, "milp", gap=1e-9)
        tried += 1
        unit = max(abs(expected), 1e-6 * program._scale)
        assert np.isin(solution.weights, [0.0, 1.0]).all()
        assert abs(solution.objective - expected) <= 1e-6 * unit, seed
        assert solution.bound >= expected - 1e-6 * unit, seed
    assert tried > MANY / 6


def test_an_implicit_attribution_is_solved_as_the_array_is(rng):
    members = rng.random((400, 60)) < 0.3
    implicit = ImplicitAttribution(members.astype(float), rng.random((400, 20)) < 0.5)
    conditions = Conditions.of(60, groups=np.arange(60) % 3, at_least=4, at_most={0: 5}, keep=[7], drop=[8])
    one = Program(implicit, 15, kappa=0.2, conditions=conditions)
    other = Program(implicit.dense(), 15, kappa=0.2, conditions=conditions)
    for method in ("first_order", "column_generation"):
        found = solve(one, method, tolerance=1e-5)
        assert conditions.satisfied(found.weights, 15)
        assert found.objective == pytest.approx(solve(other, "highs").objective, rel=1e-4)


def test_a_price_is_what_one_more_row_of_a_group_is_worth():
    T = np.array([[4.0], [3.0], [2.0], [1.0]])
    conditions = Conditions.of(4, groups=list("aabb"), at_most={"a": 1})
    program = Program(T, 2, alpha=1.0, kappa=100.0, conditions=conditions)
    for method in ("interior_point", "highs"):
        found = solve(program, method)
        np.testing.assert_allclose(found.weights, [1, 0, 1, 0], atol=1e-6)
        assert list(found.prices) == [("a", "at_most")]
        # one more lets 3 in for 2, one fewer puts 1 in the place of 4
        assert 1 - 1e-5 <= found.prices["a", "at_most"] <= 3 + 1e-5
    free = solve(program.replace(conditions=Conditions.of(4, groups=list("aabb"))))
    assert free.prices == {}
    loose = program.replace(conditions=Conditions.of(4, groups=list("aabb"), at_most={"b": 1}))
    for method in ("highs", "first_order"):
        assert solve(loose, method).prices == {}


def test_equal_spending_buys_what_is_worth_most_for_its_price():
    T = np.array([[6.0], [5.0], [4.0], [1.0]])
    conditions = Conditions.of(4, costs=[6.0, 2.0, 2.0, 2.0])
    found = solve(Program(T, 4.0, alpha=1.0, kappa=100.0, conditions=conditions), "highs")
    np.testing.assert_allclose(found.weights, [0, 1, 1, 0], atol=1e-7)


def test_evaluation_rows_count_as_much_as_they_are_important():
    T = np.eye(3)
    found = solve(Program(T, 1, kappa=10.0, importance=[1.0, 5.0, 2.0]))
    np.testing.assert_allclose(found.weights, [0, 1, 0], atol=1e-6)
    with pytest.raises(InputError, match="importance: use 3 finite numbers of at least 0"):
        Program(T, 1, importance=[1.0, -1.0, 2.0])


def nearest(program, blocks):
    """How far the nearest feasible weights of blocks are, by a program over rows, if there are any."""
    above, limits, equal, values, bounds = rows_of_program(program)
    members, n, k = program.conditions.members.toarray(), program.n_rows, len(blocks)
    first = (members / np.maximum(members.sum(axis=1, keepdims=True), 1)).reshape(
        k, n
    )  # rows of a block are alike
    wide = np.zeros(k)
    found = linprog(
        np.r_[np.zeros(n), np.ones(k)],
        A_ub=np.array(
            [np.r_[row, wide] for row in above]
            + [np.r_[first[b], -np.eye(k)[b]] for b in range(k)]
            + [np.r_[-first[b], -np.eye(k)[b]] for b in range(k)]
        ),
        b_ub=np.r_[limits, blocks, -blocks],
        A_eq=np.array([np.r_[row, wide] for row in equal]) if equal else None,
        b_eq=values or None,
        bounds=[*bounds, *[(0, None)] * k],
        method="highs",
    )
    return None if found.x is None else found.fun


def test_weights_that_miss_the_conditions_are_moved_to_the_nearest_that_do_not():
    moved = 0
    for seed in range(MANY):
        program = random_program(seed)
        rng = np.random.default_rng(seed)
        blocks = rng.random(program.conditions.members.shape[0])
        expected = nearest(program, blocks)
        if expected is None:
            with pytest.raises(InputError, match="cannot be met"):
                _repaired(program, blocks)
            continue
        found = _repaired(program, blocks)
        rows = np.asarray(found @ program.conditions.members)
        assert program.conditions.satisfied(rows, program.budget, 1e-6), seed
        assert np.abs(found - blocks).sum() == pytest.approx(expected, abs=1e-6), seed
        moved += expected > 1e-6
        np.testing.assert_allclose(_repaired(program, found), found, atol=1e-8)
    assert moved > MANY / 2


def test_what_meeting_the_conditions_costs_is_told():
    """A solver that forgets the limits finds too much, and what is left of it is no longer optimal."""
    T = np.array([[4.0], [3.0], [2.0], [1.0]])
    conditions = Conditions.of(4, groups=list("aabb"), at_most={"a": 1})
    program = Program(T, 2, alpha=1.0, kappa=100.0, conditions=conditions)

    def forgetful(reduced, **options):
        return solve_interior_point(reduced.penalised(np.array([1]), 0.0), **options)

    found = solve_conditioned(program, forgetful, tolerance=1e-9)
    assert conditions.satisfied(found.weights, 2)
    assert found.status == "limit"
    assert found.bound == pytest.approx(7.0)
    assert found.gap == pytest.approx(1 - found.objective / 7)
    assert solve_conditioned(program, solve_interior_point).status == "optimal"


@pytest.mark.parametrize("method", ["interior_point", "highs", "first_order"])
def test_every_limit_has_its_own_price(method):
    T = np.array([[4.0], [3.0], [3.5], [2.5], [1.0], [0.5]])
    conditions = Conditions.of(6, groups=list("aabbcc"), at_most={"a": 1, "b": 1})
    found = solve(Program(T, 3, alpha=1.0, kappa=100.0, conditions=conditions), method)
    np.testing.assert_allclose(found.weights, [1, 0, 1, 0, 1, 0], atol=1e-6)
    # one more lets a row in for the 1, one fewer puts the 0.5 in its place
    assert 2 - 1e-5 <= found.prices["a", "at_most"] <= 3.5 + 1e-5
    assert 1.5 - 1e-5 <= found.prices["b", "at_most"] <= 3 + 1e-5
    assert found.multipliers.tolist() == [0.0]


@pytest.mark.parametrize("method", ["interior_point", "highs", "first_order", "milp"])
def test_rows_that_do_harm_are_kept_only_where_the_budget_asks_for_them(method):
    T = np.array([[-4.0], [-1.0], [-2.0], [-3.0]])
    exact = Program(T, 2, alpha=1.0, kappa=100.0, conditions=Conditions.of(4, drop=[0]))
    np.testing.assert_allclose(solve(exact, method).weights, [0, 1, 1, 0], atol=1e-6)
    priced = Program(T, 2.0, alpha=1.0, kappa=100.0, conditions=Conditions.of(4, costs=np.ones(4)))
    np.testing.assert_allclose(solve(priced, method).weights, [0, 0, 0, 0], atol=1e-6)
