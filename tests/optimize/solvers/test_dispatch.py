import time

import numpy as np
import pytest
from solver_cases import assert_feasible, random_matrix

from cdvm.errors import InputError
from cdvm.optimize.conditions import Conditions
from cdvm.optimize.program import Program
from cdvm.optimize.solvers import dispatch as solvers
from cdvm.optimize.solvers.dispatch import resolve_method, solve


@pytest.fixture(scope="module")
def program():
    return Program(random_matrix(np.random.default_rng(0), 40, 12), budget=6)


@pytest.mark.parametrize(
    "method", ["auto", "interior_point", "first_order", "column_generation", "highs", "milp"]
)
def test_every_method_answers_with_a_feasible_solution(program, method):
    solution = solve(program, method)
    assert_feasible(program, solution)
    assert solution.gap <= 1e-2
    assert solution.method == ("interior_point" if method == "auto" else method)


@pytest.mark.parametrize("method", ["interior_point", "first_order", "column_generation", "highs", "milp"])
def test_the_time_taken_is_told_in_two_parts(program, method):
    started = time.perf_counter()
    solution = solve(program, method)
    passed = time.perf_counter() - started
    assert solution.build_seconds >= 0
    assert solution.solve_seconds > 0
    assert solution.build_seconds + solution.solve_seconds <= passed


def test_auto_depends_on_entries_and_the_smaller_side(program, monkeypatch):
    assert resolve_method(program) == "interior_point"
    monkeypatch.setattr(solvers, "DENSE_ENTRIES", 100)
    assert resolve_method(program) == "first_order"
    monkeypatch.setattr(solvers, "DENSE_ENTRIES", 10_000)
    n, m = program.attribution.shape
    for name, most in (("FACTOR_ORDER", min(n, m)), ("DENSE_ENTRIES", n * m)):
        monkeypatch.setattr(solvers, name, most)  # up to here
        assert resolve_method(program) == "interior_point"
        monkeypatch.setattr(solvers, name, most - 1)
        assert resolve_method(program) == "first_order"
        monkeypatch.setattr(solvers, name, 10_000)


def test_unknown_method_is_refused_with_the_choices(program):
    with pytest.raises(InputError, match=r"method='simplex'.*interior_point.*milp"):
        solve(program, "simplex")


def test_an_option_the_method_does_not_have_is_named():
    with pytest.raises(InputError, match="'interior_point' has no option 'time_limit': it has tolerance"):
        solve(Program(np.eye(3), 1), time_limit=5)


def test_whole_rows_are_whole_whatever_they_cost():
    conditions = Conditions.of(3, costs=[3.0, 2.0, 2.0])
    program = Program(np.array([[3.1], [2.0], [2.0]]), 4.0, alpha=1.0, kappa=100.0, conditions=conditions)
    assert solve(program, "milp").weights.tolist() == [0.0, 1.0, 1.0]
    assert solve(program, "highs").weights[0] == pytest.approx(1.0)  # worth most for its price
