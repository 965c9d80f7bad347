"""Training, validation and test rows, checked once.

Everything a user passes goes through :meth:`Split.from_arrays`. Behind it features are finite float arrays
(or CSR matrices), labels are class codes ``0..K-1``, and nothing needs to be checked again.
"""

from __future__ import annotations

import hashlib
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from cdvm._runtime.parameters import RANDOM_STATE, check, number, one_of, refuse_unused
from cdvm.data.checks import (
    Features,
    Task,
    check_classes,
    check_features,
    check_labels,
    column_names,
    encode_labels,
    some_of,
)
from cdvm.errors import InputError, InputWarning

__all__ = ["HOLDOUT", "MAX_EVALUATION_ROWS", "Features", "Split", "Task", "evaluation_sample"]

MAX_EVALUATION_ROWS = 5_000
"""Training rows that are evaluated out of bag, at most; of a larger table a random sample does."""

HOLDOUT = 0.2
"""Fraction of the rows that is held out where none is named."""

_RULES = {
    "task": one_of("classification", "regression"),
    "validation": one_of(None, "holdout", "out_of_bag"),
    "validation_size": number(lambda fraction: 0 < fraction < 1, "a fraction between 0 and 1, e.g. 0.2"),
    "test_size": number(
        lambda fraction: 0 <= fraction < 1, "a fraction between 0 and 1, e.g. 0.2, or 0 for none"
    ),
    "random_state": RANDOM_STATE,
}
_SIZES = {"validation_size": HOLDOUT, "test_size": 0.0}


def evaluation_sample(n_rows: int) -> NDArray[np.int64]:
    """The training rows that are evaluation rows: all, or a fixed random sample of a large table."""
    if n_rows <= MAX_EVALUATION_ROWS:
        return np.arange(n_rows)
    return np.sort(np.random.RandomState(0).permutation(n_rows)[:MAX_EVALUATION_ROWS])


