"""MembershipMatrix: the same products and rows as the sparse matrix it stands for."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse

import cdvm.attribution.membership
from cdvm.attribution.membership import MembershipMatrix


@pytest.fixture(params=[1, 7, 1 << 20], ids=lambda size: f"slices of {size}")
def pair(request, monkeypatch):
    monkeypatch.setattr(cdvm.attribution.membership, "_SLICE", request.param)
    dense = np.random.default_rng(0).random((23, 17)) < 0.3
    dense[4] = dense[22] = False
    dense[5] = True
    matrix = sparse.csr_array(dense.astype(np.float64))
    return MembershipMatrix(matrix.indices, matrix.indptr, matrix.shape), dense.astype(np.float64)


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_products_match_the_dense_matrix(pair, precision):
    incidence, dense = pair
    right, left = np.linspace(-1, 2, 17).astype(precision), np.linspace(3, -1, 23).astype(precision)
    assert (incidence @ right).dtype == precision
    tolerance = {"rtol": 1e-5, "atol": 1e-5} if precision == np.float32 else {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(incidence @ right, dense @ right, **tolerance)
    np.testing.assert_allclose(incidence.transpose() @ left, dense.T @ left, **tolerance)
    np.testing.assert_allclose(left @ incidence, left @ dense, **tolerance)


@pytest.mark.parametrize(
    "rows",
    [
        None,
        slice(None),
        slice(3, 9),
        slice(0, 23, 4),
        slice(-5, None),
        np.array([5, 2, 2, 22]),
        np.array([], int),
        [1, -1],
    ],
)
def test_rows_match_the_dense_matrix(pair, rows):
    incidence, dense = pair
    picked = slice(None) if rows is None else rows
    np.testing.assert_array_equal(incidence.rows(rows).toarray(), dense[picked])


def test_empty_matrix():
    incidence = MembershipMatrix(np.empty(0, np.int32), np.zeros(4, np.int32), (3, 5))
    assert (incidence @ np.ones(5)).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("cuts", [[0, 23], [0, 1, 9, 9, 23]])
def test_stacked_blocks_are_transposed_together(cuts, narrow):
    dense = np.random.default_rng(1).random((23, 17)) < 0.3
    blocks = (sparse.csr_array(dense[a:b].astype(np.int32)) for a, b in itertools.pairwise(cuts))
    stacked = MembershipMatrix.stacked(blocks, 17, narrow=narrow)
    assert stacked.indices.dtype == (np.uint16 if narrow else np.int32)
    assert MembershipMatrix.stacked([sparse.csr_array(dense.astype(np.int32))], 17).indices.dtype == np.int32
    assert stacked.nbytes == stacked.indices.nbytes + stacked.indptr.nbytes
    assert (stacked.to_csr().toarray() == dense.T).all()
    np.testing.assert_array_equal(stacked.rows(slice(2, 5), np.uint8).toarray(), dense.T[2:5])
    left, right = np.arange(17, dtype=np.float32), np.arange(23, dtype=np.float32)
    np.testing.assert_allclose(left @ stacked, left @ dense.T, rtol=1e-6)
    np.testing.assert_allclose(stacked @ right, dense.T @ right, rtol=1e-6)


def test_positions_widen_where_16_bits_do_not_suffice(monkeypatch):
    monkeypatch.setattr(cdvm.attribution.membership, "_NARROW", 20)
    dense = np.random.default_rng(1).random((23, 17)) < 0.3
    blocks = [sparse.csr_array(dense[:12].astype(np.int32)), sparse.csr_array(dense[12:].astype(np.int32))]
    stacked = MembershipMatrix.stacked(blocks, 17, narrow=True)
    assert stacked.indices.dtype == np.int32
    assert (stacked.to_csr().toarray() == dense.T).all()
