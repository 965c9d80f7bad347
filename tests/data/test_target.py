"""Targets that cannot be meant, and features that give them away."""

import warnings

import numpy as np
import pandas as pd
import pytest

from cdvm import CDVM, InputError, InputWarning, Preparation, Split


def told(X, y, **options):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        Split.from_arrays(X, y, random_state=0, **options)
    return [str(w.message) for w in found if issubclass(w.category, InputWarning)]


def test_a_target_that_is_an_id_is_refused(rng):
    X = rng.normal(size=(1500, 2))
    with pytest.raises(
        InputError, match=r"y has 1500 classes for 1500 rows, 1500 of them with one row only, e\.g\."
    ):
        CDVM().fit(X, [f"k{k}" for k in range(1500)])
    with pytest.raises(InputError, match=r"or pass a regressor, e\.g\. learner='ridge_regression'"):
        CDVM().fit(X, rng.integers(0, 3000, 1500))
    y = np.r_[np.repeat(np.arange(30), 49), np.arange(30)]  # rare classes alone are no reason
    assert Split.from_arrays(X, y, validation="out_of_bag").n_classes == 30


def test_a_target_that_never_changes_is_refused(rng):
    with pytest.raises(InputError, match="y is always 2: there is nothing to predict"):
        CDVM("ridge_regression").fit(rng.normal(size=(50, 2)), np.full(50, 2.0))


@pytest.mark.parametrize("validation", ["holdout", "out_of_bag"])
def test_columns_that_are_the_target_in_disguise_are_a_warning(rng, validation):
    n = 3000
    amount = rng.normal(size=n)
    y = np.where(amount < 0.3, "low", "high")
    frame = pd.DataFrame(
        {
            "amount": amount,
            "noise": amount + rng.normal(size=n) * 1e-2,
            "code": np.where(y == "low", rng.choice(["a", "b"], n), "c"),
            "flag": y == "low",
            "key": np.arange(n).astype(str),
            "lists": [[1]] * n,
        }
    )
    assert told(frame, y, prepare="columns", validation=validation) == [
        "columns 'amount', 'code', 'flag' of X alone tell y in every training row: "
        "if made from it, leave it out, or rows will be chosen for nothing"
    ]
    own = Preparation(ignore=["amount", "code"])
    assert "column 'flag' of X" in told(frame, y, prepare=own, validation=validation)[0]
    numbers = frame[["noise", "amount"]]
    assert "column 1 of X alone tells y" in told(numbers.to_numpy(), y, validation=validation)[0]
    assert "column 'amount' of X" in told(numbers, y, validation=validation)[0]
    assert told(numbers.to_numpy()[:, :1], y, validation=validation) == []


def test_targets_of_regression_in_disguise(rng):
    X = rng.normal(size=(300, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=300)
    assert told(X, y, task="regression") == []
    assert "columns 1, 2 of X" in told(np.column_stack([X[:, 0], y**3, -y]), y, task="regression")[0]


def test_few_rows_and_missing_values_are_no_evidence(rng):
    y = np.arange(60) % 2
    assert told(np.column_stack([y, y])[:40], y[:40]) == []
    frame = pd.DataFrame({"a": np.where(rng.random(60) < 0.1, np.nan, y)})
    assert told(frame, y, prepare="missing") == []


def test_classes_that_lie_apart_in_a_small_table_are_no_evidence(rng):
    y = np.arange(600) % 2
    apart = y * 10 + rng.random(600)
    assert told(apart[:, None], y) == []
    assert "column 0 of X" in told(np.tile(apart, 3)[:, None] + rng.random(1800)[:, None], np.tile(y, 3))[0]
    assert "column 0 of X" in told(apart.round()[:, None] // 5, y)[0]


def test_a_column_of_lists_is_named_with_a_cure(rng):
    frame = pd.DataFrame({"tags": [["a"], ["b"]] * 30})
    with pytest.raises(
        InputError, match=r"'tags' holds values of type list: make it columns of plain values"
    ):
        CDVM().fit(frame, [0, 1] * 30)
