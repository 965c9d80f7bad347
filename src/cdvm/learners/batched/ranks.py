"""The rank of every training row by its distance to each row to answer for, which models of few rows share.

The k nearest rows of a model have the k smallest ranks among its own, found for whole batches of models by a
few elementwise minima.

Rows at the same distance rank by position, and copies of a row are at the same distance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm.data.split import Features
from cdvm.learners.batched.linear import MEMORY_LIMIT, Floats
from cdvm.learners.batched.nearest import distance_blocks, index_type

__all__ = ["RankTable", "bytes_of_ranks", "rank_rows"]

_FEW = 16  # up to this many neighbours, elementwise minima beat a partition


@dataclass(frozen=True, eq=False)
class RankTable:
    """Training rows ranked by their distance to some of the answer rows."""

    columns: slice  # these answer rows
    ranks: NDArray[np.unsignedinteger[Any]]  # (n_rows + 1, n_answers), the last row above all ranks
    labels: NDArray[Any]  # (n_answers, n_rows): class or target of the row at each rank
    distances: Floats | None  # (n_answers, n_rows): its distance

    def smallest(self, members: NDArray[np.int64], k: int) -> NDArray[Any]:
        """The k smallest ranks among each model's members, ascending: (n_models, k, n_answers)."""
        ranks, k = self.ranks, min(k, members.shape[1])
        if k > _FEW:
            return np.sort(np.partition(ranks[members], k - 1, axis=1)[:, :k], axis=1)
        best = np.full((k, len(members), ranks.shape[1]), np.iinfo(ranks.dtype).max, dtype=ranks.dtype)
        for member in members.T:
            new = ranks[member]
            for place in best[:-1]:
                larger = np.maximum(place, new)
                np.minimum(place, new, out=place)
                new = larger
            np.minimum(best[-1], new, out=best[-1])
        return best.transpose(1, 0, 2)

    def bytes_of(self, width: int, k: int) -> int:
        """Memory that finding the smallest takes, a model of so many members."""
        held = 3 * k + 6 if k <= _FEW else 2 * width
        return int(self.ranks.shape[1]) * held * self.ranks.itemsize


def bytes_of_ranks(n_rows: int, labels: NDArray[Any], with_distances: bool) -> int:
    """Memory that tables take for each answer row."""
    return n_rows * (index_type(n_rows).itemsize + labels.itemsize + 8 * with_distances)


def rank_rows(
    X: Features, answers: Features, metric: str, labels: NDArray[Any], with_distances: bool = False
) -> Iterator[RankTable]:
    """Tables for all answer rows, block by block.

    Parameters
    ----------
    X : features
        Training rows.
    answers : features
    metric : str
    labels : ndarray
        Of the training rows.
    with_distances : bool

    Examples
    --------
    >>> table, = rank_rows(np.arange(4.0)[:, None], np.array([[2.9]]), "euclidean", np.array([5, 6, 7, 8]))
    >>> table.ranks[:4, 0], table.labels
    (array([3, 2, 1, 0], dtype=uint16), array([[8, 7, 6, 5]]))
    """
    n = X.shape[0]
    dtype = index_type(n)
    # ranking takes the distances and a full-width order beside the tables
    at_once = MEMORY_LIMIT // (bytes_of_ranks(n, labels, with_distances) + 24 * n)
    for columns, distances in distance_blocks(X, answers, metric, at_once):
        order = np.argsort(distances, axis=1, kind="stable")
        ranks = np.full((n + 1, len(order)), np.iinfo(dtype).max, dtype=dtype)
        ranks[order, np.arange(len(order))[:, None]] = np.arange(n, dtype=dtype)
        kept = np.take_along_axis(distances, order, 1) if with_distances else None
        yield RankTable(columns, ranks, labels[order], kept)
