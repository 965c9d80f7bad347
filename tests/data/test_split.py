import warnings

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from scipy import sparse

from cdvm import InputError, InputWarning, Split
from cdvm.data.split import MAX_EVALUATION_ROWS


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b", "c"], index=[f"r{i}" for i in range(40)])
    return X, pd.Series(["yes", "no"] * 20, index=X.index)


def test_holds_out_a_stratified_part_and_remembers_where_rows_came_from(frame):
    X, y = frame
    split = Split.from_arrays(X, y, validation_size=0.25, test_size=0.1, random_state=0)
    assert (split.n_rows, len(split.y_val), len(split.y_test)) == (26, 10, 4)
    assert np.bincount(split.y_val).tolist() == [5, 5]
    assert np.allclose(split.X, X.to_numpy()[split.rows])
    assert split.index.tolist() == X.index[split.rows].tolist()
    assert split.labels(split.y).tolist() == y.iloc[split.rows].tolist()
    assert split.n_table == 40


def test_every_class_is_in_every_part_however_rare():
    y = ["common"] * 97 + ["rare"] * 3
    split = Split.from_arrays(np.arange(100.0)[:, None], y, validation_size=0.1, test_size=0.1)
    for part in (split.y, split.y_val, split.y_test):
        assert (part == 1).sum() == 1


def test_the_same_random_state_holds_out_the_same_rows(frame):
    a, b = (Split.from_arrays(*frame, random_state=5).rows for _ in range(2))
    assert (a == b).all()
    assert (a != Split.from_arrays(*frame, random_state=6).rows).any()


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


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_sparse_features_stay_sparse(make):
    X = make(np.eye(20))
    split = Split.from_arrays(X, [0, 1] * 10, random_state=0)
    assert sparse.issparse(split.X)
    assert (split.X.toarray() == np.eye(20)[split.rows]).all()
    assert sparse.issparse(split.standardized().X)


def test_other_frames_are_accepted(frame):
    polars = pytest.importorskip("polars")
    X, y = frame
    from_pandas = Split.from_arrays(X, y, random_state=0)
    from_polars = Split.from_arrays(polars.from_pandas(X), polars.Series(y.tolist()), random_state=0)
    assert (from_pandas.X == from_polars.X).all()
    assert (from_pandas.y == from_polars.y).all()


def test_validation_columns_are_matched_by_name(frame):
    X, y = frame
    split = Split.from_arrays(X, y, X[["c", "a", "b"]], y)
    assert (split.X_val == split.X).all()
    with pytest.raises(InputError, match="X_val lacks columns of X: 'b'"):
        Split.from_arrays(X, y, X[["a", "c"]], y)


def test_standardised_features_use_the_training_rows_only(frame):
    split = Split.from_arrays(*frame, random_state=0).standardized()
    assert np.allclose(split.X.mean(axis=0), 0)
    assert np.allclose(split.X.std(axis=0), 1)
    assert not np.allclose(split.X_val.mean(axis=0), 0)


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


def test_a_class_with_one_row_is_fine_with_own_validation_rows_but_mentioned(frame):
    X, y = frame
    y = pd.Series(["once"] + ["yes", "no"] * 19 + ["yes"])
    with pytest.warns(InputWarning, match="'once' has one training row only"):
        split = Split.from_arrays(X, y, X, y)
    assert split.n_classes == 3


def test_validation_labels_never_seen_in_training_are_counted(frame):
    X, y = frame
    y_val = y.mask(np.arange(40) < 3, "new")
    with pytest.warns(InputWarning, match=r"3 of 40 rows of y_val carry labels never seen in y \('new'\)"):
        split = Split.from_arrays(X, y, X, y_val)
    assert (split.y_val == -1).sum() == 3


def test_fewer_validation_rows_than_classes(frame):
    X, y = frame
    with pytest.raises(InputError, match="y_val has 1 rows for 2 classes"):
        Split.from_arrays(X, y, X[:1], y[:1])


