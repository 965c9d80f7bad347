"""One value a row, and the game whose players the rows are.

A *utility* v gives every training set S a number: how good a model trained on S is on the evaluation rows.
Valuation methods differ only in the sets they look at and in how they share v among the rows. Here v is the
accuracy (R² for regression) of a learner, trained in batches, or any function of the user's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cdvm._runtime.files import load_arrays, save_arrays
from cdvm._runtime.progress import Progress
from cdvm.data.split import Split
from cdvm.errors import InputError
from cdvm.evaluation.metrics import make_metric
from cdvm.learners import make_learner
from cdvm.learners.base import Trainer
from cdvm.learners.fitting import fit_models
from cdvm.optimize.program import resolve_budget
from cdvm.sampling import Subsets

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Game", "LearnerLike", "Players", "Utility", "Values", "utilities"]

Vector = NDArray[np.float64]
Utility = Callable[[Subsets], NDArray[Any]]
LearnerLike: TypeAlias = Any  # a Learner, a name, a scikit-learn estimator, or a Utility
Players: TypeAlias = Split | int  # the rows; with a Utility their number is all a method needs to know


@dataclass(frozen=True, eq=False)
class Values:
    """One value per training row.

    Attributes
    ----------
    values : ndarray of shape (n_rows,)
        Larger is more valuable.
    method : str
    rows : ndarray of shape (n_rows,)
        Position of each training row in the table that was passed.
    stderr : ndarray or None
        Standard error of each value, where values are estimates; NaN where too little was seen to tell.
    counts : ndarray or None
        Models (or permutations) each value rests on, where values are estimates.
    index : ndarray or None
        The rows' DataFrame labels, where there was a DataFrame.
    p_values : ndarray or None
        How surprising each label is to the models that did not see its row, by methods that ask them (see
        :mod:`cdvm.valuation.evidence`).
    meta : dict
        Plain values: fits, seconds, whether a stopping rule was met.

    Examples
    --------
    >>> values = Values(np.array([0.3, 0.1, 0.3]), "banzhaf", rows=np.arange(3))
    >>> values.top(2), values.top(1, remove="high")
    (array([0, 2]), array([1]))
    """

    values: Vector
    method: str
    rows: NDArray[np.int64]
    stderr: Vector | None = None
    counts: NDArray[np.int64] | None = None
    index: NDArray[Any] | None = None
    p_values: Vector | None = None
    meta: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        split: Players,
        values: NDArray[Any],
        method: str,
        *,
        stderr: NDArray[Any] | None = None,
        counts: NDArray[Any] | None = None,
        p_values: NDArray[Any] | None = None,
        **meta: Any,
    ) -> Values:
        """Values of a split's training rows, or of ``split`` rows that belong to no table."""
        rows, index = (
            (split.rows, split.index)
            if isinstance(split, Split)
            else (np.arange(split, dtype=np.int64), None)
        )
        return cls(
            np.asarray(values, dtype=np.float64),
            method,
            rows=rows,
            stderr=None if stderr is None else np.asarray(stderr, dtype=np.float64),
            counts=None if counts is None else np.asarray(counts, dtype=np.int64),
            index=index,
            p_values=p_values,
            meta=meta,
        )

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        low, high = float(self.values.min()), float(self.values.max())
        return f"Values({self.method}, {len(self)} rows, {low:.4g} to {high:.4g})"

    def top(self, budget: float, *, remove: Literal["low", "high"] = "low") -> NDArray[np.int64]:
        """Sorted positions, among the training rows, of the rows that stay.

        Parameters
        ----------
        budget : int or float
            Players to keep, as a count or as a fraction.
        remove : {"low", "high"}
            Which values go first. Of equal values the earlier row stays.
        """
        if remove not in ("low", "high"):
            raise InputError(f"remove={remove!r}: use 'low' or 'high'")
        size = resolve_budget(budget, len(self))
        ranked = np.argsort(-self.values if remove == "low" else self.values, kind="stable")
        return np.sort(ranked[:size])

    def to_frame(self) -> pd.DataFrame:
        """Columns row, value and, where known, stderr, count and p_value; indexed like the user's table."""
        import pandas as pd

        columns: dict[str, Any] = {"row": self.rows, "value": self.values}
        if self.stderr is not None:
            columns["stderr"] = self.stderr
        if self.counts is not None:
            columns["count"] = self.counts
        if self.p_values is not None:
            columns["p_value"] = self.p_values
        return pd.DataFrame(columns, index=None if self.index is None else pd.Index(self.index))

    def save(self, path: str | Path) -> Path:
        """Write to one ``.npz`` file, read back by :meth:`load`."""
        optional = {"stderr": self.stderr, "counts": self.counts, "p_values": self.p_values}
        optional["index"] = _plain(self.index)
        arrays = {name: array for name, array in optional.items() if array is not None}
        meta = {"method": self.method, "details": self.meta}
        return save_arrays(path, "values", meta, {"values": self.values, "rows": self.rows, **arrays})

    @classmethod
    def load(cls, path: str | Path) -> Values:
        """Read what :meth:`save` wrote."""

        def build(meta: dict[str, Any], arrays: dict[str, Any]) -> Values:
            if any(array.shape != arrays["values"].shape for array in arrays.values()):
                raise InputError("its columns differ in length")
            return cls(**arrays, method=meta["method"], meta=meta["details"])

        return load_arrays(path, "values", build)


