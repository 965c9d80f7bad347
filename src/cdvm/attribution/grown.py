"""The attribution of a table that grew: models of several times, which knew and were asked about other rows.

Models of one time *b* (*N_b* of them, *c_bi* with row *i*) give an estimate ``T_b`` of their own, see
:mod:`cdvm.attribution.implicit`. Its entries have a variance in proportion to ``1/h_bi`` with
``h_bi = c_bi (N_b − c_bi) / N_b``, which is 0 where none or all of them saw the row. Together::

    T[i, j] = Σ_b h_bi T_b[i, j] / Σ_b h_bi        over the times b that were asked about j

Means are compared within a time only: models of another time were trained on other mixtures of rows, and
are right more or less often for reasons that have nothing to do with row *i*. Models of each time were asked
about all evaluation rows of earlier times too, so those of time *g* are answered by the times from *g* on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm.attribution.base import Attribution, Matrix, Vector, load_attribution
from cdvm.attribution.implicit import ImplicitAttribution
from cdvm.attribution.layout import Arrays, require
from cdvm.attribution.sparsify import largest_entry
from cdvm.errors import InputError

__all__ = ["GrownAttribution"]

_PART = re.compile(r"(\d{1,9})\.(\w+)")


class GrownAttribution(Attribution):
    """Estimates of several times, each with as much weight as it has models that tell.

    Parameters
    ----------
    parts : sequence of ImplicitAttribution
        One for each time, over all rows of the table; the columns of each are the first of the next one's.
    """

    _marker = "times"

    def __init__(self, parts: Sequence[ImplicitAttribution]) -> None:
        widths = [part.shape[1] for part in parts]
        if len({part.shape[0] for part in parts}) != 1 or widths != sorted(widths):
            raise InputError(
                f"attributions of shapes {[p.shape for p in parts]}: give those of a table that grew"
            )
        self.parts = tuple(parts)
        self.shape = (parts[-1].shape[0], widths[-1])
        starts = [0, *widths[:-1]]
        self._columns = [slice(a, b) for a, b in zip(starts, widths, strict=True)]  # new at each time
        inside = np.array([part.counts for part in parts], dtype=np.float64)
        total = np.array([[part.n_models] for part in parts], dtype=np.float64)
        self._precision = inside * (total - inside) / total  # times × rows
        sums = np.cumsum(self._precision[::-1], axis=0)[::-1]  # of the times from g on
        self._shares = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0)
        self.n_unusable = int((sums[0] == 0).sum())
        self.n_models = int(total.sum())
        self.binary = all(part.binary for part in parts)

    def _weight(self, time: int, group: int) -> Vector:
        """How much the models of a time count for evaluation rows of an earlier one, row by row."""
        return np.asarray(self._precision[time] * self._shares[group])

    def matvec(self, evaluation: NDArray[Any]) -> Vector:
        found = np.zeros(self.shape[0])
        for b, part in enumerate(self.parts):
            for g, columns in enumerate(self._columns[: b + 1]):
                own = np.zeros(part.shape[1])
                own[columns] = evaluation[columns]
                found += self._weight(b, g) * part.matvec(own)
        return found

    def rmatvec(self, rows: NDArray[Any]) -> Vector:
        found = np.zeros(self.shape[1])
        for b, part in enumerate(self.parts):
            for g, columns in enumerate(self._columns[: b + 1]):
                found[columns] += part.rmatvec(self._weight(b, g) * rows)[columns]
        return found

    def block(self, rows: Any = None, columns: Any = None) -> Matrix:
        picked = slice(None) if rows is None else rows
        found = self._weighted([part.block(rows) for part in self.parts], picked, 1)
        return found if columns is None else found[:, columns]

    def stderr(self, rows: Any = None, columns: Any = None) -> Matrix:
        """Standard error of the entries; the times are independent."""
        picked = slice(None) if rows is None else rows
        squares = [np.nan_to_num(part.stderr(rows)) ** 2 for part in self.parts]
        found = np.sqrt(self._weighted(squares, picked, 2))
        found[self._shares[0][picked] == 0] = np.nan
        return found if columns is None else found[:, columns]

    def values_stderr(self) -> Vector:
        """Standard error of :meth:`values`, about: as if a time knew evaluation rows of all times as well."""
        sizes = [columns.stop - columns.start for columns in self._columns]
        found = np.zeros(self.shape[0])
        for b, part in enumerate(self.parts):
            own = sum(self._weight(b, g) * size for g, size in enumerate(sizes[: b + 1])) / self.shape[1]
            found += (own * np.nan_to_num(part.values_stderr())) ** 2
        return np.where(self._shares[0] > 0, np.sqrt(found), np.nan)

    def _weighted(self, blocks: list[Matrix], rows: Any, power: int) -> Matrix:
        found = np.zeros((len(blocks[0]), self.shape[1]))
        for b, block in enumerate(blocks):
            for g, columns in enumerate(self._columns[: b + 1]):
                found[:, columns] += self._weight(b, g)[rows, None] ** power * block[:, columns]
        return found

    @cached_property
    def _largest(self) -> float:
        return largest_entry(self)

    def max(self) -> float:
        return self._largest

    def _payload(self) -> Arrays:
        arrays = {
            f"{k}.{name}": a for k, part in enumerate(self.parts) for name, a in part._payload().items()
        }
        return arrays | {"times": np.array([part.shape[1] for part in self.parts])}

    @classmethod
    def _from_arrays(cls, arrays: Arrays, shape: tuple[int, int]) -> GrownAttribution:
        times = arrays["times"]
        require(times.ndim == 1 and times.dtype.kind == "i" and len(times) > 0, "its times are no numbers")
        require(bool((times > 0).all() and times[-1] == shape[1]), "its times do not fit its shape")
        parts: list[Arrays] = [{} for _ in times]
        for name in arrays.keys() - {"times"}:
            match = _PART.fullmatch(name)
            if match is None or int(match[1]) >= len(parts):
                raise InputError(f"{name!r} belongs to none of its parts")
            parts[int(match[1])][match[2]] = arrays[name]
        loaded = [load_attribution(part, (shape[0], int(m))) for part, m in zip(parts, times, strict=True)]
        known = [part for part in loaded if isinstance(part, ImplicitAttribution)]
        require(len(known) == len(loaded), "its parts are not those of models")
        return cls(known)
