"""All solvers of the program behind one function."""

from __future__ import annotations

from importlib import import_module
from inspect import signature
from typing import Any, Literal, get_args

from cdvm.errors import InputError
from cdvm.optimize.feasibility import refuse_conflict
from cdvm.optimize.program import Program
from cdvm.optimize.solvers.base import Solution
from cdvm.optimize.solvers.conditioned import solve_conditioned

__all__ = ["DENSE_ENTRIES", "FACTOR_ORDER", "Method", "Solution", "resolve_method", "solve"]

Method = Literal["auto", "interior_point", "first_order", "column_generation", "highs", "milp"]

DENSE_ENTRIES = 20_000_000
"""``"auto"`` takes the interior point up to this many entries n·m of T: 160 MB as an array."""

FACTOR_ORDER = 2_000
"""``"auto"`` takes the interior point up to this min(n, m), the order of its factorisations."""

_SOLVERS = {
    "interior_point": ("interior_point", "solve_interior_point"),
    "first_order": ("first_order", "solve_first_order"),
    "column_generation": ("column_generation", "solve_column_generation"),
    "highs": ("highs", "solve_lp"),
    "milp": ("highs", "solve_milp"),
}


def resolve_method(program: Program, method: Method = "auto") -> Method:
    """The method ``"auto"`` stands for: the interior point where T is small, first order where it is not.

    >>> import numpy as np
    >>> resolve_method(Program(np.eye(3), budget=1))
    'interior_point'
    """
    if method not in get_args(Method):
        raise InputError(f"method={method!r} is unknown: choose from {', '.join(get_args(Method))}")
    if method != "auto":
        return method
    n, m = program.n_rows, program.n_evaluation
    small = n * m <= DENSE_ENTRIES and min(n, m) <= FACTOR_ORDER
    return "interior_point" if small else "first_order"


def solve(program: Program, method: Method = "auto", **options: Any) -> Solution:
    """Solve a program.

    Parameters
    ----------
    program : Program
    method : {"auto", "interior_point", "first_order", "column_generation", "highs", "milp"}
        ``interior_point`` is exact and needs T as an array, ``first_order`` only products with it;
        ``column_generation`` solves on few rows and prices the others; ``highs`` hands the linear program to
        HiGHS. All these solve the relaxation; ``milp`` solves the exact program with whole weights (options
        ``time_limit`` in seconds and ``gap``). ``auto`` is decided by :func:`resolve_method`.
    **options
        Passed on to the solver, e.g. ``tolerance``.

    Examples
    --------
    >>> import numpy as np
    >>> program = Program(np.array([[0.5, 0.0], [0.5, 0.0], [0.0, 0.4]]), budget=2, kappa=0.4)
    >>> solution = solve(program)
    >>> round(solution.objective, 7), solution.gap <= 1e-8
    (0.4, True)
    """
    resolved = resolve_method(program, method)
    module, name = _SOLVERS[resolved]
    function = getattr(import_module(f"cdvm.optimize.solvers.{module}"), name)
    known = [option for option in signature(function).parameters if option != "program"]
    for option in options:
        if option not in known:
            raise InputError(f"method {resolved!r} has no option {option!r}: it has {', '.join(known)}")
    if program.conditions is not None:
        refuse_conflict(program.conditions, program.budget)
        if resolved not in ("highs", "milp"):
            return solve_conditioned(program, function, **options)
    solution: Solution = function(program, **options)
    return solution
