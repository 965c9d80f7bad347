"""Moderate coreset: rows neither close to their class's centre nor far from it (Xia et al., 2023).

Rows close to the centre repeat each other, rows far from it are outliers or wrong. Kept are those whose
distance to the centre is nearest to the median distance.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cdvm.data.split import Split
from cdvm.selectors.base import Positions, Space, choose

__all__ = ["moderate"]


def moderate(
    split: Split, budget: float, *, per_class: bool | None = None, random_state: Any = None
) -> Positions:
    """Choose rows of median distance to the centre.

    Parameters
    ----------
    split : Split
    budget : int or float
        Rows to keep, as a count or as a fraction.
    per_class : bool, optional
        Let every class have a centre (the default for classification) or all rows one.
    random_state : ignored
        The choice is not random; of equal rows the earlier is kept.

    Returns
    -------
    ndarray
        Sorted positions among the training rows.
    """

    def pick(rows: Positions, size: int) -> Positions:
        distance = np.sqrt(Space(split.X[rows]).squares)
        return rows[np.argsort(np.abs(distance - np.median(distance)), kind="stable")[:size]]

    return choose(split, budget, per_class, pick)
