import numpy as np
import pytest

import cdvm.attribution.bits as module
from cdvm.attribution.bits import Bits


@pytest.fixture(params=[1, 40, 1 << 17], ids=lambda size: f"pieces of {size}")
def pair(request, monkeypatch):
    monkeypatch.setattr(module, "_AT_ONCE", request.param)
    dense = np.random.default_rng(0).integers(0, 2, (53, 37)).astype(np.uint8)
    return Bits(np.packbits(dense, axis=1), 37), dense


def test_products_and_sums_match_the_array(pair):
    bits, dense = pair
    right, left = np.linspace(-1, 2, 37).astype(np.float32), np.linspace(3, -1, 53).astype(np.float32)
    np.testing.assert_allclose(bits @ right, dense @ right, rtol=1e-5)
    np.testing.assert_allclose(left @ bits, left @ dense, rtol=1e-5)
    for axis in (0, 1):
        assert (bits.sum(axis=axis, dtype=np.float64) == dense.sum(axis=axis)).all()
        np.testing.assert_allclose(bits.mean(axis=axis, dtype=np.float64), dense.mean(axis=axis), rtol=1e-12)


@pytest.mark.parametrize(
    "columns", [slice(None), slice(3, 9), slice(8, 37), slice(1, 30, 5), np.array([36, 0, 7, 7]), [2, -1]]
)
def test_columns_match_the_array(pair, columns):
    bits, dense = pair
    assert (bits.columns(columns) == dense[:, columns]).all()
    assert bits[:, columns].dtype == np.float32
    assert (bits[:, columns] == dense[:, columns]).all()
    with pytest.raises(IndexError, match="by columns"):
        bits[3, columns]


def test_bits_may_stay_on_disk(pair, tmp_path):
    bits, dense = pair
    np.save(tmp_path / "bits.npy", bits.packed)
    mapped = Bits(np.load(tmp_path / "bits.npy", mmap_mode="r"), 37)
    assert (mapped.columns(slice(None)) == dense).all()
    assert (mapped @ np.ones(37, dtype=np.float32) == dense.sum(axis=1)).all()
