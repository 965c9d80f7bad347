"""Columns as features: each encoder is fitted on the training rows of one column and keeps to them.

Two rows differ by 2 in the mean square of a standardised number, and by 2 between two levels in one-hot
features: with ``scale`` they weigh alike in distances and penalties, and rare levels are not blown up.
"""

from __future__ import annotations

import warnings
from collections.abc import Container
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cdvm.data.kinds import Column, read_values
from cdvm.data.reading import read_words
from cdvm.errors import InputWarning

if TYPE_CHECKING:
    import pandas as pd

    Series = pd.Series[Any]

__all__ = ["Categories", "Numbers", "date_parts", "unused"]

_RARE = 2  # levels in fewer training rows than this are pooled
_DAY, _YEAR = 86_400, 365.2425 * 86_400  # seconds
_LARGEST = np.finfo(np.float64).max


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers, booleans and dates; missing values become the median, and are marked if training has some.

    Attributes
    ----------
    column : Column
    names : tuple of str
        The features.
    used : ndarray
        The parts of a date that differ between training rows; for other kinds the only part.
    fill, centre, spread : ndarray
        By part: the median, and what scaling takes off and divides by.
    marked : bool
        Whether the last feature says that a value is missing.
    scaled : bool
        Whether numbers are standardised; so are the years of a date. Its season, weekday and hour are points
        on a circle, which need no scaling.
    """

    column: Column
    names: tuple[str, ...]
    used: NDArray[np.bool_]
    fill: NDArray[np.float64]
    centre: NDArray[np.float64]
    spread: NDArray[np.float64]
    marked: bool
    scaled: bool

    @classmethod
    def fit(cls, series: Series, column: Column, *, scale: bool) -> Numbers:
        """Medians, means and standard deviation of the training rows."""
        names, parts = date_parts(series, column)
        missing = np.isnan(parts[:, 0])
        used = np.ptp(parts[~missing], axis=0) > 0
        fill = np.median(parts[~missing], axis=0)
        filled = np.where(missing[:, None], fill, parts)
        size = np.maximum(np.abs(filled).max(axis=0), np.finfo(np.float64).tiny)  # squares may overflow
        centre, spread = (filled / size).mean(axis=0) * size, (filled / size).std(axis=0) * size
        own = (
            np.arange(len(fill)) == 0
            if scale and column.kind != "boolean"
            else np.zeros(len(fill), dtype=bool)
        )
        centre, spread = np.where(own, centre, 0.0), np.where(own & (spread > 0), spread, 1.0)
        kept = [name for name, use in zip(names, used, strict=True) if use]
        marks = [f"{column.name} missing"] if missing.any() else []
        return cls(column, (*kept, *marks), used, fill, centre, spread, bool(missing.any()), bool(own.any()))

    @property
    def phrase(self) -> str:
        """How the column became features."""
        how = {"number": "as it is", "boolean": "0 or 1"}.get(self.column.kind, "")
        parts = (name.removeprefix(f"{self.column.name} ").split()[0] for name in self.names)
        how = how or ", ".join(dict.fromkeys(part for part in parts if part != "missing"))
        if self.scaled:
            how = (
                "standardised" if self.column.kind == "number" else how.replace("years", "standardised years")
            )
        return how + ("; missing: median and a mark" if self.marked else "")

    def transform(self, series: Series) -> NDArray[np.float64]:
        """The features of any rows; always finite."""
        parts = date_parts(series, self.column)[1]
        missing = np.isnan(parts[:, 0])
        if missing.sum() > series.isna().sum():
            _warn_unreadable(series, self.column, missing)
        parts = np.where(missing[:, None], self.fill, parts)
        with np.errstate(over="ignore"):
            values = np.clip((parts - self.centre) / self.spread, -_LARGEST, _LARGEST)[:, self.used]
        return np.column_stack([values, missing]) if self.marked else values


def date_parts(series: Series, column: Column) -> tuple[list[str], NDArray[np.float64]]:
    """Names and values: of a number or boolean the value, of a date its parts; NaN if missing."""
    values = read_values(series, column)
    if column.kind != "date":
        return [str(column.name)], values[:, None]
    years, days = values / _YEAR, values / _DAY
    parts, names = [years + 1970], [f"{column.name} years"]
    for part, turns in (("season", years), ("weekday", (np.floor(days) + 3) / 7), ("hour", days)):
        angle = 2 * np.pi * (turns % 1)
        parts += [np.sin(angle), np.cos(angle)]
        names += [f"{column.name} {part} {wave}" for wave in ("sin", "cos")]
    rounded: NDArray[np.float64] = np.column_stack(parts).round(9)  # midnight is the same hour on every day
    return names, rounded


def _warn_unreadable(series: Series, column: Column, missing: NDArray[np.bool_]) -> None:
    codes, words = read_words(series)
    odd = [
        k for k in np.flatnonzero(missing & (codes >= 0)) if repr(words[codes[k]][:20]) not in column.reason
    ]
    if odd:
        warnings.warn(
            f"column {column.name!r} held a {column.kind} in training, but row {odd[0]} has "
            f"{words[codes[odd[0]]][:40]!r} ({len(odd)} such value{'s' * (len(odd) > 1)}): taken as missing",
            InputWarning,
            stacklevel=5,
        )


def unused(word: str, levels: Container[str]) -> str:
    """A word for what is no level, marked until no level is called that.

    >>> unused("<other>", ["a", "<other>"])
    '<<other>>'
    """
    return word if word not in levels else unused(f"<{word}>", levels)


@dataclass(frozen=True, eq=False)
class Categories:
    """One feature for each level; levels seen once, new ones and missing values have one together each.

    Where that makes two features, one of them says it all: the rarer.

    Attributes
    ----------
    column : Column
    names : tuple of str
    place : dict
        The feature of each level, -1 for none.
    other, missing : int
        The feature of levels without a place, and of missing values; -1 for none.
    """

    column: Column
    names: tuple[str, ...]
    place: dict[str, int]
    other: int
    missing: int

    @classmethod
    def fit(cls, series: Series, column: Column) -> Categories:
        """The levels of the training rows."""
        codes, words = read_words(series)
        counts = np.bincount(codes[codes >= 0], minlength=len(words))
        own = counts >= _RARE if (counts >= _RARE).any() else counts > 0
        place = {word: k for k, word in enumerate(words[own])}
        rest = [unused(word, place) for word in ("<other>", "<missing>")]
        sizes = [*counts[own].tolist(), int(counts[~own].sum()), int((codes < 0).sum())]
        names = [f"{column.name}={word}" for word, n in zip([*words[own], *rest], sizes, strict=True) if n]
        other = len(place) if sizes[-2] else -1
        missing = len(place) + (other >= 0) if sizes[-1] else -1
        if len(names) == 2:
            kept = min(range(2), key=[n for n in sizes if n].__getitem__)
            place = {word: 0 if k == kept else -1 for word, k in place.items()}
            other, missing = (0 if k == kept else -1 for k in (other, missing))
            names = [names[kept]]
        return cls(column, tuple(names), place, other, missing)

    @property
    def phrase(self) -> str:
        """How the column became features."""
        if len(self.names) == 1:
            return f"0 or 1, 1 for {self.names[0].removeprefix(f'{self.column.name}=')}"
        pooled = self.column.levels - len(self.place)
        how = f"one-hot, {len(self.place)} levels" + (f", {pooled} rare ones together" if pooled else "")
        return how + ("; missing is a level" if self.missing >= 0 else "")

    def transform(self, series: Series) -> sparse.csr_array:
        """The features of any rows; a level never seen is one of the others, or nothing."""
        codes, words = read_words(series)
        lookup = [self.place.get(word, self.other) for word in words]
        places = np.array([*lookup, self.missing], dtype=np.int64)[codes]
        rows = np.flatnonzero(places >= 0)
        ones = np.ones(len(rows))
        return sparse.csr_array((ones, (rows, places[rows])), shape=(len(codes), len(self.names)))
