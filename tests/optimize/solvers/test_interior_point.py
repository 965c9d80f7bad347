import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solver_cases import KINDS, assert_certified, assert_feasible, digits_attribution, distance, programs

from cdvm.errors import InputError
from cdvm.optimize.program import Program
from cdvm.optimize.solvers import interior_point, newton
from cdvm.optimize.solvers.highs import solve_lp
from cdvm.optimize.solvers.interior_point import solve_interior_point


def assert_matches_highs(program, solution):
    exact = solve_lp(program)
    if abs(exact.objective) > 1e-9 * np.abs(program.gains).sum():
        assert_certified(program, solution)
        assert solution.method == "interior_point"
    assert_feasible(program, solution)
    assert distance(program, solution.objective, exact.objective) <= 1e-6
    assert solution.bound >= exact.objective - 1e-9 * (1 + abs(exact.objective))


@given(programs())
@settings(max_examples=150, deadline=None)
def test_matches_highs_optimum_and_is_certified(program):
    assert_matches_highs(program, solve_interior_point(program))


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("shape", [(120, 40), (40, 120)])
@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.5])
def test_matches_highs_on_every_kind_of_attribution(kind, shape, alpha):
    matrix = KINDS[kind](np.random.default_rng(3), *shape)
    program = Program(matrix, budget=15, alpha=alpha)
    for kappa in (0.0, 0.3 * program.kappa, program.kappa):
        other = program.replace(kappa=kappa)
        assert_matches_highs(other, solve_interior_point(other))


@pytest.mark.parametrize("budget", [5, 15, 60])
@pytest.mark.parametrize("alpha", [0.1, 0.3, 0.5])
def test_matches_highs_on_real_attribution(budget, alpha):
    program = Program(digits_attribution().dense(), budget, alpha)
    for factor in (0.5, 1.0, 2.0):
        other = program.replace(kappa=factor * program.kappa)
        assert_matches_highs(other, solve_interior_point(other))


def test_implicit_attribution_is_certified_as_an_array():
    implicit = Program(digits_attribution(), budget=15)
    solution = solve_interior_point(implicit)
    dense = Program(implicit.attribution.dense(), 15, kappa=implicit.kappa)
    assert_certified(dense, solution)


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e6, 1e12])
def test_scale_of_attribution_does_not_matter(scale):
    matrix = KINDS["random"](np.random.default_rng(0), 60, 25)
    plain = solve_interior_point(Program(matrix, 10))
    scaled = solve_interior_point(Program(scale * matrix, 10))
    assert scaled.gap <= 1e-8
    assert scaled.objective == pytest.approx(scale * plain.objective, rel=1e-7)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (7, 7)])
def test_zero_attribution_has_objective_zero(shape):
    solution = solve_interior_point(Program(np.zeros(shape), budget=1))
    assert solution.objective == solution.bound == 0.0


def test_alpha_one_keeps_the_rows_of_largest_gain():
    matrix = KINDS["random"](np.random.default_rng(1), 30, 8)
    solution = solve_interior_point(Program(matrix, 7, alpha=1.0))
    assert set(np.flatnonzero(solution.weights)) == set(np.argsort(-matrix.sum(axis=1))[:7])
    assert solution.iterations == 0


def test_full_budget_keeps_every_row():
    program = Program(KINDS["random"](np.random.default_rng(1), 30, 8), 30, kappa=0.1)
    solution = solve_interior_point(program)
    assert solution.weights.tolist() == [1.0] * 30
    assert solution.gap <= 1e-12


