"""Columns as they came."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from cdvm import InputError
from cdvm.data.raw import RawColumns, as_given, stack_rows

FRAME = pd.DataFrame(
    {"a": [1.0, None, 3.0], "b": ["x", "y", None], "c": [[1], [2], [3]], "d": [1, 2, 3]}, index=[7, 8, 9]
)


def test_rows_are_taken_by_position_and_the_table_is_handed_out():
    for table in (FRAME, FRAME.to_numpy(dtype=object)):
        raw = RawColumns(table)
        assert raw.shape == (3, 4)
        assert as_given(raw) is table
        taken = pd.DataFrame(as_given(raw[np.array([2, 0])]))
        assert taken.iloc[:, 0].tolist() == [3.0, 1.0]
    assert as_given(3) == 3
    with pytest.raises(InputError, match="prepare=True"):
        np.asarray(RawColumns(FRAME))


@pytest.mark.parametrize(
    "other",
    [
        FRAME.rename(columns={"a": "z"}),
        FRAME.astype({"d": "int32"}),
        FRAME.assign(b=["x", "y", "z"]),
        FRAME.assign(c=[[1], [2], [4]]),
        FRAME[::-1],
    ],
)
def test_a_digest_tells_names_types_values_and_their_order(other):
    assert RawColumns(FRAME).digest() == RawColumns(FRAME.reset_index(drop=True)).digest()
    assert RawColumns(FRAME).digest() != RawColumns(other).digest()


def test_parts_are_stacked_in_their_own_kind():
    frames = stack_rows([RawColumns(FRAME[:1]), RawColumns(FRAME[1:])])
    pd.testing.assert_frame_equal(frames.table, FRAME.reset_index(drop=True))
    words = stack_rows([RawColumns(np.array([["x"]], dtype=object))] * 2)
    assert words.table.tolist() == [["x"], ["x"]]
    thin = stack_rows([sparse.csr_array(np.eye(2)), sparse.csr_array(np.ones((1, 2)))])
    assert sparse.issparse(thin)
    assert thin.toarray().tolist() == [[1, 0], [0, 1], [1, 1]]
    assert stack_rows([np.eye(2), np.ones((1, 2))]).tolist() == [[1, 0], [0, 1], [1, 1]]
