"""Rows that come to a table, and rows that leave it, after it was split.

What made features of the first rows (a preparation, the mean and scale of each feature) stays as it was
fitted, so that the features of rows that were there do not change, nor what models answered on them.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm.data.checks import check_labels
from cdvm.data.raw import stack_rows
from cdvm.data.split import Split
from cdvm.errors import InputError, InputWarning

__all__ = ["more_labels", "with_classes", "with_rows", "without_rows"]


def more_labels(split: Split, y: Any) -> tuple[NDArray[Any] | None, NDArray[Any]]:
    """All classes, with those that only further rows have, and the labels of these rows as their codes."""
    given = check_labels(y, "y_new", len_of=np.empty((len(y), 1)), task=split.task)
    if split.classes is None:
        return None, given
    there = split.classes.tolist()
    new = sorted(set(given.tolist()) - set(there), key=str)
    classes = split.classes
    if new:
        if isinstance(new[0], str) != isinstance(there[0], str):
            raise InputError(
                f"y_new has the label {new[0]!r} and y labels like {there[0]!r}: pass labels of one type"
            )
        if any(codes is not None and (codes < 0).any() for codes in (split.y_val, split.y_test)):
            raise InputError(
                f"y_new has the new label {new[0]!r}, and validation or test rows have labels that no "
                "training row had: fit all rows anew"
            )
        warnings.warn(
            f"y_new has labels that y had not: {', '.join(map(repr, new[:5]))}{', …' * (len(new) > 5)}",
            InputWarning,
            stacklevel=3,
        )
        classes = np.unique(np.concatenate([split.classes, np.asarray(new)]))
    known = {label: code for code, label in enumerate(classes.tolist())}
    return classes, np.array([known[label] for label in given.tolist()], dtype=np.int64)


def with_classes(split: Split, classes: NDArray[Any] | None) -> Split:
    """The split with classes of which it had some, and its labels as their codes."""
    if classes is None or split.classes is None or len(classes) == len(split.classes):
        return split
    place = np.searchsorted(classes, split.classes)
    coded = {
        name: place[codes] for name in ("y", "y_val", "y_test") if (codes := getattr(split, name)) is not None
    }
    return replace(split, classes=classes, **coded)


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
