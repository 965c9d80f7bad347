"""The kind of one column, from its type and its values; what is in doubt is not guessed at, but mentioned."""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from cdvm.data import reading
from cdvm.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    Series = pd.Series[Any]

__all__ = ["MANY_LEVELS", "Column", "Kind", "find_kind", "read_values"]

Kind = Literal["number", "category", "boolean", "date", "text", "ignored"]

MANY_LEVELS = 40  # more levels than this do not get a one-hot column each
_ID_ROWS = 20  # in fewer rows distinct values may be chance
_READABLE = 0.9  # fraction of numbers that makes strings a column of numbers with a few odd words
_ODD_WORDS = 3
_TEXT_WORDS, _TEXT_LENGTH = 5, 50  # the mean from which mostly distinct strings are texts
_ID_NAME = re.compile(
    r"(?i:^|[\W_])(?i:id|uuid|guid|index|key|row)$|[a-z](Id|ID)$|^(?i:unnamed: \d+|level_0)$"
)
_HASH = re.compile(r"(?i)^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$|^[0-9a-f]{16,}$")
_WRITTEN = re.compile(r"^[-+]?[$€£]?\d[\d.,' ]*[%$€£]?$")  # 1,234 or 12 % or €5: mentioned, not guessed at
_LEADING_ZERO = re.compile(r"^[-+]?0\d")  # postcodes and such: names, though they look like numbers
_LEFT_OUT = {"ignore": "as asked", "target": "the target", "unlisted": "not among the columns asked for"}


@dataclass(frozen=True)
class Column:
    """What became of a column.

    Attributes
    ----------
    name : hashable
    kind : str
        ``"number"``, ``"category"``, ``"boolean"``, ``"date"``, ``"text"`` or ``"ignored"``.
    missing, rows : int
        Missing values, of this many.
    levels : int
        Distinct values.
    encoding : str
        How it becomes features; empty if ignored.
    reason : str
        Why it is ignored, or what about it deserves a look.
    order : str
        How dates in strings are written: ``"year first"``, ``"day first"`` or ``"month first"``.
    features : int
        How many features it became; 0 until a preparation is fitted.
    """

    name: Hashable
    kind: Kind
    missing: int
    rows: int
    levels: int
    encoding: str = ""
    reason: str = ""
    order: str = "year first"
    features: int = 0

    @property
    def missing_fraction(self) -> float:
        """Fraction of missing values."""
        return self.missing / self.rows if self.rows else 0.0


def find_kind(series: Series, use: str = "", *, named: bool = False) -> Column:
    """Describe one column.

    Parameters
    ----------
    series : Series
    use : str
        ``"categorical"`` or ``"text"`` if the user says so; ``"ignore"``, ``"target"`` or ``"unlisted"`` if
        it is to be left out.
    named : bool
        Whether the user asked for this column: it is used even if it looks like an id.
    """
    column = Column(series.name, "ignored", int(series.isna().sum()), len(series), 0)
    if use in _LEFT_OUT:
        return replace(column, reason=_LEFT_OUT[use])
    held = reading.inferred(series)
    if held in {"nested", "complex"}:
        return _unusable(series, column, held, named)
    if held in {"number", "boolean", "date"} and not use:
        column = _of_numbers(series, replace(column, kind=held))  # type: ignore[arg-type]
    else:
        column = _of_words(series, column, use or ("categorical" if held == "category" else ""))
    if column.kind == "number" and not named:
        column = _unless_counter(series, column)
    if column.kind == "category" and not named:
        column = _unless_id(series, column)
    return replace(column, encoding=_encoding(column))


def read_values(series: Series, column: Column) -> NDArray[np.float64]:
    """A number, boolean or date column as floats, NaN where a value is missing or cannot be read."""
    if column.kind == "date":
        return reading.read_dates(series, column.order)
    return reading.read_booleans(series) if column.kind == "boolean" else reading.read_numbers(series)


def _unusable(series: Series, column: Column, held: str, named: bool) -> Column:
    value = next(
        v for v in series.astype(object) if isinstance(v, complex) or np.ndim(v) or not np.isscalar(v)
    )
    what = "complex numbers" if held == "complex" else f"values of type {type(value).__name__}"
    cure = "make it columns of plain values"
    if named:
        raise InputError(
            f"column {column.name!r} holds {what}, e.g. {str(value)[:40]}: {cure}, or leave it out"
        )
    return replace(column, reason=f"holds {what}: {cure} to use it")


