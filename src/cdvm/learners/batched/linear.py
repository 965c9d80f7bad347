"""What linear learners share: training sets in padded batches, inner products, and answers from coefficients.

A training set of *s* distinct rows spans at most *s* dimensions. With more features than that a model is
kept as coefficients of its rows (*dual*: w = Σ aᵢxᵢ, so all it needs is their Gram matrix), otherwise as
weights of the features (*primal*). Rows are centred once over the whole training set, which an unpenalised
intercept absorbs and which keeps the products small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from cdvm.data.split import Features, Split
from cdvm.sampling import Subsets

__all__ = ["MEMORY_LIMIT", "Batch", "Geometry", "batches", "fill_absent", "winners"]

MEMORY_LIMIT = 256 << 20
"""Bytes a learner keeps for products of all rows, and again for the models it trains at once."""

_AT_ONCE = 256  # models a batch; more leave the cache

_MAKING = Lock()  # products of all rows are large: one thread makes them, the others wait

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Batch:
    """Training sets of about the same size.

    Attributes
    ----------
    models : ndarray of shape (n_models,)
        Their positions among the subsets.
    rows : ndarray of shape (n_models, width)
        Distinct rows of each set, padded with row 0.
    counts : ndarray of shape (n_models, width)
        How often the row occurs; 0 marks the padding.
    """

    models: NDArray[np.int64]
    rows: NDArray[np.int64]
    counts: NDArray[np.float64]

    @property
    def width(self) -> int:
        return int(self.rows.shape[1])

    def __getitem__(self, which: NDArray[np.bool_]) -> Batch:
        return Batch(self.models[which], self.rows[which], self.counts[which])


def batches(
    subsets: Subsets, bytes_of: Callable[[int], int], *, step: int = 8, whole: float = np.inf
) -> Iterator[Batch]:
    """Subsets by padded size, as many at once as the memory limit allows.

    ``bytes_of(width)`` is what one model of that padded size needs. Widths are multiples of ``step`` less one
    (which an intercept fills): large steps make large batches, small steps little padding. Sets of ``whole``
    rows or more are as wide as the table. The width of a set depends on its own size alone, so a model's
    arithmetic does not depend on its neighbours.
    """
    members = subsets.members
    sizes = np.diff(members.indptr)
    widths = np.where(sizes >= whole, members.shape[1], (sizes // step + 1) * step - 1)
    for width in np.unique(widths).tolist():
        alike = np.flatnonzero(widths == width)
        at_once = max(1, min(_AT_ONCE, MEMORY_LIMIT // bytes_of(width)))
        for start in range(0, len(alike), at_once):
            models = alike[start : start + at_once]
            inside = np.arange(width) < sizes[models, None]
            place = np.where(inside, members.indptr[models, None] + np.arange(width), 0)
            yield Batch(
                models,
                np.where(inside, members.indices[place], 0).astype(np.int64),
                np.where(inside, members.data[place], 0).astype(np.float64),
            )


class Geometry:
    """Training and answer rows, centred, and their inner products.

    Parameters
    ----------
    split : Split
    X : features
        The rows to answer for.
    center : bool
        Whether to move the origin to the mean of the training rows.
    dtype : dtype
        Precision of the answers.
    """

    def __init__(self, split: Split, X: Features, *, center: bool, dtype: DTypeLike = np.float64) -> None:
        train = split.X
        self.dtype = np.dtype(dtype)
        mean = np.asarray(train.mean(axis=0), dtype=np.float64).ravel()
        self._mean = mean if center else np.zeros_like(mean)
        self._sparse = sparse.issparse(train)
        if self._sparse:
            self._train, self._answers = train, X
        else:
            moved = train - self._mean
            varies = moved.any(axis=0)
            self._mean = self._mean[varies]
            self._train = np.ascontiguousarray(moved[:, varies])
            self._answers = np.ascontiguousarray((X[:, varies] - self._mean).T, dtype=dtype)
        self.n_features = int(self._train.shape[1])

    @cached_property
    def _gram(self) -> Floats | None:
        """Inner products of all training rows, where there is room for them."""
        if 8 * self._train.shape[0] ** 2 > MEMORY_LIMIT:
            return None
        return self._products(self._train if self._sparse else self._train.T, np.float64)

    @cached_property
    def _cross(self) -> Floats | None:
        """Those of the training rows with the answer rows."""
        m = self._answers.shape[0 if self._sparse else 1]
        if self.dtype.itemsize * self._train.shape[0] * m > MEMORY_LIMIT:
            return None
        return self._products(self._answers, self.dtype)

    @property
    def table(self) -> Floats | None:
        """All training rows, centred; None if they are sparse."""
        return None if self._sparse else np.asarray(self._train)

    def is_dual(self, width: int) -> bool:
        """Whether models on this many rows are kept as coefficients of the rows."""
        return width <= self.n_features

    def rows(self, batch: Batch) -> Floats:
        """Features of each model's rows, shape (n_models, width, n_features)."""
        if not self._sparse:
            return np.asarray(self._train[batch.rows])
        dense = self._train[batch.rows.ravel()].toarray() - self._mean
        return np.asarray(dense.reshape(*batch.rows.shape, -1))

    def gram(self, batch: Batch) -> Floats:
        """Inner products of each model's rows, shape (n_models, width, width)."""
        with _MAKING:
            products = self._gram
        if products is None:
            rows = self.rows(batch)
            return np.asarray(rows @ rows.transpose(0, 2, 1))
        n = len(products)
        return np.asarray(products.ravel().take(batch.rows[:, :, None] * n + batch.rows[:, None, :]))

    def answers(
        self, batch: Batch, coefficients: Floats, intercepts: Floats, *, dual: bool | None = None
    ) -> Floats:
        """Decision values of shape (n_models, K, n_answers).

        ``coefficients`` has shape (n_models, K, width) for dual models and (n_models, K, n_features) for
        primal ones; ``intercepts`` (n_models, K).
        """
        if self.is_dual(batch.width) if dual is None else dual:
            with _MAKING:
                products = self._cross if self.n_features > 2 * batch.width else None
            if products is not None:
                values = coefficients.astype(self.dtype) @ products[batch.rows]
                return np.asarray(values + intercepts.astype(self.dtype)[:, :, None])
            coefficients = coefficients @ self.rows(batch)
        weights = coefficients.astype(self.dtype)
        if self._sparse:
            flat = weights.reshape(intercepts.size, self.n_features)
            values = np.asarray((self._answers @ flat.T).T).reshape(*intercepts.shape, -1)
            values -= (weights @ self._mean)[:, :, None]
        else:
            # a product a model: in a single one, the last digits of a row depend on the rows around it
            values = np.matmul(weights, self._answers)
        values += intercepts.astype(self.dtype)[:, :, None]
        return np.asarray(values)

    def _products(self, others: Features, dtype: DTypeLike) -> Floats:
        """Inner products of the training rows with others, centred and across where they are dense."""
        if not self._sparse:
            return np.asarray(self._train @ others, dtype=dtype)
        products = np.asarray((self._train @ others.T).toarray(), dtype=np.float64)
        products -= (self._train @ self._mean)[:, None]
        products -= (others @ self._mean)[None, :]
        products += self._mean @ self._mean
        return np.asarray(products, dtype=dtype)


def fill_absent(scores: Floats, present: NDArray[np.bool_]) -> None:
    """Give classes a model never saw less than any it did: the row's minimum less one.

    ``scores`` has shape (n_models, K, n_answers) and is changed in place, ``present`` (n_models, K).
    """
    few = np.flatnonzero(~present.all(axis=1))
    if few.size:
        seen = present[few][:, :, None]
        lowest = np.where(seen, scores[few], np.inf).min(axis=1, keepdims=True)
        scores[few] = np.where(seen, scores[few], lowest - 1)


def winners(scores: Floats) -> NDArray[np.int32]:
    """The class of the largest score, the smaller code on ties: (n_models, K, n) to (n_models, n)."""
    best = scores[:, 0].copy()
    label = np.zeros(best.shape, dtype=np.int32)
    for k in range(1, scores.shape[1]):
        better = scores[:, k] > best
        np.copyto(label, np.int32(k), where=better)
        np.maximum(best, scores[:, k], out=best)
    return label
