"""Targets that cannot be meant, and features that are the target in disguise."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cdvm.data.checks import Task, some_of
from cdvm.data.raw import RawColumns
from cdvm.errors import InputError, InputWarning

__all__ = ["check_target", "warn_of_leaks"]

_MANY = 20  # classes with one row each from which they are no accident
_LEAST = 100  # rows in fewer of which a feature may tell the target by chance
_APART = 1_000  # the same for classes that lie apart, as those of an easy task may in a small table
_LOOKED_AT = 2_000  # rows that rule out most features
_FEW = 0.1  # levels for each row, at most, of a column that is worth a look as names


def check_target(y: NDArray[Any], classes: NDArray[Any] | None, codes: NDArray[Any], name: str = "y") -> None:
    """Refuse a target that tells rows apart instead of grouping them, or that never changes."""
    if classes is None:
        if len(y) > 1 and (y == y[0]).all():
            raise InputError(f"{name} is always {y[0]:g}: there is nothing to predict; name another target")
        return
    alone = int((np.bincount(codes, minlength=len(classes)) == 1).sum())
    if alone >= _MANY and alone > len(classes) / 2:
        raise InputError(
            f"{name} has {len(classes)} classes for {len(y)} rows, {alone} of them with one row only, e.g. "
            f"{some_of(classes.tolist(), most=3)}: it looks like an id, or like a number to predict. Name "
            "another target, or pass a regressor, e.g. learner='ridge_regression'"
        )


def warn_of_leaks(
    X: Any, y: NDArray[Any], columns: list[Any] | None, task: Task, used: list[str] | None
) -> None:
    """Warn of features each of which tells the target of every training row.

    Names do if each comes with one class only, numbers if they sort rows into classes without a mistake, or
    if their order is that of the target or its reverse. ``used`` names the columns that count.
    """
    n = X.shape[0]
    if n < _LEAST or sparse.issparse(X):
        return
    few = np.unique(np.linspace(0, n - 1, min(n, _LOOKED_AT)).astype(np.int64))
    leaks = []
    for k in range(X.shape[1]):
        if used is not None and columns is not None and str(columns[k]) not in used:
            continue
        column = X.table.iloc[:, k] if isinstance(X, RawColumns) and hasattr(X.table, "iloc") else None
        if column is None and isinstance(X, RawColumns):
            return
        values = X[:, k] if column is None else column
        if _tells(_taken(values, few), y[few], task) and _tells(_taken(values, np.arange(n)), y, task):
            leaks.append(k if columns is None else columns[k])
    if leaks:
        warnings.warn(
            f"column{'s' * (len(leaks) > 1)} {some_of(leaks)} of X alone tell{'s' * (len(leaks) == 1)} y in "
            "every training row: if made from it, leave it out, or rows will be chosen for nothing",
            InputWarning,
            stacklevel=4,
        )


def _taken(values: Any, rows: NDArray[np.int64]) -> Any:
    return values.iloc[rows] if hasattr(values, "iloc") else values[rows]


def _tells(values: Any, y: NDArray[Any], task: Task) -> bool:
    numbers = values if isinstance(values, np.ndarray) else _numbers(values)
    if numbers is not None:
        return _sorts(numbers, y, task)
    if task == "regression":
        return False
    import pandas as pd

    try:
        levels = pd.factorize(values, use_na_sentinel=False)[0]
    except TypeError:  # lists and other values without a hash
        return False
    count = levels.max() + 1
    if count > _FEW * len(y) or count < 2:
        return False
    return bool(len(np.unique(levels * (y.max() + 1) + y)) == count)


def _numbers(values: Any) -> NDArray[np.float64] | None:
    if getattr(values.dtype, "kind", "O") not in "biuf":
        return None
    return np.asarray(values, dtype=np.float64)


def _sorts(numbers: NDArray[np.float64], y: NDArray[Any], task: Task) -> bool:
    """Whether rows in the order of a number are in that of the target, or have each class in one piece."""
    if np.isnan(numbers).any():
        return False
    order = np.argsort(numbers, kind="stable")
    ordered, sorted_y = numbers[order], y[order]
    same = ordered[1:] == ordered[:-1]
    if task == "regression":
        steps = np.diff(sorted_y)
        return bool(
            (steps[same] == 0).all() and ((steps >= 0).all() or (steps <= 0).all()) and (steps != 0).any()
        )
    changes = sorted_y[1:] != sorted_y[:-1]
    classes = len(np.unique(y))
    levels = len(y) - int(same.sum())
    if len(y) < _APART and levels > _FEW * len(y):
        return False
    return bool(classes > 1 and changes.sum() == classes - 1 and not (changes & same).any())
