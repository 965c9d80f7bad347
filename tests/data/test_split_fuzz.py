"""Whatever is passed, the door answers with a Split or one line."""

import os
import string
import warnings
from datetime import date

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from scipy import sparse

from cdvm import InputError, Split
from cdvm.errors import InputWarning

MANY = settings(
    max_examples=int(os.environ.get("CDVM_FUZZ", "150")),
    deadline=None,
    derandomize="CDVM_FUZZ" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
ODD = [0.0, -0.0, 1.0, 1e-320, 1e-200, 1e30, 1e99, 1e101, 1e150, 1e308, -1e308, np.nan, np.inf, -np.inf]
NUMBERS = st.one_of(st.floats(-10, 10), st.integers(-5, 5), st.sampled_from(ODD))
TAME = st.one_of(st.floats(-10, 10), st.integers(-5, 5), st.sampled_from([1e30, -1e99, 1e-200]))
CELLS = st.one_of(
    TAME,
    NUMBERS,
    st.text(string.ascii_letters, max_size=3),
    st.sampled_from([None, pd.NA, pd.NaT, True, 1j, (1, 2), [], {}, b"x", date(2020, 1, 1), 10**400]),
)
DTYPES = ["f8", "f4", "f2", "g", "i8", "u1", "?", "c16", "O", "U3", "M8[D]", "m8[s]"]
SPARSE = ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"]


@st.composite
def tables(draw, rows=None, columns=None):
    """Features of any kind, more often than not of a usable one."""
    n = draw(st.integers(0, 12)) if rows is None else rows
    m = draw(st.integers(0, 4)) if columns is None else columns
    cells = draw(st.sampled_from([TAME, TAME, NUMBERS, CELLS]))
    rows_ = [[draw(cells) for _ in range(m)] for _ in range(n)]
    kind = draw(st.sampled_from(["list", "array", "typed", "sparse", "pandas", "polars", "arrow", "odd"]))
    if kind == "list":
        return rows_
    if kind == "odd":
        masked = np.ma.masked_greater(np.ones((n, m)), draw(st.integers(0, 1)))
        one = np.ones(n)
        return draw(st.sampled_from([None, 5, "text", {}, set(), one, one[:, None, None], ["a"] * n, masked]))
    if kind == "pandas" or kind in ("polars", "arrow"):
        names = [draw(st.sampled_from(["a", "b", "c", 1, ("x", "y")])) for _ in range(m)]
        frame = pd.DataFrame(rows_, columns=names[:m] if n else None)
        kinds = st.sampled_from(
            ["same", "category", "Int64", "Float64", "string", "Sparse[float]", "boolean"]
        )
        try:
            frame = frame.astype(draw(kinds)) if draw(st.booleans()) else frame
            if kind == "pandas":
                return frame
            frame.columns = [str(c) for c in frame.columns]
            arrow = pyarrow.Table.from_pandas(frame, preserve_index=False)
            return arrow if kind == "arrow" else polars.from_arrow(arrow)
        except Exception:  # the frame itself cannot be built
            return frame
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dtype = draw(st.sampled_from(DTYPES)) if kind == "typed" else None
            array = np.array(rows_, dtype=dtype).reshape(n, m)
            return (
                sparse.csr_array(array).asformat(draw(st.sampled_from(SPARSE))) if kind == "sparse" else array
            )
    except Exception:  # not every cell is of every type
        return rows_


@st.composite
def labels(draw, n):
    """Labels of any kind, two classes more often than not."""
    one = draw(
        st.sampled_from(
            [
                st.sampled_from([0, 1]),
                st.sampled_from(["no", "yes"]),
                st.sampled_from([0.0, 1.0, 2.0]),
                st.sampled_from([0, 1, None]),
                st.sampled_from([(1, "a"), (2, "b"), [3]]),
                st.sampled_from([1, "1", 1.0, True]),
                NUMBERS,
                CELLS,
            ]
        )
    )
    items = draw(st.lists(one, min_size=n, max_size=n))
    items = items[:-1] if items and draw(st.integers(0, 9)) == 0 else items
    kind = draw(st.sampled_from(["list", "list", "array", "typed", "pandas", "arrow", "polars", "odd"]))
    if kind == "odd":
        odd = [None, 3, "text", {}, set(), np.ones((n, 1)), np.ones((n, 2)), np.ma.masked_all(n)]
        return draw(st.sampled_from([*odd, sparse.eye_array(3), iter(items), np.float64(1.0)]))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if kind == "array":
                return np.array(items)
            if kind == "typed":
                return np.array(items, dtype=draw(st.sampled_from(DTYPES)))
            if kind == "pandas":
                types = st.sampled_from(
                    ["object", "category", "Int64", "string", "boolean", "int64[pyarrow]"]
                )
                return pd.Series(items).astype(draw(types))
            if kind == "arrow":
                array = pyarrow.array(items)
                array = array.dictionary_encode() if draw(st.booleans()) else array
                return pyarrow.chunked_array([array]) if draw(st.booleans()) else array
            return polars.Series(items) if kind == "polars" else items
    except Exception:  # these items make no such thing
        return items


def answer(**given_rows):
    try:
        return Split.from_arrays(**given_rows), None
    except InputError as error:
        return None, str(error)


@MANY
@given(st.data())
def test_any_input_gives_a_split_or_one_line(data):
    X = data.draw(tables())
    n = X.shape[0] if hasattr(X, "shape") and X.shape else len(X) if isinstance(X, list) else 4
    given_rows = {"X": X, "y": data.draw(labels(n))}
    for part in ("val", "test"):
        if data.draw(st.integers(0, 3)) == 0:
            rows = data.draw(st.integers(0, 5))
            columns = X.shape[1] if getattr(X, "ndim", 0) == 2 else None
            given_rows |= {
                f"X_{part}": data.draw(tables(rows, columns)),
                f"y_{part}": data.draw(labels(rows)),
            }
    given_rows |= {
        "task": data.draw(st.sampled_from(["classification", "regression"])),
        "validation": data.draw(st.sampled_from([None, "out_of_bag", "holdout"])),
        "test_size": data.draw(st.sampled_from([0.0, 0.3])),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", InputWarning)
        split, said = answer(**given_rows)
        event("split" if split else "refused")
        if split is None:
            assert said
            assert "\n" not in said
            return
        scaled = split.standardized()
    for form in (split, scaled):
        for features in (form.X, form.X_val, form.X_test):
            values = features.data if sparse.issparse(features) else features
            assert values is None or np.isfinite(values).all()
    assert split.n_rows == len(split.y) >= 1
    assert split.n_classes != 1


@pytest.mark.parametrize("kind", SPARSE)
def test_every_sparse_format_is_the_same_split(kind):
    X = sparse.csr_array(np.eye(8))
    split = Split.from_arrays(X.asformat(kind), [0, 1] * 4, random_state=0)
    assert split.fingerprint() == Split.from_arrays(X, [0, 1] * 4, random_state=0).fingerprint()
