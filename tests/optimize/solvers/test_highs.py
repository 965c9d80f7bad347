import warnings

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solver_cases import KINDS, assert_feasible, brute_force, distance, programs

from cdvm.attribution.implicit import ImplicitAttribution
from cdvm.errors import InputError
from cdvm.optimize.conditions import Conditions
from cdvm.optimize.program import Program
from cdvm.optimize.solvers.highs import _binding_penalties, solve_lp, solve_milp


def through_cvxpy(program):
    w = cp.Variable(program.n_rows)
    influence = program.attribution.dense().T @ w
    excess = cp.sum(cp.pos(influence - program.kappa))
    objective = cp.Maximize(program.alpha * cp.sum(influence) - (1 - program.alpha) * excess)
    return cp.Problem(objective, [w >= 0, w <= 1, cp.sum(w) == program.budget]).solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("alpha", [0.1, 0.5])
def test_linear_program_matches_cvxpy(kind, alpha):
    program = Program(KINDS[kind](np.random.default_rng(5), 50, 20), 8, alpha)
    for kappa in (0.0, 0.5 * program.kappa, program.kappa):
        other = program.replace(kappa=kappa)
        solution = solve_lp(other)
        assert_feasible(other, solution)
        assert solution.objective == pytest.approx(through_cvxpy(other), rel=1e-6, abs=1e-6)


@given(programs())
@settings(max_examples=60, deadline=None)
def test_linear_program_is_certified(program):
    solution = solve_lp(program)
    assert_feasible(program, solution)
    assert solution.status == "optimal"
    assert solution.gap <= 1e-6


@given(programs(max_rows=12, max_evaluation=6))
@settings(max_examples=50, deadline=None)
def test_mixed_integer_program_matches_brute_force(program):
    solution = solve_milp(program, gap=0.0)
    assert_feasible(program, solution)
    assert set(solution.weights) <= {0.0, 1.0}
    best = brute_force(program)
    assert solution.objective == pytest.approx(best, rel=1e-6, abs=1e-6)
    assert solution.bound == pytest.approx(best, rel=1e-5, abs=1e-5)
    assert solution.method == "milp"


def test_rows_that_must_and_may_not_be_kept_are_bounds_of_their_own():
    T = np.array([[4.0], [3.0], [2.0], [1.0]])
    for solver in (solve_lp, solve_milp):
        program = Program(T, 2, 1.0, 100.0, conditions=Conditions.of(4, keep=[3], drop=[0]))
        solution = solver(program)
        np.testing.assert_allclose(solution.weights, [0, 1, 0, 1], atol=1e-7)
        assert solution.objective == pytest.approx(4.0)
        assert solution.bound == pytest.approx(4.0)
        assert solution.multipliers.tolist() == [0.0]
        assert solution.status == "optimal"
        assert solution.method == ("highs" if solver is solve_lp else "milp")
        assert isinstance(solution.iterations, int)
        assert isinstance(solver(Program(T, 2)).iterations, int)
        cheap = Program(T, 3.0, 1.0, 100.0, conditions=Conditions.of(4, costs=[3.0, 2.0, 1.0, 1.0]))
        np.testing.assert_allclose(solver(cheap).weights, [0, 1, 1, 0], atol=1e-7)
        limited = Conditions.of(4, groups=list("aabb"), at_most={"a": 1}, at_least={"b": 1})
        np.testing.assert_allclose(
            solver(Program(T, 2, 1.0, 100.0, conditions=limited)).weights, [1, 0, 1, 0]
        )
        pairs = Conditions.of(4, together=list("xyxy"))
        np.testing.assert_allclose(solver(Program(T, 2, 1.0, 100.0, conditions=pairs)).weights, [1, 0, 1, 0])


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_a_cap_binds_whatever_the_size_of_the_entries(size):
    T = size * np.array([[2.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    program = Program(T, 2, 0.5, size, conditions=None)
    for solver in (solve_lp, solve_milp):
        solution = solver(program)
        # two rows of one kind heap 4 on one evaluation row, of which 1 is enough
        np.testing.assert_allclose(solution.weights.sum(), 2)
        assert solution.objective == pytest.approx(size * 1.0)
        assert solution.gap <= 1e-6
    fit = Program(T, 2, 0.5, size, conditions=Conditions.of(3, drop=[0]))
    for solver in (solve_lp, solve_milp):
        solution = solver(fit)
        np.testing.assert_allclose(solution.weights, [0, 1, 1], atol=1e-7)
        assert solution.objective == pytest.approx(size * (0.5 * 3 - 0.5 * 1))
        assert solution.bound == pytest.approx(solution.objective)


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3), st.floats(0.05, 1.0)), min_size=1, max_size=4),
    st.data(),
)
@settings(max_examples=40, deadline=None)
def test_no_cluster_is_emptied_when_the_cap_is_the_weakest_clusters_gain(clusters, data):
    """The paper's lemma: block T of gains tau_k > 0, kappa = min tau, S >= K, alpha = 1/2."""
    rows = np.repeat(np.arange(len(clusters)), [c[0] for c in clusters])
    evaluation = np.repeat(np.arange(len(clusters)), [c[1] for c in clusters])
    tau = np.array([c[2] for c in clusters])
    matrix = np.where(rows[:, None] == evaluation, tau[evaluation], 0.0)
    budget = data.draw(st.integers(len(clusters), len(rows)))
    program = Program(matrix, budget, alpha=0.5, kappa=float(tau.min()))
    kept = solve_milp(program, gap=0.0).weights > 0.5
    assert set(rows[kept]) == set(range(len(clusters)))


