"""The door: training, validation and test rows, checked once.

Everything a user passes goes through :meth:`Split.from_arrays`. Behind it features are finite float arrays
(or CSR matrices), labels are class codes ``0..K-1``, and nothing needs to be checked again.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array, check_random_state
from sklearn.utils.multiclass import type_of_target

from cdvm.errors import InputError, InputWarning

__all__ = ["Features", "Split", "Task"]

Task = Literal["classification", "regression"]
Features: TypeAlias = Any  # a float ndarray or a csr_array; SciPy has no types to tell them apart


@dataclass(frozen=True, eq=False)
class Split:
    """Checked training, validation and (perhaps) test rows.

    Attributes
    ----------
    X, X_val, X_test : ndarray or csr_array
        Features; ``X_test`` may be None.
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
    """

    X: Features
    y: NDArray[Any]
    X_val: Features
    y_val: NDArray[Any]
    classes: NDArray[Any] | None
    rows: NDArray[np.int64]
    n_table: int
    index: NDArray[Any] | None = None
    X_test: Features | None = None
    y_test: NDArray[Any] | None = None

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
    def judges(self) -> tuple[Features, NDArray[Any]]:
        """The rows on which outcomes are recorded, and their labels."""
        return self.X_val, self.y_val

    def standardized(self) -> Split:
        """The same rows, every feature scaled to mean 0 and deviation 1 over the training rows.

        Sparse features are scaled but not centred.
        """
        scaler = StandardScaler(with_mean=not sparse.issparse(self.X)).fit(self.X)
        parts = {"X": self.X, "X_val": self.X_val, "X_test": self.X_test}
        scaled: dict[str, Any] = {k: None if v is None else scaler.transform(v) for k, v in parts.items()}
        return replace(self, **scaled)

    def fingerprint(self) -> str:
        """Digest of the training and judging rows: equal data, equal digest."""
        digest = hashlib.sha256()
        parts: list[Any] = [self.X, self.y, *self.judges]
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
        validation_size: float = 0.2,
        test_size: float = 0.0,
        random_state: Any = None,
    ) -> Split:
        """Check what the user passed; hold out a stratified validation part when none is given.

        Parameters
        ----------
        X, X_val, X_test : array, DataFrame or sparse matrix
        y, y_val, y_test : sequence of labels of any hashable type, or of numbers for regression
        task : {"classification", "regression"}
        validation_size, test_size : float
            Shares of the rows held out when ``X_val`` is not given.
        random_state : int, RandomState or None
            Decides which rows are held out.

        Examples
        --------
        >>> split = Split.from_arrays([[0.0], [1.0]] * 10, ["no", "yes"] * 10, random_state=0)
        >>> split.n_rows, len(split.y_val), list(split.classes)
        (16, 4, [np.str_('no'), np.str_('yes')])
        """
        features, columns, index = _features(X, "X")
        given = _labels(y, "y", len_of=features, task=task)
        if (X_val is None) != (y_val is None):
            raise InputError("X_val and y_val go together: one of them is missing")
        if (X_test is None) != (y_test is None):
            raise InputError("X_test and y_test go together: one of them is missing")
        held = X_val is None
        rows = np.arange(features.shape[0], dtype=np.int64)

        if task == "regression":
            classes, codes = None, given
        else:
            classes, codes = _encode(given)
            _check_classes(classes, codes, parts=1 + held + (held and test_size > 0))

        if held:
            sizes = (validation_size,) + ((test_size,) if test_size else ())
            parts = _hold_out(codes, sizes, stratify=task != "regression", random_state=random_state)
            train, validation = parts[0], parts[1]
            split = cls(
                X=features[train],
                y=codes[train],
                X_val=features[validation],
                y_val=codes[validation],
                classes=classes,
                rows=rows[train],
                n_table=len(rows),
                index=None if index is None else index[train],
            )
            if test_size:
                split = replace(split, X_test=features[parts[2]], y_test=codes[parts[2]])
        else:
            X_checked, y_checked = _second(X_val, y_val, "val", columns, features, classes, task)
            split = cls(features, codes, X_checked, y_checked, classes, rows, len(rows), index)
        if X_test is not None:
            X_checked, y_checked = _second(X_test, y_test, "test", columns, features, classes, task)
            split = replace(split, X_test=X_checked, y_test=y_checked)
        if len(split.y_val) < max(split.n_classes, 1):
            raise InputError(
                f"y_val has {len(split.y_val)} rows for {split.n_classes} classes: "
                "pass at least one validation row per class"
            )
        return split


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
    if columns is not None and hasattr(X, "columns"):
        missing = [c for c in columns if c not in set(X.columns)]
        if missing:
            raise InputError(f"{name} lacks columns of X: {_some(missing)}")
        X = X[columns]
    features, _, _ = _features(X, name)
    if features.shape[1] != train.shape[1]:
        raise InputError(
            f"{name} has {features.shape[1]} features but X has {train.shape[1]}: pass the same columns"
        )
    given = _labels(y, f"y_{part}", len_of=features, task=task)
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
            f"({_some(labels, quote=False)}): every model counts as wrong on them",
            InputWarning,
            stacklevel=4,
        )
    return features, codes


def _features(X: Any, name: str) -> tuple[Features, list[Any] | None, NDArray[Any] | None]:
    """Finite float features, column names and row labels."""
    columns = index = None
    if not hasattr(X, "iloc") and hasattr(X, "to_pandas"):  # polars, pyarrow and other frames
        X = X.to_pandas()
        index_matters = False
    else:
        index_matters = True
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        columns = list(X.columns)
        index = np.asarray(X.index) if index_matters else None
        words = [c for c, kind in zip(columns, X.dtypes, strict=True) if not _is_number(kind)]
        words = [c for c in words if not _converts(X[c])]
        if words:
            raise InputError(
                f"{name} has columns that are not numbers: {_some(words)}. Encode them first, "
                "e.g. with pandas.get_dummies or sklearn.preprocessing.OneHotEncoder"
            )
        X = X.to_numpy(dtype=np.float64, na_value=np.nan)
    elif not sparse.issparse(X):
        X = np.asarray(X)
        if X.dtype.kind in "USMmV":
            raise InputError(
                f"{name} holds {X.dtype.name} values, not numbers. Encode them first, "
                "e.g. with sklearn.preprocessing.OneHotEncoder"
            )
    try:
        features = check_array(
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            input_name=name,
            order="C",
        )
    except ValueError as error:
        raise InputError(str(error)) from error
    if sparse.issparse(features):
        features = sparse.csr_array(features)
    _check_finite(features, name, columns, index)
    return features, columns, index


def _is_number(kind: Any) -> bool:
    return getattr(kind, "kind", "O") in "biuf" or getattr(kind, "_is_numeric", False)


def _converts(column: Any) -> bool:
    if getattr(column.dtype, "kind", "O") != "O":
        return False
    try:
        column.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True


def _check_finite(
    features: Features, name: str, columns: list[Any] | None, index: NDArray[Any] | None
) -> None:
    values = features.data if sparse.issparse(features) else features
    if np.isfinite(values.sum(dtype=np.float64)) or np.isfinite(values).all():
        return
    if sparse.issparse(features):
        entry = int(np.flatnonzero(~np.isfinite(values))[0])
        row = int(np.searchsorted(features.indptr, entry, side="right") - 1)
        column = int(features.indices[entry])
    else:
        row, column = (int(i) for i in np.argwhere(~np.isfinite(values))[0])
        entry = row * features.shape[1] + column
    value = values.ravel()[entry]
    name_of_row = row if index is None else index[row : row + 1].tolist()[0]
    where = f"row {row}" if name_of_row == row else f"row {name_of_row!r} (position {row})"
    count = int((~np.isfinite(values)).sum())
    label = repr(columns[column]) if columns is not None else column
    kind = "NaN" if np.isnan(value) else "infinity"
    raise InputError(
        f"{name} contains {kind} in {where}, column {label} ({count} such value{'s' * (count > 1)} in all): "
        "drop those rows or fill them, e.g. with sklearn.impute.SimpleImputer"
    )


def _labels(y: Any, name: str, *, len_of: Features, task: Task) -> NDArray[Any]:
    """A one-dimensional array of labels, or of finite floats for regression."""
    if hasattr(y, "to_numpy"):
        y = y.to_numpy()
    if isinstance(y, np.ndarray):
        array = y
    else:
        items = list(y) if y is not None else []
        array = np.asarray(items) if not any(isinstance(i, tuple | list) for i in items) else np.empty(0)
        if array.ndim != 1 or len(array) != len(items):
            array = np.empty(len(items), dtype=object)  # tuples and other hashables stay whole
            array[:] = [tuple(i) if isinstance(i, list) else i for i in items]
    if array.ndim == 2 and array.shape[1] == 1:
        warnings.warn(
            f"{name} is a column-vector; a 1-dimensional array was expected", InputWarning, stacklevel=5
        )
        array = array.ravel()
    if array.ndim != 1:
        raise InputError(f"{name} has shape {array.shape}: pass one label per row")
    if len(array) != len_of.shape[0]:
        raise InputError(f"{name} has {len(array)} labels for {len_of.shape[0]} rows: inconsistent lengths")
    if array.dtype.kind == "c":
        raise InputError(f"{name}: Complex data not supported")
    missing = _missing(array)
    if missing.any():
        where = int(np.flatnonzero(missing)[0])
        raise InputError(
            f"{name} contains NaN, infinity or None in row {where} ({int(missing.sum())} in all): "
            "drop those rows"
        )
    if task == "regression":
        try:
            return np.ascontiguousarray(array, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"{name} holds values that are not numbers: {error}") from error
    if array.dtype.kind == "f" and type_of_target(array).startswith("continuous"):
        raise InputError(
            f"{name} holds fractions, which are no classes (Unknown label type: continuous). For a "
            "regression target pass a regressor as learner, e.g. learner='ridge_regression'"
        )
    return array


def _missing(array: NDArray[Any]) -> NDArray[np.bool_]:
    if array.dtype.kind == "f":
        return np.asarray(~np.isfinite(array))
    if array.dtype.kind == "O":
        return np.array(
            [v is None or (isinstance(v, float) and not np.isfinite(v)) for v in array], dtype=bool
        )
    return np.zeros(len(array), dtype=bool)


def _encode(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Classes in sorted order (of first appearance where they cannot be sorted) and codes."""
    if labels.dtype.kind != "O":
        classes, codes = np.unique(labels, return_inverse=True)
        return classes, codes.astype(np.int64)
    try:
        seen = list(dict.fromkeys(labels.tolist()))
    except TypeError as error:
        raise InputError(f"y holds labels that cannot be hashed: {error}") from error
    with suppress(TypeError):
        seen = sorted(seen)
    classes = np.empty(len(seen), dtype=object)
    classes[:] = seen
    code = {label: number for number, label in enumerate(seen)}
    return classes, np.array([code[label] for label in labels.tolist()], dtype=np.int64)


