"""Conditions as users say them, about rows of their table, for the rows that can be kept."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm.data.split import Split
from cdvm.errors import InputError
from cdvm.optimize.conditions import Conditions

__all__ = ["conditions_on", "importance_of"]


def conditions_on(
    split: Split,
    *,
    keep: Any = None,
    drop: Any = None,
    groups: Any = None,
    at_least: Any = None,
    at_most: Any = None,
    together: Any = None,
    costs: Any = None,
) -> Conditions | None:
    """Conditions on the training rows of a split; None where nothing is asked for.

    ``keep`` and ``drop`` are positions in the table, a mask of it, or labels of its index; ``groups``,
    ``together`` and ``costs`` have one entry for each of its rows. See :meth:`Conditions.of`.
    """
    given = (keep, drop, groups, at_least, at_most, together, costs)
    if all(value is None for value in given):
        return None
    return Conditions.of(
        split.n_rows,
        keep=_positions(split, keep, "keep"),
        drop=_positions(split, drop, "drop"),
        groups=_column(split, groups, "groups"),
        at_least=at_least,
        at_most=at_most,
        together=_column(split, together, "together"),
        costs=_column(split, costs, "costs"),
    )


def importance_of(split: Split, weights: Any) -> NDArray[np.float64] | None:
    """The importance of each evaluation row: one number each, or one for each row of the table.

    Where training rows are evaluation rows, there are as many numbers as rows of the table.
    """
    if weights is None:
        return None
    found = np.asarray(weights, dtype=np.float64)
    if split.evaluation_rows is not None and found.shape == (split.n_table,):
        found = found[split.rows][split.evaluation_rows]
    expected = len(split.evaluation[1])
    if found.shape != (expected,):
        whole = f", or {split.n_table} of the table's" if split.evaluation_rows is not None else ""
        raise InputError(
            f"weights has shape {found.shape}: use one number for each of {expected} evaluation rows{whole}"
        )
    return found


def _column(split: Split, values: Any, name: str) -> Any:
    """The entries of the training rows."""
    if values is None:
        return None
    if len(values) != split.n_table:
        raise InputError(
            f"{name} has {len(values)} entries: use one for each of the table's {split.n_table} rows"
        )
    found = np.asarray(values, dtype=None if hasattr(values, "dtype") else object)
    return found[split.rows]


def _positions(split: Split, rows: Any, name: str) -> NDArray[np.int64]:
    """Positions among the training rows, of rows of the table."""
    if rows is None:
        return np.empty(0, dtype=np.int64)
    given = np.asarray(rows)
    if given.dtype == np.bool_:
        if given.shape != (split.n_table,):
            raise InputError(f"{name} is a mask of {len(given)} rows: use one of {split.n_table}")
        given = np.flatnonzero(given)
    elif split.index is not None and given.size and given.dtype.kind not in "iu":
        given = _labelled(split, given, name)
    if given.size and given.dtype.kind not in "iu":
        raise InputError(f"{name}: use positions of rows, a mask, or labels of the index")
    given = given.astype(np.int64)
    if given.size and (given.min() < 0 or given.max() >= split.n_table):
        raise InputError(f"{name} names a row outside 0..{split.n_table - 1}, the rows of the table")
    place = np.minimum(np.searchsorted(split.rows, given), split.n_rows - 1)
    held = given[split.rows[place] != given]
    if held.size and name == "keep":
        raise InputError(f"keep names row {held[0]}, which was held out and cannot be kept")
    return np.asarray(place[split.rows[place] == given])


def _labelled(split: Split, labels: NDArray[Any], name: str) -> NDArray[np.int64]:
    assert split.index is not None
    known = dict(zip(split.index.tolist(), split.rows.tolist(), strict=True))
    missing = [label for label in labels.tolist() if label not in known]
    if missing:
        raise InputError(f"{name} names {missing[0]!r}, which is no label of a row that can be kept")
    return np.array([known[label] for label in labels.tolist()], dtype=np.int64)
