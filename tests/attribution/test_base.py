"""An attribution that is held as a matrix answers like that matrix."""

import numpy as np
import pytest
from scipy import sparse

from cdvm import InputError, MatrixAttribution
from cdvm.attribution.base import as_attribution


@pytest.fixture(params=["array", "single", "sparse"])
def pair(request, rng):
    T = rng.normal(size=(12, 7)) * (rng.random((12, 7)) < 0.6)
    made = {"array": np.asarray, "single": np.float32, "sparse": sparse.csc_array}[request.param](T)
    return MatrixAttribution(made), np.asarray(made.todense() if sparse.issparse(made) else made, float)


def test_products_and_sums(pair, rng):
    attribution, T = pair
    w, lam = rng.normal(size=12), rng.normal(size=7)
    assert attribution.shape == (12, 7)
    for found, expected in [
        (attribution.matvec(lam), T @ lam),
        (attribution.rmatvec(w), T.T @ w),
        (attribution.row_sums(), T.sum(axis=1)),
        (attribution.values(), T.mean(axis=1)),
        (attribution.operator() @ lam, T @ lam),
        (attribution.operator().T @ w, T.T @ w),
        (attribution.max(), T.max()),
    ]:
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        assert np.asarray(found).dtype == np.float64
    assert attribution.operator().dtype == np.float64


@pytest.mark.parametrize("rows", [None, slice(2, 5), np.array([7, 1, 1])])
@pytest.mark.parametrize("columns", [None, slice(3, 4), np.array([6, 0])])
def test_blocks(pair, rows, columns):
    attribution, T = pair
    expected = T if rows is None else T[rows]
    expected = expected if columns is None else expected[:, columns]
    found = attribution.block(rows, columns)
    assert isinstance(found, np.ndarray)
    assert found.dtype == np.float64
    assert (found == expected).all()
    if columns is not None:
        single = attribution.reader(columns)(slice(None) if rows is None else rows)
        assert single.dtype == np.float32
        assert (single == expected.astype(np.float32)).all()


def test_a_twentieth_is_kept_unless_told_otherwise(pair):
    attribution, T = pair
    kept = attribution.sparsify().dense()
    assert (kept != 0).sum() == round(0.05 * 84)
    assert set(np.abs(kept[kept != 0])) == set(np.sort(np.abs(T.astype(np.float32)), axis=None)[-4:])
    assert attribution.max() == T.max()


def test_stored_zeros_and_places_twice_or_out_of_order_do_not_matter():
    entries, columns = np.array([-1.0, 1.0, 0.0, 1.0, -3.0, 1.0]), np.array([2, 0, 2, 1, 0, 0])
    stored = sparse.csr_array((entries, columns, np.array([0, 2, 4, 6])), (3, 3))
    before = stored.copy()
    attribution = MatrixAttribution(stored)
    assert attribution.sparsify(2 / 9).dense().tolist() == [[1, 0, 0], [0, 0, 0], [-2, 0, 0]]
    assert attribution.sparsify(1.0).matrix.nnz == 4
    assert attribution.max() == 1.0
    for name in ("data", "indices", "indptr"):  # the caller's own
        assert (getattr(stored, name) == getattr(before, name)).all()


def test_entries_whose_sums_overflow_are_refused():
    assert MatrixAttribution(np.full((2, 5), -1e299)).row_sums().tolist() == [-5e299, -5e299]
    for matrix in (np.full((2, 5), -1.01e299), sparse.csr_array(np.diag([1.0, -1e300]))):
        with pytest.raises(InputError, match="whose sums overflow: divide it by a number"):
            MatrixAttribution(matrix)


def test_what_is_an_attribution_already_stays_itself(pair):
    attribution, T = pair
    assert as_attribution(attribution) is attribution
    assert (as_attribution(T).dense() == T).all()


@pytest.mark.parametrize(
    "matrix", [np.zeros(3), np.zeros((0, 2)), np.array([[np.nan]]), np.array([[np.inf]])]
)
def test_matrices_that_are_no_attribution(matrix):
    with pytest.raises(InputError):
        MatrixAttribution(matrix)