def _check_classes(classes: NDArray[Any], codes: NDArray[np.int64], *, parts: int) -> None:
    if len(classes) < 2:
        raise InputError(f"y holds one class only ({classes.tolist()[0]!r}): a classifier needs at least two")
    counts = np.bincount(codes, minlength=len(classes))
    if counts.min() < parts:
        rare = [f"{classes.tolist()[k]!r} ({counts[k]})" for k in np.flatnonzero(counts < parts)]
        raise InputError(
            f"each class needs at least {parts} rows, because the rows are split in {parts} parts; class "
            f"{_some(rare, quote=False)} has fewer. Drop or merge it, or pass validation rows yourself"
        )
    if parts == 1 and counts.min() == 1:
        rare = [repr(classes.tolist()[k]) for k in np.flatnonzero(counts == 1)]
        warnings.warn(
            f"class {_some(rare, quote=False)} has one training row only", InputWarning, stacklevel=4
        )


def _hold_out(
    codes: NDArray[Any], sizes: Sequence[float], *, stratify: bool, random_state: Any
) -> list[NDArray[np.int64]]:
    """Sorted row positions: the training part first, then one part per size."""
    if any(not 0 < s < 1 for s in sizes) or sum(sizes) >= 1:
        raise InputError(f"the held-out shares {tuple(sizes)} must be positive and leave training rows")
    if len(codes) <= len(sizes):
        raise InputError(f"X has n_samples = {len(codes)} rows: too few to hold out validation rows")
    rng = check_random_state(random_state)
    strata = codes if stratify else np.zeros(len(codes), dtype=np.int64)
    parts: list[list[NDArray[np.int64]]] = [[] for _ in range(len(sizes) + 1)]
    for code in np.unique(strata):
        rows = rng.permutation(np.flatnonzero(strata == code))
        taken = 0
        for part, share in enumerate(sizes, start=1):
            still_needed = len(sizes) - part + 1  # one row for each later part and one to train on
            count = min(max(1, round(share * len(rows))), len(rows) - taken - still_needed)
            parts[part].append(rows[taken : taken + count])
            taken += count
        parts[0].append(rows[taken:])
    return [np.sort(np.concatenate(part)) for part in parts]


def _some(items: Sequence[Any], *, quote: bool = True, most: int = 8) -> str:
    shown = ", ".join(repr(i) if quote else str(i) for i in items[:most])
    return shown + (f" and {len(items) - most} more" if len(items) > most else "")
