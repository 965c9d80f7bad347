import numpy as np
import pandas as pd
import pytest

from cdvm.data.kinds import find_kind, read_values
from cdvm.errors import InputError

ROWS = 60


COUNT = np.arange(ROWS)


def only(values, name="a", use="", *, named=False):
    return find_kind(pd.Series(values, name=name), use, named=named)


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
    assert only(values, name, named=True).kind in {"number", "category"}
    assert only(values, name, "categorical", named=True).kind == "category"


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
    for use in ("", "categorical", "text"):
        with pytest.raises(InputError, match=r"column 'a' holds .*e\.g\. .*plain values"):
            only(values, use=use, named=True)


@pytest.mark.parametrize("use", ["ignore", "target", "unlisted"])
def test_what_is_left_out_is_not_looked_at(use):
    column = only([[1, 2]] * ROWS, use=use, named=True)
    assert (column.kind, column.levels, column.rows) == ("ignored", 0, ROWS)
    assert column.reason


def test_values_are_read_as_their_kind_says():
    dates = pd.Series(["01/02/1970", "31/01/1970", None])
    found = read_values(dates, find_kind(dates))
    np.testing.assert_array_equal(found, [31 * 86_400, 30 * 86_400, np.nan])
    assert read_values(pd.Series(["yes", "No"]), only(["yes", "No"])).tolist() == [1, 0]
    assert read_values(pd.Series(["2.5", "1"]), only(["2.5", "1"])).tolist() == [2.5, 1]