def test_relaxation_is_no_worse_than_the_exact_program():
    program = Program(KINDS["random"](np.random.default_rng(1), 12, 5), 4)
    assert solve_lp(program).objective >= brute_force(program) - 1e-9
    assert distance(program, solve_milp(program, gap=0.0).objective, brute_force(program)) <= 1e-6


@pytest.mark.parametrize("solver", [solve_lp, solve_milp])
def test_a_run_out_of_time_still_gives_a_set_and_a_bound(solver):
    program = Program(KINDS["random"](np.random.default_rng(1), 150, 60), 20)
    program = program.replace(kappa=0.3 * program.kappa)
    solution = solver(program, time_limit=1e-6)
    assert solution.status == "limit"
    assert_feasible(program, solution)
    assert solution.bound >= solve_lp(program).objective - 1e-9
    assert solution.objective <= solution.bound < np.inf


def test_time_limit_must_be_positive():
    with pytest.raises(InputError, match="time_limit=-1"):
        solve_lp(Program(np.eye(3), 1), time_limit=-1)
    with pytest.raises(InputError, match="time_limit=0"):
        solve_milp(Program(np.eye(3), 1), time_limit=0)


def test_weights_that_cannot_be_whole_are_refused():
    # one row of group a, and its two rows go together: half of each
    conditions = Conditions.of(
        4, groups=list("aabb"), at_least={"a": 1}, at_most={"a": 1}, together=list("xxyz")
    )
    program = Program(np.eye(4), 2, 1.0, 100.0, conditions=conditions)
    assert solve_lp(program).weights[:2].tolist() == pytest.approx([0.5, 0.5])
    with pytest.raises(InputError, match="cannot be met"):
        solve_milp(program)


def test_the_gap_asked_for_is_the_one_that_is_proven():
    program = Program(KINDS["random"](np.random.default_rng(1), 20, 8), 6, 0.3)
    program = program.replace(kappa=0.2 * program.kappa)
    exact, rough = solve_milp(program, gap=0.0), solve_milp(program, gap=0.5)
    assert exact.gap <= 1e-7
    assert 1e-3 < rough.gap <= 0.5
    assert (exact.status, rough.status) == ("optimal", "optimal")
    assert rough.bound >= exact.objective >= rough.objective
    assert solve_lp(program).iterations > 0


