"""Small games with known answers, and naive formulas to compare with."""

from __future__ import annotations

from itertools import combinations
from math import factorial

import numpy as np
from joblib import parallel_config

from cdvm.data.split import Split
from cdvm.sampling import Subsets


class ClusterGame:
    """v(S) = sum of u_k over the clusters that S meets."""

    def __init__(self, sizes, worth):
        self.sizes, self.worth = np.asarray(sizes), np.asarray(worth, dtype=float)
        self.member = np.repeat(np.arange(len(sizes)), sizes)
        self.n_rows = len(self.member)

    def __call__(self, subsets):
        inside = subsets.members.toarray() > 0
        met = np.stack([inside[:, self.member == k].any(axis=1) for k in range(len(self.sizes))], axis=1)
        return met @ self.worth

    @property
    def shapley(self):
        return (self.worth / self.sizes)[self.member]

    def banzhaf(self, inclusion=0.5):
        return (self.worth * (1 - inclusion) ** (self.sizes - 1))[self.member]

    @property
    def leave_one_out(self):
        return np.where(self.sizes == 1, self.worth, 0.0)[self.member]


class TableGame:
    """A game given by one number per subset, the empty set first."""

    def __init__(self, table):
        self.table = np.asarray(table, dtype=float)
        self.n_rows = int(np.log2(len(self.table)))

    def __call__(self, subsets):
        inside = subsets.members.toarray() > 0
        return self.table[inside @ (1 << np.arange(self.n_rows))]

    def of(self, rows):
        return self.table[sum(1 << i for i in rows)]

    def shapley(self):
        """By the definition, set by set."""
        n, values = self.n_rows, np.zeros(self.n_rows)
        for i in range(n):
            others = [j for j in range(n) if j != i]
            for size in range(n):
                weight = factorial(size) * factorial(n - size - 1) / factorial(n)
                for rows in combinations(others, size):
                    values[i] += weight * (self.of((*rows, i)) - self.of(rows))
        return values


def chance(subsets):
    """A number without reason for every set."""
    keys = subsets.members @ (np.arange(1, subsets.members.shape[1] + 1) ** 2 * 7919)
    return np.modf(np.sin(keys) * 43758.5453)[0]


PAPER = ClusterGame([3, 2, 2, 1], [0.25, 0.25, 0.25, 0.25])
UNEVEN = ClusterGame([3, 2, 2, 1], [0.5, 0.1, 0.3, 0.7])
LARGE = ClusterGame([9, 6, 4, 1], [0.4, 0.3, 0.2, 0.1])


def all_subsets(n):
    return Subsets.of([[i for i in range(n) if mask >> i & 1] for mask in range(1 << n)], n)


def blobs(n=60, *, n_val=40, gap=4.0, n_classes=2, seed=0):
    """Well separated classes in two dimensions."""
    rng = np.random.default_rng(seed)
    parts = []
    for size in (n, n_val):
        y = np.arange(size) % n_classes
        angle = 2 * np.pi * y / n_classes
        X = gap * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.standard_normal((size, 2))
        parts += [X, y]
    return Split.from_arrays(*parts)


def with_one_and_two_jobs(call):
    """The answers of ``call(n_jobs)``, the second through two threads (processes are slow to start)."""
    with parallel_config(backend="threading"):
        return call(1), call(2)


def classes_split(n=60, d=5, classes=2, seed=0) -> Split:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + 40, d))
    scores = X @ rng.standard_normal((d, classes)) + 0.7 * rng.standard_normal((n + 40, classes))
    y = scores.argmax(axis=1)
    y[:classes] = range(classes)
    return Split.from_arrays(X[:n], y[:n], X[n:], y[n:])


def regression_split(n=150, d=4) -> Split:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n + 30, d))
    y = X @ rng.standard_normal(d) + rng.standard_normal(n + 30) + 2.0
    return Split.from_arrays(X[:n], y[:n], X[n:], y[n:], task="regression")
