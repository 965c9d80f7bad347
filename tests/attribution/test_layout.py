"""What is wrong with the arrays of a file is said before anything is built from them."""

import re

import numpy as np
import pytest

import cdvm.attribution.implicit as module
from cdvm import ImplicitAttribution, InputError
from cdvm.attribution.base import load_attribution
from cdvm.attribution.bits import Bits
from cdvm.attribution.layout import sparse_layout, within

SPARSE = {"data": np.ones(3), "indices": np.array([0, 1, 1]), "indptr": np.array([0, 2, 3])}
MODELS = {
    "indices": np.array([0, 1, 1]),
    "indptr": np.array([0, 2, 3]),
    "outcomes": np.ones((2, 4), np.float32),
}
GROWN = {
    "times": np.array([1, 4]),
    **{f"0.{name}": array for name, array in {**MODELS, "outcomes": np.ones((2, 1), np.float32)}.items()},
    **{f"1.{name}": array for name, array in MODELS.items()},
}
MIXED = {"weights": np.array([1.0, 0.5]), "0.data": np.ones((2, 4)), "1.data": np.ones((2, 4))}


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int64])
def test_positions_are_whole_numbers_below_the_end(kind):
    assert within(np.array([0, 3], dtype=kind), 4)
    assert within(np.array([], dtype=kind), 0)
    assert not within(np.array([0, 4], dtype=kind), 4)
    assert not within(np.array([0.0, 3.0]), 4)
    assert not within(np.array([True]), 4)
    assert kind is np.uint16 or not within(np.array([-1, 3], dtype=kind), 4)


def test_a_sound_layout_is_handed_on():
    indices, indptr = sparse_layout(SPARSE, 2, 4)
    assert indices is SPARSE["indices"]
    assert indptr is SPARSE["indptr"]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({**SPARSE, "indices": np.array([0, 1, 4])}, "positions lie outside its 4 columns"),
        ({**SPARSE, "indices": np.array([[0, 1, 1]])}, "positions lie outside its 4 columns"),
        ({**SPARSE, "indptr": np.array([0, 2, 2, 3])}, "it has not 2 rows"),
        ({**SPARSE, "indptr": np.array([0.0, 2.0, 3.0])}, "it has not 2 rows"),
        ({**SPARSE, "indptr": np.array([1, 2, 3])}, "its rows do not cover its positions"),
        ({**SPARSE, "indptr": np.array([0, 2, 2])}, "its rows do not cover its positions"),
        ({**SPARSE, "indptr": np.array([0, 4, 3])}, "its rows overlap"),
        ({**SPARSE, "data": np.ones(3, dtype=int)}, "its entries are of type int64"),
        ({**SPARSE, "data": np.ones(2)}, "(2,) entries stand at (3,) positions"),
        ({"data": np.ones((4, 2))}, "its entries have shape (4, 2), not (2, 4)"),
        ({"other": np.ones(2), "more": np.ones(2)}, "its arrays are of no known kind: more, other"),
        ({**MODELS, "outcomes": np.ones((2, 3), np.float32)}, "its outcomes have shape (2, 3), not (2, 4)"),
        ({**MODELS, "outcomes": np.ones((2, 4))}, "outcomes are float64"),
        ({**MODELS, "outcomes": np.full((2, 4), np.nan, np.float32)}, "its outcomes are not finite"),
        ({**MODELS, "evaluation_rows": np.array([0, 1, 0, 2])}, "its evaluation rows are no rows"),
        ({**MODELS, "evaluation_rows": np.array([0, 1])}, "its evaluation rows are no rows"),
        ({**MIXED, "weights": np.array([[1.0, 0.5]])}, "its weights are no list of numbers"),
        ({**MIXED, "weights": np.array([1, 2])}, "its weights are no list of numbers"),
        ({**MIXED, "weights": np.array([])}, "its weights are not finite"),
        ({**MIXED, "weights": np.array([1.0, np.inf])}, "its weights are not finite"),
        ({**MIXED, "weights": np.array([1.0])}, "'1.data' belongs to none of its parts"),
        ({**MIXED, "x.data": np.ones(2)}, "'x.data' belongs to none of its parts"),
        ({**GROWN, "times": np.array([[1, 4]])}, "its times are no numbers"),
        ({**GROWN, "times": np.array([1.0, 4.0])}, "its times are no numbers"),
        ({**GROWN, "times": np.array([], dtype=int)}, "its times are no numbers"),
        ({**GROWN, "times": np.array([0, 4])}, "its times do not fit its shape"),
        ({**GROWN, "times": np.array([1, 3])}, "its times do not fit its shape"),
        ({**GROWN, "2.data": np.ones(2)}, "'2.data' belongs to none of its parts"),
        ({**GROWN, "data.1": np.ones(2)}, "'data.1' belongs to none of its parts"),
        ({"times": np.array([4]), "0.data": np.ones((2, 4))}, "its parts are not those of models"),
    ],
)
def test_what_is_wrong_is_said(arrays, message):
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        load_attribution(arrays, (2, 4))


@pytest.mark.parametrize("shape", [(0, 4), (2, 0)])
def test_nothing_is_no_attribution(shape):
    with pytest.raises(InputError, match=f"^its shape is {shape[0]} × {shape[1]}$"):
        load_attribution(SPARSE, shape)


def test_sound_arrays_are_read():
    assert load_attribution(SPARSE, (2, 4)).dense().tolist() == [[1, 1, 0, 0], [0, 1, 0, 0]]
    assert load_attribution({"data": np.ones((1, 1))}, (1, 1)).dense().tolist() == [[1]]
    assert load_attribution(MIXED, (2, 4)).dense().tolist() == [[1.5] * 4] * 2
    single = {"weights": np.array([2.0]), "0.data": np.ones((2, 4))}
    assert load_attribution(single, (2, 4)).dense().tolist() == [[2] * 4] * 2
    assert load_attribution(MODELS, (2, 4)).counts.tolist() == [1, 2]
    assert [part.shape for part in load_attribution(GROWN, (2, 4)).parts] == [(2, 1), (2, 4)]


@pytest.mark.parametrize("most", [8, 7])
@pytest.mark.parametrize("own", [False, True])
def test_many_outcomes_stay_bits(most, own, monkeypatch):
    monkeypatch.setattr(module, "FLOAT_OUTCOMES", most)
    right = np.array([[1, 0, 1, 1], [0, 0, 1, 0]], dtype=np.uint8)
    arrays = {**MODELS, "outcomes": np.packbits(right, axis=1), "packed": np.array(1)}
    rows = np.array([0, 1, 0, 1]) if own else None
    loaded = load_attribution(arrays | ({"evaluation_rows": rows} if own else {}), (2, 4))
    assert isinstance(loaded.outcomes, Bits) == (most < 2 * 4 and not own)
    assert (loaded.dense() == ImplicitAttribution(loaded.members, right, rows).dense()).all()
