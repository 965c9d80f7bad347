import numpy as np
import pytest

from cdvm import Split
from cdvm.datasets import dataset_info, load_dataset

BUNDLED = ["digits", "breast_cancer", "wine", "clusters", "mixture", "imbalanced"]


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_data_sets_are_as_described(name, cache):
    data, info = load_dataset(name), dataset_info(name)
    assert (*data.X.shape, len(np.unique(data.y))) == (info.rows, info.features, info.classes)
    assert info.here == "bundled"
    assert len(data.columns) == info.features
    assert data.table.shape == (info.rows, info.features + 1)
    split = Split.from_arrays(data.X, data.y, data.X_val, data.y_val) if name == "clusters" else None
    assert split is None or split.n_rows == 8
    assert not cache.exists()


def test_labels_of_bundled_data_sets():
    assert set(load_dataset("wine").y) == {"class_0", "class_1", "class_2"}
    assert set(load_dataset("breast_cancer").y) == {"benign", "malignant"}
    assert (load_dataset("breast_cancer").y == "malignant").sum() == 212
    assert set(load_dataset("digits").y) == set(range(10))
