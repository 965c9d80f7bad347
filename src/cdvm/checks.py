"""What a user may pass as features and labels; every refusal names the row or column at fault and a cure."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.multiclass import type_of_target

from cdvm.errors import InputError, InputWarning

__all__ = [
    "Features",
    "Task",
    "check_classes",
    "check_features",
    "check_labels",
    "encode_labels",
    "some_of",
]

Task = Literal["classification", "regression"]
Features: TypeAlias = Any  # a float ndarray or a csr_array; SciPy has no types to tell them apart


def check_features(X: Any, name: str) -> tuple[Features, list[Any] | None, NDArray[Any] | None]:
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
                f"{name} has columns that are not numbers: {some_of(words)}. {_how_to_encode(X[words])}"
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


def _how_to_encode(columns: Any) -> str:
    """Advice for columns of words: categories repeat, texts and names hardly do."""
    n = len(columns)
    texts = [c for c in columns if n >= 10 and columns[c].astype(str).nunique() > max(20, n / 2)]
    if not texts:
        return "Encode them first, e.g. with pandas.get_dummies or sklearn.preprocessing.OneHotEncoder"
    told = (
        f"Leave {some_of(texts)} out, or turn texts into numbers, e.g. with TfidfVectorizer of scikit-learn"
    )
    return told + ("; one-hot encode the others" if len(texts) < columns.shape[1] else "")


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


def check_labels(y: Any, name: str, *, len_of: Features, task: Task) -> NDArray[Any]:
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


def encode_labels(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
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


def check_classes(classes: NDArray[Any], codes: NDArray[np.int64], *, parts: int) -> None:
    if len(classes) < 2:
        raise InputError(f"y holds one class only ({classes.tolist()[0]!r}): a classifier needs at least two")
    counts = np.bincount(codes, minlength=len(classes))
    if counts.min() < parts:
        rare = [f"{classes.tolist()[k]!r} ({counts[k]})" for k in np.flatnonzero(counts < parts)]
        raise InputError(
            f"each class needs at least {parts} rows, because the rows are split in {parts} parts; class "
            f"{some_of(rare, quote=False)} has fewer. Drop or merge it, or pass validation rows yourself"
        )
    if parts == 1 and counts.min() == 1:
        rare = [repr(classes.tolist()[k]) for k in np.flatnonzero(counts == 1)]
        warnings.warn(
            f"class {some_of(rare, quote=False)} has one training row only", InputWarning, stacklevel=4
        )


def some_of(items: Sequence[Any], *, quote: bool = True, most: int = 8) -> str:
    shown = ", ".join(repr(i) if quote else str(i) for i in items[:most])
    return shown + (f" and {len(items) - most} more" if len(items) > most else "")
