"""What selectors share: the geometry of the features, and a budget divided among the classes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cdvm._runtime.parameters import number, whole
from cdvm.data.split import Features, Split
from cdvm.errors import InputError
from cdvm.optimize.program import resolve_budget
from cdvm.sampling import seed_of

__all__ = ["RULES", "Positions", "Space", "allocate", "choose", "numbers_of", "refuse_regression"]

Positions = NDArray[np.int64]
Vector = NDArray[np.float64]

_FRACTION = number(lambda value: 0 <= value <= 1, "a fraction from 0 to 1")
RULES = {
    "hardest": _FRACTION,
    "least": _FRACTION,
    "passes": whole(2),
    "rounds": whole(1),
    "step": number(lambda value: value > 0, "a number above 0"),
    "trees": whole(1),
}


class Space:
    """Rows seen from their mean: inner products and squared distances, without an n × n matrix."""

    def __init__(self, X: Features) -> None:
        self._sparse = sparse.issparse(X)
        mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
        if self._sparse:
            self._X, self._mean = X, mean
            self._along = np.asarray(X @ mean)
            lengths = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
            self.squares = np.maximum(lengths - 2 * self._along + mean @ mean, 0.0)
        else:
            self._X = np.asarray(X, dtype=np.float64) - mean
            self.squares = np.einsum("ij,ij->i", self._X, self._X)

    def __len__(self) -> int:
        return int(self._X.shape[0])

    def products(self, rows: Positions) -> Vector:
        """Inner products of all rows with the given ones, shape (n, len(rows))."""
        if not self._sparse:
            return np.asarray(self._X @ self._X[rows].T)
        plain = self._X @ self._X[rows].toarray().T
        return np.asarray(plain - self._along[:, None] - self._along[rows] + self._mean @ self._mean)

    def distances(self, rows: Positions) -> Vector:
        """Euclidean distances of all rows to the given ones, shape (n, len(rows))."""
        squared = self.squares[:, None] + self.squares[rows] - 2.0 * self.products(rows)
        squared[rows, np.arange(len(rows))] = 0.0  # rounding must not keep a row away from itself
        return np.asarray(np.sqrt(np.maximum(squared, 0.0)))


def allocate(counts: NDArray[np.int64], budget: int) -> NDArray[np.int64]:
    """Divide a budget in proportion to ``counts`` by largest remainders.

    A budget of at least one row a class leaves no class without a row.

    >>> allocate(np.array([70, 20, 10]), 8).tolist(), allocate(np.array([98, 1, 1]), 4).tolist()
    ([6, 1, 1], [2, 1, 1])
    """
    quota = counts * (budget / counts.sum())
    fractions: NDArray[np.int64] = np.floor(quota + 1e-9).astype(np.int64)
    left = budget - int(fractions.sum())
    fractions[np.argsort(-(quota - fractions), kind="stable")[:left]] += 1
    if budget >= len(counts):
        while (fractions == 0).any():
            fractions[int(np.argmax(np.where(fractions > 1, fractions - quota, -np.inf)))] -= 1
            fractions[int(np.argmin(fractions))] += 1
    return fractions


def choose(
    split: Split,
    budget: float,
    per_class: bool | None,
    pick: Callable[[Positions, int], Positions],
) -> Positions:
    """Sorted positions that ``pick(rows, size)`` takes from all rows, or from the rows of each class."""
    size = resolve_budget(budget, split.n_rows)
    if per_class is None:
        per_class = split.task == "classification"
    if not per_class:
        return np.sort(pick(np.arange(split.n_rows), size))
    if split.task == "regression":
        raise InputError("per_class=True needs classes, and this is a regression split: use per_class=False")
    fractions = allocate(np.bincount(split.y, minlength=split.n_classes), size)
    parts = [pick(np.flatnonzero(split.y == k), int(s)) for k, s in enumerate(fractions) if s]
    return np.sort(np.concatenate(parts))


def numbers_of(split: Split, ask: partial[NDArray[Any]], rng: Any, **given: Any) -> NDArray[Any]:
    """What ``ask`` finds of every training row, such as its ease, or what is given as found earlier."""
    # drawn either way, so that what follows is the same
    seed = seed_of(rng)
    ((name, found),) = given.items()
    if found is None:
        return ask(split, seed=seed)
    found = np.asarray(found)
    if len(found) != split.n_rows:
        raise InputError(
            f"{name} is of {len(found)} rows and there are {split.n_rows} training rows: "
            f"pass what {ask.func.__name__} finds of the same split"
        )
    return found


def refuse_regression(split: Split, method: str) -> None:
    if split.task == "regression":
        raise InputError(f"{method} needs classes, and this is a regression split: use another method")
