from __future__ import annotations

import numpy as np
import pytest
from cases import split_of
from scipy import sparse

from cdvm.errors import InputError
from cdvm.learners.batched import binning
from cdvm.learners.batched.binning import Bins


def test_few_values_have_a_code_each():
    X = np.array([[3.0, 1.0], [5.0, 1.0], [4.0, 1.0], [3.0, 1.0]])
    bins = Bins(X)
    assert bins.codes(X).tolist() == [[1, 1], [3, 1], [2, 1], [1, 1]]
    assert bins.sizes.tolist() == [4, 2]


def test_many_values_share_codes_evenly():
    column = np.random.default_rng(0).lognormal(size=(6300, 1))
    bins = Bins(column)
    codes = bins.codes(column)[:, 0]
    counts = np.bincount(codes, minlength=64)
    assert counts[0] == 0
    assert counts[1:].min() > 80
    assert counts[1:].max() < 120
    assert (np.diff(codes[np.argsort(column[:, 0])].astype(int)) >= 0).all()


def test_a_frequent_value_leaves_the_others_their_share():
    rng = np.random.default_rng(0)
    column = np.where(rng.random(5000) < 0.8, 0.0, rng.normal(size=5000))[:, None]
    codes = Bins(column).codes(column)[:, 0]
    assert len(np.unique(codes[column[:, 0] == 0])) == 1
    assert len(np.unique(codes)) > 50
    assert np.bincount(codes[column[:, 0] != 0]).max() < 60


def test_codes_of_rows_outside_the_table():
    bins = Bins(np.array([[0.0], [1.0], [np.nan]]))
    rows = np.array([-9.0, 0.49, 0.5, 0.51, 9.0, np.nan])[:, None]
    assert bins.codes(rows).ravel().tolist() == [1, 1, 1, 2, 2, 0]


def test_a_column_without_values_has_one_code():
    bins = Bins(np.full((3, 1), np.nan))
    assert bins.codes(np.array([[np.nan], [2.0]])).ravel().tolist() == [0, 1]


def test_sparse_and_single_precision():
    X = np.random.default_rng(0).integers(0, 4, (50, 6)).astype(float)
    thin = sparse.csr_array(X)
    np.testing.assert_array_equal(Bins(thin).codes(thin), Bins(X).codes(X))
    np.testing.assert_array_equal(Bins(X.astype(np.float32)).codes(X.astype(np.float32)), Bins(X).codes(X))


def test_tables_that_are_too_large_are_refused(monkeypatch):
    monkeypatch.setattr(binning, "MEMORY_LIMIT", 1000)
    X = split_of("digits_raw").X
    with pytest.raises(InputError, match="120 rows of 64 columns, too many for trees"):
        Bins(X).codes(X)
