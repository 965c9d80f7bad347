from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solver_cases import KINDS, assert_certified, assert_feasible, digits_attribution, distance, programs

from cdvm.attribution.base import MatrixAttribution
from cdvm.attribution.implicit import ImplicitAttribution
from cdvm.errors import InputError
from cdvm.optimize.program import Program
from cdvm.optimize.solvers.column_generation import _first_rows, _promising, solve_column_generation
from cdvm.optimize.solvers.interior_point import solve_interior_point


@given(programs(max_rows=80, max_evaluation=12), st.integers(1, 10))
@settings(max_examples=60, deadline=None)
def test_ends_with_the_objective_of_the_full_solve(program, extra):
    solution = solve_column_generation(program, working=program.budget + extra)
    assert_certified(program, solution, 1e-6)
    assert distance(program, solution.objective, solve_interior_point(program).objective) <= 1e-6


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("inner", ["interior_point", "highs"])
def test_many_rows_need_a_small_working_set(kind, inner):
    program = Program(KINDS[kind](np.random.default_rng(7), 2000, 10), 25, alpha=0.3)
    program = program.replace(kappa=0.5 * program.kappa)
    solution = solve_column_generation(program, working=60, inner=inner)
    assert_certified(program, solution, 1e-6)
    assert distance(program, solution.objective, solve_interior_point(program).objective) <= 2e-6


def test_implicit_attribution_is_met_in_blocks_of_the_working_set(monkeypatch):
    attribution, largest = digits_attribution(), []
    program = Program(attribution, budget=8)
    block = ImplicitAttribution.block

    def watched(self, rows=None, columns=None):
        part = block(self, rows, columns)
        largest.append(len(part))
        return part

    monkeypatch.setattr(ImplicitAttribution, "block", watched)
    solution = solve_column_generation(program, working=20, tolerance=1e-5)
    assert max(largest) <= 20
    assert_feasible(program, solution)
    dense = Program(MatrixAttribution(block(attribution)), 8, kappa=program.kappa)
    assert solution.objective == pytest.approx(solve_interior_point(dense).objective, rel=2e-5)


def test_warm_start_saves_rounds():
    program = Program(KINDS["random"](np.random.default_rng(0), 3000, 15), 30)
    cold = solve_column_generation(program, working=60)
    warm = solve_column_generation(program, working=60, warm=cold)
    assert warm.iterations <= cold.iterations
    assert_certified(program, warm, 1e-6)


def test_rows_that_enter_are_the_best_outside_the_working_set():
    reduced = np.array([5.0, 1.0, 4.0, 3.0, 2.0, 6.0, 3.5])
    # among the working rows 1, 2, 3 the second best has 3
    rows = np.array([1, 2, 3])
    assert _promising(reduced, rows, level=3.0, most=10).tolist() == [5, 0, 6]
    assert _promising(reduced, rows, level=3.0, most=2).tolist() == [5, 0]
    assert _promising(reduced, np.arange(7), level=3.0, most=2).tolist() == []


def test_the_first_rows_are_those_of_large_gain_and_some_of_every_kind():
    program = Program(np.arange(100.0)[:, None], budget=5)
    first = _first_rows(program, 20, None)
    assert len(first) == 20
    assert first[-10:].tolist() == list(range(90, 100))
    assert first[0] == 0
    assert np.diff(first[:10]).max() <= 11
    warm = replace(solve_interior_point(program), weights=np.eye(100)[3], multipliers=np.zeros(1))
    assert _first_rows(program, 4, warm).tolist() == [3, 97, 98, 99]


def test_warm_solutions_of_another_shape_are_refused():
    warm = solve_interior_point(Program(np.eye(9), 3))
    for shape in [(8, 9), (9, 8)]:
        with pytest.raises(InputError, match="warm is a solution of other rows"):
            solve_column_generation(Program(np.ones(shape), 3), warm=warm)


def test_round_limit_is_told_and_still_feasible():
    program = Program(KINDS["random"](np.random.default_rng(0), 3000, 15), 30)
    program = program.replace(alpha=0.1)
    solution = solve_column_generation(program, working=30, max_iterations=1)
    assert solution.status == "limit"
    assert solution.bound >= solve_interior_point(program).objective
    assert_feasible(program, solution)
    twice = solve_column_generation(program, working=30, max_iterations=2)
    assert (twice.status, twice.iterations) == ("limit", 2)
    assert twice.gap < solution.gap


def test_no_more_rows_enter_at_once_than_were_there_first(monkeypatch):
    program = Program(KINDS["random"](np.random.default_rng(0), 3000, 15), 30, alpha=0.1)
    block, read = MatrixAttribution.block, []

    def watched(self, rows=None, columns=None):
        read.extend([len(rows)] if rows is not None else [])
        return block(self, rows, columns)

    monkeypatch.setattr(MatrixAttribution, "block", watched)
    found = solve_column_generation(program, working=30)
    assert found.status == "optimal"
    assert len(read) == found.iterations > 2
    assert read[:3] == [30, 30, 30]  # as many as may


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"working": 2}, "working=2"),
        ({"inner": "magic"}, "inner='magic'"),
        ({"tolerance": 0}, "tolerance=0"),
        ({"tolerance": 0, "inner": "highs"}, "tolerance=0"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        solve_column_generation(Program(np.eye(9), 3), **options)