@pytest.mark.parametrize("alpha", [1e-8, 1e-6, 1e-3, 1e-2])
@pytest.mark.parametrize("kept", [None, Conditions.of(12, keep=[4])])
def test_a_small_alpha_is_solved_as_exactly_and_nothing_false_is_proven(alpha, kept):
    """The objective is then far below HiGHS' tolerances, and so is what they allow on evaluation rows."""
    for seed in range(5):
        T = np.random.default_rng(seed).normal(size=(12, 9))
        program = Program(T, 4, alpha, 2.0)
        best = brute_force(program, must=[] if kept is None else [4])
        solution = solve_milp(program.replace(conditions=kept))
        assert solution.objective == pytest.approx(best, rel=1e-4)
        assert solution.bound >= best * (1 - 1e-9)
        relaxed = solve_lp(program.replace(conditions=kept))
        assert relaxed.bound >= best * (1 - 1e-9)
        assert relaxed.gap <= 1e-6
        assert solution.status == "optimal" or alpha < 1e-3
        assert (solution.status == "optimal") == (
            solution.gap <= 1e-4 + 1e-6
        )  # what is not proven is not said


def test_a_slack_is_for_evaluation_rows_that_some_set_gives_too_much():
    T = np.array([[2.0, 1.0, -9.0, 3.0], [2.0, 1.0, -9.0, -3.0], [-8.0, 1.0, 2.0, -3.0]])
    # of two rows at most 4, 2, 2, 3
    for kappa, binding in ((1.9, 4), (2.0, 2), (3.5, 1), (4.0, 0)):
        assert _binding_penalties(Program(T, 2, 0.25, kappa)) == pytest.approx(0.75 * binding)
    weighted = Program(T, 2, 0.25, 2.0, importance=np.array([4.0, 1.0, 1.0, 2.0]))
    assert _binding_penalties(weighted) == pytest.approx(0.75 * (4 + 2))


@pytest.mark.parametrize("alpha", [5e-324, 1e-300, 1e-12])
def test_an_alpha_next_to_nothing_is_no_error(alpha):
    T = np.random.default_rng(0).normal(size=(9, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = solve_milp(Program(T, 3, alpha, 0.5))
    assert solution.weights.sum() == 3
    assert solution.bound >= solution.objective


def test_of_an_exact_program_nodes_are_told():
    program = Program(KINDS["random"](np.random.default_rng(1), 14, 9), 5)
    told = []
    for kept in (None, Conditions.of(14, keep=[3])):
        exact, relaxed = (solver(program.replace(conditions=kept)) for solver in (solve_milp, solve_lp))
        assert 0 <= exact.iterations < relaxed.iterations
        told.append(exact.iterations)
    assert max(told) == 1


def test_nothing_is_printed(capfd):
    for solver in (solve_lp, solve_milp):
        solver(Program(np.eye(3), 1))
    assert capfd.readouterr().out == ""


def test_an_implicit_attribution_is_solved_as_the_array_is(rng):
    implicit = ImplicitAttribution((rng.random((60, 20)) < 0.3).astype(float), rng.random((60, 8)) < 0.5)
    for solver in (solve_lp, solve_milp):
        found = solver(Program(implicit, 5, kappa=0.2))
        other = solver(Program(implicit.dense(), 5, kappa=0.2))
        assert found.objective == pytest.approx(other.objective)
        assert found.status == "optimal"


def test_programs_that_differ_by_a_power_of_two_are_solved_by_the_same_steps():
    T = KINDS["random"](np.random.default_rng(1), 40, 15)
    for solver in (solve_lp, solve_milp):
        plain = solver(Program(T[:15], 4, kappa=0.2))
        for unit in (2.0**-15, 2.0**15):
            other = solver(Program(unit * T[:15], 4, kappa=0.2 * unit))
            np.testing.assert_array_equal(other.weights, plain.weights)
            assert other.objective == unit * plain.objective
            assert other.bound == unit * plain.bound
