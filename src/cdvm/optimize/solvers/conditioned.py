"""Any solver on a program with conditions, and back to weights that fulfil them exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from cdvm.errors import InputError
from cdvm.optimize.grouped import can_be_grouped, group_program
from cdvm.optimize.program import Program
from cdvm.optimize.reduction import Reduced, reduce_program
from cdvm.optimize.solvers.base import Solution
from cdvm.optimize.solvers.first_order import solve_first_order

__all__ = ["conditioned_solution", "solve_conditioned"]

Vector = NDArray[np.float64]

_ATTEMPTS = 4
_FACTOR = 16.0  # by which penalties grow where they were not large enough
_ROUNDING = 1e-10  # what a limit may be missed by
_NEAR = 0.5  # of a penalty: a multiplier beyond may be held down by it


def solve_conditioned(
    program: Program, solver: Callable[..., Solution], warm: Solution | None = None, **options: Any
) -> Solution:
    """A program with conditions, by a solver that knows none."""
    conditions = program.conditions
    assert conditions is not None
    grouped = solver is solve_first_order and can_be_grouped(conditions)
    reduced = group_program(program) if grouped else reduce_program(program)
    for _ in range(_ATTEMPTS):
        found = solver(reduced.program, **options)
        limits = found.multipliers[program.n_evaluation :]
        if not (limits > _NEAR * reduced.program.penalties[program.n_evaluation :]).any():
            break
        reduced = reduced.with_penalties(_FACTOR)
    answer = conditioned_solution(reduced, reduced.weights(found.weights), found)
    # what is changed to fulfil the conditions to the last digit may cost more than the tolerance
    kept = answer.gap <= max(2 * found.gap, 1e-6) or found.status == "limit"
    return answer if kept else replace(answer, status="limit")


def conditioned_solution(reduced: Reduced, blocks: Vector, found: Solution) -> Solution:
    """The solution of the original program, from weights of blocks and what the reduced one's were worth."""
    program, m = reduced.original, reduced.original.n_evaluation
    conditions = program.conditions
    assert conditions is not None
    weights = np.asarray(_repaired(program, blocks) @ conditions.members)
    objective, bound = program.objective(weights), reduced.constant + found.bound
    return replace(
        found,
        weights=weights,
        multipliers=found.multipliers[:m],
        objective=objective,
        bound=bound,
        gap=program.gap(objective, bound),
        prices=reduced.prices(found.multipliers),
    )


def _repaired(program: Program, blocks: Vector) -> Vector:
    """The nearest weights of blocks (in the sum of differences) that fulfil everything."""
    conditions, budget = program.conditions, float(program.budget)
    assert conditions is not None
    if conditions.satisfied(np.asarray(blocks @ conditions.members), budget, tolerance=1e-9):
        return blocks
    kept, dropped = conditions.fixed
    count, price = conditions.counts, conditions.prices
    low = np.where(kept, 1.0, 0.0) - blocks
    high = np.where(dropped, 0.0, 1.0) - blocks
    # w = blocks + up - down
    rows = np.concatenate([count.T, -count.T])
    limits = np.concatenate([conditions.high, -conditions.low]) - rows @ blocks + _ROUNDING
    total, rest = price[None, :], budget - float(price @ blocks)
    equal: dict[str, Any] = {}
    if conditions.exact:
        equal = {"A_eq": sparse.csr_array(np.hstack([total, -total])), "b_eq": [rest]}
    else:
        rows, limits = np.concatenate([rows, total]), np.append(limits, rest + _ROUNDING * budget)
    bounds = [(max(0.0, a), max(b, 0.0)) for a, b in zip(low, high, strict=True)]
    bounds += [(max(0.0, -b), max(-a, 0.0)) for a, b in zip(low, high, strict=True)]
    inside = {"A_ub": sparse.csr_array(np.hstack([rows, -rows])), "b_ub": limits}
    found = linprog(np.ones(2 * len(blocks)), **inside, **equal, bounds=bounds, method="highs")
    if found.x is None:
        raise InputError("the conditions cannot be met together with the budget: loosen one of them")
    n = len(blocks)
    return np.asarray(np.clip(blocks + found.x[:n] - found.x[n:], 0.0, 1.0))
