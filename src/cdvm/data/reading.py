"""A column of any type as plain values: floats with NaN, or words with codes.

Strings are stripped, and the usual marks for "not known" (``?``, ``NA``, ``-``, an empty string, ...) are
missing values. All work on strings is done once for each distinct value, so long columns cost little.
What a value is read as never depends on the other values of the column.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

    Series = pd.Series[Any]

__all__ = [
    "BOOLEANS",
    "date_order",
    "inferred",
    "numbers_in",
    "read_booleans",
    "read_dates",
    "read_numbers",
    "read_words",
]

_MARKS = frozenset({"", "?", "-", "--", ".", "na", "n/a", "#n/a", "nan", "<na>", "nat", "null", "none"})
_TRUTHS = {"True": 1.0, "False": 0.0}  # as Python writes them
BOOLEANS = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}
_NUMERIC = {"integer", "floating", "mixed-integer-float", "decimal"}
_DATES = {"datetime64", "datetime", "date", "period"}
_DURATIONS = {"timedelta64", "timedelta"}
_DAY = r"(?P<{0}>\d{{1,2}})[-/.](?P<{1}>\d{{1,2}})[-/.](?P<y>\d{{4}})"
_TIME = r"(?P<time>[ T]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)? ?(Z|UTC|[+-]\d{2}:?\d{2})?)?$"
_ORDERS = {
    "year first": re.compile(r"^(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})" + _TIME),
    "day first": re.compile("^" + _DAY.format("d", "m") + _TIME),
    "month first": re.compile("^" + _DAY.format("m", "d") + _TIME),
}


def inferred(series: Series) -> str:
    """What a column holds: number, boolean, date, category, complex, nested, empty, string or mixed."""
    import pandas as pd

    if isinstance(series.dtype, pd.CategoricalDtype):
        return "category"
    kind = getattr(series.dtype, "kind", "O")
    if kind in "biufmMc":
        return {"b": "boolean", "M": "date", "c": "complex"}.get(kind, "number")
    values = series.astype(object)
    name = pd.api.types.infer_dtype(values, skipna=True)
    if name in _NUMERIC | _DURATIONS:
        return "number"
    if name in _DATES:
        return "date"
    if name in {"boolean", "complex", "empty", "string"}:
        return name
    nested = (list, tuple, set, frozenset, dict, np.ndarray)
    return "nested" if any(isinstance(v, nested) for v in values) else "mixed"


def read_words(series: Series) -> tuple[NDArray[np.int64], NDArray[np.object_]]:
    """Codes into distinct stripped strings in the order of the alphabet; code -1 is a missing value.

    >>> import pandas as pd
    >>> read_words(pd.Series([" b", "a", "?", None, "b"]))
    (array([ 1,  0, -1, -1,  1]), array(['a', 'b'], dtype=object))
    """
    import pandas as pd

    values = series.astype(object)
    if inferred(values) != "string":  # before distinct values are sought: 1, 1.0 and True are equal
        values = values.map(_word, na_action="ignore")
    codes, found = pd.factorize(values, use_na_sentinel=True)
    stripped = [str(word).strip() for word in found]
    words = sorted({word for word in stripped if word.casefold() not in _MARKS})
    place = {word: code for code, word in enumerate(words)}
    lookup = np.array([place.get(word, -1) for word in stripped] + [-1], dtype=np.int64)
    return lookup[codes], np.array(words, dtype=object)


def read_numbers(series: Series) -> NDArray[np.float64]:
    """Floats; what is missing, infinite or no number is NaN. Durations are seconds."""
    import pandas as pd

    kind = inferred(series)
    if kind in {"number", "boolean"}:
        if getattr(series.dtype, "kind", "O") == "m" or pd.api.types.infer_dtype(series) in _DURATIONS:
            series = pd.to_timedelta(series, errors="coerce").dt.total_seconds()
        elif getattr(series.dtype, "kind", "O") == "O":  # Decimal, from Arrow too
            series = series.astype(object)
        values = pd.to_numeric(series, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    elif kind == "date":
        values = np.full(len(series), np.nan)
    else:
        codes, words = read_words(series)
        truths = np.array([_TRUTHS.get(word, np.nan) for word in words], dtype=np.float64)
        values = _taken(np.fmax(numbers_in(words), truths), codes)
    return np.where(np.isfinite(values), values, np.nan)


def read_booleans(series: Series) -> NDArray[np.float64]:
    """1 for true, 0 for false, NaN for anything else."""
    if inferred(series) in {"number", "boolean"}:
        values = read_numbers(series)
        return np.where(np.isin(values, (0.0, 1.0)), values, np.nan)
    codes, words = read_words(series)
    known = {**BOOLEANS, "1": 1.0, "0": 0.0}
    return _taken([known.get(word.casefold(), np.nan) for word in words], codes)


def read_dates(series: Series, order: str = "year first") -> NDArray[np.float64]:
    """Seconds since 1970, in UTC where the zone is known; NaN for what is no date in this order."""
    import pandas as pd

    kind = inferred(series)
    if kind not in {"date", "number"}:
        codes, words = read_words(series)
        return _taken(_seconds_of(words, order), codes)
    if kind == "number":
        return np.full(len(series), np.nan)
    if getattr(series.dtype, "kind", "O") != "M":
        series = series.map(lambda v: v.to_timestamp() if isinstance(v, pd.Period) else v, na_action="ignore")
    return _seconds(series)


def date_order(words: Iterable[str]) -> str | None:
    """How dates are written: year, day or month first; "unclear"; None if these are no dates.

    >>> date_order(["2024-02-01", "2024-02-13 10:30"]), date_order(["01/02/2024", "13/02/2024"])
    ('year first', 'day first')
    >>> date_order(["01/02/2024", "03/04/2024"]), date_order(["May 2024"])
    ('unclear', None)
    """
    words = list(words)
    fitting = [order for order, form in _ORDERS.items() if words and all(map(form.match, words))]
    if len(fitting) == 2:
        fitting = [o for o in fitting if not np.isnan(_seconds_of(words, o)).any()] or fitting
        if len(fitting) == 2:
            return "day first" if all(re.match(r"\d+\.", word) for word in words) else "unclear"
    return fitting[0] if fitting else None


def numbers_in(words: Iterable[str]) -> NDArray[np.float64]:
    """Each word as a number, NaN where it is none.

    >>> numbers_in(["1.5", "x", "-2e3"])
    array([ 1.5e+00, nan, -2.0e+03])
    """
    return np.array([_number(word) for word in words], dtype=np.float64)


def _number(word: str) -> float:
    try:
        return float(word) if "_" not in word else np.nan
    except ValueError:
        return np.nan


def _word(value: Any) -> str:
    """Whole numbers read the same from any type, so that 1, 1.0 and "1" are one level."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _taken(values: Any, codes: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.append(np.asarray(values, dtype=np.float64), np.nan)[codes]


