"""What a user may pass as features and labels; every refusal names the row or column at fault and a cure."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from cdvm.errors import InputError, InputWarning

__all__ = [
    "Features",
    "Task",
    "check_classes",
    "check_features",
    "check_finite",
    "check_labels",
    "column_names",
    "encode_labels",
    "some_of",
]

Task = Literal["classification", "regression"]
LARGEST = 1e100  # squares and their sums stay finite
_SINGLE = 1e15  # the same in single precision
_USUAL_CLASSES, _ROWS_EACH = 20, 10  # numbers that are more, and have fewer rows each, look like quantities

Features: TypeAlias = Any  # a float ndarray or a csr_array; SciPy has no types to tell them apart


class _WrongTypeError(InputError, TypeError):
    """What scikit-learn's conventions want raised for a cell that is no number."""


def check_features(
    X: Any, name: str, *, missing: bool = False
) -> tuple[Features, list[Any] | None, NDArray[Any] | None]:
    """Finite float features (or NaN, where ``missing`` allows it), column names and row labels."""
    columns = index = None
    if not hasattr(X, "iloc") and hasattr(X, "to_pandas"):  # polars, pyarrow and other frames
        X = X.to_pandas()
        index_matters = False
    else:
        index_matters = True
    try:
        if hasattr(X, "iloc") and hasattr(X, "columns"):
            columns = list(X.columns)
            index = np.asarray(X.index) if index_matters else None
            words = [k for k, kind in enumerate(X.dtypes) if not _is_number(kind)]
            words = [k for k in words if not _converts(X.iloc[:, k])]
            if words:
                raise InputError(
                    f"{name} has columns that are not numbers: {some_of([columns[k] for k in words])}. "
                    + _how_to_encode(X.iloc[:, words])
                )
            X = X.to_numpy(dtype=np.float64, na_value=np.nan)
        elif not sparse.issparse(X):
            X = _as_array(X, name)
        features = check_array(
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            input_name=name,
            order="C",
        )
    except InputError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        said = " ".join(str(error).split())
        kind = _WrongTypeError if isinstance(error, TypeError) else InputError
        raise kind(f"{name} cannot be read as a table of numbers: {said}") from error
    if sparse.issparse(features):
        features = sparse.csr_array(features)
    return check_finite(features, name, columns, index, missing=missing), columns, index


def _as_array(X: Any, name: str) -> NDArray[Any]:
    """Rows that came as anything but a frame or a sparse matrix; numbers that are masked are missing."""
    if X is None or isinstance(X, Mapping | Set | str | bytes):
        raise InputError(f"{name} is a {type(X).__name__}: pass an array, a DataFrame or a list of rows")
    with np.errstate(all="ignore"):
        masked = np.ma.isMaskedArray(X)
        array = np.asarray(np.ma.filled(X.astype(np.float64), np.nan) if masked else X)
    if array.dtype.kind in "US" and array.ndim == 1:
        raise InputError(f"{name} is a list of texts, not of rows of numbers. {_TEXTS}")
    if array.dtype.kind in "USMmVT":
        raise InputError(
            f"{name} holds {array.dtype.name} values, not numbers. Encode them first, "
            "e.g. with sklearn.preprocessing.OneHotEncoder"
        )
    return array


_TEXTS = (
    "Turn texts into vectors first, e.g. with sklearn.feature_extraction.text.TfidfVectorizer or embeddings"
)


def _how_to_encode(columns: Any) -> str:
    """Advice for columns that are not numbers; few values that come again and again are categories."""
    for k in range(columns.shape[1]):
        kinds = columns.iloc[:, k].astype(str).nunique()
        if getattr(columns.dtypes.iloc[k], "kind", "O") in "mM" or kinds > max(2, len(columns) / 4):
            return (
                "Leave out ids, take numbers from dates (the year, say), turn texts into vectors (e.g. "
                "sklearn.feature_extraction.text.TfidfVectorizer), and encode categories (OneHotEncoder)"
            )
    return "Encode them first, e.g. with pandas.get_dummies or sklearn.preprocessing.OneHotEncoder"


def column_names(X: Any) -> list[Any] | None:
    """The names of a table's columns, where it is one that has some."""
    names = getattr(X, "column_names", None)  # pyarrow, whose columns are the values
    names = getattr(X, "columns", None) if names is None else names
    return None if names is None else list(names)


def _is_number(kind: Any) -> bool:
    return getattr(kind, "kind", "O") in "biuf" or getattr(kind, "_is_numeric", False)


