import numpy as np
import pandas as pd
import polars as pl
import pytest

from cdvm.data.columns import as_frame, describe_columns
from cdvm.errors import InputError

ROWS = 60
COUNT = np.arange(ROWS)


def only(values, name="a", **options):
    (column,) = describe_columns(pd.DataFrame({name: values}), **options)
    return column


def words(k):
    return " ".join(f"word{(k * j) % 17}" for j in range(1, 9)) + f" {k}"


@pytest.mark.parametrize(
    ("values", "kind", "missing", "levels"),
    [
        (COUNT % 3, "number", 0, 3),
        (COUNT / 7, "number", 0, ROWS),
        (np.where(COUNT % 4 == 0, " ?", (COUNT % 11 / 2).astype(str)), "number", 15, 11),
        (np.where(COUNT % 2 == 0, "a ", " a"), "ignored", 0, 1),
        (np.where(COUNT % 2 == 0, "a", None), "category", 30, 1),
        (np.where(COUNT % 2 == 0, "+", "-"), "category", 30, 1),
        (np.where(COUNT % 2 == 0, "Yes", "no"), "boolean", 0, 2),
        (COUNT % 2 == 0, "boolean", 0, 2),
        (pd.Series(COUNT % 4).astype("category"), "category", 0, 4),
        ([f"0{k % 7}211" for k in COUNT], "category", 0, 7),
        (pd.date_range("2020-01-01", periods=ROWS), "date", 0, ROWS),
        ([f"2020-01-{k % 28 + 1:02}" for k in COUNT], "date", 0, 28),
        ([f"{k % 28 + 1}/{k % 12 + 1}/2020" for k in COUNT], "date", 0, 60),
        ([words(k) for k in COUNT], "text", 0, ROWS),
        ([words(k % 5) for k in COUNT], "category", 0, 5),
        (["x"] * ROWS, "ignored", 0, 1),
        ([None] * ROWS, "ignored", ROWS, 0),
        (["?"] * ROWS, "ignored", ROWS, 0),
    ],
)
def test_kind_missing_and_levels(values, kind, missing, levels):
    column = only(values)
    assert (column.kind, column.missing, column.levels, column.rows) == (kind, missing, levels, ROWS)
    assert column.missing_fraction == missing / ROWS
    assert bool(column.encoding) == (kind != "ignored")
    assert kind != "ignored" or column.reason


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Unnamed: 0", COUNT),
        ("a", COUNT + 1000),
        ("a", np.random.default_rng(0).permutation(ROWS)),
        ("customer_id", COUNT * 977),
        ("PassengerId", COUNT * 977),
        ("a", [f"cust{k * 31}" for k in COUNT]),
        ("a", [f"{k * 7919:032x}" for k in COUNT]),
    ],
)
def test_ids_and_counters_are_ignored_unless_asked_for(name, values):
    column = only(values, name)
    assert column.kind == "ignored"
    assert "no two values are alike" in column.reason
    assert only(values, name, columns=[name]).kind in {"number", "category"}
    assert only(values, name, categorical=[name]).kind == "category"


@pytest.mark.parametrize("values", [COUNT * 977, COUNT / 7, np.minimum(COUNT, ROWS - 2)])
def test_other_numbers_are_not_taken_for_ids(values):
    assert only(values).kind == "number"


def test_few_odd_words_among_numbers_are_missing_and_said():
    column = only(np.where(COUNT == 7, "unknown", (COUNT % 9).astype(str)))
    assert (column.kind, column.missing) == ("number", 1)
    assert column.reason == "'unknown' read as missing"
    assert only(np.where(COUNT % 4 == 0, "unknown", (COUNT % 9).astype(str))).kind == "category"


def test_infinite_values_are_missing_and_said():
    column = only(np.where(COUNT == 7, np.inf, COUNT / 3))
    assert (column.kind, column.missing, column.reason) == ("number", 1, "infinite values count as missing")


@pytest.mark.parametrize("written", ["{}.5 %", "1,{:03}", "€{}"])
def test_numbers_with_signs_are_not_guessed_at_but_mentioned(written):
    column = only([written.format(k % 5) for k in COUNT])
    assert column.kind == "category"
    assert f"numbers written like {written.format(0)!r}" in column.reason
    distinct = only([written.format(k) for k in COUNT])
    assert distinct.kind == "ignored"
    assert "numbers written like" in distinct.reason


def test_dates_of_unclear_order_are_not_guessed_at_but_mentioned():
    column = only([f"{k % 12 + 1:02}/{k % 4 + 1:02}/2020" for k in COUNT])
    assert column.kind == "category"
    assert "day or month first" in column.reason


@pytest.mark.parametrize(
    "values", [[[1, 2]] * 3, [{"a": 1}] * 3, [(1,)] * 3, [np.ones(2)] * 3, [None, [1], [2]], [1j, 2j, 3j]]
)
def test_columns_of_lists_are_ignored_with_a_word_and_refused_if_asked_for(values):
    column = only(values)
    assert column.kind == "ignored"
    assert "make it columns of plain values" in column.reason
    for options in ({"columns": ["a"]}, {"categorical": ["a"]}, {"text": ["a"]}):
        with pytest.raises(InputError, match=r"column 'a' holds .*e\.g\. .*plain values"):
            only(values, **options)


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
