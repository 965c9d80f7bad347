"""The training rows nearest to each row to answer for, in order, which models of many rows share.

The k nearest rows of a model are the first k of a list that it has. The more rows a model has, the less far
its lists are read; where it has fewer than k of those in a list, the answer row is left open.

Rows at the same distance go by position, and copies of a row are at the same distance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances

from cdvm.data.split import Features
from cdvm.learners.batched.linear import MEMORY_LIMIT, Floats

__all__ = ["NearestRows", "distance_blocks", "distinct_rows", "index_type"]

Positions = NDArray[np.int64]

_LISTED = 1024  # rows of a list, at most
_DEPTH = 2  # times the expected place of the k-th row: so far all lists are read, and then to their ends

_MAKING = Lock()  # one thread makes the lists, the others wait


class NearestRows:
    """A list of training rows for each answer row, made when it is first asked for.

    Parameters
    ----------
    X : features
        Training rows.
    answers : features
    metric : str
    with_distances : bool
        Whether lists have distances, too.

    Examples
    --------
    >>> lists = NearestRows(np.arange(5.0)[:, None], np.array([[0.1], [3.0]]), "euclidean")
    >>> rows, _ = lists.first(np.array([1, 2, 4]), 2)
    >>> rows
    array([[1, 2],
           [2, 4]])
    """

    def __init__(self, X: Features, answers: Features, metric: str, with_distances: bool = False) -> None:
        n, m = X.shape[0], answers.shape[0]
        each = index_type(n).itemsize + 8 * with_distances
        self._length: int = min(n, _LISTED, MEMORY_LIMIT // (each * max(m, 1)))
        self._X, self._answers, self._metric, self._with_distances = X, answers, metric, with_distances

    def reach(self, size: int, k: int) -> bool:
        """Whether the first k of so many rows are usually in the lists."""
        return self._depth(size, k) <= self._length

    def first(self, rows: Positions, k: int) -> tuple[Positions, Floats | None]:
        """The first k of the given rows in each list, and their distances; -1 where a list has fewer."""
        with _MAKING:
            listed, distances = self._lists
        inside = np.zeros(self._X.shape[0], dtype=bool)
        inside[rows] = True
        place = _places(inside[listed[:, : self._depth(len(rows), k)]], k)
        short = np.flatnonzero(place[:, -1] < 0)
        place[short] = _places(inside[listed[short]], k)
        found = np.where(place < 0, -1, np.take_along_axis(listed, place, 1).astype(np.int64))
        return found, None if distances is None else np.take_along_axis(distances, place, 1)

    def _depth(self, size: int, k: int) -> int:
        return math.ceil(_DEPTH * k * int(self._X.shape[0]) / max(size, 1))

    @cached_property
    def _lists(self) -> tuple[NDArray[Any], Floats | None]:
        n, m = self._X.shape[0], self._answers.shape[0]
        listed = np.empty((m, self._length), dtype=index_type(n))
        kept = np.empty(listed.shape) if self._with_distances else None
        blocks = distance_blocks(self._X, self._answers, self._metric, MEMORY_LIMIT // (24 * n))
        for block, distances in blocks:
            rows = _closest(distances, self._length)
            listed[block] = rows
            if kept is not None:
                kept[block] = np.take_along_axis(distances, rows, 1)
        return listed, kept


def index_type(n: int) -> np.dtype[Any]:
    """The smallest type that counts to ``n``, and has a value above."""
    return np.dtype(np.uint16 if n < 1 << 16 else np.uint32)


def distance_blocks(
    X: Features, answers: Features, metric: str, at_once: int
) -> Iterator[tuple[slice, Floats]]:
    """Distances of the answer rows, some at once, to all training rows."""
    first, copy_of = distinct_rows(X)
    for start in range(0, answers.shape[0], max(1, at_once)):
        block = slice(start, min(answers.shape[0], start + max(1, at_once)))
        distances = pairwise_distances(answers[block], X[first], metric=metric)
        yield block, distances.take(copy_of, axis=1) if len(first) < len(copy_of) else distances


def distinct_rows(X: Features) -> tuple[Positions, Positions]:
    """Rows without their copies, and which of them each row copies, so that copies are at equal distance.

    >>> distinct_rows(np.array([[2.0], [1.0], [2.0], [0.0]]))
    (array([0, 1, 3]), array([0, 1, 0, 2]))
    """
    if sparse.issparse(X):
        all_rows = np.arange(X.shape[0])
        return all_rows, all_rows
    whole_rows = np.ascontiguousarray(X).view(np.dtype((np.void, X.dtype.itemsize * X.shape[1])))
    _, first, copy_of = np.unique(whole_rows.ravel(), return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return first[order], place[copy_of]


def _closest(distances: Floats, count: int) -> Positions:
    """The positions of the smallest distances of each line, in order."""
    rows = np.argpartition(distances, count - 1, axis=1)[:, :count]
    rows.sort(axis=1)
    found = np.take_along_axis(distances, rows, 1)
    last = found.max(axis=1, keepdims=True)
    # of rows as far as the last, a partition takes any
    unsure = np.flatnonzero((distances == last).sum(axis=1) > (found == last).sum(axis=1))
    rows = np.take_along_axis(rows, np.argsort(found, axis=1, kind="stable"), 1)
    rows[unsure] = np.argsort(distances[unsure], axis=1, kind="stable")[:, :count]
    return rows


def _places(hits: NDArray[np.bool_], k: int) -> Positions:
    """The positions of the first k hits of each line, and -1 where there are fewer."""
    found = np.flatnonzero(hits)  # far faster than nonzero, which gives lines and columns
    ends = np.searchsorted(found, np.arange(len(hits) + 1) * hits.shape[1])
    nth = ends[:-1, None] + np.arange(k)
    place = np.append(found, 0)[np.minimum(nth, len(found))] - np.arange(len(hits))[:, None] * hits.shape[1]
    return np.where(nth < ends[1:, None], place, -1)