def _converts(column: Any) -> bool:
    if getattr(column.dtype, "kind", "O") != "O":
        return False
    try:
        column.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def check_finite(
    features: Features,
    name: str,
    columns: list[Any] | None = None,
    index: NDArray[Any] | None = None,
    *,
    missing: bool = False,
) -> Features:
    """The features, in double precision where their squares need it."""
    values = features.data if sparse.issparse(features) else features
    values = np.nan_to_num(values, nan=0.0, posinf=np.inf, neginf=-np.inf) if missing else values
    largest = max(float(values.max()), -float(values.min())) if values.size else 0.0  # NaN where one is
    if largest <= LARGEST:
        return features.astype(np.float64) if largest > _SINGLE and values.dtype == np.float32 else features
    wrong = ~(np.abs(values) <= min(LARGEST, float(np.finfo(values.dtype).max)))
    if sparse.issparse(features):
        entry = int(np.flatnonzero(wrong)[0])
        row = int(np.searchsorted(features.indptr, entry, side="right") - 1)
        column = int(features.indices[entry])
    else:
        row, column = (int(i) for i in np.argwhere(wrong)[0])
        entry = row * features.shape[1] + column
    value = values.ravel()[entry]
    name_of_row = row if index is None else index[row : row + 1].tolist()[0]
    where = f"row {row}" if name_of_row == row else f"row {name_of_row!r} (position {row})"
    count = int(wrong.sum())
    label = repr(columns[column]) if columns is not None else column
    cure = "drop those rows or fill them, e.g. with sklearn.impute.SimpleImputer"
    kind = "NaN" if np.isnan(value) else "infinity"
    if np.isfinite(value):
        kind, cure = f"{value:.3g}", f"use other units, numbers beyond {LARGEST:.0e} overflow when squared"
    raise InputError(
        f"{name} contains {kind} in {where}, column {label} ({count} such value{'s' * (count > 1)} in all): "
        + cure
    )


def check_labels(y: Any, name: str, *, len_of: Features, task: Task) -> NDArray[Any]:
    """A one-dimensional array of labels, or of finite floats for regression."""
    array = _label_array(y, name)
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
        return _targets(array, name)
    if array.dtype.kind == "f" and (array != np.floor(array)).any():
        raise InputError(
            f"{name} holds fractions, which are no classes (Unknown label type: continuous). For a "
            "regression target pass a regressor as learner, e.g. learner='ridge_regression'"
        )
    return array


def _label_array(y: Any, name: str) -> NDArray[Any]:
    """Labels that came as anything, one entry each."""
    if isinstance(y, Mapping | Set | str | bytes) or sparse.issparse(y):
        raise InputError(f"{name} is a {type(y).__name__}: pass one label per row, as a list or an array")
    if hasattr(y, "to_pylist") and hasattr(y, "to_pandas"):  # pyarrow; its own arrays fail on missing values
        y = y.to_pandas()
    if np.ma.isMaskedArray(y):
        y = y.tolist()  # None where masked
    elif hasattr(y, "to_numpy"):
        y = y.to_numpy()
    if isinstance(y, np.ndarray):
        return np.asarray(y)
    try:
        items = [] if y is None else list(y)
    except TypeError as error:
        raise InputError(f"{name} is a {type(y).__name__}: pass one label per row") from error
    array = np.empty(0)
    if not any(isinstance(i, tuple | list) for i in items):
        with suppress(ValueError):  # rows of several lengths
            array = np.asarray(items)
    if array.ndim != 1 or len(array) != len(items) or _mixed(array, items):
        array = np.empty(len(items), dtype=object)  # tuples and other hashables stay whole
        array[:] = [tuple(i) if isinstance(i, list) else i for i in items]
    return array


def _mixed(array: NDArray[Any], items: list[Any]) -> bool:
    """Whether NumPy made texts of labels that are none."""
    return array.dtype.kind in "US" and not all(isinstance(i, str | bytes) for i in items)


def _targets(array: NDArray[Any], name: str) -> NDArray[np.float64]:
    try:
        if array.dtype.kind in "mM":
            raise TypeError(f"{array.dtype.name}, take a number from it first")
        targets = np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} holds values that are not numbers: {error}") from error
    if np.abs(targets).max(initial=0.0) > LARGEST:
        raise InputError(f"{name} holds numbers beyond {LARGEST:.0e}, which overflow when squared")
    return targets


def _missing(array: NDArray[Any]) -> NDArray[np.bool_]:
    if array.dtype.kind == "f":
        return np.asarray(~np.isfinite(array))
    if array.dtype.kind in "mM":
        return np.asarray(np.isnat(array))
    if array.dtype.kind == "O":
        return np.array([_is_missing(value) for value in array], dtype=bool)
    return np.zeros(len(array), dtype=bool)


def _is_missing(value: Any) -> bool:
    if isinstance(value, float | np.floating):
        return not np.isfinite(value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


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
    quantity = ""
    if (
        classes.dtype.kind in "iuf"
        and len(classes) > _USUAL_CLASSES
        and len(codes) < _ROWS_EACH * len(classes)
    ):
        quantity = (
            f"y holds {len(classes)} different numbers in {len(codes)} rows, and each is a class. For a "
            "regression target pass a regressor as learner, e.g. learner='ridge_regression'"
        )
    if counts.min() < parts:
        rare = [f"{classes.tolist()[k]!r} ({counts[k]})" for k in np.flatnonzero(counts < parts)]
        raise InputError(
            f"each class needs at least {parts} rows, because the rows are split in {parts} parts; class "
            f"{some_of(rare, quote=False)} has fewer"
            + (f"; {quantity}" if quantity else ". Drop or merge it, or pass validation rows yourself")
        )
    if quantity:
        warnings.warn(quantity, InputWarning, stacklevel=4)
    if parts == 1 and counts.min() == 1:
        rare = [repr(classes.tolist()[k]) for k in np.flatnonzero(counts == 1)]
        warnings.warn(
            f"class {some_of(rare, quote=False)} has one training row only", InputWarning, stacklevel=4
        )


def some_of(items: Sequence[Any], *, quote: bool = True, most: int = 8) -> str:
    shown = ", ".join(repr(i) if quote else str(i) for i in items[:most])
    return shown + (f" and {len(items) - most} more" if len(items) > most else "")
