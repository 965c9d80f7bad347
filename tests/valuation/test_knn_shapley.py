import numpy as np
import pytest
from scipy import sparse
from valuation_games import TableGame

from cdvm.data.split import Split
from cdvm.errors import InputError
from cdvm.valuation.knn_shapley import knn_shapley
from cdvm.valuation.shapley import shapley


def small(n, *, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y, y_val = np.arange(n) % n_classes, np.arange(7) % n_classes
    return Split.from_arrays(rng.standard_normal((n, 2)), y, rng.standard_normal((7, 2)), y_val)


def vote_game(split, k):
    """The utility of the paper for every set: fraction of k votes that name the evaluation row's label."""
    table = []
    for mask in range(1 << split.n_rows):
        rows = np.array([i for i in range(split.n_rows) if mask >> i & 1], dtype=int)
        score = 0.0
        for x, label in zip(split.X_val, split.y_val, strict=True):
            near = rows[np.argsort(((split.X[rows] - x) ** 2).sum(axis=1), kind="stable")[:k]]
            score += (split.y[near] == label).sum() / k
        table.append(score / len(split.y_val))
    return TableGame(table)


@pytest.mark.parametrize("k", [1, 2, 5, 12])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_closed_form_equals_enumeration(k, n_classes):
    split = small(8, n_classes=n_classes, seed=k)
    expected = shapley(8, vote_game(split, k)).values
    assert np.allclose(knn_shapley(split, k=k).values, expected, atol=1e-10)


def test_blocks_and_sparse_features_change_nothing(monkeypatch):
    split = small(50)
    whole = knn_shapley(split)
    monkeypatch.setattr("cdvm.valuation.knn_shapley._ENTRIES_AT_ONCE", 120)
    assert np.allclose(knn_shapley(split).values, whole.values, atol=1e-12)
    thin = Split.from_arrays(sparse.csr_array(split.X), split.y, sparse.csr_array(split.X_val), split.y_val)
    assert np.allclose(knn_shapley(thin).values, whole.values, atol=1e-12)


def test_bad_input_is_named():
    with pytest.raises(InputError, match="k=0"):
        knn_shapley(small(8), k=0)
    X = np.arange(10.0)[:, None]
    with pytest.raises(InputError, match="regression"):
        knn_shapley(Split.from_arrays(X, X[:, 0], X, X[:, 0], task="regression"))
