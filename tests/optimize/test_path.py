import numpy as np
import pytest
from solver_cases import assert_certified, digits_attribution, random_matrix

from cdvm.errors import InputError
from cdvm.optimize.path import solve_path
from cdvm.optimize.program import Program
from cdvm.optimize.solvers.dispatch import solve

BUDGETS, ALPHAS, KAPPAS = [5, 0.1, 40], [0.5, 0.1], ["auto", 0.3]


@pytest.fixture(scope="module")
def program():
    return Program(random_matrix(np.random.default_rng(0), 80, 30), budget=10)


def test_path_is_ordered_by_budget_then_alpha_then_kappa(program):
    path = solve_path(program, BUDGETS, ALPHAS, KAPPAS, n_jobs=1)
    assert list(path) == [(s, a, k) for s in BUDGETS for a in ALPHAS for k in KAPPAS]


def test_path_equals_individual_solves(program):
    for (budget, alpha, kappa), solution in solve_path(program, BUDGETS, ALPHAS, KAPPAS).items():
        single = program.replace(budget=budget, alpha=alpha, kappa=kappa)
        assert_certified(single, solution)
        assert solution.objective == pytest.approx(solve(single).objective, rel=2e-8)


@pytest.mark.parametrize("method", ["interior_point", "first_order", "column_generation", "highs"])
def test_answers_do_not_depend_on_jobs(program, method):
    one = solve_path(program, BUDGETS, ALPHAS, KAPPAS, method=method, n_jobs=1)
    two = solve_path(program, BUDGETS, ALPHAS, KAPPAS, method=method, n_jobs=2)
    for key, solution in one.items():
        np.testing.assert_array_equal(solution.weights, two[key].weights)
        np.testing.assert_array_equal(solution.multipliers, two[key].multipliers)


def test_alpha_and_kappa_default_to_the_programs(program):
    other = program.replace(alpha=0.3, kappa=0.2)
    assert list(solve_path(other, [3])) == [(3, 0.3, 0.2)]


def test_auto_kappa_is_resolved_for_each_budget():
    implicit = Program(digits_attribution(), budget=5)
    path = solve_path(implicit, [5, 50], kappas=["auto"])
    for (budget, alpha, _), solution in path.items():
        single = Program(implicit.attribution.dense(), budget, alpha)
        assert single.objective(solution.weights) == pytest.approx(solve(single).objective, rel=1e-6)


def test_options_reach_the_solver(program):
    path = solve_path(program, [5, 10], tolerance=1e-2)
    assert all(solution.gap <= 1e-2 for solution in path.values())
    brief = solve_path(program, [5, 10], max_iterations=1)
    assert [solution.status for solution in brief.values()] == ["limit", "limit"]


@pytest.mark.parametrize("method", ["interior_point", "first_order", "column_generation"])
def test_each_budget_starts_from_the_smaller_one_before_it(program, method):
    path = solve_path(program, [20, 5, 12], [0.5, 0.1], [0.3], method=method)
    for alpha in (0.5, 0.1):
        warm = {}
        for budget in (5, 12, 20):
            other = program.replace(budget=budget, alpha=alpha, kappa=0.3)
            expected = solve(other, method, **warm)
            np.testing.assert_array_equal(path[budget, alpha, 0.3].weights, expected.weights)
            assert path[budget, alpha, 0.3].iterations == expected.iterations
            # the interior point gains nothing from the last solution
            warm = {} if method == "interior_point" else {"warm": expected}


def test_rows_are_read_once_for_a_whole_path(monkeypatch):
    attribution, read = digits_attribution(), []
    block = type(attribution).block
    monkeypatch.setattr(type(attribution), "block", lambda *args: read.append(1) or block(*args))
    solve_path(Program(attribution, 5), [5, 10, 20], method="interior_point", kappas=[0.3])
    assert len(read) == 1
    read.clear()
    solve_path(Program(attribution, 5), [5, 10], method="first_order", kappas=[0.3])
    assert not read  # which asks for products alone


def test_progress_bar_is_shown_on_request(program, capsys, monkeypatch):
    monkeypatch.setattr("cdvm._runtime.progress._PATIENCE", 0.0)
    shown = ""
    for _ in range(100):  # so short a work may be over before anything is shown
        solve_path(program, [5, 10], progress=True)
        shown = shown or capsys.readouterr().err
    assert "2/2" in shown


@pytest.mark.parametrize(("budgets", "message"), [([], "at least one budget"), ([5, 1000], "budget=1000")])
def test_bad_budgets_are_refused(program, budgets, message):
    with pytest.raises(InputError, match=message):
        solve_path(program, budgets)
