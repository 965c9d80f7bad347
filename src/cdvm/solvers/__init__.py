"""Solvers of the CDVM program, all behind :func:`solve`."""

from __future__ import annotations

from typing import Any, Literal

from cdvm.errors import InputError
from cdvm.program import Program
from cdvm.solvers.base import Solution

__all__ = ["Method", "Solution", "solve"]

Method = Literal["auto", "highs", "milp"]


def solve(program: Program, method: Method = "auto", **options: Any) -> Solution:
    """Solve a program.

    Parameters
    ----------
    program : Program
    method : {"auto", "highs", "milp"}
        ``highs`` solves the linear relaxation, ``milp`` the exact program with whole weights
        (options ``time_limit`` in seconds and ``gap``).
    **options
        Passed on to the solver.

    Examples
    --------
    >>> import numpy as np
    >>> program = Program(np.array([[0.5, 0.0], [0.5, 0.0], [0.0, 0.4]]), budget=2, kappa=0.4)
    >>> solution = solve(program)
    >>> round(solution.objective, 9), solution.gap < 1e-7
    (0.4, True)
    """
    if method in ("auto", "highs"):
        from cdvm.solvers.highs import solve_lp

        return solve_lp(program, **options)
    if method == "milp":
        from cdvm.solvers.highs import solve_milp

        return solve_milp(program, **options)
    raise InputError(f"method={method!r} is unknown: choose from auto, highs, milp")
