"""Single flipped bits in every kind of file: what is read is what was written, or one clear line says no."""

import os
import warnings

import numpy as np
import pytest
from scipy import sparse

from cdvm import Attribution, InputWarning, Outcomes, Selection, StoreError, Values
from cdvm._runtime.files import save_arrays
from cdvm.attribution.base import MatrixAttribution
from cdvm.attribution.implicit import ImplicitAttribution
from cdvm.attribution.mixture import MixedAttribution
from cdvm.outcomes.store import Chunk, Store
from cdvm.sampling import Design

FLIPS = int(os.environ.get("CDVM_FLIPS", "250"))  # bits tried in a file


def attributions(rng):
    members = sparse.csr_array((rng.random((30, 9)) < 0.5).astype(np.int8))
    right = (rng.random((30, 5)) < 0.5).astype(np.uint8)
    matrix = rng.normal(size=(9, 5))
    implicit = ImplicitAttribution(members, right)
    return {
        "dense": MatrixAttribution(matrix),
        "sparse": MatrixAttribution(sparse.csr_array(matrix * (matrix > 0))),
        "implicit": implicit,
        "scores": ImplicitAttribution(members, matrix[rng.integers(0, 9, 30)], np.arange(5)),
        "mixed": MixedAttribution([implicit, MatrixAttribution(sparse.csr_array(matrix))], [0.5, 0.25]),
    }


def flipped(path, check):
    """Flip bits all over a file, one at a time; ``check`` reads it and says whether all is as it was."""
    content = path.read_bytes()
    refusals = []
    for bit in np.unique(np.linspace(0, 8 * len(content) - 1, FLIPS).astype(int)):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << (bit % 8)
        path.write_bytes(damaged)
        try:
            assert check(), f"bit {bit} went unnoticed"
        except StoreError as error:
            refusals.append(str(error))
    for line in refusals:
        assert "\n" not in line
        assert "save it again" in line or "run again" in line or "no outcomes yet" in line
    path.write_bytes(content)
    assert check()
    return len(refusals)


@pytest.mark.parametrize("kind", ["dense", "sparse", "implicit", "scores", "mixed"])
def test_no_flipped_bit_changes_an_attribution(kind, rng, tmp_path):
    saved = attributions(rng)[kind]
    path = saved.save(tmp_path / "a")
    dense = Attribution.load(path).dense()
    assert np.allclose(dense, saved.dense(), atol=1e-7)
    assert flipped(path, lambda: np.array_equal(Attribution.load(path).dense(), dense)) > FLIPS / 2


def test_no_flipped_bit_changes_values_or_a_selection(rng, tmp_path):
    values = Values(rng.normal(size=40), "banzhaf", rows=np.arange(40), meta={"seconds": 1.5})
    path = values.save(tmp_path / "v")

    def same():
        found = Values.load(path)
        return np.array_equal(found.values, values.values) and (found.method, found.meta) == (
            "banzhaf",
            values.meta,
        )

    assert flipped(path, same) > FLIPS / 2
    chosen = Selection(np.array([1, 5]), 9, np.arange(9), rng.random(9), "cdvm", 0.5, alpha=0.3)
    path2 = chosen.save(tmp_path / "s")

    def alike():
        found = Selection.load(path2)
        return (found.weights == chosen.weights).all() and (found.alpha, found.mask.sum()) == (0.3, 2)

    assert flipped(path2, alike) > FLIPS / 2


def test_no_flipped_bit_changes_a_store(rng, tmp_path):
    """A manifest is refused, a chunk set aside: what remains is what was written."""
    design = Design(20, 0.5, seed=3)
    manifest = {"design": design.describe(), "n_evaluation": 9, "outcome": "correct", "learner": {"C": 1.0}}
    store = Store(tmp_path / "s", manifest)
    data = rng.integers(0, 256, (6, 2)).astype(np.uint8)
    store.write(Chunk(0, 6, np.array([2]), data))

    def same():
        found = Outcomes.load(tmp_path / "s")
        return found.design == design and np.array_equal(found.data, data) and found.manifest == manifest

    assert flipped(tmp_path / "s" / "manifest.json", same) > FLIPS / 2
    chunk = next((tmp_path / "s").glob("0*.npy"))

    def same_or_set_aside():
        damaged = chunk.with_name(chunk.name + ".damaged")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InputWarning)
            try:
                return same()
            finally:
                damaged.unlink(missing_ok=True)

    assert flipped(chunk, same_or_set_aside) == min(FLIPS, 8 * chunk.stat().st_size)