@given(programs(), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_weak_duality_holds_for_any_weights_and_multipliers(program, seed):
    rng = np.random.default_rng(seed)
    solution = solve_interior_point(program)
    rows = rng.permutation(program.n_rows)[: program.budget]
    slack = 1e-9 * (1 + abs(solution.objective))
    assert program.objective(np.isin(np.arange(program.n_rows), rows).astype(float)) <= solution.bound + slack
    assert program.bound(rng.uniform(0, 1, program.n_evaluation)) >= solution.objective - slack


@given(programs(), st.floats(0.01, 1), st.floats(0, 2), st.integers(0, 100))
@settings(max_examples=60, deadline=None)
def test_warm_start_reaches_the_same_optimum(program, alpha, factor, shift):
    warm = solve_interior_point(program)
    budget = 1 + (program.budget + shift) % program.n_rows
    other = program.replace(alpha=alpha, kappa=factor * program.kappa, budget=budget)
    assert_matches_highs(other, solve_interior_point(other, warm=warm))


def test_warm_starts_save_iterations():
    # 36 and 25 iterations without and with
    program = Program(KINDS["random"](np.random.default_rng(3), 120, 40), 15, alpha=0.3)
    first = solve_interior_point(program.replace(kappa=0.5 * program.kappa))
    changed = [program.replace(kappa=factor * program.kappa, budget=size) for factor, size in
               [(0.48, 15), (0.5, 16), (0.5, 14), (0.52, 15)]]  # fmt: skip
    cold, warm = (sum(solve_interior_point(p, warm=w).iterations for p in changed) for w in (None, first))
    assert warm <= 0.8 * cold


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=8), st.floats(1e-3, 1e3))
@settings(max_examples=80, deadline=None)
def test_pairs_apart_have_the_difference_and_the_product_asked_for(difference, width):
    difference = np.array(difference)
    a, b = interior_point._apart(difference, width)
    assert min(a.min(), b.min()) > 0
    np.testing.assert_allclose(a - b, difference, atol=1e-9 * (1 + np.abs(difference).max() + width))
    np.testing.assert_allclose(a * b, width**2, rtol=1e-9)


@given(st.lists(st.tuples(st.floats(1e-3, 1e3), st.floats(-1e3, 1e3)), min_size=1, max_size=8))
@settings(max_examples=80, deadline=None)
def test_the_longest_step_ends_at_the_first_bound_or_at_one(pairs):
    x, dx = np.array(pairs).T
    step = interior_point._longest(x, dx)
    assert 0 < step <= 1
    smallest = (x + step * dx).min()
    assert smallest >= -1e-9 * np.abs(x).max()
    assert step == 1 or smallest <= 1e-9 * (np.abs(x).max() + np.abs(dx).max())


def test_warm_start_of_another_shape_is_refused():
    rng = np.random.default_rng(0)
    warm = solve_interior_point(Program(rng.normal(size=(8, 3)), 2))
    with pytest.raises(InputError, match="8 rows × 3 evaluation rows"):
        solve_interior_point(Program(rng.normal(size=(9, 4)), 2, kappa=0.1), warm=warm)
    for shape in [(8, 4), (9, 3)]:
        with pytest.raises(InputError, match="the program has"):
            solve_interior_point(Program(rng.normal(size=shape), 2, kappa=0.1), warm=warm)


def assert_on_the_way(search, slack=1e-9):
    """The linear conditions of the method hold, and everything is positive."""
    program, T, n, m = search.program, search.matrix, search.n, search.m
    w, rest, s, t = np.split(search.x, [n, 2 * n, 2 * n + m])
    z, y, lam, nu = np.split(search.z, [n, 2 * n, 2 * n + m])
    assert min(search.x.min(), search.z.min()) > 0
    assert w.sum() == pytest.approx(program.budget)
    np.testing.assert_allclose(w + rest, program.upper, rtol=slack)
    np.testing.assert_allclose(lam + nu, program.penalties, rtol=slack)
    np.testing.assert_allclose(t - s, w @ T - program.kappa, atol=slack)
    np.testing.assert_allclose(z - y, T @ lam + search.eta - program.alpha * T.sum(axis=1), atol=slack)


