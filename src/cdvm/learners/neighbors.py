"""Nearest neighbours, many models at once.

All models share the training rows, so for each row to answer for these are ranked by distance once. A model's
k nearest rows are then the k smallest ranks among its own, found by a few elementwise minima over whole
batches of models, and no distance is computed twice. For models of many rows, and where ranks of all rows
take too much memory, lists of the rows nearest to each row to answer for take their place; where lists do
not reach, or models are few, each searches among its own rows, by scikit-learn.

Rows at the same distance rank by position, and tied votes go to the smaller class code. A training set of
fewer than k rows votes with all it has (scikit-learn refuses).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from threading import Lock
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

from cdvm.data.split import Features, Split, Task
from cdvm.errors import InputError
from cdvm.learners.base import Learner, Trainer
from cdvm.learners.batched.linear import MEMORY_LIMIT, Floats, batches, winners
from cdvm.learners.batched.nearest import NearestRows, distinct_rows
from cdvm.learners.batched.ranks import RankTable, bytes_of_ranks, rank_rows
from cdvm.sampling import Subsets

__all__ = ["NeighborsLearner"]

Weights = Literal["uniform", "distance"]
_METRICS = ("euclidean", "manhattan", "cosine", "chebyshev")
_CLOSE = 1e-6  # distances no farther apart, in lengths of a row, may be equal
_SEARCHED = 8  # times all rows in all models together, up to which ranking costs more than searching
_MANY = 100  # times all rows: where the square of a model's rows is more, lists cost less than ranks

_RANKING = Lock()  # tables of ranks are large: one thread makes them, the others wait


class NeighborsLearner(Learner):
    """k nearest neighbours, for classes or for targets.

    Parameters
    ----------
    n_neighbors : int
    weights : {"uniform", "distance"}
        Whether every neighbour counts the same or by the inverse of its distance.
    metric : {"euclidean", "manhattan", "cosine", "chebyshev"}
    task : {"classification", "regression"}

    Examples
    --------
    >>> split = Split.from_arrays([[0.0], [1.0], [2.0], [3.0]] * 5, list("aabb") * 5, random_state=0)
    >>> NeighborsLearner().predict(split, Subsets.of([range(16)], 16), np.array([[0.1], [2.9]])).tolist()
    [[0, 1]]
    """

    name = "neighbors"

    def __init__(
        self,
        n_neighbors: int = 1,
        weights: Weights = "uniform",
        metric: str = "euclidean",
        task: Task = "classification",
    ) -> None:
        if n_neighbors < 1:
            raise InputError(f"n_neighbors={n_neighbors!r}: use at least 1")
        if weights not in ("uniform", "distance"):
            raise InputError(f"weights={weights!r}: use 'uniform' or 'distance'")
        if metric not in _METRICS:
            raise InputError(f"metric={metric!r}: choose from {', '.join(_METRICS)}")
        if task not in ("classification", "regression"):
            raise InputError(f"task={task!r}: use 'classification' or 'regression'")
        self.n_neighbors = int(n_neighbors)
        self.weights: Weights = weights
        self.metric = metric
        self.task = task

    @classmethod
    def from_sklearn(cls, estimator: Any) -> NeighborsLearner | None:
        """The learner equal to a ``KNeighbors…`` estimator, or None if it asks for something else."""
        from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

        kind = type(estimator)
        if kind is not KNeighborsClassifier and kind is not KNeighborsRegressor:
            return None
        given = estimator.get_params()
        metric = given["metric"]
        if metric == "minkowski":
            metric = {1: "manhattan", 2: "euclidean"}.get(given["p"])
        metric = {"l1": "manhattan", "cityblock": "manhattan", "l2": "euclidean"}.get(metric, metric)
        known = isinstance(metric, str) and metric in _METRICS and not given["metric_params"]
        if not known or given["weights"] not in ("uniform", "distance"):
            return None
        task: Task = "regression" if kind is KNeighborsRegressor else "classification"
        return cls(given["n_neighbors"], weights=given["weights"], metric=metric, task=task)

    def bind(self, split: Split, X: Features) -> Trainer:
        return self._bound(split, X, ranked=True)

    def bind_for(self, split: Split, X: Features, rows: int) -> Trainer:
        return self._bound(split, X, ranked=rows > _SEARCHED * split.n_rows)

    def _bound(self, split: Split, X: Features, ranked: bool) -> Trainer:
        if self.task != split.task:
            raise InputError(f"nearest neighbours for {self.task} do not fit a {split.task} split")
        if sparse.issparse(split.X) and self.metric == "chebyshev":
            raise InputError("metric='chebyshev' needs dense features")
        return _NeighborsTrainer(split, X, self, ranked)

    def spec(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "n_neighbors": self.n_neighbors,
            "weights": self.weights,
            "metric": self.metric,
            "task": self.task,
        }


class _NeighborsTrainer(Trainer):
    link = "fractions"

    def __init__(self, split: Split, X: Features, learner: NeighborsLearner, ranked: bool) -> None:
        super().__init__(split, X)
        self.learner = learner
        n, m = split.n_rows, X.shape[0]
        self._y = (
            split.y if split.task == "regression" else split.y.astype(np.min_scalar_type(split.n_classes))
        )
        with_distances = learner.weights == "distance"
        self._ranked = ranked and bytes_of_ranks(n, self._y, with_distances) * m <= MEMORY_LIMIT
        self._lists: NearestRows | None = None
        if ranked:
            self._lists = NearestRows(split.X, X, learner.metric, with_distances)

    def _labels(self, subsets: Subsets) -> NDArray[Any]:
        regression = self.split.task == "regression"
        answer = np.empty((len(subsets), self.X.shape[0]), dtype=np.float64 if regression else np.int32)
        for models, columns, labels, weights in self._nearest(subsets):
            if regression:
                answer[models, columns] = (weights * labels).sum(axis=1) / _total(weights, labels)
            elif labels.shape[1] == 1:
                answer[models, columns] = labels[:, 0]
            else:
                answer[models, columns] = winners(self._votes(labels, weights))
        return answer

    def _scores(self, subsets: Subsets) -> NDArray[np.floating[Any]]:
        if self.split.task == "regression":
            raise InputError("neighbours for regression give no class scores: use outcome='correct'")
        scores = np.empty((len(subsets), self.X.shape[0], self.split.n_classes), dtype=np.float32)
        for models, columns, labels, weights in self._nearest(subsets):
            fraction = self._votes(labels, weights) / _total(weights, labels)[:, None]
            scores[models, columns] = fraction.transpose(0, 2, 1)
        return scores

    def _votes(self, labels: NDArray[Any], weights: NDArray[Any]) -> NDArray[Any]:
        """Weight of each class among the neighbours: (n_models, k, n) to (n_models, K, n)."""
        n, k, m = labels.shape
        classes = np.arange(self.split.n_classes, dtype=labels.dtype)[:, None]
        votes = np.zeros((n, len(classes), m), dtype=weights.dtype)
        for i in range(k):
            mine = labels[:, i, None, :] == classes
            if weights.size == 1:
                votes += mine.view(weights.dtype)
            else:
                votes += weights[:, i, None, :] * mine
        return votes

    def _nearest(self, subsets: Subsets) -> Iterator[tuple[Any, slice, NDArray[Any], NDArray[Any]]]:
        """Models, answers, the labels nearest to each, (n_models, k, n_answers), and their weights.

        A single weight of one, of a byte, stands for neighbours that all count the same.
        """
        repeated = subsets.sizes > np.diff(subsets.members.indptr)  # lists have each row once
        subsets = _one_by_one(subsets)
        few = self._ranked & (repeated | (subsets.sizes.astype(np.int64) ** 2 < _MANY * self.split.n_rows))
        yield from self._by_rank(subsets, np.flatnonzero(few))
        for model in np.flatnonzero(~few).tolist():
            nearest, distances = self._nearest_rows(subsets.rows(model), not repeated[model])
            weights: NDArray[Any] = np.ones(
                (1, 1, 1), dtype=np.uint8 if nearest.shape[1] <= 255 else np.float32
            )
            if distances is not None:
                found = distances.T[None]
                weights = _closeness(found, np.ones(found.shape, dtype=bool))
            yield [model], slice(0, self.X.shape[0]), self._y[nearest].T[None], weights

    def _by_rank(
        self, subsets: Subsets, models: NDArray[np.int64]
    ) -> Iterator[tuple[Any, slice, NDArray[Any], NDArray[Any]]]:
        """The same for models of few rows, or of repeated ones, many at once."""
        if not len(models):
            return
        k, n = self.learner.n_neighbors, self.split.n_rows
        with _RANKING:
            tables = self._tables
        for table in tables:
            starts = n * np.arange(len(table.labels))

            def bytes_of(width: int, table: RankTable = table) -> int:
                return table.bytes_of(width, k) + len(table.labels) * (50 * k + 10 * self.split.n_classes)

            for batch in batches(subsets[models], bytes_of):
                members = np.where(batch.counts > 0, batch.rows, n)
                ranks = table.smallest(members, k)
                place = np.minimum(ranks, n - 1) + starts
                weights: NDArray[Any] = np.ones((1, 1, 1), dtype=np.uint8)
                if table.distances is not None:
                    weights = _closeness(table.distances.ravel().take(place), ranks < n)
                elif k > min((batch.counts > 0).sum(axis=1)) or k > 255:
                    weights = (ranks < n).astype(np.float32)
                yield models[batch.models], table.columns, table.labels.ravel().take(place), weights

    def _nearest_rows(
        self, rows: NDArray[np.int64], distinct: bool
    ) -> tuple[NDArray[np.int64], Floats | None]:
        """Those of a model's rows nearest to each answer row, and how far they are where that counts."""
        answers, k = np.arange(self.X.shape[0]), min(self.learner.n_neighbors, len(rows))
        lists = self._lists
        if lists is None or not distinct or not lists.reach(len(rows), k):
            nearest, distances = self._search(rows, answers, k)
            return nearest, distances if self.learner.weights == "distance" else None
        nearest, near = lists.first(rows, k)
        short = np.flatnonzero(nearest[:, -1] < 0)
        if len(short):
            nearest[short], distances = self._search(rows, short, k)
            if near is not None:
                near[short] = distances
        return nearest, near

    def _search(
        self, rows: NDArray[np.int64], answers: NDArray[np.int64], k: int
    ) -> tuple[NDArray[np.int64], Floats]:
        """The k of ``rows`` that are nearest to each of the answer rows, and how far they are."""
        if k == 0:
            return np.empty((len(answers), 0), dtype=np.int64), np.empty((len(answers), 0))
        search = NearestNeighbors(
            n_neighbors=min(k + 1, len(rows)), algorithm="brute", metric=self.learner.metric
        )
        distances, nearest = search.fit(self.split.X[rows]).kneighbors(self.X[answers])
        if k == len(rows):
            return rows[nearest], distances
        # of rows at the same distance the search takes any, and it may take copies to be at others
        apart = distances[:, k] - distances[:, k - 1]
        close = np.flatnonzero(apart <= _CLOSE * self._length)
        nearest, distances = nearest[:, :k].copy(), distances[:, :k].copy()
        at_once = max(1, MEMORY_LIMIT // (24 * len(rows)))
        for start in range(0, len(close), at_once):
            some = close[start : start + at_once]
            nearest[some], distances[some] = self._search_exactly(answers[some], rows, k)
        return rows[nearest], distances

    def _search_exactly(
        self, answers: NDArray[np.int64], rows: NDArray[np.int64], k: int
    ) -> tuple[NDArray[np.int64], Floats]:
        """The same for some answer rows; of rows at the same distance the first."""
        first, copy_of = self._copies
        distinct, place = np.unique(copy_of[rows], return_inverse=True)
        metric = self.learner.metric
        found = pairwise_distances(self.X[answers], self.split.X[first[distinct]], metric=metric)[:, place]
        farthest = np.partition(found, k - 1, axis=1)[:, k - 1 : k]
        tied = found == farthest
        room = k - (found < farthest).sum(axis=1, keepdims=True)
        taken = (found < farthest) | (tied & (np.cumsum(tied, axis=1) <= room))
        nearest = np.nonzero(taken)[1].reshape(-1, k)
        return nearest, np.take_along_axis(found, nearest, 1)

    @cached_property
    def _copies(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return distinct_rows(self.split.X)

    @cached_property
    def _length(self) -> float:
        """Of the longest row, about: what rounding errors of distances are in proportion to."""
        largest = max(float(abs(X).max()) for X in (self.split.X, self.X))
        return largest * math.sqrt(self.X.shape[1])

    @cached_property
    def _tables(self) -> list[RankTable]:
        with_distances = self.learner.weights == "distance"
        return list(rank_rows(self.split.X, self.X, self.learner.metric, self._y, with_distances))


def _total(weights: NDArray[Any], labels: NDArray[Any]) -> NDArray[Any]:
    """Sum of the weights of all neighbours."""
    return np.asarray(np.broadcast_to(weights, labels.shape).sum(axis=1, dtype=np.float64))


def _closeness(distances: Floats, valid: NDArray[np.bool_]) -> Floats:
    """Inverse distances; where some are zero, those rows alone decide."""
    zero = (distances == 0) & valid
    inverse = 1 / np.where(distances == 0, 1, distances)
    return np.asarray(np.where(zero.any(axis=1, keepdims=True), zero, inverse * valid))


def _one_by_one(subsets: Subsets) -> Subsets:
    """Repeated rows as separate entries."""
    members = subsets.members
    if not len(members.data) or members.data.max() <= 1:
        return subsets
    indptr = np.concatenate([[0], np.cumsum(subsets.sizes)])
    indices = np.repeat(members.indices, members.data)
    ones = np.ones(len(indices), dtype=members.data.dtype)
    return replace(subsets, members=sparse.csr_array((ones, indices, indptr), shape=members.shape))
