"""Greedy k-center: no row far from a kept one (Gonzalez, 1985; Sener and Savarese, 2018).

Each step keeps the row farthest from all kept so far, which makes the largest distance of any row to the kept
ones at most twice the smallest possible. The distance to the nearest kept row is carried along, so S steps
cost S products of the features with one row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from cdvm.data.split import Split
from cdvm.selectors.base import Positions, Space, choose

__all__ = ["k_center"]


def k_center(
    split: Split, budget: float, *, per_class: bool | None = None, random_state: Any = None
) -> Positions:
    """Choose rows so that every row has a kept one close by.

    Parameters
    ----------
    split : Split
    budget : int or float
        Rows to keep, as a count or as a fraction.
    per_class : bool, optional
        Cover every class by itself (the default for classification) or all rows together.
    random_state : int, RandomState or None
        Draws the first row; None starts from the row nearest to the mean.

    Returns
    -------
    ndarray
        Sorted positions among the training rows.
    """
    rng = None if random_state is None else check_random_state(random_state)

    def pick(rows: Positions, size: int) -> Positions:
        space = Space(split.X[rows])
        first = int(space.squares.argmin()) if rng is None else int(rng.randint(len(rows)))
        return rows[_farthest_points(space, size, first)]

    return choose(split, budget, per_class, pick)


def _farthest_points(space: Space, size: int, first: int) -> Positions:
    chosen = np.empty(size, dtype=np.int64)
    nearest = np.full(len(space), np.inf)
    for step in range(size):
        chosen[step] = first
        np.minimum(nearest, space.distances(chosen[step : step + 1])[:, 0], out=nearest)
        nearest[first] = -1.0  # below the 0 of its duplicates, which may still be needed
        first = int(nearest.argmax())
    return chosen
