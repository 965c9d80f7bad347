"""Features as codes of one byte: 0 where the value is missing, else which of at most 63 ranges it falls in.

Ranges are fixed once for a whole table, each holding about as many of its rows as any other. A value that
fills a range by itself gets one of its own, and what it would have taken of the others' share is theirs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cdvm.data.split import Features
from cdvm.errors import InputError
from cdvm.learners.batched.linear import MEMORY_LIMIT

__all__ = ["Bins"]

_RANGES = 63


class Bins:
    """The ranges of every column of a table.

    Examples
    --------
    >>> bins = Bins(np.array([[1.0], [2.0], [2.0], [9.0]]))
    >>> bins.codes(np.array([[0.0, 1.4, 1.6, 100.0, np.nan]]).T).T
    array([[1, 1, 2, 3, 0]], dtype=uint8)
    """

    def __init__(self, X: Features) -> None:
        self.edges = [_edges(column) for column in _columns(X)]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Codes of each column, that of missing values included."""
        return np.array([len(edges) + 2 for edges in self.edges], dtype=np.int64)

    def codes(self, X: Features) -> NDArray[np.uint8]:
        """One byte for each value, shape (n_rows, n_columns)."""
        if X.shape[0] * X.shape[1] > MEMORY_LIMIT:
            raise InputError(
                f"X has {X.shape[0]} rows of {X.shape[1]} columns, too many for trees, which keep a byte for "
                f"each value and {MEMORY_LIMIT >> 20} MiB in all: use fewer columns or another learner"
            )
        codes = np.empty(X.shape, dtype=np.uint8)
        for f, (column, edges) in enumerate(zip(_columns(X), self.edges, strict=True)):
            codes[:, f] = np.where(np.isnan(column), 0, np.searchsorted(edges, column, side="left") + 1)
        return codes


def _columns(X: Features) -> Any:
    if not sparse.issparse(X):
        return X.T
    by_column = X.tocsc()
    return (by_column[:, [f]].toarray().ravel() for f in range(X.shape[1]))


def _edges(column: NDArray[Any]) -> NDArray[np.float64]:
    """Upper ends of all ranges but the last: halfway between neighbouring values."""
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    cuts = np.arange(1, len(values))
    if len(values) > _RANGES:
        fraction = np.minimum(counts, counts.sum() / _RANGES)
        place = np.cumsum(fraction) - fraction / 2
        cuts = np.flatnonzero(np.diff((place / fraction.sum() * _RANGES).astype(int))) + 1
    low, high = values[cuts - 1].astype(np.float64), values[cuts].astype(np.float64)
    return np.asarray(low + (high - low) / 2)
