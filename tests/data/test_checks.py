import warnings

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from scipy import sparse

from cdvm import InputError, Split


@pytest.mark.parametrize(
    "labels",
    [
        [3, 7] * 10,
        [2.0, 1.0] * 10,
        ["b", "a"] * 10,
        [True, False] * 10,
        [("x", 1), ("y", 2)] * 10,
        [None.__class__, int] * 10,
        pd.Categorical(["u", "v"] * 10),
        np.array(["2020-01-01", "2021-01-01"] * 10, dtype="datetime64[D]"),
    ],
    ids=lambda labels: type(labels[0]).__name__,
)
def test_labels_of_any_hashable_type(labels):
    split = Split.from_arrays(np.eye(20), labels, np.eye(20), labels)
    assert split.n_classes == 2
    back = split.labels(split.y).tolist()
    assert back == list(np.asarray(labels).tolist() if isinstance(labels, np.ndarray) else labels)
    assert (split.y_val == split.y).all()


def test_other_frames_are_accepted(frame):
    polars = pytest.importorskip("polars")
    X, y = frame
    from_pandas = Split.from_arrays(X, y, random_state=0)
    from_polars = Split.from_arrays(polars.from_pandas(X), polars.Series(y.tolist()), random_state=0)
    assert (from_pandas.X == from_polars.X).all()
    assert (from_pandas.y == from_polars.y).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_named_by_row_and_column(frame, value):
    X, y = frame
    X.iloc[7, 1] = value
    kind = "NaN" if np.isnan(value) else "infinity"
    with pytest.raises(InputError, match=rf"X contains {kind} in row 'r7' \(position 7\), column 'b'"):
        Split.from_arrays(X, y)
    with pytest.raises(InputError, match=rf"X contains {kind} in row 7, column 1"):
        Split.from_arrays(X.to_numpy(), y)
    with pytest.raises(InputError, match=rf"X contains {kind} in row 7, column 1"):
        Split.from_arrays(sparse.csr_array(X.to_numpy()), y)
    with pytest.raises(InputError, match=f"X_val contains {kind}"):
        Split.from_arrays(X.dropna().replace([np.inf, -np.inf], 0), y[X.notna().all(axis=1)], X, y)


def test_words_in_features_are_refused_with_the_columns_and_a_cure(frame):
    X, y = frame
    with pytest.raises(InputError, match=r"not numbers: 'word'.*get_dummies"):
        Split.from_arrays(X.assign(word="x"), y)
    with pytest.raises(InputError, match="OneHotEncoder"):
        Split.from_arrays(np.array([["a"], ["b"]]), [0, 1])


def test_numbers_stored_as_objects_or_nullable_are_accepted(frame):
    X, y = frame
    odd = X.astype(object).assign(b=X["b"].round().astype("Int64"), c=X["c"] > 0)
    split = Split.from_arrays(odd, y, odd, y)
    assert split.X.dtype == np.float64
    odd.loc["r3", "b"] = pd.NA
    with pytest.raises(InputError, match="NaN in row 'r3'"):
        Split.from_arrays(odd, y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["same"] * 40, "one class only \\('same'\\)"),
        (["yes"] * 39 + ["once"], r"class 'once' \(1\) has fewer"),
        (["yes", None] * 20, "None in row 1"),
        ([1.0, np.nan] * 20, "NaN"),
        (["yes", "no"] * 19, "38 labels for 40 rows"),
        (np.linspace(0, 1, 40), "regression"),
        ([{"a": 1}, {"b": 2}] * 20, "hashed"),
        (np.zeros((40, 2)), "one label per row"),
    ],
)
def test_labels_that_cannot_be_used(frame, y, message):
    with pytest.raises(InputError, match=message):
        Split.from_arrays(frame[0], y)


@pytest.mark.parametrize("X", [np.empty((0, 3)), np.zeros(5), np.empty((4, 0)), np.zeros((4, 2), complex)])
def test_features_of_impossible_shape(X):
    with pytest.raises(InputError):
        Split.from_arrays(X, [0, 1, 0, 1][: len(X)])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_infinity_and_huge_values_are_named_in_either_precision(dtype):
    X = np.ones((8, 2), dtype)
    X[3, 1] = np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match="X contains infinity in row 3, column 1"):
            Split.from_arrays(X, [0, 1] * 4)
        X = np.ones((8, 2))
        X[3, 1] = 1e150
        with pytest.raises(InputError, match=r"X contains 1e\+150 in row 3, column 1 .*: use other units"):
            Split.from_arrays(X, [0, 1] * 4)
        with pytest.raises(InputError, match=r"y holds numbers beyond 1e\+100"):
            Split.from_arrays(np.eye(8), X[:, 1], task="regression")