GIVEN = {"X_val": np.eye(3), "y_val": ["no", "yes", "no"]}
GIVEN_TEST = {"X_test": np.eye(3), "y_test": ["no", "yes", "no"]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X_val": np.eye(3)}, "X_val and y_val go together"),
        ({"y_test": [1]}, "X_test and y_test go together"),
        ({"X_val": np.zeros((4, 2)), "y_val": ["no"] * 4}, "X_val has 2 features but X has 3"),
        ({"validation_size": 0.6, "test_size": 0.5}, "fractions .* leave no training rows"),
        *(
            ({"validation_size": fraction}, "validation_size=.*: use a fraction between 0 and 1, e.g. 0.2$")
            for fraction in (0.0, 2, -0.1, True, "0.2", None, np.nan)
        ),
        *(
            ({"test_size": fraction}, "test_size=.*: use a fraction")
            for fraction in (1.0, -0.1, False, "20%", None)
        ),
        ({"task": "ranking"}, "task='ranking': use 'classification' or 'regression'"),
        ({"random_state": "a"}, "random_state='a': use"),
        ({"random_state": -1}, "random_state=-1: use"),
        ({"validation": "oob"}, "validation='oob': use None, 'holdout' or 'out_of_bag'"),
        ({"validation": "out_of_bag", **GIVEN}, "leave out X_val and y_val"),
        ({"validation": "holdout", **GIVEN}, "leave out X_val and y_val"),
        ({"validation_size": 0.3, **GIVEN}, "validation_size=0.3 has no effect with X_val"),
        ({"validation_size": 0.3, "validation": "out_of_bag"}, "no effect with validation='out_of_bag'"),
        ({"test_size": 0.3, **GIVEN_TEST}, "test_size=0.3 has no effect with X_test"),
    ],
)
def test_arguments_that_cannot_be_used(frame, arguments, message):
    with pytest.raises(InputError, match=message):
        Split.from_arrays(*frame, **arguments)


def test_a_test_part_is_held_out_beside_own_validation_rows(frame):
    split = Split.from_arrays(*frame, **GIVEN, test_size=0.25, random_state=0)
    assert len(split.y_val) == 3
    assert len(split.y_test) == round(0.25 * len(frame[0]))
    assert split.n_rows + len(split.y_test) == len(frame[0])


@pytest.mark.parametrize("X", [np.empty((0, 3)), np.zeros(5), np.empty((4, 0)), np.zeros((4, 2), complex)])
def test_features_of_impossible_shape(X):
    with pytest.raises(InputError):
        Split.from_arrays(X, [0, 1, 0, 1][: len(X)])


def test_regression_targets():
    X, y = np.arange(30.0)[:, None], np.linspace(0, 1, 30)
    split = Split.from_arrays(X, y, task="regression", random_state=0)
    assert split.task == "regression"
    assert split.classes is None
    assert np.allclose(split.y, y[split.rows])
    with pytest.raises(InputError, match="not numbers"):
        Split.from_arrays(X, ["a"] * 30, task="regression")


def test_fingerprint_follows_the_data(frame):
    X, y = frame
    base = Split.from_arrays(X, y, X, y).fingerprint()
    assert base == Split.from_arrays(X.copy(), list(y), X, y).fingerprint()
    other = X.copy()
    other.iloc[0, 0] += 1e-9
    assert base != Split.from_arrays(other, y, X, y).fingerprint()
    assert base != Split.from_arrays(X, y, other, y).fingerprint()
    assert base != Split.from_arrays(X, y[::-1], X, y).fingerprint()
    assert base != Split.from_arrays(sparse.csr_array(X.to_numpy()), y, X, y).fingerprint()


def test_out_of_bag_every_row_is_a_candidate_and_an_evaluation_row(frame):
    X, y = frame
    split = Split.from_arrays(X, y, validation="out_of_bag")
    assert split.n_rows == split.n_table == len(X) == len(split.evaluation[1])
    assert split.evaluation[0] is split.X
    with pytest.raises(InputError, match="no validation rows, and this method needs some"):
        _ = split.validation
    assert split.fingerprint() == Split.from_arrays(X, y, X, y).out_of_bag().fingerprint()
    part = Split.from_arrays(X, y, validation="out_of_bag", test_size=0.2, random_state=0)
    assert part.n_rows + len(part.y_test) == len(X)
    some = split.out_of_bag([4, 2]).standardized()
    assert (some.evaluation[0] == some.X[[2, 4]]).all()
    assert (some.evaluation[1] == split.y[[2, 4]]).all()
    for bad in ([], [-1], [len(X)]):
        with pytest.raises(InputError, match="evaluation_rows"):
            split.out_of_bag(bad)


def test_of_many_rows_a_sample_evaluates():
    X = np.arange(12_000.0)[:, None]
    split = Split.from_arrays(X, X[:, 0] % 2, validation="out_of_bag")
    assert split.n_rows == 12_000
    assert len(split.evaluation[1]) == len(np.unique(split.evaluation_rows)) == MAX_EVALUATION_ROWS
    assert 0.4 < split.evaluation_rows.mean() / 12_000 < 0.6


def test_clean_input_raises_no_warning(frame):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Split.from_arrays(*frame)


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


def test_large_values_are_standardised_in_double_precision():
    X = np.linspace(-1e30, 1e30, 8, dtype="f4")[:, None]
    split = Split.from_arrays(X, [0, 1] * 4, validation="out_of_bag")
    assert split.X.dtype == np.float64
    assert np.allclose(split.standardized().X.std(axis=0), 1)


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
