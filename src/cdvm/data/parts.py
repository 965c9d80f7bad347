"""The parts of a split: how tables are read, which rows are held out, and what other tables must share.

A :class:`Door` reads what a user passes as features. Numbers are checked and taken as they are; a preparation
is fitted on the training rows alone, once it is known which they are.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from cdvm._runtime.parameters import Rule, one_of, refuse_unused
from cdvm.data.checks import Features, Task, check_features, check_finite, check_labels, column_names, some_of
from cdvm.data.columns import as_frame
from cdvm.data.raw import RawColumns
from cdvm.errors import InputError, InputWarning

__all__ = ["HOLDOUT", "PREPARE", "SIZES", "Door", "Prepare", "check_parts", "hold_out", "second_labels"]

Prepare = Literal["missing", "columns"] | None | Any
PREPARE = one_of(None, "missing", "columns") | Rule(
    lambda given: hasattr(given, "fit") and hasattr(given, "transform"), "a cdvm.Preparation"
)
HOLDOUT = 0.2
"""Fraction of the rows that is held out where none is named."""

SIZES = {"validation_size": HOLDOUT, "test_size": 0.0}


class Door:
    """How features come in: as numbers, as numbers with NaN, as raw columns, or through a preparation.

    Parameters
    ----------
    prepare : None, "missing", "columns" or Preparation
        As in :meth:`cdvm.Split.from_arrays`.

    Attributes
    ----------
    columns : list or None
        Names of the training table's columns.
    index : ndarray or None
    preparation : Preparation or None
        Fitted by :meth:`fit`.
    """

    def __init__(self, prepare: Prepare) -> None:
        self._prepare = prepare
        self._prepares = prepare is not None and not isinstance(prepare, str)
        self.preparation: Any = None
        self._alone = False
        self.columns: list[Any] | None = None
        self.index: NDArray[Any] | None = None

    def read(self, X: Any, name: str = "X") -> Features:
        """The training table."""
        features, self.columns, self.index = self._checked(X, name)
        self._alone = column_names(X) is None and isinstance(features, RawColumns) and features.shape[1] == 1
        return features

    def fit(self, train: Features) -> Features:
        """The features of the training rows, after which :meth:`transform` knows how to make others."""
        if not self._prepares:
            return train
        # texts that came without a table are told from a column of one by their shape
        self.preparation = clone(self._prepare).fit(train.table.iloc[:, 0] if self._alone else train.table)
        return self.transform(train)

    def transform(self, other: Features) -> Features:
        """The features of rows that :meth:`read` or :meth:`read_second` gave."""
        if self.preparation is None:
            return other
        features = self.preparation.transform(other.table)
        if isinstance(features, RawColumns):
            return features
        return check_finite(features, "X", list(self.preparation.get_feature_names_out()))

    def read_second(self, X: Any, name: str, train: Features) -> Features:
        """Another table, in the training table's columns."""
        features = self._checked(self._in_order(X, name), name)[0]
        if self.preparation is not None:
            return self.transform(features)
        if features.shape[1] != train.shape[1]:
            raise InputError(
                f"{name} has {features.shape[1]} features but X has {train.shape[1]}: pass the same columns"
            )
        if sparse.issparse(train) and not sparse.issparse(features):
            return sparse.csr_array(features)
        return features.toarray() if sparse.issparse(features) and not sparse.issparse(train) else features

    def reader(self, train: Features) -> Reader:
        """What makes features of further rows; it holds none of the rows there are."""
        other = copy(self)
        other.index = None
        return Reader(other, train[:0])

    def _checked(self, X: Any, name: str) -> tuple[Features, list[Any] | None, NDArray[Any] | None]:
        named = column_names(X) is not None
        if self._prepares or (self._prepare == "columns" and named):
            own = hasattr(X, "index") and hasattr(X, "iloc")
            frame = as_frame(X, name)
            return RawColumns(frame), list(frame.columns), np.asarray(frame.index) if own else None
        if self._prepare == "columns":
            table = np.asarray(X, dtype=object)
            if table.ndim != 2:
                raise InputError(f"{name} has shape {table.shape}: pass a table, one row after the other")
            return RawColumns(table), None, None
        return check_features(X, name, missing=self._prepare == "missing")

    def _in_order(self, X: Any, name: str) -> Any:
        """The table with the columns of ``X`` in its order."""
        own, columns = column_names(X), self.columns
        if columns is None or own is None or own == columns:
            return X
        needed = columns if self.preparation is None else self.preparation.needed_
        missing = [c for c in needed if c not in {*own, *map(str, own)}]
        if missing:
            raise InputError(f"{name} lacks columns of X: {some_of(missing)}")
        if self.preparation is not None:
            return X
        twice = [c for c, often in Counter(columns + own).items() if often > 2]
        if twice:
            raise InputError(
                f"{some_of(twice)} name several columns: give each its own name, or sort {name} as X"
            )
        return X.select(columns) if hasattr(X, "column_names") else X[columns]