@pytest.mark.parametrize(
    "y",
    [
        pyarrow.array(["no", "yes"] * 4),
        pyarrow.chunked_array([["no", "yes"] * 2] * 2),
        pyarrow.array(["no", "yes"] * 4).dictionary_encode(),
        pd.Categorical(["no", "yes"] * 4),
        pd.array(["no", "yes"] * 4, dtype="string"),
        polars.Series(["no", "yes"] * 4),
        polars.Series(["no", "yes"] * 4, dtype=polars.Categorical),
        (label for label in ["no", "yes"] * 4),
    ],
    ids=lambda y: type(y).__name__,
)
def test_labels_of_every_library(y):
    split = Split.from_arrays(np.eye(8), y, validation="out_of_bag")
    assert split.classes.tolist() == ["no", "yes"]
    assert split.y.tolist() == [0, 1] * 4


@pytest.mark.parametrize(
    "y",
    [
        pyarrow.array([0, 1, None, 1] * 2),
        pd.array([0, 1, None, 1] * 2, dtype="Int64"),
        pd.Series([0, 1, None, 1] * 2, dtype="Int64"),
        pd.Series(["a", "b", None, "b"] * 2, dtype="string"),
        pd.Categorical(["a", "b", None, "b"] * 2),
        pd.to_datetime(["2020-01-01", "2021-01-01", None, "2020-01-01"] * 2),
        polars.Series([0, 1, None, 1] * 2),
        np.ma.masked_equal([0, 1, 9, 1] * 2, 9),
        [0, 1, pd.NA, 1] * 2,
        [0, 1, np.float32("nan"), 1] * 2,
    ],
    ids=lambda y: type(y).__name__,
)
def test_missing_labels_of_every_library(y):
    with pytest.raises(InputError, match=r"y contains NaN, infinity or None in row 2 \(2 in all\)"):
        Split.from_arrays(np.eye(8), y)


@pytest.mark.parametrize("y", [5, "abcdefgh", {"a": 1}, {1, 2}, sparse.eye_array(8), b"abcdefgh"])
def test_what_is_no_list_of_labels(y):
    with pytest.raises(InputError, match=f"y is a {type(y).__name__}: pass one label per row"):
        Split.from_arrays(np.eye(8), y)


def test_labels_of_several_types_stay_what_they_are():
    split = Split.from_arrays(np.eye(8), [1, "1"] * 4, validation="out_of_bag")
    assert split.classes.tolist() == [1, "1"]


@pytest.mark.parametrize("X", [None, "text", {"a": [1, 2]}, {1, 2}])
def test_what_is_no_table(X):
    with pytest.raises(InputError, match=f"X is a {type(X).__name__}: pass an array, a DataFrame or"):
        Split.from_arrays(X, [0, 1])


def test_texts_are_not_to_be_one_hot_encoded():
    texts = [f"what the customer wrote, number {i}" for i in range(8)]
    for X in (texts, pd.DataFrame({"text": texts}), pd.DataFrame({"day": pd.date_range("2020", periods=8)})):
        with pytest.raises(InputError, match=r"[Tt]urn texts into vectors"):
            Split.from_arrays(X, [0, 1] * 4)
    with pytest.raises(InputError, match=r"'colour'. Encode them first, e.g. with pandas.get_dummies"):
        Split.from_arrays(pd.DataFrame({"colour": ["red", "blue"] * 4}), [0, 1] * 4)


def test_masked_features_are_missing():
    X = np.ma.masked_equal(np.arange(16.0).reshape(8, 2), 5.0)
    with pytest.raises(InputError, match="X contains NaN in row 2, column 1"):
        Split.from_arrays(X, [0, 1] * 4)


def test_columns_of_one_name():
    X = pd.DataFrame(np.arange(24.0).reshape(8, 3), columns=["a", "b", "a"])
    y = [0, 1] * 4
    split = Split.from_arrays(X, y, X, y)
    assert np.array_equal(split.X, X)
    assert np.array_equal(split.X_val, X)
    with pytest.raises(InputError, match="'a' name several columns"):
        Split.from_arrays(X, y, X[["b", "a"]], y)
    with pytest.raises(InputError, match="not numbers: 'a'"):
        Split.from_arrays(X.astype(object).replace(0.0, "x"), y)


def test_columns_of_several_levels_and_of_arrow_are_found_by_name():
    X = pd.DataFrame(np.arange(16.0).reshape(8, 2), columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)]))
    y = [0, 1] * 4
    assert np.array_equal(Split.from_arrays(X, y, X[[("a", 2), ("a", 1)]], y).X_val, X)
    flat = X.set_axis(["a", "b"], axis=1)
    arrow = pyarrow.Table.from_pandas(flat[["b", "a"]], preserve_index=False)
    for other in (arrow, polars.from_arrow(arrow)):
        assert np.array_equal(Split.from_arrays(flat, y, other, y).X_val, X)


def test_advice_for_columns_that_are_not_numbers():
    texts = pd.DataFrame({"review": [f"it was film {i}" for i in range(60)]})
    for frame, words in [
        (texts, "turn texts into vectors"),
        (texts.assign(review="red"), "pandas.get_dummies"),
    ]:
        with pytest.raises(InputError, match=words):
            Split.from_arrays(frame, [0, 1] * 30)
