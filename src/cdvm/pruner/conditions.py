"""Conditions as users say them, about rows of their table, for the rows that can be kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cdvm.data.split import Split
from cdvm.errors import InputError
from cdvm.optimize.conditions import Conditions

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "check_length",
    "conditions_on",
    "importance_of",
    "refuse_comparing",
    "rows_of_table",
    "table_conditions",
]


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
        keep=rows_of_table(split, keep, "keep"),
        drop=rows_of_table(split, drop, "drop"),
        groups=_column(split, groups, "groups"),
        at_least=at_least,
        at_most=at_most,
        together=_column(split, together, "together"),
        costs=_column(split, costs, "costs"),
    )


def table_conditions(
    frame: pd.DataFrame,
    *,
    keep_if: str = "",
    drop_if: str = "",
    groups: str = "",
    at_least: Any = None,
    at_most: Any = None,
    together: str = "",
    cost: str = "",
) -> dict[str, Any]:
    """Conditions in terms of a table's columns, as :meth:`CDVM.select` takes them.

    >>> import pandas as pd
    >>> table_conditions(pd.DataFrame({"a": [1, 5], "b": list("xy")}), keep_if="a > 3 and b == 'y'")
    {'keep': array([False,  True])}
    """
    found: dict[str, Any] = {}
    for name, expression in (("keep", keep_if), ("drop", drop_if)):
        if expression:
            found[name] = _where(frame, expression, f"{name}_if")
    for name, column in (("groups", groups), ("together", together), ("costs", cost)):
        if column and column not in frame.columns:
            known = ", ".join(map(str, frame.columns[:8]))
            word = "cost" if name == "costs" else name
            raise InputError(f"{word}={column!r} is no column of the table, which has {known}")
        if column and name == "costs":
            found[name] = _numbers(frame, column)
        elif column:
            labels = frame[column].astype(object)
            found[name] = labels.where(labels.isna(), labels.astype(str)).to_numpy()
    return found | {k: v for k, v in (("at_least", at_least), ("at_most", at_most)) if v is not None}


def _where(frame: pd.DataFrame, expression: str, name: str) -> NDArray[np.bool_]:
    try:
        rows: Any = frame.eval(expression, engine="python")
    except Exception as error:  # whatever is wrong with it
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(
            f"{name}={expression!r} cannot be understood ({reason[0]}): write a condition on columns such as "
            "\"age > 30 and source == 'gold'\""
        ) from error
    if getattr(rows, "shape", None) != (len(frame),) or rows.dtype.kind not in "b":
        raise InputError(f"{name}={expression!r} is not true or false for every row: compare a column")
    return np.asarray(rows, dtype=np.bool_)


def _numbers(frame: pd.DataFrame, column: str) -> NDArray[np.float64]:
    import pandas as pd

    numbers = pd.to_numeric(frame[column], errors="coerce").to_numpy(dtype=np.float64)
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if wrong.size:
        value = frame[column].iloc[wrong[0]]
        raise InputError(f"cost={column!r}: row {wrong[0]} has {value!r}; use a column of numbers above 0")
    return numbers


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


def check_length(split: Split, values: Any, name: str) -> None:
    """Complain unless there is an entry for each row of the table."""
    length = values.shape[0] if hasattr(values, "shape") else len(values)
    if length != split.n_table:
        raise InputError(f"{name} has {length} entries: use one for each of the table's {split.n_table} rows")


def _column(split: Split, values: Any, name: str) -> Any:
    """The entries of the training rows."""
    if values is None:
        return None
    check_length(split, values, name)
    found = np.asarray(values, dtype=None if hasattr(values, "dtype") else object)
    return found[split.rows]


def rows_of_table(split: Split, rows: Any, name: str) -> NDArray[np.int64]:
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
    if held.size and name != "drop":
        raise InputError(f"{name} names row {held[0]}, which was held out and cannot be kept")
    return np.asarray(place[split.rows[place] == given])


def _labelled(split: Split, labels: NDArray[Any], name: str) -> NDArray[np.int64]:
    assert split.index is not None
    known = dict(zip(split.index.tolist(), split.rows.tolist(), strict=True))
    missing = [label for label in labels.tolist() if label not in known]
    if missing:
        raise InputError(f"{name} names {missing[0]!r}, which is no label of a row that can be kept")
    return np.array([known[label] for label in labels.tolist()], dtype=np.int64)


def refuse_comparing(
    effort: str, wanted: str | None, metric: Any, conditions: Conditions | None, weights: Any
) -> None:
    """Complain where ways to choose should be compared and only the program knows what is asked.

    ``effort`` is that in force, ``wanted`` the one that was set, if any.
    """
    if effort == "low" or (weights is None and (conditions is None or conditions.exact)):
        return
    alone = "weights" if weights is not None else "costs and together"
    if wanted is not None:
        raise InputError(f"effort={wanted!r} has no use for {alone}: use effort='low'")
    if metric is not None:
        raise InputError(
            f"metric={metric!r} compares ways to choose, and {alone} are for the program alone: "
            "leave it out, or add tune='grid' or refine=True"
        )
