"""Tables that go together, and rows that are held out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdvm import InputError, InputWarning, Preparation, Split
from cdvm.data.parts import SIZES, Door, check_parts, hold_out
from cdvm.data.raw import as_given


def test_every_class_is_in_every_part_however_rare():
    y = ["common"] * 97 + ["rare"] * 3
    split = Split.from_arrays(np.arange(100.0)[:, None], y, validation_size=0.1, test_size=0.1)
    for part in (split.y, split.y_val, split.y_test):
        assert (part == 1).sum() == 1


def test_validation_columns_are_matched_by_name(frame):
    X, y = frame
    split = Split.from_arrays(X, y, X[["c", "a", "b"]], y)
    assert (split.X_val == split.X).all()
    with pytest.raises(InputError, match="X_val lacks columns of X: 'b'"):
        Split.from_arrays(X, y, X[["a", "c"]], y)


def test_validation_labels_never_seen_in_training_are_counted(frame):
    X, y = frame
    y_val = y.mask(np.arange(40) < 3, "new")
    with pytest.warns(InputWarning, match=r"3 of 40 rows of y_val carry labels never seen in y \('new'\)"):
        split = Split.from_arrays(X, y, X, y_val)
    assert (split.y_val == -1).sum() == 3


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=6, max_size=60), st.integers(0, 5))
def test_held_out_parts_are_all_rows_once_in_the_sizes_asked_for(labels, seed):
    labels = [*labels, *range(4), *range(4), *range(4)]
    codes, sizes = np.array(labels), (0.25, 0.1)
    train, *parts = hold_out(codes, sizes, stratify=True, random_state=seed)
    assert sorted([*train, *parts[0], *parts[1]]) == list(range(len(codes)))
    assert all((np.diff(rows) > 0).all() for rows in (train, *parts))
    for size, rows in zip(sizes, parts, strict=True):
        wanted = np.maximum(1, np.round(size * np.bincount(codes)))
        np.testing.assert_array_equal(np.bincount(codes[rows], minlength=4), wanted)


def test_rows_of_one_kind_are_held_out_by_number_alone():
    train, held = hold_out(np.arange(40), [0.25], stratify=False, random_state=0)
    assert (len(train), len(held)) == (30, 10)
    with pytest.raises(InputError, match="leave no training rows"):
        hold_out(np.arange(40), [0.6, 0.4], stratify=False, random_state=0)
    with pytest.raises(InputError, match="n_samples = 2 rows: too few"):
        hold_out(np.arange(2), [0.1, 0.1], stratify=False, random_state=0)


@pytest.mark.parametrize("prepare", [None, "columns", Preparation()])
def test_a_reader_makes_the_same_features_of_rows_that_come_later(frame, prepare):
    X = frame[0]
    door = Door(prepare)
    train = door.fit(door.read(X[:30]))
    later = door.reader(train)(X[["c", "b", "a"]][30:])
    whole = door.read_second(X, "X", train)[30:]
    assert later.shape == (10, 3)
    np.testing.assert_array_equal(as_given(later), as_given(whole))


def test_halves_of_a_part_and_sizes_without_use_are_refused(frame):
    X, y = frame
    nothing = {"val": (None, None), "test": (None, None)}
    check_parts(nothing, None, SIZES)
    with pytest.raises(InputError, match="X_test and y_test go together"):
        check_parts({**nothing, "test": (X, None)}, None, SIZES)
    with pytest.raises(InputError, match="goes without validation rows"):
        check_parts({**nothing, "val": (X, y)}, "holdout", SIZES)
    with pytest.raises(InputError, match=r"validation_size=0\.3"):
        check_parts({**nothing, "val": (X, y)}, None, {**SIZES, "validation_size": 0.3})
    with pytest.raises(InputError, match=r"test_size=0\.3"):
        check_parts({**nothing, "test": (X, y)}, None, {**SIZES, "test_size": 0.3})