def crafted(path, shape, **arrays):
    return save_arrays(path, "attribution", {"shape": shape}, arrays)


SPARSE = {"data": np.ones(3), "indices": np.array([0, 1, 1]), "indptr": np.array([0, 2, 3])}
MODELS = {
    "indices": np.array([0, 1, 1]),
    "indptr": np.array([0, 2, 3]),
    "outcomes": np.ones((2, 2), np.float32),
}


@pytest.mark.parametrize(
    "arrays",
    [
        {**SPARSE, "indices": np.array([0, 1, 10**6])},
        {**SPARSE, "indices": np.array([0, 1, -5])},
        {**SPARSE, "indices": np.array([0.0, 1.0, 1.0])},
        {**SPARSE, "indptr": np.array([0, 3, 2])},
        {**SPARSE, "indptr": np.array([0, 2, 10**9])},
        {**SPARSE, "indptr": np.array([0, -4, 3])},
        {**SPARSE, "indptr": np.array([1, 2, 3])},
        {**SPARSE, "indptr": np.array([0, 3])},
        {**SPARSE, "data": np.array([1.0, np.nan, 1.0])},
        {**SPARSE, "data": np.ones(2)},
        {**SPARSE, "data": np.array(["a", "b", "c"])},
        {"data": np.ones((3, 2))},
        {"indices": np.array([0])},
        {**MODELS, "indices": np.array([0, 1, 7])},
        {**MODELS, "outcomes": np.ones((3, 2), np.float32)},
        {**MODELS, "outcomes": np.full((2, 2), np.inf, np.float32)},
        {**MODELS, "outcomes": np.ones((2, 2))},
        {**MODELS, "packed": np.array(1)},
        {**MODELS, "evaluation_rows": np.array([0, 9])},
        {**MODELS, "evaluation_rows": np.array([0])},
        {"weights": np.array([1.0]), "0.data": np.ones((2, 2)), "1.data": np.ones((2, 2))},
        {"weights": np.array([1.0]), "a.data": np.ones((2, 2))},
        {"weights": np.array([np.nan]), "0.data": np.ones((2, 2))},
        {"weights": np.array([1.0])},
    ],
)
def test_an_attribution_with_impossible_positions_is_refused(arrays, tmp_path):
    path = crafted(tmp_path / "a", (2, 2), **arrays)
    with pytest.raises(StoreError, match=r"holds no valid attribution \(.*\): save it again"):
        Attribution.load(path)


def test_the_same_arrays_unspoilt_are_read(tmp_path):
    for name, arrays in {"sparse": SPARSE, "models": MODELS}.items():
        assert Attribution.load(crafted(tmp_path / name, (2, 2), **arrays)).shape == (2, 2)
    for shape in ((2,), (2, 2, 2), (0, 2), (-2, 2), "ab", 5):
        with pytest.raises(StoreError, match="save it again"):
            Attribution.load(crafted(tmp_path / "odd", shape, **SPARSE))


def test_files_that_are_something_else_are_refused(tmp_path):
    (tmp_path / "text.npz").write_text("not a file of arrays")
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    np.save(tmp_path / "single.npy", np.ones(3))
    (tmp_path / "folder.npz").mkdir()
    kept = MatrixAttribution(np.eye(2)).save(tmp_path / "a.npz")
    for load in (Values.load, Selection.load):
        with pytest.raises(StoreError, match=r"is no .* file of this version: save it again"):
            load(kept)
    for name in ("text.npz", "other.npz", "single.npy", "folder.npz"):
        for load in (Values.load, Selection.load, Attribution.load):
            with pytest.raises(StoreError, match="save it again"):
                load(tmp_path / name)
    meta, arrays = {"method": "banzhaf", "details": {}}, {"values": np.ones(3), "rows": np.arange(2)}
    uneven = save_arrays(tmp_path / "v", "values", meta, arrays)
    with pytest.raises(StoreError, match="columns differ in length"):
        Values.load(uneven)
