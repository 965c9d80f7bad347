"""Rows that come to a split and leave it."""

from dataclasses import replace

import numpy as np
import pytest

from cdvm import InputError, InputWarning, Split
from cdvm.data.growing import more_labels, with_classes, with_rows, without_rows


@pytest.fixture
def split(frame):
    X, y = frame
    return Split.from_arrays(X[:30], y[:30], validation="out_of_bag", random_state=0).standardized()


def test_further_rows_stand_at_the_end_in_the_features_of_the_first(frame, split):
    X, y = frame
    classes, codes = more_labels(split, y[30:])
    grown = with_rows(split, X[30:], codes, np.asarray(X.index[30:]), seed=0)
    assert classes.tolist() == ["no", "yes"]
    mean, scale = X[:30].to_numpy().mean(axis=0), X[:30].to_numpy().std(axis=0)
    np.testing.assert_allclose(grown.X, (X.to_numpy() - mean) / scale)
    assert grown.labels(grown.y).tolist() == y.tolist()
    assert grown.index.tolist() == X.index.tolist()
    assert grown.rows.tolist() == grown.evaluation_rows.tolist() == list(range(40))
    assert grown.n_table == 40


def test_of_a_sample_of_evaluation_rows_as_large_a_fraction_comes(frame, split):
    X, y = frame
    few = _asked(split, np.arange(0, 30, 3))
    grown = with_rows(few, X[30:], more_labels(split, y[30:])[1], None, seed=0)
    assert grown.evaluation_rows[:10].tolist() == list(range(0, 30, 3))
    assert len(grown.evaluation_rows) == 10 + round(10 / 3)
    assert (grown.evaluation_rows[10:] >= 30).all()
    assert grown.index is None


def test_rows_that_leave_are_gone_from_table_and_evaluation_rows(frame, split):
    gone = np.array([17, 3, 4])
    stays = np.setdiff1d(np.arange(30), gone)
    less = without_rows(_asked(split, np.arange(0, 30, 2)), gone)
    np.testing.assert_array_equal(less.X, split.X[stays])
    assert less.y.tolist() == split.y[stays].tolist()
    assert less.rows.tolist() == list(range(27))
    assert less.n_table == 27
    assert less.index.tolist() == split.index[stays].tolist()
    asked = [k for k in range(0, 30, 2) if k not in gone]
    assert stays[less.evaluation_rows].tolist() == asked


def test_rows_that_come_and_leave_again_leave_no_trace(frame, split):
    X, y = frame
    grown = with_rows(split, X[30:], more_labels(split, y[30:])[1], np.asarray(X.index[30:]), seed=0)
    again = without_rows(grown, np.arange(30, 40))
    assert again.fingerprint() == split.fingerprint()
    assert again.rows.tolist() == split.rows.tolist()
    assert again.evaluation_rows.tolist() == split.evaluation_rows.tolist()


def test_held_out_rows_keep_their_places_in_the_table(frame):
    held = Split.from_arrays(*frame, validation_size=0.25, random_state=0)
    less = without_rows(held, np.array([2, 5]))
    gone = held.rows[[2, 5]]
    left = np.delete(np.arange(40), gone)
    np.testing.assert_array_equal(left[less.rows], np.delete(held.rows, [2, 5]))


def test_a_new_class_takes_its_place_and_all_labels_follow(frame, split):
    with pytest.warns(InputWarning, match="labels that y had not: 'maybe'"):
        classes, codes = more_labels(split, ["yes", "maybe"])
    assert classes.tolist() == ["maybe", "no", "yes"]
    assert codes.tolist() == [2, 0]
    wider = with_classes(split, classes)
    assert wider.labels(wider.y).tolist() == split.labels(split.y).tolist()
    assert with_classes(split, split.classes) is split


def test_what_cannot_come_or_go_is_refused(frame, split):
    X, _ = frame
    with pytest.raises(InputError, match="pass labels of one type"):
        more_labels(split, [3])
    with pytest.raises(InputError, match="X_new has 10 rows and y_new 2 labels"):
        with_rows(split, X[30:], np.array([0, 1]), None, seed=0)
    with pytest.raises(InputError, match="no row with label 'no' would be left"):
        without_rows(split, np.flatnonzero(split.y == 0))
    with pytest.raises(InputError, match="no evaluation row would be left"):
        without_rows(_asked(split, np.array([4])), np.array([4]))


def _asked(split, rows):
    return replace(split, evaluation_rows=rows)