@dataclass(frozen=True, eq=False)
class Split:
    """Checked training, validation and (perhaps) test rows.

    Attributes
    ----------
    X, X_val, X_test : ndarray or csr_array
        Features. ``X_val`` is None where training rows are the evaluation rows, ``X_test`` may be None.
    y, y_val, y_test : ndarray
        Class codes (a label never seen in training is -1), or targets for regression.
    classes : ndarray or None
        The label of each code; None for regression.
    rows : ndarray
        Position of each training row in the table that was passed.
    n_table : int
        Rows of that table, those held out included.
    index : ndarray or None
        The training rows' DataFrame labels, where there was a DataFrame.
    evaluation_rows : ndarray or None
        Out-of-bag evaluation: the training rows that are evaluation rows, each by the models that did not
        see it. None where there are validation rows.
    scaled : bool
        Whether :meth:`standardized` made the features.
    """

    X: Features
    y: NDArray[Any]
    X_val: Features | None
    y_val: NDArray[Any] | None
    classes: NDArray[Any] | None
    rows: NDArray[np.int64]
    n_table: int
    index: NDArray[Any] | None = None
    X_test: Features | None = None
    y_test: NDArray[Any] | None = None
    evaluation_rows: NDArray[np.int64] | None = None
    scaled: bool = False

    @property
    def n_rows(self) -> int:
        """Training rows."""
        return int(self.X.shape[0])

    @property
    def n_classes(self) -> int:
        """Classes seen in training; 0 for regression."""
        return 0 if self.classes is None else len(self.classes)

    @property
    def task(self) -> Task:
        return "regression" if self.classes is None else "classification"

    @property
    def evaluation(self) -> tuple[Features, NDArray[Any]]:
        """The rows on which outcomes are recorded, and their labels."""
        if self.evaluation_rows is None:
            return self.validation
        if len(self.evaluation_rows) == self.n_rows:
            return self.X, self.y
        return self.X[self.evaluation_rows], self.y[self.evaluation_rows]

    @property
    def validation(self) -> tuple[Features, NDArray[Any]]:
        """Rows no model is trained on, for methods that cannot do without, and their labels."""
        if self.X_val is None or self.y_val is None:
            raise InputError(
                "there are no validation rows, and this method needs some: pass X_val and y_val, or hold a "
                "part out with validation='holdout'"
            )
        return self.X_val, self.y_val

    def out_of_bag(self, evaluation_rows: Any = None) -> Split:
        """The same training rows, evaluated by the models that did not see them.

        Parameters
        ----------
        evaluation_rows : sequence of int, optional
            Positions of the training rows that are evaluation rows; by default all, or a random sample of
            ``MAX_EVALUATION_ROWS``.
        """
        n = self.n_rows
        if evaluation_rows is None:
            evaluation_rows = evaluation_sample(n)
        rows = np.unique(np.asarray(evaluation_rows, dtype=np.int64))
        if not len(rows) or rows[0] < 0 or rows[-1] >= n:
            raise InputError(f"evaluation_rows: use positions of training rows, 0 to {n - 1}, at least one")
        return replace(self, X_val=None, y_val=None, evaluation_rows=rows)

    def standardized(self) -> Split:
        """The same rows, every feature scaled to mean 0 and standard deviation 1 over the training rows.

        Sparse features are scaled but not centred. A split that is standardised already stays as it is.
        """
        if self.scaled:
            return self
        scaler = StandardScaler(with_mean=not sparse.issparse(self.X)).fit(self.X)
        parts = {"X": self.X, "X_val": self.X_val, "X_test": self.X_test}
        scaled: dict[str, Any] = {k: None if v is None else scaler.transform(v) for k, v in parts.items()}
        return replace(self, scaled=True, **scaled)

    def fingerprint(self) -> str:
        """Digest of the training and validation rows: equal data, equal digest."""
        digest = hashlib.sha256()
        parts: list[Any] = [self.X, self.y, *(self.validation if self.evaluation_rows is None else ())]
        for part in parts:
            arrays = (part.data, part.indices, part.indptr) if sparse.issparse(part) else (part,)
            for array in arrays:
                digest.update(f"{array.dtype.str}{array.shape}".encode())
                digest.update(np.ascontiguousarray(array).view(np.uint8).data)
        return digest.hexdigest()[:32]

    def labels(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Labels of class codes (or the targets themselves, for regression)."""
        return codes if self.classes is None else self.classes[codes]

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any,
        X_val: Any = None,
        y_val: Any = None,
        X_test: Any = None,
        y_test: Any = None,
        *,
        task: Task = "classification",
        validation: Literal["holdout", "out_of_bag"] | None = None,
        validation_size: float = _SIZES["validation_size"],
        test_size: float = _SIZES["test_size"],
        random_state: Any = None,
    ) -> Split:
        """Check what the user passed; hold out a stratified validation part when none is given.

        Parameters
        ----------
        X, X_val, X_test : array, DataFrame or sparse matrix
        y, y_val, y_test : sequence of labels of any hashable type, or of numbers for regression
        task : {"classification", "regression"}
        validation : {"holdout", "out_of_bag"}, optional
            Where ``X_val`` is not given: hold a part out, the default, or let the training rows be
            evaluation rows (:meth:`out_of_bag`).
        validation_size, test_size : float
            Fractions of the rows held out where ``X_val``, ``X_test`` are not given.
        random_state : int, RandomState or None
            Decides which rows are held out.

        Examples
        --------
        >>> split = Split.from_arrays([[0.0], [1.0]] * 10, ["no", "yes"] * 10, random_state=0)
        >>> split.n_rows, len(split.y_val), list(split.classes)
        (16, 4, [np.str_('no'), np.str_('yes')])
        """
        sizes = {"validation_size": validation_size, "test_size": test_size}
        check(_RULES, {"task": task, "validation": validation, "random_state": random_state, **sizes})
        others = {"val": (X_val, y_val), "test": (X_test, y_test)}
        _check_parts(others, validation, sizes)
        features, columns, index = check_features(X, "X")
        given = check_labels(y, "y", len_of=features, task=task)
        fractions = {"val": validation_size} if X_val is None and validation != "out_of_bag" else {}
        fractions |= {"test": test_size} if test_size else {}

        if task == "regression":
            classes, codes = None, given
        else:
            classes, codes = encode_labels(given)
            check_classes(classes, codes, parts=1 + len(fractions))

        parts: dict[str, Any] = {"X_val": None, "y_val": None}
        train = np.arange(features.shape[0], dtype=np.int64)
        if fractions:
            train, *held = _hold_out(
                codes, list(fractions.values()), stratify=task != "regression", random_state=random_state
            )
            for part, rows in zip(fractions, held, strict=True):
                parts |= {f"X_{part}": features[rows], f"y_{part}": codes[rows]}
        for part, (X_given, y_given) in others.items():
            if X_given is not None:
                checked = _second(X_given, y_given, part, columns, features, classes, task)
                parts |= dict(zip((f"X_{part}", f"y_{part}"), checked, strict=True))
        split = cls(
            X=features[train] if fractions else features,
            y=codes[train],
            classes=classes,
            rows=train,
            n_table=features.shape[0],
            index=None if index is None else index[train],
            **parts,
        )
        if split.y_val is None:
            return split.out_of_bag()
        if len(split.y_val) < max(split.n_classes, 1):
            raise InputError(
                f"y_val has {len(split.y_val)} rows for {split.n_classes} classes: "
                "pass at least one validation row per class"
            )
        return split


def _check_parts(others: dict[str, tuple[Any, Any]], validation: str | None, sizes: dict[str, float]) -> None:
    """Refuse half a part, and words on how to get rows that were passed."""
    for part, (X, y) in others.items():
        if (X is None) != (y is None):
            raise InputError(f"X_{part} and y_{part} go together: one of them is missing")
    own = {part: X is not None for part, (X, _) in others.items()}
    if validation is not None and own["val"]:
        raise InputError(f"validation={validation!r} goes without validation rows: leave out X_val and y_val")
    if own["val"] or validation == "out_of_bag":
        where = "X_val" if own["val"] else f"validation={validation!r}"
        refuse_unused({"validation_size": sizes["validation_size"]}, _SIZES, where)
    if own["test"]:
        refuse_unused({"test_size": sizes["test_size"]}, _SIZES, "X_test")


def _second(
    X: Any,
    y: Any,
    part: str,
    columns: list[Any] | None,
    train: Features,
    classes: NDArray[Any] | None,
    task: Task,
) -> tuple[Features, NDArray[Any]]:
    """Validation or test rows, in the training rows' columns and codes."""
    name = f"X_{part}"
    own = column_names(X)
    if columns is not None and own is not None and own != columns:
        missing = [c for c in columns if c not in set(own)]
        if missing:
            raise InputError(f"{name} lacks columns of X: {some_of(missing)}")
        twice = [c for c, often in Counter(columns + own).items() if often > 2]
        if twice:
            raise InputError(
                f"{some_of(twice)} name several columns: give each its own name, or sort {name} as X"
            )
        X = X.select(columns) if hasattr(X, "column_names") else X[columns]
    features, _, _ = check_features(X, name)
    if features.shape[1] != train.shape[1]:
        raise InputError(
            f"{name} has {features.shape[1]} features but X has {train.shape[1]}: pass the same columns"
        )
    given = check_labels(y, f"y_{part}", len_of=features, task=task)
    if sparse.issparse(train) and not sparse.issparse(features):
        features = sparse.csr_array(features)
    elif sparse.issparse(features) and not sparse.issparse(train):
        features = features.toarray()
    if classes is None:
        return features, given
    known = {label: code for code, label in enumerate(classes.tolist())}
    codes = np.array([known.get(label, -1) for label in given.tolist()], dtype=np.int64)
    unseen = codes < 0
    if unseen.any():
        labels = sorted({repr(label) for label in given[unseen].tolist()})
        warnings.warn(
            f"{int(unseen.sum())} of {len(codes)} rows of y_{part} carry labels never seen in y "
            f"({some_of(labels, quote=False)}): every model counts as wrong on them",
            InputWarning,
            stacklevel=4,
        )
    return features, codes


def _hold_out(
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
