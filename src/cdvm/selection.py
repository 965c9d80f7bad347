"""The answer: which rows to keep, and how that was found."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cdvm._runtime.files import load_arrays, save_arrays
from cdvm._runtime.markup import tag
from cdvm.data.collections import is_collection, rows_of_collection
from cdvm.data.split import Split
from cdvm.errors import InputError

__all__ = ["Candidate", "Limit", "Selection", "take_rows"]


@dataclass(frozen=True)
class Candidate:
    """One way of choosing, on the leaderboard of a budget.

    Attributes
    ----------
    name : str
    score : float
        Of the model the rows are for, on the rows outside the set and comparable between sets; for classes,
        what it gains on random sets is also that on synthetic rows, see :mod:`cdvm.evaluation.synthetic`.
    standard_error : float
        Of its gain over random sets, for the evaluation rows being a sample.
    fits : int
        Models trained to find it.
    seconds : float
    kept : bool
        Whether it is the answer.
    """

    name: str
    score: float
    standard_error: float
    fits: int
    seconds: float
    kept: bool


@dataclass(frozen=True)
class Limit:
    """A condition on a group that binds: without it, other rows would be kept.

    Attributes
    ----------
    group : str or number
    limit : {"at_least", "at_most"}
    rows : int
        How many rows that is.
    price : float
        What one row more (of ``at_most``) or one fewer (of ``at_least``) would add to the objective, about.
    """

    group: Any
    limit: str
    rows: int
    price: float

    def __str__(self) -> str:
        change = "more" if self.limit == "at_most" else "fewer"
        words = self.limit.replace("_", " ")
        return f"{words} {self.rows} of {self.group!r}: one {change} would add {self.price:.3g}"


@dataclass(frozen=True, eq=False)
class Selection:
    """A set of rows to keep.

    Attributes
    ----------
    indices : ndarray
        Sorted positions of the kept rows in the table that was passed.
    n_rows : int
        Rows of that table.
    candidates : ndarray
        Positions that could have been chosen (all rows, less those held out).
    weights : ndarray
        The program's weight of every candidate, between 0 and 1.
    method : str
        How the rows were found: the solver of the program, or the name of another method.
    seconds : float
        Time of choosing; budgets selected together share it evenly.
    alpha, kappa : float or None
        Parameters of the program that was solved; None where another method chose the rows.
    objective, bound, gap : float or None
        The program's value of this very set, a proven upper bound on its value of any set of this size, and
        their relative distance. ``gap`` bounds what is missing of the program's linear objective for the T
        that was estimated. It says nothing about accuracy: T is a linear view, and an estimate. A refined set
        leaves the program behind on purpose; its gap tells how far.
    score : float or None
        The score on the evaluation rows of a model trained on the set, where it was computed to tune.
    optimism : float or None
        After :func:`cdvm.refine`: the gain on the evaluation rows searched on less the gain on evaluation
        rows held back.
    fits : int or None
        Models that :func:`cdvm.refine` trained.
    leaderboard : tuple of Candidate or None
        Where several ways of choosing were compared: how each did, best first.
    agreement : float or None
        Rank correlation, over the sets compared, of the proxy's scores and those of the model itself.
    limits : tuple of Limit
        Conditions on groups that bind, the dearest first, by the multipliers of the program.
    """

    indices: NDArray[np.int64]
    n_rows: int
    candidates: NDArray[np.int64]
    weights: NDArray[np.float64]
    method: str
    seconds: float
    alpha: float | None = None
    kappa: float | None = None
    objective: float | None = None
    bound: float | None = None
    gap: float | None = None
    score: float | None = None
    optimism: float | None = None
    fits: int | None = None
    leaderboard: tuple[Candidate, ...] | None = None
    agreement: float | None = None
    limits: tuple[Limit, ...] = ()

    @classmethod
    def of_rows(cls, split: Split, rows: NDArray[np.int64], *, method: str, seconds: float) -> Selection:
        """A set of training rows that no program chose; its weights are 0 and 1."""
        weights = np.zeros(split.n_rows)
        weights[rows] = 1.0
        return cls(np.sort(split.rows[rows]), split.n_table, split.rows, weights, method, seconds)

    def __len__(self) -> int:
        return len(self.indices)

    def __repr__(self) -> str:
        words = [f"{len(self)} of {len(self.candidates)} rows"]
        if self.alpha is None or self.kappa is None:
            words.append(f"method={self.method!r}")
        else:
            words.append(f"alpha={self.alpha:g}, kappa={self.kappa:.4g}")
        if self.refined:
            words.append(f"refined by {self.fits} fits")
        elif self.gap is not None:
            words.append(f"gap={self.gap:.2%}")
        return f"Selection({', '.join(words)})"

    def _repr_html_(self) -> str:
        """The same for notebooks, with the ways that were compared."""
        kept = f"{self.retained:.1%}"
        lines: list[tuple[str, Any]] = [("kept", f"{len(self):,} of {len(self.candidates):,} rows, {kept}")]
        lines += [("method", self.method)]
        if self.alpha is not None and self.kappa is not None:
            lines += [("alpha, kappa", f"{self.alpha:g}, {self.kappa:.4g}")]
        if self.refined:
            less = "" if self.optimism is None else f"; {max(self.optimism, 0.0):.3f} of its gain is optimism"
            lines += [("refined", f"by {self.fits:,} fits{less}")]
        elif self.gap is not None:
            lines += [("gap", f"{self.gap:.2%} of the program's objective, at most")]
        if self.score is not None:
            lines += [("score", f"{self.score:.3f} on the evaluation rows")]
        lines += [("limit", str(limit)) for limit in self.limits]
        for way in self.leaderboard or ():
            score = f"{way.score:.3f} ± {way.standard_error:.3f}"
            lines += [(f"{way.name}{', kept' if way.kept else ''}", score)]
        cells = [
            tag("tr", tag("th", name, style="text-align:left"), tag("td", words)) for name, words in lines
        ]
        bar = tag("meter", kept, min=0, max=1, value=f"{self.retained:.4f}", style="width:16em")
        return tag("div", tag("strong", "Selection"), " ", bar, tag("table", tag("tbody", cells)))

    @property
    def refined(self) -> bool:
        """Whether :func:`cdvm.refine` went on from the rows first chosen."""
        return self.fits is not None

    @property
    def mask(self) -> NDArray[np.bool_]:
        """True for every kept row of the table."""
        mask = np.zeros(self.n_rows, dtype=bool)
        mask[self.indices] = True
        return mask

    @property
    def rows(self) -> NDArray[np.int64]:
        """Positions of the kept rows among the candidates."""
        return np.searchsorted(self.candidates, self.indices)

    @property
    def retained(self) -> float:
        """Fraction of the candidates that is kept."""
        return len(self) / len(self.candidates)

    def take(self, table: Any) -> Any:
        """The kept rows of an array, DataFrame, data set, sparse matrix or sequence, as one of these."""
        length = _length(table)
        if length != self.n_rows:
            raise InputError(f"table has {length} rows, but rows were chosen out of {self.n_rows}")
        return take_rows(table, self.indices)

    def save(self, path: str | Path) -> Path:
        """Write to one ``.npz`` file, read back by :meth:`load`."""
        arrays = {name: getattr(self, name) for name in ("indices", "candidates", "weights")}
        meta = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in arrays}
        if self.leaderboard is not None:
            meta["leaderboard"] = [asdict(line) for line in self.leaderboard]
        meta["limits"] = [asdict(limit) for limit in self.limits]
        return save_arrays(path, "selection", meta, arrays)

    @classmethod
    def load(cls, path: str | Path) -> Selection:
        """Read what :meth:`save` wrote."""

        def build(meta: dict[str, Any], arrays: dict[str, Any]) -> Selection:
            if meta.get("leaderboard") is not None:
                meta["leaderboard"] = tuple(Candidate(**line) for line in meta["leaderboard"])
            meta["limits"] = tuple(Limit(**limit) for limit in meta.get("limits", ()))
            found = cls(**meta, **arrays)
            kept = np.isin(found.indices, found.candidates).all()
            if not kept or found.weights.shape != found.candidates.shape:
                raise InputError("its rows are not all candidates")
            return found

        return load_arrays(path, "selection", build)


def take_rows(table: Any, indices: NDArray[np.int64]) -> Any:
    """Rows of an array, DataFrame, sparse matrix or sequence, by position."""
    if hasattr(table, "iloc"):
        return table.iloc[indices]
    if is_collection(table):
        return rows_of_collection(table, indices)
    if sparse.issparse(table):  # not every format can be indexed
        return table.tocsr()[indices].asformat(table.format)
    if hasattr(table, "to_pylist") and hasattr(table, "take"):  # pyarrow
        return table.take(indices)
    if hasattr(table, "shape") or hasattr(table, "to_pandas"):
        return table[indices]
    return [table[i] for i in indices]


def _length(table: Any) -> int:
    shape = getattr(table, "shape", None)
    if sparse.issparse(table):
        return int(table.shape[0])
    with suppress(TypeError):  # of what has no length
        if shape != () and hasattr(table, "__getitem__") and not isinstance(table, Mapping | str | bytes):
            return len(table) if shape is None else int(shape[0])
    raise InputError(
        f"table is a {type(table).__name__}: pass an array, a DataFrame, a sparse matrix or a list"
    )
