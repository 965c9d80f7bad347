"""Rows that come to a table, and rows that leave it, after it was split.

What made features of the first rows (a preparation, the mean and scale of each feature) stays as it was
fitted, so that the features of rows that were there do not change, nor what models answered on them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm.data.checks import check_labels
from cdvm.data.raw import stack_rows
from cdvm.data.split import Split
from cdvm.errors import InputError

__all__ = ["more_labels", "with_rows", "without_rows"]


def more_labels(split: Split, y: Any) -> NDArray[Any]:
    """Labels of further rows, as codes of the classes there are."""
    given = check_labels(y, "y_new", len_of=np.empty((len(y), 1)), task=split.task)
    if split.classes is None:
        return given
    known = {label: code for code, label in enumerate(split.classes.tolist())}
    unknown = [label for label in given.tolist() if label not in known]
    if unknown:
        raise InputError(
            f"y_new has the label {unknown[0]!r}, which no trained model can answer: fit all rows anew"
        )
    return np.array([known[label] for label in given.tolist()], dtype=np.int64)


def with_rows(split: Split, X: Any, y: NDArray[Any], index: NDArray[Any] | None, seed: int) -> Split:
    """The split with further training rows at its end; ``y`` are codes or targets.

    Where training rows are evaluation rows, so are the further ones, or as large a sample of them as of the
    others.
    """
    if not split.way:
        raise InputError("this split does not know how its features were made: fit on a table or on arrays")
    for step in split.way:
        X = step(X)
    n, more = split.n_rows, len(y)
    if X.shape[0] != more:
        raise InputError(f"X_new has {X.shape[0]} rows and y_new {more} labels: pass one for each row")
    asked = split.evaluation_rows
    if asked is not None:
        wanted = max(1, round(more * len(asked) / n))
        sample = np.sort(np.random.default_rng([seed, n]).permutation(more)[:wanted])
        asked = np.concatenate([asked, n + sample])
    return replace(
        split,
        X=stack_rows([split.X, X]),
        y=np.concatenate([split.y, y]),
        rows=np.concatenate([split.rows, split.n_table + np.arange(more)]),
        n_table=split.n_table + more,
        index=None if split.index is None or index is None else np.concatenate([split.index, index]),
        evaluation_rows=asked,
    )


def without_rows(split: Split, rows: NDArray[np.int64]) -> Split:
    """The split without some of its training rows, which are gone from the table too."""
    stays = np.setdiff1d(np.arange(split.n_rows), rows)
    if split.classes is not None:
        lost = np.setdiff1d(np.unique(split.y), np.unique(split.y[stays]))
        if len(lost):
            raise InputError(
                f"no row with label {split.classes[lost[0]]!r} would be left: fit the rest of the rows anew"
            )
    gone, asked = np.sort(split.rows[rows]), split.evaluation_rows
    if asked is not None:
        left = asked[~np.isin(asked, rows)]
        asked = left - np.searchsorted(np.sort(rows), left)
        if not len(asked):
            raise InputError("no evaluation row would be left: fit the rest of the rows anew")
    kept = split.rows[stays]
    return replace(
        split,
        X=split.X[stays],
        y=split.y[stays],
        rows=kept - np.searchsorted(gone, kept),
        n_table=split.n_table - len(rows),
        index=None if split.index is None else split.index[stays],
        evaluation_rows=asked,
    )
