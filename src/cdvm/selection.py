"""The answer: which rows to keep, and how that was found."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm.errors import InputError
from cdvm.files import load_arrays, save_arrays
from cdvm.split import Split

__all__ = ["Selection", "take_rows"]


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
        The program's value of this very set, a proven upper bound for any set of this size, and their
        relative distance: at most ``gap`` of the optimum is missing.
    score : float or None
        The judges' score of a model trained on the set, where it was computed to tune.
    optimism : float or None
        After :func:`cdvm.refine`: the gain on the judges searched on less the gain on judges held back.
    trainings : int or None
        Models that :func:`cdvm.refine` trained.
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
    trainings: int | None = None

    @classmethod
    def of_rows(cls, split: Split, rows: NDArray[np.int64], *, method: str, seconds: float) -> Selection:
        """A set of training rows that no program chose; its weights are 0 and 1."""
        weights = np.zeros(split.n_rows)
        weights[rows] = 1.0
        return cls(np.sort(split.rows[rows]), split.n_table, split.rows, weights, method, seconds)

    def __len__(self) -> int:
        return len(self.indices)

    def __repr__(self) -> str:
        found = f"Selection({len(self)} of {len(self.candidates)} rows, "
        if self.gap is None:
            return found + f"method={self.method!r})"
        return found + f"alpha={self.alpha:g}, kappa={self.kappa:.4g}, gap={self.gap:.2%})"

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
        """Share of the candidates that is kept."""
        return len(self) / len(self.candidates)

    def take(self, table: Any) -> Any:
        """The kept rows of an array, DataFrame, sparse matrix or sequence; a DataFrame keeps its index."""
        length = table.shape[0] if hasattr(table, "shape") else len(table)
        if length != self.n_rows:
            raise InputError(f"table has {length} rows, but rows were chosen out of {self.n_rows}")
        return take_rows(table, self.indices)

    def save(self, path: str | Path) -> Path:
        """Write to one ``.npz`` file, read back by :meth:`load`."""
        arrays = {name: getattr(self, name) for name in ("indices", "candidates", "weights")}
        meta = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in arrays}
        return save_arrays(path, "selection", meta, arrays)

    @classmethod
    def load(cls, path: str | Path) -> Selection:
        """Read what :meth:`save` wrote."""

        def build(meta: dict[str, Any], arrays: dict[str, Any]) -> Selection:
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
    if hasattr(table, "shape") or hasattr(table, "to_pandas"):
        return table.take(indices) if hasattr(table, "column_names") else table[indices]
    return [table[i] for i in indices]
