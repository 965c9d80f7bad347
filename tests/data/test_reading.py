import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from cdvm.data.reading import date_order, inferred, read_booleans, read_dates, read_numbers, read_words

NEW_YEAR = 1_577_836_800.0  # 2020-01-01 00:00 UTC


@pytest.mark.parametrize(
    ("series", "kind"),
    [
        (pd.Series([1, 2]), "number"),
        (pd.Series([1, None], dtype="Int64"), "number"),
        (pd.Series([1.5, None], dtype="double[pyarrow]"), "number"),
        (pd.Series([Decimal("1.5"), None], dtype=object), "number"),
        (pd.Series([Decimal("1.5"), None], dtype=pd.ArrowDtype(pa.decimal128(5, 2))), "number"),
        (pd.Series(pd.to_timedelta([1, 2], unit="h")), "number"),
        (pd.Series([True, None], dtype="boolean"), "boolean"),
        (pd.Series([True, None], dtype=object), "boolean"),
        (pd.Series(pd.date_range("2020", periods=2, tz="Europe/Berlin")), "date"),
        (pd.Series([dt.date(2020, 1, 1), None]), "date"),
        (pd.Series([dt.date(2020, 1, 1)]).astype("date32[pyarrow]"), "date"),
        (pd.Series(pd.period_range("2020", periods=2, freq="M")), "date"),
        (pd.Series([1, 2]).astype("category"), "category"),
        (pd.Series(["a", None], dtype="string[pyarrow]"), "string"),
        (pd.Series([1, "a"]), "mixed"),
        (pd.Series([[1], None]), "nested"),
        (pd.Series([(1, 2)]), "nested"),
        (pd.Series([[1]], dtype=pd.ArrowDtype(pa.list_(pa.int64()))), "nested"),
        (pd.Series([1j]), "complex"),
        (pd.Series([None, None]), "empty"),
    ],
)
def test_what_a_column_holds_is_found_for_every_type(series, kind):
    assert inferred(series) == kind


@pytest.mark.parametrize(
    ("series", "numbers"),
    [
        (pd.Series([1, None], dtype="Int64"), [1, np.nan]),
        (pd.Series([Decimal("1.5"), None], dtype=pd.ArrowDtype(pa.decimal128(5, 2))), [1.5, np.nan]),
        (pd.Series([" 1.5", "?", "x", "2e3", "inf", "1_0"]), [1.5, np.nan, np.nan, 2000, np.nan, np.nan]),
        (pd.Series([np.inf, -np.inf, 3.0]), [np.nan, np.nan, 3]),
        (pd.Series(pd.to_timedelta(["1h", None])), [3600, np.nan]),
        (pd.Series([dt.timedelta(days=1), None], dtype=object), [86_400, np.nan]),
        (pd.Series([dt.timedelta(days=1), dt.timedelta.max], dtype=object), [86_400, np.nan]),
        (pd.Series([0.0, 1.0]).astype("Sparse[float]"), [0, 1]),
    ],
)
def test_numbers(series, numbers):
    np.testing.assert_array_equal(read_numbers(series), numbers)


def test_booleans_are_read_from_words_and_numbers():
    np.testing.assert_array_equal(
        read_booleans(pd.Series(["Yes", "no", "-", "maybe"])), [1, 0, np.nan, np.nan]
    )
    np.testing.assert_array_equal(read_booleans(pd.Series([1, 0, 2])), [1, 0, np.nan])


def test_words_are_stripped_and_marks_are_missing():
    codes, words = read_words(pd.Series([" Private", "Private ", " ?", "", "NA", None, "N/A", "-", "Own"]))
    assert words.tolist() == ["Own", "Private"]
    assert codes.tolist() == [1, 1, -1, -1, -1, -1, -1, -1, 0]


def test_whole_numbers_are_one_word_in_any_type_but_true_is_not_one():
    codes, words = read_words(pd.Series([1, 1.0, "1", True, 2.5], dtype=object))
    assert words.tolist() == ["1", "2.5", "True"]
    assert codes.tolist() == [0, 0, 0, 2, 1]


@pytest.mark.parametrize(
    "series",
    [
        pd.Series(["2020-01-01", "2020-01-02 12:30"]),
        pd.Series(["2020/1/1", "2020.01.02T12:30:00"]),
        pd.Series(["2020-01-01T00:00Z", "2020-01-02 14:30:00 +02:00"]),
        pd.to_datetime(pd.Series(["2020-01-01 01:00", "2020-01-02 13:30"])).dt.tz_localize("Europe/Berlin"),
        pd.Series([dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2, 12, 30)], dtype=object),
        pd.to_datetime(pd.Series(["2020-01-01 00:00", "2020-01-02 12:30"])).astype("timestamp[us][pyarrow]"),
    ],
)
def test_dates_of_any_type_are_seconds(series):
    np.testing.assert_array_equal(read_dates(series), [NEW_YEAR, NEW_YEAR + 36.5 * 3600])


def test_days_before_months():
    np.testing.assert_array_equal(
        read_dates(pd.Series(["01/02/2020"]), "day first"), [NEW_YEAR + 31 * 86_400]
    )
    np.testing.assert_array_equal(read_dates(pd.Series(["01/02/2020"]), "month first"), [NEW_YEAR + 86_400])


def test_impossible_dates_are_missing():
    values = read_dates(pd.Series(["2020-02-31", "0000-00-00", "2020-02-29", "soon"]))
    np.testing.assert_array_equal(np.isnan(values), [True, True, False, True])


@pytest.mark.skipif(
    pd.__version__ < "3", reason="nanoseconds of pandas 2 end in 2262: later dates are missing"
)
def test_distant_dates_are_read():
    values = read_dates(pd.Series(["9999-12-31", "0001-01-01"]))
    np.testing.assert_array_equal(values, [253_402_214_400, -62_135_596_800])


@pytest.mark.parametrize(
    ("words", "order"),
    [
        (["2020-01-01"], "year first"),
        (["25/12/2020", "01/02/2020"], "day first"),
        (["12/25/2020", "01/02/2020"], "month first"),
        (["01.02.2020", "03.04.2020"], "day first"),
        (["01/02/2020", "03/04/2020"], "unclear"),
        (["2020"], None),
        (["1/2"], None),
        ([], None),
    ],
)
def test_the_order_of_a_date_is_found_only_where_it_is_certain(words, order):
    assert date_order(words) == order


@pytest.mark.parametrize(
    ("read", "values"),
    [
        (read_booleans, [False, 0, 1.0, "yes", None]),
        (read_numbers, [True, 2.5, "3", dt.timedelta(hours=1), Decimal("1.5"), dt.date(2020, 1, 1)]),
        (read_dates, [dt.datetime(2020, 1, 1), "2020-01-01", 2020, "2020", dt.date(2020, 1, 1), True]),
        (lambda s: read_dates(s, "day first"), [dt.datetime(2020, 1, 1), "13/01/2020", 5]),
    ],
)
def test_a_value_is_read_the_same_alone_and_among_others(read, values):
    alone = [read(pd.Series([value], dtype=object))[0] for value in values]
    np.testing.assert_array_equal(read(pd.Series(values, dtype=object)), alone)