@pytest.mark.parametrize("shape", [(30, 12), (12, 30), (90, 70)])  # the last in single precision first
@pytest.mark.parametrize("warm", [False, True])
def test_every_iterate_fulfils_the_linear_conditions(shape, warm):
    rng = np.random.default_rng(4)
    program = Program(KINDS["random"](rng, *shape), 5, alpha=0.3)
    program = program.replace(kappa=0.4 * program.kappa)
    start = solve_interior_point(program.replace(budget=6, kappa=program.kappa / 2)) if warm else None
    search = interior_point._Search(program, start)
    optimum = solve_lp(program).objective
    products = []
    while search.gap > 1e-7:
        assert_on_the_way(search)
        products.append((search.x * search.z).mean())
        assert search.objective <= optimum + 1e-9
        assert search.bound >= optimum - 1e-9
        assert program.objective(search.weights) == pytest.approx(search.objective)
        assert program.bound(search.multipliers) == pytest.approx(search.bound)
        assert search.advance()
    assert 3 <= search.iterations == len(products) <= 20
    assert products[-1] < 1e-3 * products[0]
    assert (np.diff(products) < 0).all()


@pytest.mark.parametrize("shape", [(30, 12), (12, 30)])
def test_a_direction_changes_the_products_as_it_is_asked_to(shape):
    rng = np.random.default_rng(4)
    program = Program(KINDS["random"](rng, *shape), 5, alpha=0.3, kappa=0.1)
    search = interior_point._Search(program, None)
    n, m, T = search.n, search.m, search.matrix
    search.advance()
    search.x[:n] *= 0.99  # some of the budget is missing
    aim = rng.normal(size=2 * (n + m)) * (search.x * search.z).mean()
    x, z = search.x, search.z
    d, e = (
        1 / (z[:n] / x[:n] + z[n : 2 * n] / x[n : 2 * n]),
        x[2 * n : 2 * n + m] / z[2 * n : 2 * n + m] + x[2 * n + m :] / z[2 * n + m :],
    )
    search.system = search._factorise(d, e, 1e-12)
    dx, dz, deta = search._direction(aim)
    np.testing.assert_allclose(x * dz + z * dx, aim, atol=1e-9)
    dw, drest, ds, dt = np.split(dx, [n, 2 * n, 2 * n + m])
    dz_, dy, dlam, dnu = np.split(dz, [n, 2 * n, 2 * n + m])
    np.testing.assert_allclose(drest, -dw)
    np.testing.assert_allclose(dnu, -dlam)
    assert dw.sum() == pytest.approx(5 - x[:n].sum())
    np.testing.assert_allclose(dt - ds, dw @ T, atol=1e-8)
    np.testing.assert_allclose(dz_ - dy, T @ dlam + deta, atol=1e-8)


def test_a_start_lies_between_the_solution_before_and_the_middle():
    program = Program(KINDS["random"](np.random.default_rng(4), 30, 12), 5, alpha=0.3, kappa=0.1)
    before = solve_interior_point(program.replace(budget=4))
    w, lam = interior_point._Search(program, None)._guess(before)
    more = before.weights + (1 - before.weights) / (30 - 4)  # one row more, where there is room
    np.testing.assert_allclose(w, 0.7 * more + 0.3 * 5 / 30)
    np.testing.assert_allclose(lam, 0.7 * before.multipliers + 0.3 * 0.35)
    fewer, _ = interior_point._Search(program.replace(budget=3), None)._guess(before)
    np.testing.assert_allclose(fewer, 0.7 * before.weights * 3 / 4 + 0.3 * 3 / 30)
    same, _ = interior_point._Search(program.replace(budget=4), None)._guess(before)
    np.testing.assert_allclose(same, 0.7 * before.weights + 0.3 * 4 / 30, rtol=1e-9)
    half = replace(before, weights=np.linspace(0, 1, 30) * 3.5 / 15)  # half a row is missing
    part, _ = interior_point._Search(program.replace(budget=4), None)._guess(half)
    np.testing.assert_allclose(part, 0.7 * (half.weights + 0.5 * (1 - half.weights) / 26.5) + 0.3 * 4 / 30)
    _, less = interior_point._Search(program.replace(alpha=0.9), None)._guess(before)
    np.testing.assert_allclose(less, 0.7 * np.minimum(before.multipliers, 0.1) + 0.3 * 0.05)


