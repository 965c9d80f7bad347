import numpy as np
import pytest

from cdvm import InputError
from cdvm.datasets import Dataset, dataset_info, dataset_names, load_dataset, standardize
from cdvm.datasets.base import Info, Recipe


@pytest.fixture
def small():
    X = np.arange(12, dtype=np.float32).reshape(6, 2)
    return Dataset(
        "small", X, np.array(list("aabbab")), ("u", "v"), X_test=X[:5] + 1, y_test=np.array(list("abbab"))
    )


def test_the_table_has_the_features_and_the_target(small):
    assert list(small.table.columns) == ["u", "v", "target"]
    np.testing.assert_array_equal(small.table[["u", "v"]].to_numpy(), small.X)
    assert small.table["target"].tolist() == list("aabbab")
    assert small.table is small.table
    assert small.validation is None
    assert small.test.shape == (5, 3)


def test_standardised_over_the_whole_table(small):
    scaled = small.standardized()
    np.testing.assert_allclose(scaled.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.X.std(axis=0), 1, atol=1e-7)
    shift = 1 / small.X.std(axis=0)
    np.testing.assert_allclose(scaled.X_test, scaled.X[:5] + shift, atol=1e-6)
    assert standardize(np.full((3, 1), 7.0)).tolist() == [[0.0]] * 3


def test_half_of_the_test_rows_can_be_chosen_with(small):
    parts = small.halved_test(0)
    assert (len(parts.y_val), len(parts.y_test)) == (2, 3)
    rows = np.vstack([parts.X_val, parts.X_test])
    assert sorted(rows.tolist()) == small.X_test.tolist()
    np.testing.assert_array_equal(parts.X_val, small.halved_test(0).X_val)
    assert parts.halved_test(0) is parts


def test_files_with_other_rows_than_published_are_refused(small):
    info = Info("small", 7, 2, 2, "somewhere", "cached")
    with pytest.raises(InputError, match=r"'small': its files \(cached\) hold 6 rows, not the 7"):
        Recipe(lambda: info, lambda: small).checked()
    assert Recipe(lambda: info, lambda: small, exact=False).checked() is small


@pytest.mark.parametrize(
    ("given", "near"), [("adlt", "adult"), ("fashion-mnist", "fashion_mnist"), ("CIFAR10", "cifar10")]
)
def test_an_unknown_name_gets_the_nearest(given, near):
    for ask in (load_dataset, dataset_info):
        with pytest.raises(InputError, match=f"dataset='{given}' is unknown: did you mean '{near}'"):
            ask(given)


def test_a_name_near_to_none_gets_them_all():
    with pytest.raises(InputError, match="unknown: choose from " + ", ".join(dataset_names())):
        load_dataset("xyz")