def _of_numbers(series: Series, column: Column) -> Column:
    values = read_values(series, column)
    known = values[~np.isnan(values)]
    if column.kind == "number" and len(values) - len(known) > column.missing:
        column = replace(column, reason=column.reason or "infinite values count as missing")
    column = replace(column, missing=len(values) - len(known), levels=len(np.unique(known)))
    if column.levels == 1 and not column.missing:
        return replace(column, kind="ignored", reason=f"constant: always {series.iloc[0]}")
    return column if column.levels else replace(column, kind="ignored", reason="no values")


def _of_words(series: Series, column: Column, use: str) -> Column:
    codes, words = reading.read_words(series)
    column = replace(column, missing=int((codes < 0).sum()), levels=len(words))
    if not column.levels:
        return replace(column, kind="ignored", reason="no values")
    if column.levels == 1 and not column.missing:
        return replace(column, kind="ignored", reason=f"constant: always {words[0][:40]!r}")
    if use:
        return replace(column, kind="text" if use == "text" else "category")
    if {word.casefold() for word in words} <= reading.BOOLEANS.keys():
        return replace(column, kind="boolean")
    counts = np.bincount(codes[codes >= 0], minlength=len(words))
    order = reading.date_order(words)
    if order in {"year first", "day first", "month first"}:
        return _of_numbers(series, replace(column, kind="date", order=order))
    return _of_numeric_words(series, words, counts, column) or _of_names(words, counts, order, column)


def _of_numeric_words(
    series: Series, words: NDArray[np.object_], counts: NDArray[np.int64], column: Column
) -> Column | None:
    odd = np.isnan(reading.numbers_in(words))
    if (
        counts[~odd].sum() < _READABLE * counts.sum()
        or odd.sum() > _ODD_WORDS
        or any(map(_LEADING_ZERO.match, words))
    ):
        return None
    read_as = ", ".join(repr(word[:20]) for word in words[odd])
    return _of_numbers(
        series, replace(column, kind="number", reason=read_as and f"{read_as} read as missing")
    )


def _of_names(
    words: NDArray[np.object_], counts: NDArray[np.int64], order: str | None, column: Column
) -> Column:
    lengths = np.array([(len(word.split()), len(word)) for word in words]).mean(axis=0)
    if len(words) > counts.sum() / 2 and (lengths[0] > _TEXT_WORDS or lengths[1] > _TEXT_LENGTH):
        return replace(column, kind="text")
    reason = ""
    if order == "unclear":
        reason = f"dates like {words[0]!r}, day or month first: write them year first to use them as dates"
    elif counts[[bool(_WRITTEN.match(word)) for word in words]].sum() >= _READABLE * counts.sum():
        plain = any(map(_LEADING_ZERO.match, words))
        reason = "" if plain else f"numbers written like {words[0]!r}: make them plain to use them as numbers"
    return replace(column, kind="category", reason=reason)


def _unless_counter(series: Series, column: Column) -> Column:
    """Whole numbers, no two alike, that lie as dense as in a numbering of rows or are called an id."""
    if column.levels < column.rows or column.rows < _ID_ROWS:
        return column
    values = read_values(series, column)
    if (values % 1).any():
        return column
    if np.ptp(values) + 1 > 2 * len(values) and not _ID_NAME.search(str(column.name)):
        return column
    return replace(column, kind="ignored", reason="numbers the rows: no two values are alike")


def _unless_id(series: Series, column: Column) -> Column:
    if column.levels < column.rows - column.missing or column.levels < _ID_ROWS:
        return column
    words = reading.read_words(series)[1]
    if not column.reason and np.mean([len(word.split()) for word in words]) > 1.5:
        return column
    what = "a hash or an id" if all(map(_HASH.match, words)) else "an id"
    reason = column.reason or f"like {what}: no two values are alike"
    return replace(column, kind="ignored", reason=reason)


def _encoding(column: Column) -> str:
    if column.kind == "category":
        how = "one-hot" if column.levels <= MANY_LEVELS else "by spelling: TF-IDF of letters and SVD"
        return how + ("; missing is a level" if column.missing else "")
    if column.kind in {"ignored", "text"}:
        return "" if column.kind == "ignored" else "TF-IDF and SVD"
    how = {"number": "as it is", "boolean": "0 or 1", "date": "years, season, weekday, hour"}[column.kind]
    return how + ("; missing: median and a mark" if column.missing else "")