def test_a_start_has_the_units_of_the_attribution():
    T = KINDS["random"](np.random.default_rng(4), 30, 12)
    plain, large = (
        interior_point._Search(Program(unit * T, 5, alpha=0.3, kappa=0.1 * unit), None)
        for unit in (1.0, 64.0)
    )
    np.testing.assert_allclose(large.x, plain.x * np.repeat([1.0, 64.0], [60, 24]))
    np.testing.assert_allclose(large.z, plain.z * np.repeat([64.0, 1.0], [60, 24]))
    assert large.gap == pytest.approx(plain.gap)


def test_iterations_without_a_better_gap_end_the_method(monkeypatch):
    program = Program(KINDS["random"](np.random.default_rng(4), 30, 12), 5, alpha=0.3, kappa=0.1)
    search = interior_point._Search(program, None)
    n, m = search.n, search.m
    influence, reduced = search.x[:n] @ search.matrix, program.reduced_gains(search.z[2 * n : 2 * n + m])
    monkeypatch.setattr(search, "_iterate", lambda: search._look(influence, reduced))
    already = search.stalled
    told = [search.advance() for _ in range(16)]
    assert told == [True] * (14 - already) + [False] * (2 + already)
    search.gap *= 2  # and a better one begins anew
    assert [search.advance() for _ in range(17)] == [True] * 15 + [False] * 2


def test_second_order_steps_save_iterations():
    # 151 as it is; 190 without the predictor's second-order term, 443 with a centring that is not cubic
    iterations = 0
    for kind, shape, alpha in itertools.product(sorted(KINDS), [(120, 40), (40, 120)], [0.1, 0.5]):
        program = Program(KINDS[kind](np.random.default_rng(3), *shape), budget=15, alpha=alpha)
        iterations += solve_interior_point(program.replace(kappa=0.3 * program.kappa)).iterations
    assert iterations <= 165


def test_iteration_limit_is_told_and_still_feasible():
    program = Program(KINDS["random"](np.random.default_rng(2), 80, 30), 10)
    solution = solve_interior_point(program, max_iterations=2)
    assert (solution.status, solution.iterations) == ("limit", 2)
    assert_feasible(program, solution)
    assert solution.bound >= solve_lp(program).objective


def test_numerical_breakdown_falls_back_to_highs_and_says_so(monkeypatch):
    def break_down(*_):
        raise FloatingPointError

    program = Program(KINDS["random"](np.random.default_rng(2), 40, 15), 10)
    monkeypatch.setattr(interior_point, "newton_system", break_down)
    solution = solve_interior_point(program)
    assert solution.method == "interior_point, then highs"
    assert solution.status == "optimal"
    assert solution.solve_seconds > 0
    assert solution.objective == pytest.approx(solve_lp(program).objective)
    # nor does it take the place of what is as good already
    found = interior_point._rescue(program, replace(solution, gap=0.0, iterations=77, solve_seconds=100.0))
    assert found.iterations == 77
    assert found.solve_seconds > 100

    def fail(_):
        raise RuntimeError

    monkeypatch.setattr("cdvm.optimize.solvers.highs.solve_lp", fail)
    solution = solve_interior_point(program)  # what was reached, and that it is not the end
    assert (solution.status, solution.method) == ("limit", "interior_point")
    assert_feasible(program, solution)


def test_tolerance_must_be_positive():
    with pytest.raises(InputError, match="tolerance=0"):
        solve_interior_point(Program(np.eye(3), 1), tolerance=0)


@pytest.mark.parametrize("shape", [(90, 70), (70, 90)])
def test_factors_that_single_precision_cannot_have_are_made_in_double(shape, monkeypatch):
    precisions, real = [], newton.newton_system

    def only_double(matrix, rough, *more):
        precisions.append(rough.dtype)
        if rough.dtype == np.float32:
            raise FloatingPointError
        return real(matrix, rough, *more)

    monkeypatch.setattr(interior_point, "newton_system", only_double)
    program = Program(KINDS["random"](np.random.default_rng(2), *shape), 10)
    program = program.replace(kappa=0.5 * program.kappa)
    assert_matches_highs(program, solve_interior_point(program))
    assert precisions[0] == np.float32
    assert set(precisions[1:]) == {np.dtype(np.float64)}  # and single precision is not tried again
