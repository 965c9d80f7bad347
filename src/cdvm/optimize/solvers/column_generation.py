"""The program on a growing working set of rows, for n too large to solve at once.

A row outside the working set is a weight fixed at 0. The multipliers λ of the small program price it: its
reduced gain is alpha·(T1)_i − (Tλ)_i, and only rows whose reduced gain exceeds η, the smallest reduced gain
among the S largest of the working set, can improve the solution. They are added, best first, until
``Program.bound(λ)`` over all rows certifies the gap. T is met in products and as the working set's block.
"""

from __future__ import annotations

import time
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cdvm.errors import InputError
from cdvm.optimize.program import Program
from cdvm.optimize.solvers.base import Solution, finish

__all__ = ["solve_column_generation"]

Vector = NDArray[np.float64]
Rows = NDArray[np.intp]

_WORKING = 4  # rows to start with and to add at most, in multiples of budget + evaluation rows


def solve_column_generation(
    program: Program,
    *,
    tolerance: float = 1e-6,
    working: int | None = None,
    inner: Literal["interior_point", "highs"] = "interior_point",
    warm: Solution | None = None,
    max_iterations: int = 100,
) -> Solution:
    """The relaxed program to a certified gap, by solving on few rows and pricing the others.

    Parameters
    ----------
    program : Program
    tolerance : float
        Relative gap on the whole program.
    working : int, optional
        Rows of the first working set, and the most added at a time; at least the budget.
    inner : {"interior_point", "highs"}
        What solves the small programs.
    warm : Solution, optional
        A solution of the same rows and evaluation rows; its rows and multipliers choose the first working
        set.
    max_iterations : int
        Rounds of pricing.

    Examples
    --------
    >>> import numpy as np
    >>> T = np.random.default_rng(0).normal(0.01, 0.1, (2000, 5))
    >>> solution = solve_column_generation(Program(T, budget=20), working=50)
    >>> solution.status, solution.gap <= 1e-6
    ('optimal', True)
    """
    n, step = program.n_rows, _step(program, working, tolerance)
    started = time.perf_counter()
    rows = _first_rows(program, step, warm)
    block = program.attribution.block(rows)
    built = time.perf_counter()
    bound, multipliers = np.inf, np.zeros(program.n_evaluation)
    rounds, gap = 0, np.inf
    while True:
        rounds += 1
        small = _solve_small(program, rows, block, inner, tolerance)
        reduced = program.reduced_gains(small.multipliers)
        proven = program.bound_at(small.multipliers, reduced)
        if proven < bound:
            bound, multipliers = proven, small.multipliers
        gap = program.gap(small.objective, bound)
        # no fresh rows above the tolerance: only rounding errors lie between objective and bound
        fresh = _promising(reduced, rows, program.restricted(rows, block).level(reduced[rows]), step)
        if gap <= tolerance or rounds == max_iterations or not len(fresh):
            break
        rows = np.concatenate([rows, fresh])
        block = np.concatenate([block, program.attribution.block(fresh)])
    weights = np.zeros(n)
    weights[rows] = small.weights
    return finish(
        program,
        weights,
        multipliers,
        status="optimal" if gap <= tolerance else "limit",
        iterations=rounds,
        build_seconds=built - started,
        solve_seconds=time.perf_counter() - built,
        method="column_generation",
    )


def _step(program: Program, working: int | None, tolerance: float) -> int:
    if not tolerance > 0:
        raise InputError(f"tolerance={tolerance!r}: use a positive number, e.g. 1e-6")
    wanted = _WORKING * (program.n_needed + program.n_evaluation) if working is None else working
    if wanted < program.n_needed:
        raise InputError(f"working={working}: the first rows must be at least the budget, {program.n_needed}")
    return min(program.n_rows, wanted)


def _first_rows(program: Program, count: int, warm: Solution | None) -> Rows:
    """Rows of large weight and reduced gain in ``warm``; else of large gain, and some of every kind."""
    if warm is not None:
        if len(warm.weights) != program.n_rows or len(warm.multipliers) != program.n_evaluation:
            raise InputError("warm is a solution of other rows or evaluation rows than the program's")
        reduced = program.reduced_gains(warm.multipliers)
        rank = np.lexsort((-reduced, -np.round(warm.weights, 6)))
        return np.sort(rank[:count])
    by_gain = np.argsort(-program.gains, kind="stable")
    half = max(program.n_needed, count // 2)
    others = by_gain[half:]
    spread = others[np.linspace(0, len(others) - 1, count - half).astype(np.intp)]
    return np.unique(np.concatenate([by_gain[:half], spread]))


def _solve_small(
    program: Program, rows: Rows, block: NDArray[np.float64], inner: str, tolerance: float
) -> Solution:
    from cdvm.optimize.solvers.highs import solve_lp
    from cdvm.optimize.solvers.interior_point import solve_interior_point

    small = program.restricted(rows, block)
    if inner == "interior_point":
        return solve_interior_point(small, tolerance=tolerance / 10)
    if inner == "highs":
        return solve_lp(small)
    raise InputError(f"inner={inner!r}: choose from interior_point, highs")


def _promising(reduced: Vector, rows: Rows, level: float, most: int) -> Rows:
    """Rows outside the working set whose reduced gain beats the working set's S-th, best first."""
    outside = reduced.copy()
    outside[rows] = -np.inf
    better = np.flatnonzero(outside > level)
    return better[np.argsort(-outside[better], kind="stable")[:most]]