def _iso(word: str, order: str) -> str | None:
    found = _ORDERS[order].match(word)
    if not found:
        return None
    time = re.sub(r"^[ T](\d:)", r"T0\1", found["time"] or "").replace("UTC", "Z")
    time = re.sub(r"^ ", "T", time).replace(" ", "")
    return f"{found['y']}-{int(found['m']):02}-{int(found['d']):02}{time}"


def _seconds_of(words: Iterable[str], order: str) -> NDArray[np.float64]:
    import pandas as pd

    written = pd.Series(list(words), dtype=object)
    seconds = _seconds(written.where(~written.str.isdigit())) if len(written) else np.empty(0)
    odd = np.flatnonzero(np.isnan(seconds))
    seconds[odd] = _seconds(pd.Series([_iso(word, order) for word in written.iloc[odd]], dtype=object))
    return seconds


def _seconds(series: Series) -> NDArray[np.float64]:
    import pandas as pd

    if len(series) == 0:
        return np.empty(0)
    form = "ISO8601" if pd.api.types.infer_dtype(series, skipna=True) == "string" else None
    times = pd.to_datetime(series, utc=True, errors="coerce", format=form).dt.as_unit("us")
    return np.where(times.isna(), np.nan, times.astype("int64").to_numpy() / 1e6)
