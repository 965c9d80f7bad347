"""Shapley values of a k-nearest-neighbour classifier in closed form (Jia et al. 2019).

The utility of a set for one evaluation row is the fraction of k votes that name its label: of its k nearest
rows in the set (fewer, if the set is smaller) those with the evaluation row's label, divided by k. With the
n training rows sorted by distance from the evaluation row and ``hit_i`` = 1 where the i-th has its label::

    φ_n = hit_n · min(k, n) / (n k)
    φ_i = φ_{i+1} + (hit_i − hit_{i+1}) · min(k, i) / (i k)

so a sort per evaluation row replaces 2^n fits. Values are means over the evaluation rows; no learner is
trained.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from cdvm._runtime.progress import Progress
from cdvm.data.split import Split
from cdvm.errors import InputError
from cdvm.valuation.base import Values

__all__ = ["knn_shapley"]

_ENTRIES_AT_ONCE = 1 << 22  # of the distances between evaluation rows and training rows


def knn_shapley(split: Split, learner: Any = None, *, k: int = 5, progress: bool | None = None) -> Values:
    """Shapley values of the rows for a k-nearest-neighbour classifier.

    Parameters
    ----------
    split : Split
        Of a classification task; distances are Euclidean in its features.
    learner : object
        Not used: the method brings its own.
    k : int
        Neighbours that vote. Of rows equally far the earlier is the nearer.

    Examples
    --------
    >>> split = Split.from_arrays([[0.0], [0.1], [1.0], [3.0]], [0, 0, 1, 1], [[0.2], [2.9]], [0, 1])
    >>> knn_shapley(split, k=1).values
    array([0.25, 0.25, 0.25, 0.25])
    """
    if split.task != "classification":
        raise InputError("knn_shapley counts votes for classes: it does not fit a regression task")
    if k < 1:
        raise InputError(f"k={k!r}: use at least 1 neighbour")
    started = time.perf_counter()
    X, y = split.validation
    n, m = split.n_rows, len(y)
    nearer = np.arange(1, n + 1)
    fraction = np.minimum(k, nearer) / (nearer * k)
    totals = np.zeros(n)
    step = max(1, _ENTRIES_AT_ONCE // n)
    with Progress("evaluation", m, enabled=progress) as bar:
        for first in range(0, m, step):
            evaluation = slice(first, min(first + step, m))
            order = np.argsort(euclidean_distances(X[evaluation], split.X), axis=1, kind="stable")
            hit = (split.y[order] == y[evaluation, None]).astype(np.float64)
            steps = hit * fraction
            steps[:, :-1] -= hit[:, 1:] * fraction[:-1]
            values = np.cumsum(steps[:, ::-1], axis=1)[:, ::-1]
            totals += np.bincount(order.ravel(), values.ravel(), minlength=n)
            bar.advance(len(order))
    return Values.of(split, totals / m, "knn_shapley", k=k, fits=0, seconds=time.perf_counter() - started)
