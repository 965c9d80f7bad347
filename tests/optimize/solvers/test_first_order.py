"""First order: its gap is a proof, its weights are feasible, its limits are honest."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from cdvm.attribution.base import Attribution, MatrixAttribution
from cdvm.attribution.implicit import ImplicitAttribution
from cdvm.errors import InputError
from cdvm.optimize.program import Program
from cdvm.optimize.solvers.first_order import _Point, _Run, solve_first_order
from cdvm.optimize.solvers.highs import solve_lp
from cdvm.optimize.solvers.projection import project


def make(kind: str, n: int, m: int, seed: int) -> Attribution:
    rng = np.random.default_rng(seed)
    if kind == "implicit":
        members = sparse.csr_array(rng.random((40, n)) < 0.3)
        return ImplicitAttribution(members, (rng.random((40, m)) < 0.6).astype(np.uint8))
    matrix = rng.normal(0.01, 0.05, (n, m))
    if kind == "dense":
        return MatrixAttribution(matrix)
    matrix[rng.random((n, m)) < 0.7] = 0.0
    dtype = np.float32 if kind == "sparse32" else np.float64
    return MatrixAttribution(sparse.csr_array(matrix.astype(dtype)))


def assert_feasible(weights: np.ndarray, size: int) -> None:
    assert weights.min() >= 0
    assert weights.max() <= 1
    assert abs(weights.sum() - size) <= 1e-9


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(["dense", "sparse", "sparse32", "implicit"]),
    n=st.integers(1, 40),
    m=st.integers(1, 25),
    fraction=st.floats(0, 1),
    alpha=st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]),
    factor=st.sampled_from([0.0, 0.3, 1.0, 2.0]),
    iterations=st.sampled_from([1, 7, 40, 3000]),
    seed=st.integers(0, 10_000),
)
def test_gap_bounds_the_distance_to_highs_optimum(kind, n, m, fraction, alpha, factor, iterations, seed):
    attribution = make(kind, n, m, seed)
    program = Program(attribution, budget=max(1, round(fraction * n)), alpha=alpha)
    program = program.replace(kappa=factor * program.kappa)
    solution = solve_first_order(program, max_iterations=iterations)
    optimum = solve_lp(program).objective
    slack = 1e-6 * max(1.0, float(np.abs(program.gains).sum()))  # single precision, before it cancels
    assert_feasible(solution.weights, program.budget)
    assert solution.objective <= optimum + slack
    assert solution.bound >= optimum - slack
    assert solution.gap == pytest.approx(program.gap(solution.objective, solution.bound), abs=1e-12)
    assert (solution.status == "optimal") == (solution.gap <= 1e-2)
    assert solution.iterations <= iterations


@pytest.mark.parametrize("kind", ["dense", "sparse", "sparse32", "implicit"])
def test_reaches_a_tight_gap(kind):
    program = Program(make(kind, 80, 30, 3), budget=12)
    program = program.replace(kappa=0.5 * program.kappa)
    solution = solve_first_order(program, tolerance=1e-4, max_iterations=20_000)
    assert solution.status == "optimal"
    assert solution.gap <= 1e-4
    assert solution.objective == pytest.approx(solve_lp(program).objective, rel=1.1e-4)


def test_rebalanced_restarts_save_iterations():
    # 2,280 as it is; 19,790 without rebalancing, 9,250 without drawing back to the last restart
    iterations = 0
    for alpha, density in itertools.product([0.1, 0.02], [1.0, 0.2]):
        rng = np.random.default_rng(3)
        matrix = rng.normal(0.02, 0.1, (150, 60)) * (rng.random((150, 60)) < density)
        program = Program(matrix, budget=3, alpha=alpha)
        program = program.replace(kappa=0.5 * program.kappa)
        iterations += solve_first_order(program, tolerance=1e-4, max_iterations=20_000).iterations
    assert iterations <= 3_000


def test_step_lengths_follow_the_norms_of_the_attribution():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(400, 30)) * np.logspace(-2, 0, 30)
    run = _Run(Program(matrix, budget=40, alpha=0.3))
    run.scale(np.inf)
    centred = matrix - matrix.mean(axis=0)  # weights always sum to the budget
    columns = np.linalg.norm(centred, axis=0)
    ratio = np.log(run.steps * columns**1.5)  # norms are estimated from ten products
    assert np.abs(ratio).max() < 1.5
    assert abs(ratio.mean()) < 0.25
    norm = np.linalg.norm(centred * np.sqrt(run.steps), 2)
    assert norm <= run.norm <= 1.05 * norm
    # either side moves as far as the sets of weights and multipliers are wide
    assert run.balance == pytest.approx(0.5 * 0.7 * np.sqrt((1 / run.steps).sum()) / np.sqrt(40 * 0.9))


def test_a_column_without_entries_has_a_step_length_too():
    for unit in (1e-3, 1.0, 1e3):
        matrix = np.random.default_rng(0).normal(size=(50, 4)) * [unit, 0.0, unit, unit]
        run = _Run(Program(matrix, budget=5))
        run.scale(np.inf)
        assert run.steps[1] == pytest.approx((1e-3 * run.steps.min() ** (-1 / 1.5)) ** -1.5)
    empty = _Run(Program(np.zeros((50, 4)), budget=5))
    empty.scale(np.inf)
    assert empty.steps.tolist() == [1.0] * 4
    assert empty.norm == 1.0


def test_distances_weigh_rows_against_evaluation_rows():
    run = _Run(Program(np.ones((3, 2)), budget=1))
    run.steps, run.balance = np.array([0.5, 4.0]), 2.0
    one = _Point(np.array([1.0, 1.0, 1.0]), np.array([3.0, 3.0]), np.zeros(2), np.zeros(3))
    other = _Point(np.array([2.0, -1.0, 4.0]), np.array([5.0, -3.0]), np.zeros(2), np.zeros(3))
    assert run._length(one, other) == pytest.approx(np.sqrt(2.0 * 14.0 + (4 / 0.5 + 36 / 4) / 2.0))
    run._rebalance(other, one)
    assert run.balance == pytest.approx(np.sqrt(2.0 * np.sqrt(17.0 / 14.0)))


def test_a_step_is_that_of_the_primal_dual_method():
    rng = np.random.default_rng(0)
    T = rng.normal(size=(30, 6))
    run = _Run(Program(T, budget=7, alpha=0.3, kappa=0.4))
    run.start(None)
    run.scale(np.inf)
    w, lam = run.program.project(rng.random(30))[0], rng.uniform(0, 0.7, 6)
    run.point = _Point(w, lam, w @ T, T @ lam)
    norm, balance = run.norm, run.balance
    tau, sigma = 1 / (norm * balance), balance / norm
    new, _ = run._step(None)
    ahead = project(w + tau * (0.3 * T.sum(axis=1) - T @ lam), 7)[0]
    np.testing.assert_allclose(new.w, ahead, atol=1e-12)
    lam_ahead = np.clip(lam + sigma * run.steps * ((2 * ahead - w) @ T - 0.4), 0, 0.7)
    np.testing.assert_allclose(new.lam, lam_ahead, atol=1e-12)
    np.testing.assert_allclose(new.v, new.w @ T, atol=1e-12)
    np.testing.assert_allclose(new.t_lam, T @ new.lam, atol=1e-12)
    assert run.norm == norm
    # the norm of the products cannot be below what one of them shows
    run.norm = 1e-3 * norm
    new, _ = run._step(None)
    moved = abs((new.lam - lam) @ T.T @ (new.w - w))
    assert run.norm == pytest.approx(1.02 * 2 * moved / run._length(new, run.point) ** 2)


@pytest.mark.parametrize(
    ("matrix", "options"),
    [
        (np.zeros((6, 4)), {"budget": 2}),
        (np.full((6, 4), 0.3), {"budget": 2, "kappa": 0.1}),
        (np.full((6, 4), -0.3), {"budget": 2, "kappa": 0.1}),
        (np.array([[0.3, 0.1]]), {"budget": 1, "kappa": 0.0}),
        (np.arange(12.0).reshape(6, 2), {"budget": 6, "kappa": 3.0}),
        (np.arange(12.0).reshape(6, 2), {"budget": 2, "kappa": 0.0, "alpha": 0.0}),
        (np.arange(12.0).reshape(6, 2), {"budget": 2, "kappa": 1.0, "alpha": 1.0}),
        (np.arange(6.0).reshape(6, 1), {"budget": 1, "kappa": 2.5}),
    ],
)
def test_extreme_programs_are_solved(matrix, options):
    program = Program(matrix, **options)
    solution = solve_first_order(program, tolerance=1e-6)
    assert solution.status == "optimal"
    assert solution.objective == pytest.approx(solve_lp(program).objective, abs=1e-5)
    assert solution.iterations == 0 or not program.whole


@pytest.mark.parametrize("changes", [{"budget": 40}, {"alpha": 0.2}, {"alpha": 0.9}, {"kappa": 0.3}])
def test_warm_start_answers_the_same(changes):
    first = Program(make("dense", 150, 60, 5), budget=20, kappa=0.2)
    second = first.replace(**changes)
    warm = solve_first_order(second, warm=solve_first_order(first, tolerance=1e-3), tolerance=1e-3)
    cold = solve_first_order(second, tolerance=1e-3)
    assert warm.status == cold.status == "optimal"
    assert warm.objective == pytest.approx(cold.objective, rel=2e-3)


def test_warm_start_from_the_answer_ends_at_once():
    program = Program(make("dense", 150, 60, 5), budget=20, kappa=0.2)
    solution = solve_first_order(program, tolerance=1e-3)
    assert solution.iterations > 0
    assert solve_first_order(program, warm=solution, tolerance=1e-3).iterations == 0


def test_limits_are_respected_and_honest():
    program = Program(make("dense", 200, 100, 1), budget=30, kappa=0.4)
    optimum = solve_lp(program).objective
    few = solve_first_order(program, tolerance=1e-9, max_iterations=15)
    brief = solve_first_order(program, tolerance=1e-9, time_limit=1e-6)
    assert few.iterations == 15
    assert brief.iterations <= 1
    ample = solve_first_order(program, tolerance=1e-3, time_limit=1e6)
    assert ample.status == "optimal"
    assert ample.iterations == solve_first_order(program, tolerance=1e-3).iterations > 1
    for solution in (few, brief):
        assert solution.status == "limit"
        assert solution.gap > 1e-9
        assert solution.objective <= optimum + 1e-8 <= solution.bound + 2e-8
        assert_feasible(solution.weights, 30)


def test_progress_shows_the_gap_and_changes_nothing(capsys):
    program = Program(make("dense", 50, 20, 2), budget=8, kappa=0.1)
    shown = solve_first_order(program, progress=True)
    assert shown.objective == solve_first_order(program).objective


@pytest.mark.parametrize(
    "options", [{"tolerance": 0}, {"tolerance": np.nan}, {"max_iterations": 0}, {"time_limit": 0}]
)
def test_useless_options_are_refused(options):
    with pytest.raises(InputError, match=next(iter(options))):
        solve_first_order(Program(np.ones((3, 2)), budget=1), **options)


def test_the_least_that_may_be_asked_for_is_allowed():
    program = Program(make("dense", 30, 10, 2), budget=8, kappa=0.1)
    assert solve_first_order(program, max_iterations=1, time_limit=0.5).iterations <= 1


def test_warm_start_of_another_attribution_is_refused():
    other = solve_first_order(Program(np.ones((3, 2)), budget=1))
    with pytest.raises(InputError, match="warm has 3 rows"):
        solve_first_order(Program(np.ones((4, 2)), budget=1), warm=other)


@pytest.mark.parametrize("iterations", [1, 2])
def test_an_iteration_asked_for_is_made_and_the_last_one_counts(iterations):
    program = Program(make("dense", 60, 20, 2), budget=8, alpha=0.2, kappa=0.05)
    run = _Run(program)
    run.start(None)
    run.scale(np.inf)
    before, anchor, shift = run.gap, run.point, None
    for k in range(iterations):
        new, shift = run._step(shift)
        keep = (k + 1) / (k + 2)
        run.point = run.point.blend(-keep, new, 2 * keep, anchor, 1 - keep)
    run.offer(new.w, new.v)
    run.offer_bound(new.lam, new.t_lam)
    assert run.gap < before
    found = solve_first_order(program, tolerance=1e-9, max_iterations=iterations)
    assert found.objective == pytest.approx(run.objective, rel=1e-9)
    assert found.bound == pytest.approx(run.bound, rel=1e-9)


def test_points_are_blended_part_by_part(rng):
    one, two, three = (_Point(*(rng.normal(size=k) for k in (3, 2, 2, 3))) for _ in range(3))
    found = one.blend(-0.5, two, 1.25, three, 0.25)
    for name in ("w", "lam", "v", "t_lam"):
        expected = -0.5 * getattr(one, name) + 1.25 * getattr(two, name) + 0.25 * getattr(three, name)
        np.testing.assert_allclose(getattr(found, name), expected)
