"""Scores over rows kept: the result of :mod:`cdvm.evaluation.cross_fitting`, as a table and a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cdvm.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CURVE_BUDGETS", "Curve", "CurvePoint"]

CURVE_BUDGETS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8)
"""Fractions of the rows that a curve is drawn through where none are named."""


@dataclass(frozen=True)
class CurvePoint:
    """What as many rows are good for, on rows that had no part in choosing them.

    Attributes
    ----------
    fraction : float
        Of the rows, kept, or of what all rows cost, spent.
    score, random, all_rows : float
        Of models on the kept rows, on as many random ones, on all rows.
    loss : float
        Score of all rows less that of the kept ones.
    score_error, random_error, all_rows_error, loss_error : float
        Standard errors of these, for the rows asked being a sample. That of the loss is row by row, and
        never 0: that no answer changed on few rows does not mean that none would on others.
    set_error : float
        Standard deviation of the score from one set of that size to another; 0 where sets hold so many of
        the rows that too few are left to compare them, which also means that they are much the same.
    n_rows, n_sets : int
        Rows that were asked, and sets: one a fold.
    """

    fraction: float
    score: float
    random: float
    all_rows: float
    loss: float
    score_error: float
    random_error: float
    all_rows_error: float
    loss_error: float
    set_error: float
    n_rows: int
    n_sets: int

    @property
    def one_set_error(self) -> float:
        """Standard deviation of one further set's score around the mean of those that were asked."""
        return self.set_error * float(np.sqrt(1 + 1 / self.n_sets))


@dataclass(frozen=True)
class Curve:
    """Points for several budgets, the largest first, and the metric they are scores of."""

    points: tuple[CurvePoint, ...]
    metric: str = "accuracy"

    def to_frame(self) -> pd.DataFrame:
        """One line a budget."""
        import pandas as pd

        return pd.DataFrame([vars(point) for point in self.points])

    def save(self, path: str | Path) -> Path:
        """Write as CSV, read back by :meth:`load`."""
        self.to_frame().assign(metric=self.metric).to_csv(path, index=False)
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> Curve:
        """Read what :meth:`save` wrote."""
        import pandas as pd

        try:
            frame = pd.read_csv(path)
            names = frame.pop("metric")
            points = tuple(CurvePoint(**line) for line in frame.to_dict("records"))  # type: ignore[arg-type]
            return cls(points, str(names.iloc[0]))
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise InputError(f"{path} is no curve ({error}): pass a file that Curve.save wrote") from error
