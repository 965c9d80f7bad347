import numpy as np
import pytest
from scipy import sparse

import cdvm.attribution.sparsify as module
from cdvm import Design, ImplicitAttribution, InputError, MatrixAttribution
from cdvm.attribution.bits import Bits


def attribution(rng, n=40, m=11, models=50, kind="float", inclusion=0.3):
    members = Design(n, inclusion, seed=3).take(range(models)).members
    outcomes = rng.integers(0, 2, (models, m)).astype(np.uint8)
    if kind == "bits":
        return ImplicitAttribution(members, Bits(np.packbits(outcomes, axis=1), m))
    return ImplicitAttribution(members, outcomes if kind == "float" else rng.normal(size=(models, m)))


def strongest(T, keep):
    """The oracle: sort all entries by magnitude, then by place."""
    flat = T.ravel()
    order = np.lexsort((np.arange(flat.size), -np.abs(flat)))[: round(keep * flat.size)]
    kept = np.zeros_like(flat)
    kept[order] = flat[order]
    return kept.reshape(T.shape)


@pytest.mark.parametrize("keep", [0.01, 0.05, 0.3, 1.0])
@pytest.mark.parametrize("tile", [7, 1 << 20])
@pytest.mark.parametrize("kind", ["float", "bits", "score"])
@pytest.mark.parametrize("strip", [1, 1 << 28])  # columns by eights, or all at once
def test_the_largest_magnitudes_are_kept_the_first_of_equals(rng, keep, tile, kind, strip, monkeypatch):
    monkeypatch.setattr(module, "_TILE", tile)
    monkeypatch.setattr(module, "_SAMPLE", 60)
    monkeypatch.setattr(module, "_STRIP_BYTES", strip)
    implicit = attribution(rng, kind=kind)
    T = implicit.dense().astype(np.float32)
    for n_jobs in (1, 2):
        thin = implicit.sparsify(keep, n_jobs=n_jobs)
        assert (thin.dense() == strongest(T, keep)).all()
        assert thin.matrix.nnz == np.count_nonzero(strongest(T, keep))
    assert implicit.max() == T.max()
    implicit.__dict__.pop("_largest")
    assert implicit.max() == T.max()


def test_the_largest_entry_is_not_looked_for_again(rng, monkeypatch):
    implicit = attribution(rng)
    largest = implicit.dense().astype(np.float32).max()
    implicit.sparsify(0.1)
    monkeypatch.setattr("cdvm.attribution.implicit.largest_entry", None)
    assert implicit.max() == largest


def test_a_sample_that_is_not_typical_costs_another_pass_only(monkeypatch):
    monkeypatch.setattr(module, "_TILE", 50)
    monkeypatch.setattr(module, "_SAMPLE", 1)
    T = np.random.default_rng(0).normal(size=(400, 10))
    T[np.linspace(0, 399, 16).astype(int)] *= 100  # the rows that are looked at are far larger than the rest
    assert (MatrixAttribution(T).sparsify(0.2).dense() == strongest(T.astype(np.float32), 0.2)).all()


@pytest.mark.parametrize("models", [255, 256, 300])
def test_counts_beyond_one_byte(rng, models):
    implicit = attribution(rng, n=9, m=9, models=models, inclusion=0.999)
    implicit.outcomes[:] = 1  # sums as large as counts
    implicit.outcomes[0] = 0
    implicit._totals[:] = models - 1
    assert np.allclose(implicit.reader(slice(0, 9))(slice(0, 9)), implicit.dense(), atol=1e-7)


def test_memory_is_bounded(rng):
    T = MatrixAttribution(rng.normal(size=(2000, 1000)))
    room = 2 * module._TILE_BYTES * module._TILE + module._KEPT_BYTES * 100_000
    assert T.sparsify(0.05, memory_limit=room).matrix.nnz == 100_000
    with pytest.raises(InputError, match=r"keep at most 0\.05"):
        T.sparsify(0.2, memory_limit=room)
    with pytest.raises(InputError, match="allow more"):
        T.sparsify(0.2, memory_limit="10kB")
    for keep in (0, -0.1, 1.5):
        with pytest.raises(InputError, match=f"keep={keep}"):
            T.sparsify(keep)


@pytest.mark.parametrize(("models", "inclusion"), [(60, 0.3), (400, 0.9)])  # counts of one byte, of two
def test_counts_out_of_bag_give_the_same_entries(rng, models, inclusion):
    members = Design(12, inclusion, seed=3).take(range(models)).members
    outcomes = rng.integers(0, 2, (models, 5)).astype(np.uint8)
    outcomes[:, 1], outcomes[:, 2] = 0, 1  # evaluation rows that no model, or every model, gets right
    implicit = ImplicitAttribution(members, outcomes, np.array([0, 3, 4, 7, 11]))
    assert (implicit.counts > 255).any() == (models > 255)
    for columns in (slice(0, 5), slice(1, 4)):
        read = implicit.reader(columns)(slice(2, 9))
        assert read.dtype == np.float32
        assert np.allclose(read, implicit.block(slice(2, 9), columns), atol=1e-6)
    assert implicit.max() == pytest.approx(implicit.dense().max(), abs=1e-6)


def test_sums_out_of_bag_beyond_one_byte(rng):
    members = Design(6, 0.5, seed=3).take(range(1500)).members
    outcomes = (rng.random((1500, 4)) < 0.97).astype(np.uint8)
    own = np.array([0, 2, 3, 5])
    seen = members.toarray() > 0
    right = (outcomes[:, 0] == 1) & seen[:, 1] & ~seen[:, own[0]]
    assert right.sum() > 255  # of one row for one evaluation row
    implicit = ImplicitAttribution(members, outcomes, own)
    read = implicit.reader(slice(0, 4))(slice(0, 6))
    np.testing.assert_allclose(read, implicit.dense(), atol=1e-6)


@pytest.mark.parametrize("models", [255, 300])
def test_sums_of_bits_beyond_one_byte(models):
    right = np.ones((models, 9), dtype=np.uint8)
    right[0] = 0
    members = Design(9, 0.999, seed=3).take(range(models)).members
    packed = ImplicitAttribution(members, Bits(np.packbits(right, axis=1), 9))
    plain = ImplicitAttribution(members, right)
    np.testing.assert_allclose(packed.dense(), plain.dense(), atol=1e-6)
    np.testing.assert_allclose(packed.reader(slice(0, 9))(slice(0, 9)), plain.dense(), atol=1e-6)


def test_both_counts_out_of_bag_take_a_whole_byte(rng):
    members = np.zeros((300, 2), dtype=np.int32)
    members[:250, 1] = members[250:, 0] = 1  # what 250 models say of row 0, which they did not see
    for chance in (0.03, 0.97):
        outcomes = (rng.random((300, 1)) < chance).astype(np.uint8)
        implicit = ImplicitAttribution(sparse.csr_array(members), outcomes, np.array([0]))
        read = implicit.reader(slice(0, 1))(slice(0, 2))
        np.testing.assert_allclose(read, implicit.dense(), atol=1e-6)
