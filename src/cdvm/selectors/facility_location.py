"""Facility location: kept rows that stand for all others (Mirzasoleiman et al., 2020).

Every row is served by the nearest kept one. The total distance saved by keeping *j* as well,
``Σ_i max(0, best_i − d(i, j))``, only shrinks as more rows are kept, so gains computed earlier are upper
bounds: the lazy greedy (Minoux, 1978) looks again only at rows whose bound could still win, some at a time,
and keeps the same rows as the full greedy. Greedy is within 1 − 1/e of the best for the similarity
``max d − d``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm.data.split import Features, Split
from cdvm.selectors.base import Positions, Space, choose

__all__ = ["facility_location", "medoids"]

_CACHED_ENTRIES = 1 << 24  # distances kept at once, 128 MB
_LOOK_AGAIN = 32  # stale candidates whose gain is renewed together


def facility_location(
    split: Split, budget: float, *, per_class: bool | None = None, random_state: Any = None
) -> Positions:
    """Choose rows that are together nearest to all rows.

    Parameters
    ----------
    split : Split
    budget : int or float
        Rows to keep, as a count or as a fraction.
    per_class : bool, optional
        Let every class be served by its own rows (the default for classification) or all rows by all.
    random_state : ignored
        The choice is not random; of equal rows the earlier is kept.

    Returns
    -------
    ndarray
        Sorted positions among the training rows.
    """
    return choose(split, budget, per_class, lambda rows, size: rows[medoids(split.X[rows], size)])


def medoids(X: Features, size: int) -> Positions:
    """The rows of ``X`` that are together nearest to all, in the order they are chosen."""
    return _lazy_greedy(_Distances(X), size)


class _Distances:
    """Columns of the distance matrix: held whole where it is small, computed when asked where not."""

    def __init__(self, X: Any) -> None:
        self.space = Space(X)
        self.n = len(self.space)
        small = self.n**2 <= _CACHED_ENTRIES
        self._held = self.space.distances(np.arange(self.n)) if small else None
        self.step = max(1, _CACHED_ENTRIES // self.n)

    def columns(self, rows: Positions) -> NDArray[np.float64]:
        return self.space.distances(rows) if self._held is None else self._held[:, rows]


def _lazy_greedy(distances: _Distances, size: int) -> Positions:
    n = distances.n
    # against a facility farther than any row, all first gains are positive
    far, total = 0.0, np.empty(n)
    for start in range(0, n, distances.step):
        part = np.arange(start, min(start + distances.step, n))
        block = distances.columns(part)
        far, total[part] = max(far, float(block.max())), block.sum(axis=0)
    # two rows nearest to each other gain exactly the same; rounding must not decide between them
    scale = n * far or 1.0
    bound = np.round((n * far - total) / scale, 12)
    best = np.full(n, far)
    fresh, taken = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
    chosen = np.empty(size, dtype=np.int64)
    for step in range(size):
        while True:
            winner = int(bound.argmax())
            if fresh[winner]:
                break
            stale = np.flatnonzero(~(fresh | taken))
            few = min(_LOOK_AGAIN, len(stale))
            ahead = stale[np.argpartition(-bound[stale], few - 1)[:few]]
            gains = np.maximum(best[:, None] - distances.columns(ahead), 0.0).sum(axis=0)
            bound[ahead] = np.round(gains / scale, 12)
            fresh[ahead] = True
        chosen[step] = winner
        np.minimum(best, distances.columns(chosen[step : step + 1])[:, 0], out=best)
        bound[winner], taken[winner] = -np.inf, True
        fresh[:] = False
    return chosen
