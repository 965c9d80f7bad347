import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes, load_wine
from sklearn.neighbors import NearestNeighbors

import cdvm.attribution.similarity as module
from cdvm import (
    InputError,
    Split,
    similarity_attribution,
)


def oracle(split, k):
    """One evaluation row at a time, with scikit-learn's neighbours."""
    X, y = split.evaluation
    apart, near = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(split.X).kneighbors(X)
    T = np.zeros((split.n_rows, len(y)))
    for j in range(len(y)):
        kernel = np.exp(-2 * apart[j] ** 2 / apart[j].max() ** 2)
        T[near[j], j] = kernel / kernel.sum() * np.where(split.y[near[j]] == y[j], 1, -1)
    return T


@pytest.mark.parametrize("at_once", [1, 1 << 23])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_nearest_rows_speak_for_their_labels(wine, at_once, kind, monkeypatch):
    monkeypatch.setattr(module, "_DISTANCES", at_once)
    split = wine
    if kind == "sparse":
        split = Split(
            **{**wine.__dict__, "X": sparse.csr_array(wine.X), "X_val": sparse.csr_array(wine.X_val)}
        )
    found = similarity_attribution(split, neighbors=7, n_jobs=2)
    assert found.matrix.nnz == 7 * len(wine.y_val)
    np.testing.assert_allclose(found.dense(), oracle(wine, 7), atol=1e-5)
    np.testing.assert_allclose(np.abs(found.dense()).sum(axis=0), 1.0, atol=1e-6)


def test_classes_agree_or_do_not_whatever_their_numbers(digits):
    found = similarity_attribution(digits, neighbors=7, n_jobs=1).dense()
    np.testing.assert_allclose(found, oracle(digits, 7), atol=1e-5)


def test_targets_agree_by_degrees():
    X, y = load_diabetes(return_X_y=True)
    split = Split.from_arrays(X[:60], y[:60], task="regression", random_state=0)
    T = similarity_attribution(split, neighbors=500).dense()  # more than there are: all rows count
    assert (T != 0).mean() > 0.95
    spread = split.y.std()
    apart = np.abs(split.y[:, None] - split.y_val)
    assert (T[apart < spread / 2 - 1e-6] >= 0).all()
    assert (T[apart > spread / 2 + 1e-6] <= 0).all()
    nearest = similarity_attribution(split, neighbors=1).dense()
    met = nearest != 0
    np.testing.assert_allclose(nearest[met], 1 - 2 * np.minimum(1, apart[met] / spread), atol=1e-6)
    assert nearest.min() == -1.0


@pytest.mark.parametrize("neighbors", [0, -3, 2.5, True])
def test_bad_neighbors(wine, neighbors):
    with pytest.raises(InputError, match="neighbors="):
        similarity_attribution(wine, neighbors=neighbors)


def test_a_row_is_no_neighbour_of_itself():
    split = Split.from_arrays(*load_wine(return_X_y=True), validation="out_of_bag").standardized()
    T = similarity_attribution(split, neighbors=500).dense()
    assert (np.diag(T) == 0).all()
    assert np.count_nonzero(T) == 178 * 177


@pytest.mark.parametrize("unit", [2.0**-12, 2.0**12])
def test_the_unit_of_the_features_does_not_matter(wine, unit):
    other = Split(**{**wine.__dict__, "X": unit * wine.X, "X_val": unit * wine.X_val})
    found, plain = (similarity_attribution(split, neighbors=7, n_jobs=1).dense() for split in (other, wine))
    np.testing.assert_allclose(found, plain, atol=1e-6)


def test_of_many_rows_the_nearest_are_found(rng):
    X, y = rng.normal(size=(3000, 2)), rng.integers(0, 2, 3000)
    split = Split.from_arrays(X[:2980], y[:2980], X[2980:], y[2980:])
    for k in (1, 2, 5):
        np.testing.assert_allclose(
            similarity_attribution(split, neighbors=k, n_jobs=1).dense(), oracle(split, k), atol=0.05
        )
