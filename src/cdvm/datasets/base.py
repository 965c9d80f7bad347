"""What a data set is, and what is known of one before it is loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from cdvm.errors import InputError
from cdvm.learners import Learner

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Dataset", "Info", "Recipe", "standardize"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Numeric features with labels, and validation and test rows where the data set brings its own.

    Attributes
    ----------
    name : str
    X : ndarray of shape (rows, features)
    y : ndarray
        One label per row.
    columns : tuple of str
        Feature names.
    target : str
        What the label is called in :attr:`table`.
    X_val, y_val, X_test, y_test : ndarray or None
    learner : str or Learner
        A learner that suits the data.
    scale : bool
        Whether features are better standardised.
    index : ndarray or None
        Position of each row in the source, where the data set is a sample of it.
    """

    name: str
    X: NDArray[Any]
    y: NDArray[Any]
    columns: tuple[str, ...]
    target: str = "target"
    X_val: NDArray[Any] | None = None
    y_val: NDArray[Any] | None = None
    X_test: NDArray[Any] | None = None
    y_test: NDArray[Any] | None = None
    learner: str | Learner = "logistic"
    scale: bool = True
    index: NDArray[np.int64] | None = None

    @cached_property
    def table(self) -> pd.DataFrame:
        """Features and target as a DataFrame, made when first asked for."""
        return self._frame(self.X, self.y)

    @property
    def validation(self) -> pd.DataFrame | None:
        """The validation rows as a DataFrame."""
        return None if self.X_val is None else self._frame(self.X_val, self.y_val)

    @property
    def test(self) -> pd.DataFrame | None:
        """The test rows as a DataFrame."""
        return None if self.X_test is None else self._frame(self.X_test, self.y_test)

    def standardized(self) -> Dataset:
        """The same rows, features scaled by mean and standard deviation of the whole table.

        This is how the paper prepares tables, before any row is held out. To let nothing of the held-out
        rows through, split first and use :meth:`cdvm.Split.standardized`.
        """
        others = {k: v for k in ("X_val", "X_test") if (v := getattr(self, k)) is not None}
        scaled: dict[str, Any] = {k: standardize(v, like=self.X) for k, v in others.items()}
        return replace(self, X=standardize(self.X), **scaled)

    def halved_test(self, random_state: Any = None) -> Dataset:
        """Where there are test rows but no validation rows, half of the test rows to choose with."""
        if self.X_test is None or self.y_test is None or self.X_val is not None:
            return self
        order = check_random_state(random_state).permutation(len(self.y_test))
        first, second = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
        return replace(
            self,
            X_val=self.X_test[first],
            y_val=self.y_test[first],
            X_test=self.X_test[second],
            y_test=self.y_test[second],
        )

    def _frame(self, X: NDArray[Any], y: NDArray[Any] | None) -> pd.DataFrame:
        import pandas as pd

        frame = pd.DataFrame(X, columns=list(self.columns))
        frame[self.target] = y
        return frame


@dataclass(frozen=True)
class Info:
    """A data set before it is loaded.

    Attributes
    ----------
    name : str
    rows, features, classes : int
        Of the training table; ``features`` of an embedded data set are those of the embedding at hand.
    source : str
        Where it was published.
    here : str
        Where its files were found (``"bundled"``, ``"CDVM_DATA_HOME"``, ``"cached"``), or what is left to do
        (``"to download"``, ``"to embed"``, ``"to download and embed"``); ``"unreadable"`` for a broken file.
    """

    name: str
    rows: int
    features: int
    classes: int
    source: str
    here: str


@dataclass(frozen=True)
class Recipe:
    """How a data set is described and loaded; ``describe`` reads no data."""

    describe: Callable[[], Info]
    load: Callable[[], Dataset]
    exact: bool = True

    def checked(self) -> Dataset:
        """Load, and refuse files that hold another number of rows than was published."""
        data, info = self.load(), self.describe()
        if self.exact and len(data.y) != info.rows:
            raise InputError(
                f"dataset={info.name!r}: its files ({info.here}) hold {len(data.y)} rows, not the "
                f"{info.rows} of {info.source}: get them anew"
            )
        return data


def standardize(X: NDArray[Any], *, like: NDArray[Any] | None = None) -> NDArray[np.float64]:
    """Every column to mean 0 and standard deviation 1, over the rows of ``like``; a constant one becomes 0.

    >>> standardize(np.array([[1.0, 5.0], [3.0, 5.0]])).round(6).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    whole = X if like is None else like
    mean, deviation = whole.mean(axis=0, dtype=np.float64), whole.std(axis=0, dtype=np.float64)
    return np.asarray((X - mean) / (deviation + 1e-8))
