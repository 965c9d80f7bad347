import numpy as np
import pandas as pd
import polars as pl
import pytest

from cdvm.data.columns import as_frame, describe_columns
from cdvm.errors import InputError

ROWS = 60
COUNT = np.arange(ROWS)


def test_options_override():
    frame = pd.DataFrame({"n": COUNT % 3, "s": [f"w{k % 9}" for k in COUNT], "x": COUNT / 7, "y": COUNT % 2})
    found = describe_columns(frame, categorical=["n"], text=["s"], ignore="x", target="y")
    assert [c.kind for c in found] == ["category", "text", "ignored", "ignored"]
    assert [c.reason for c in found] == ["", "", "as asked", "the target"]
    found = describe_columns(frame, columns=["x"], target="y")
    assert [c.kind for c in found] == ["ignored", "ignored", "number", "ignored"]


@pytest.mark.parametrize("option", ["columns", "ignore", "categorical", "text", "target"])
def test_unknown_names_are_refused_with_the_nearest(option):
    given = "amonut" if option == "target" else ["amonut"]
    with pytest.raises(InputError, match=f"{option}='amonut' is unknown: did you mean 'amount'"):
        describe_columns(pd.DataFrame({"amount": [1, 2], "b": [1, 2]}), **{option: given})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ignore": ["a"], "categorical": ["a"]}, "categorical='a' is named in ignore too"),
        ({"categorical": ["a"], "text": ["a"]}, "text='a' is named in categorical too"),
        ({"columns": ["a"], "ignore": ["a"]}, "ignore='a' is named in columns too"),
        ({"columns": ["a"], "text": ["b"]}, "text='b' is not among columns"),
        ({"target": "a", "text": ["a"]}, "text='a' is named in target too"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        describe_columns(pd.DataFrame({"a": [1, 2], "b": [1, 2]}), **options)


def test_tables_of_other_libraries_and_lists_of_texts():
    assert [c.name for c in describe_columns(pl.DataFrame({"a": [1, 2], "b": ["x", "y"]}))] == ["a", "b"]
    assert [c.kind for c in describe_columns(["good", "bad", "good"])] == ["text"]
    assert [c.kind for c in describe_columns(pd.Series(["good", "bad"], name="review"))] == ["text"]
    assert [c.kind for c in describe_columns(np.array(["good", "bad"]))] == ["text"]
    assert [c.kind for c in describe_columns(np.eye(3))] == ["number"] * 3


@pytest.mark.parametrize("wrong", ["a text", 3, [1, 2], None, np.zeros((2, 2, 2)), {"a": [1]}])
def test_what_is_no_table_is_refused(wrong):
    with pytest.raises(InputError, match=r"one string|no table"):
        as_frame(wrong)


def test_two_columns_of_one_name_are_refused():
    with pytest.raises(InputError, match="two columns named 'a'"):
        describe_columns(pd.DataFrame([[1, 2]], columns=["a", "a"]))
