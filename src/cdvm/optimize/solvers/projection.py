"""Projection onto the weights of a program, W = {0 ≤ w ≤ upper, Σw = S}.

The nearest point to *z* is ``clip(z − μ, 0, upper)`` with the shift μ at which it sums to S. The sum falls
in μ, piecewise linearly, so Newton's method inside a shrinking bracket ends after finitely many passes over
z: two or three when it starts from the shift of a nearby problem.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["project"]

_PASSES = 200  # bisection alone reaches the last bit well before


def project(
    point: NDArray[Any], size: float, shift: float | None = None, upper: Any = 1.0
) -> tuple[NDArray[np.float64], float]:
    """The nearest weights to ``point`` and the shift that gives them; ``shift`` is where to start looking.

    ``upper`` is the largest weight, of all rows or of each.

    >>> import numpy as np
    >>> weights, shift = project(np.array([3.0, 0.5, 0.25, -1.0]), size=2)
    >>> weights, float(shift)
    (array([1.   , 0.625, 0.375, 0.   ]), -0.125)
    """
    z = np.asarray(point, dtype=np.float64)
    low, high = float((z - upper).min()), float(z.max())
    most = np.broadcast_to(np.asarray(upper, dtype=np.float64), z.shape)
    if size >= most.sum():
        return most.copy(), low
    if size <= 0:
        return np.zeros(len(z)), high
    known = shift is not None and low < shift < high
    mu = step = float(shift) if known and shift is not None else _guess(z, size, upper)
    z, weights = z - step, np.empty_like(z)
    for _ in range(_PASSES):
        # z is measured from the present shift, so that entries close to the answer keep all their digits
        low, high = low - step, high - step
        np.clip(z, 0.0, upper, out=weights)
        excess = float(weights.sum()) - size
        if abs(excess) <= 1e-13 * size:
            break
        if excess > 0:
            low = 0.0
        else:
            high = 0.0
        inner = np.count_nonzero((z > 0.0) & (z < upper))
        step = excess / inner if inner else np.nan
        step = step if low < step < high else 0.5 * (low + high)
        if step == 0.0:
            break
        z -= step
        mu += step
    return weights, float(mu)


def _guess(z: NDArray[np.float64], size: float, upper: Any) -> float:
    """Half below the S-th largest entry: exact when the entries are far apart."""
    if np.ndim(upper):
        return float(np.average(z, weights=upper))
    place = len(z) - int(size)
    return float(np.partition(z, place)[place]) - 0.5
