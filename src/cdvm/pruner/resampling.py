"""The rows kept at the pruner's own budget, in the manner of scikit-learn and imbalanced-learn."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from cdvm.data.split import Split
from cdvm.pruner.settings import CHOOSING
from cdvm.selection import take_rows

__all__ = ["Resampler"]


class Resampler(ABC):
    """What a selector of rows offers besides ``fit`` and ``select``."""

    split_: Split
    _kept: tuple[list[Any], NDArray[np.int64]]

    @abstractmethod
    def fit(self, X: Any, y: Any) -> Any:
        """Learn what rows do."""

    @abstractmethod
    def select(self, budget: Any = None) -> Any:
        """Rows to keep for a budget."""

    def fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Fit, and return the kept rows and labels, in the manner of imbalanced-learn."""
        self.fit(X, y)
        indices = self.sample_indices_
        return take_rows(X, indices), take_rows(y, indices)

    @property
    def sample_indices_(self) -> NDArray[np.int64]:
        """Sorted positions of the rows kept at the pruner's own ``budget``."""
        check_is_fitted(self, "attribution_")
        if not self._knows_kept():
            settings = copy.deepcopy(self._settings())
            self._kept = settings, self.select().indices
        indices: NDArray[np.int64] = self._kept[1]
        return indices

    def _settings(self) -> list[Any]:
        return [getattr(self, name) for name in CHOOSING]

    def _knows_kept(self) -> bool:
        """Whether rows were chosen with the present settings."""
        return "_kept" in vars(self) and self._kept[0] == self._settings()

    def __dir__(self) -> list[str]:
        # What looks through an object (a notebook that shows it, completion) gets every name in this list;
        # rows that were not chosen yet would be chosen for that.
        return [name for name in object.__dir__(self) if name != "sample_indices_" or self._knows_kept()]

    def get_support(self, indices: bool = False) -> NDArray[Any]:
        """Mask (or positions) of the rows kept at the pruner's own ``budget``."""
        rows = self.sample_indices_
        if indices:
            return rows
        mask = np.zeros(self.split_.n_table, dtype=bool)
        mask[rows] = True
        return mask
