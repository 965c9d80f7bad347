import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from cdvm import InputError, InputWarning, Split
from cdvm.data.split import MAX_EVALUATION_ROWS


def test_holds_out_a_stratified_part_and_remembers_where_rows_came_from(frame):
    X, y = frame
    split = Split.from_arrays(X, y, validation_size=0.25, test_size=0.1, random_state=0)
    assert (split.n_rows, len(split.y_val), len(split.y_test)) == (26, 10, 4)
    assert np.bincount(split.y_val).tolist() == [5, 5]
    assert np.allclose(split.X, X.to_numpy()[split.rows])
    assert split.index.tolist() == X.index[split.rows].tolist()
    assert split.labels(split.y).tolist() == y.iloc[split.rows].tolist()
    assert split.n_table == 40


def test_the_same_random_state_holds_out_the_same_rows(frame):
    a, b = (Split.from_arrays(*frame, random_state=5).rows for _ in range(2))
    assert (a == b).all()
    assert (a != Split.from_arrays(*frame, random_state=6).rows).any()


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_sparse_features_stay_sparse(make):
    X = make(np.eye(20))
    split = Split.from_arrays(X, [0, 1] * 10, random_state=0)
    assert sparse.issparse(split.X)
    assert (split.X.toarray() == np.eye(20)[split.rows]).all()
    assert sparse.issparse(split.standardized().X)


def test_standardised_features_use_the_training_rows_only(frame):
    split = Split.from_arrays(*frame, random_state=0).standardized()
    assert np.allclose(split.X.mean(axis=0), 0)
    assert np.allclose(split.X.std(axis=0), 1)
    assert not np.allclose(split.X_val.mean(axis=0), 0)


def test_a_class_with_one_row_is_fine_with_own_validation_rows_but_mentioned(frame):
    X, y = frame
    y = pd.Series(["once"] + ["yes", "no"] * 19 + ["yes"])
    with pytest.warns(InputWarning, match="'once' has one training row only"):
        split = Split.from_arrays(X, y, X, y)
    assert split.n_classes == 3


def test_quantities_taken_for_classes_are_said_to_be():
    """Ages, prices and counts are whole numbers, and would silently be hundreds of classes."""
    X, y = np.random.default_rng(0).random((300, 1)), np.arange(300) // 4
    told = r"y holds 75 different numbers in 300 rows.*learner='ridge_regression'"
    with pytest.warns(InputWarning, match=told):
        Split.from_arrays(X, y, X, y)
    with pytest.raises(InputError, match=r"at least 2 rows.*class 74 \(1\) has fewer.*y holds 75 different"):
        Split.from_arrays(X[:297], y[:297], random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for other in ([f"n{k}" for k in y], np.arange(300) // 10, np.arange(100) // 5):
            Split.from_arrays(X[: len(other)], other, X[: len(other)], other)
        Split.from_arrays(X, y.astype(float), X, y, task="regression")


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


def test_large_values_are_standardised_in_double_precision():
    X = np.linspace(-1e30, 1e30, 8, dtype="f4")[:, None]
    split = Split.from_arrays(X, [0, 1] * 4, validation="out_of_bag")
    assert split.X.dtype == np.float64
    assert np.allclose(split.standardized().X.std(axis=0), 1)
