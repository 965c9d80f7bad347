"""Herding: kept rows whose mean stays the mean of all (Welling, 2009; Rebuffi et al., 2017).

With *s* the sum of the rows kept so far, seen from the mean of all, the next row is the one that brings the
kept rows' mean closest to the mean of all: the smallest ‖s + x‖² = ‖s‖² + 2⟨s, x⟩ + ‖x‖². Only ⟨s, x⟩ has to
be carried along.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cdvm.data.split import Split
from cdvm.selectors.base import Positions, Space, choose

__all__ = ["herding"]


def herding(
    split: Split, budget: float, *, per_class: bool | None = None, random_state: Any = None
) -> Positions:
    """Choose rows, one by one, that keep the mean of the features in place.

    Parameters
    ----------
    split : Split
    budget : int or float
        Rows to keep, as a count or as a fraction.
    per_class : bool, optional
        Match the mean of every class (the default for classification) or of all rows.
    random_state : ignored
        The choice is not random; of equal rows the earlier is kept.

    Returns
    -------
    ndarray
        Sorted positions among the training rows.
    """

    def pick(rows: Positions, size: int) -> Positions:
        space = Space(split.X[rows])
        chosen = np.empty(size, dtype=np.int64)
        distance = space.squares.copy()
        for step in range(size):
            chosen[step] = distance.argmin()
            distance += 2.0 * space.products(chosen[step : step + 1])[:, 0]
            distance[chosen[step]] = np.inf
        return rows[chosen]

    return choose(split, budget, per_class, pick)
