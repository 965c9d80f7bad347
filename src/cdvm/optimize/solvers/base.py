"""What every solver answers with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cdvm.optimize.program import Program

__all__ = ["Solution", "Status", "finish"]

Status = Literal["optimal", "limit"]


@dataclass(frozen=True, eq=False)
class Solution:
    """Weights for a program, and a proof of how good they are.

    Attributes
    ----------
    weights : ndarray of shape (n_rows,)
        Between 0 and 1, summing to the budget.
    multipliers : ndarray of shape (n_evaluation,)
        Dual weights in [0, 1 − alpha]; a warm start for related programs.
    objective, bound, gap : float
        The objective of ``weights``, a proven upper bound on the optimum, and their relative distance.
    status : {"optimal", "limit"}
        Whether the solver's tolerance was met, or a time or iteration limit ended it.
    iterations : int
    build_seconds, solve_seconds : float
    method : str
    prices : dict
        By group and limit ("at_least", "at_most"), where it binds: a number between what one row more would
        gain and what one row fewer would cost.
    """

    weights: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    objective: float
    bound: float
    gap: float
    status: Status
    iterations: int
    build_seconds: float
    solve_seconds: float
    method: str
    prices: dict[tuple[Any, str], float] = field(default_factory=dict)


def finish(
    program: Program,
    weights: NDArray[np.float64],
    multipliers: NDArray[np.float64],
    *,
    status: Status,
    iterations: int,
    build_seconds: float,
    solve_seconds: float,
    method: str,
    bound: float | None = None,
) -> Solution:
    """A Solution with feasible weights, its objective recomputed and its bound certified.

    ``bound`` overrides the closed-form bound where a solver proved a tighter one (the mixed-integer program).
    """
    feasible = _feasible(weights, program.budget, program.upper)
    lam = np.clip(multipliers, 0.0, program.penalties)
    objective = program.objective(feasible)
    proven = program.bound(lam) if bound is None else bound
    return Solution(
        weights=feasible,
        multipliers=lam,
        objective=objective,
        bound=proven,
        gap=program.gap(objective, proven),
        status=status,
        iterations=iterations,
        build_seconds=build_seconds,
        solve_seconds=solve_seconds,
        method=method,
    )


def _feasible(weights: NDArray[np.float64], size: float, upper: Any) -> NDArray[np.float64]:
    """Weights moved by their rounding error back into 0 ≤ w ≤ upper, Σw = size."""
    w = np.clip(np.asarray(weights, dtype=np.float64), 0.0, upper)
    missing = size - w.sum()
    room = upper - w if missing > 0 else w
    total = room.sum()
    if total > 0:
        w = w + missing * room / total
    return np.clip(w, 0.0, upper)
