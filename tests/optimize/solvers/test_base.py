import numpy as np
import pytest

from cdvm.optimize.conditions import Conditions
from cdvm.optimize.program import Program
from cdvm.optimize.reduction import reduce_program
from cdvm.optimize.solvers.base import finish


def test_weights_are_moved_back_by_their_rounding_error_only():
    program = Program(np.ones((4, 1)), budget=2, kappa=1.0)
    parts = {"status": "optimal", "iterations": 1, "build_seconds": 0.0, "solve_seconds": 0.0, "method": "x"}
    short = finish(program, np.array([1.0, 0.5, 0.25, 0.0]), np.array([0.2]), **parts)
    # what is missing goes where there is room, in proportion to it
    np.testing.assert_allclose(short.weights, np.array([1.0, 0.5, 0.25, 0.0]) + np.array([0, 2, 3, 4]) / 36)
    long = finish(program, np.array([1.25, 1.0, 0.5, -0.1]), np.array([0.9]), **parts)
    np.testing.assert_allclose(long.weights, np.array([0.8, 0.8, 0.4, 0.0]))
    assert long.multipliers.tolist() == [0.5]  # no more than 1 − alpha, and no less than 0
    assert finish(program, np.ones(4) / 2, np.array([-0.1]), **parts).multipliers.tolist() == [0.0]
    assert long.objective == pytest.approx(0.5 * 2 - 0.5 * 1)
    assert long.bound == pytest.approx(program.bound(np.array([0.5])))
    assert finish(program, np.ones(4) / 2, np.zeros(1), bound=3.0, **parts).gap == pytest.approx(2.5 / 3)


def test_what_is_missing_of_little_money_is_spent():
    conditions = Conditions.of(4, costs=[0.1, 0.1, 0.1, 0.1])
    program = reduce_program(Program(np.ones((4, 1)), 0.2, conditions=conditions)).program
    parts = {"status": "optimal", "iterations": 1, "build_seconds": 0.0, "solve_seconds": 0.0, "method": "x"}
    spent = finish(program, np.array([0.1, 0.05, 0.0, 0.0, 0.0]), np.zeros(1), **parts).weights
    assert spent.sum() == pytest.approx(0.2)
    assert (spent <= program.upper).all()