def _plain(labels: NDArray[Any] | None) -> NDArray[Any] | None:
    """Row labels without Python objects, which are never written to disk."""
    if labels is None or labels.dtype.kind != "O":
        return labels
    return np.array([str(label) for label in labels])


class Game:
    """A utility over training sets that counts how often it was asked.

    Parameters
    ----------
    split : Split or int
        The rows; their number is enough where ``learner`` is a utility.
    learner : Learner, str, estimator or callable
        What v(S) is the score on the evaluation rows of; or v itself, a function from Subsets to one number
        per subset.
    n_jobs : int
        Parallel tasks. Answers do not depend on it.
    """

    def __init__(self, split: Players, learner: LearnerLike, *, n_jobs: int | None = -1) -> None:
        self.n_rows = split.n_rows if isinstance(split, Split) else int(split)
        if self.n_rows < 1:
            raise InputError(f"split={split!r}: there must be at least one row")
        self.n_jobs = n_jobs
        self.evaluations = 0
        self._utility: Utility | None = None
        if callable(learner):
            self._utility = learner
            return
        if not isinstance(split, Split):
            raise InputError(f"split={split!r}: to train a learner pass a Split, not a number of rows")
        made = make_learner(learner)
        X, self._y = split.validation
        self._trainer: Trainer = made.bind(split, X)

    def __call__(self, subsets: Subsets, bar: Progress | None = None) -> Vector:
        """The utility of each subset."""
        self.evaluations += len(subsets)
        if self._utility is not None:
            answer = np.asarray(self._utility(subsets), dtype=np.float64)
            if answer.shape != (len(subsets),):
                raise InputError(
                    f"the utility returned an array of shape {answer.shape} for {len(subsets)} subsets: "
                    "one number per subset was expected"
                )
            if bar is not None:
                bar.advance(len(subsets))
            return answer
        step = self._trainer.chunk
        starts = range(0, len(subsets), step)
        pieces = [subsets[a : a + step] for a in starts]
        answer = np.empty(len(subsets))
        for k, part in fit_models(self._trainer, pieces, _score_models, self._y, n_jobs=self.n_jobs):
            answer[starts[k] : starts[k] + step] = part
            if bar is not None:
                bar.advance(len(part))
        return answer


def _score_models(trainer: Trainer, subsets: Subsets, y: NDArray[Any]) -> Vector:
    return make_metric(None, trainer.split).score(trainer.split, y, trainer.predict(subsets))


def utilities(
    split: Split,
    learner: LearnerLike,
    subsets: Subsets,
    *,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> Vector:
    """Score on the evaluation rows (accuracy, or R²) of a model trained on each subset.

    Examples
    --------
    >>> split = Split.from_arrays([[0.0], [1.0]] * 10, [0, 1] * 10, random_state=0)
    >>> utilities(split, "neighbors", Subsets.of([[0, 1], [0]], split.n_rows), n_jobs=1)
    array([1. , 0.5])
    """
    with Progress("fits", len(subsets), enabled=progress) as bar:
        return Game(split, learner, n_jobs=n_jobs)(subsets, bar)