@dataclass(frozen=True)
class Reader:
    """A door for rows that come later; ``empty`` are no rows, of the kind that features are."""

    door: Door
    empty: Features

    def __call__(self, X: Any) -> Features:
        return self.door.read_second(X, "X_new", self.empty)


def check_parts(others: dict[str, tuple[Any, Any]], validation: str | None, sizes: dict[str, float]) -> None:
    """Refuse half a part, and words on how to get rows that were passed."""
    for part, (X, y) in others.items():
        if (X is None) != (y is None):
            raise InputError(f"X_{part} and y_{part} go together: one of them is missing")
    own = {part: X is not None for part, (X, _) in others.items()}
    if validation is not None and own["val"]:
        raise InputError(f"validation={validation!r} goes without validation rows: leave out X_val and y_val")
    if own["val"] or validation == "out_of_bag":
        where = "X_val" if own["val"] else f"validation={validation!r}"
        refuse_unused({"validation_size": sizes["validation_size"]}, SIZES, where)
    if own["test"]:
        refuse_unused({"test_size": sizes["test_size"]}, SIZES, "X_test")


def second_labels(
    y: Any, name: str, *, len_of: Features, classes: NDArray[Any] | None, task: Task
) -> NDArray[Any]:
    """Labels of validation or test rows, as codes of the training rows' classes."""
    given = check_labels(y, name, len_of=len_of, task=task)
    if classes is None:
        return given
    known = {label: code for code, label in enumerate(classes.tolist())}
    codes = np.array([known.get(label, -1) for label in given.tolist()], dtype=np.int64)
    unseen = codes < 0
    if unseen.any():
        labels = sorted({repr(label) for label in given[unseen].tolist()})
        warnings.warn(
            f"{int(unseen.sum())} of {len(codes)} rows of {name} carry labels never seen in y "
            f"({some_of(labels, quote=False)}): every model counts as wrong on them",
            InputWarning,
            stacklevel=4,
        )
    return codes


def hold_out(
    codes: NDArray[Any], sizes: Sequence[float], *, stratify: bool, random_state: Any
) -> list[NDArray[np.int64]]:
    """Sorted row positions: the training part first, then one part per size."""
    if sum(sizes) >= 1:
        raise InputError(f"the held-out fractions {tuple(sizes)} leave no training rows: use smaller ones")
    if len(codes) <= len(sizes):
        raise InputError(f"X has n_samples = {len(codes)} rows: too few to hold any out")
    rng = check_random_state(random_state)
    strata = codes if stratify else np.zeros(len(codes), dtype=np.int64)
    parts: list[list[NDArray[np.int64]]] = [[] for _ in range(len(sizes) + 1)]
    for code in np.unique(strata):
        rows = rng.permutation(np.flatnonzero(strata == code))
        taken = 0
        for part, fraction in enumerate(sizes, start=1):
            still_needed = len(sizes) - part + 1  # one row for each later part and one to train on
            count = min(max(1, round(fraction * len(rows))), len(rows) - taken - still_needed)
            parts[part].append(rows[taken : taken + count])
            taken += count
        parts[0].append(rows[taken:])
    return [np.sort(np.concatenate(part)) for part in parts]
