"""Random rows, each class in proportion to its size: the baseline to beat."""

from __future__ import annotations

from typing import Any

from sklearn.utils import check_random_state

from cdvm.data.split import Split
from cdvm.selectors.base import Positions, choose

__all__ = ["stratified"]


def stratified(
    split: Split, budget: float, *, per_class: bool | None = None, random_state: Any = None
) -> Positions:
    """Choose uniformly within every class.

    Parameters
    ----------
    split : Split
    budget : int or float
        Rows to keep, as a count or as a fraction.
    per_class : bool, optional
        Divide the budget among the classes (the default for classification) or draw from all rows alike.
    random_state : int, RandomState or None

    Returns
    -------
    ndarray
        Sorted positions among the training rows.
    """
    rng = check_random_state(random_state)
    return choose(split, budget, per_class, lambda rows, size: rng.choice(rows, size, replace=False))
