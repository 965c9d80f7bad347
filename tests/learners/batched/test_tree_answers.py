"""Rows sent down trees, against walking each row down each tree."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("numba", reason="Numba is not installed: pip install cdvm[trees]")

from cdvm.learners.batched.tree_answers import add_scalars, add_vectors

N_FEATURES, N_ROWS = 5, 400


def random_trees(rng, sizes, width):
    """Trees of some numbers of splits: starts, parents, features, thresholds and the answers of leaves."""
    # the last split divides the rows that the first has left where they were
    parents = [0 if s in (0, size - 1) else rng.integers(1, s + 1) for size in sizes for s in range(size)]
    n = len(parents)
    return (
        np.cumsum([0, *sizes], dtype=np.int64),
        np.array(parents, dtype=np.int32),
        rng.integers(0, N_FEATURES, n).astype(np.int32),
        rng.integers(0, 60, n).astype(np.uint8),
        rng.standard_normal((n + len(sizes), width)).astype(np.float32),
    )


def leaf_of(row, t, starts, parent, feature, threshold, values):
    leaf = 0
    for s in range(starts[t], starts[t + 1]):
        if parent[s] == leaf and row[feature[s]] > threshold[s]:
            leaf = s - starts[t] + 1
    return values[starts[t] + t + leaf]


@pytest.mark.parametrize("sizes", [[0, 1, 7], [255, 3], [256, 300]], ids=["small", "full byte", "large"])
def test_every_row_gets_the_answers_of_its_leaves(rng, sizes):
    columns = rng.integers(0, 64, (N_FEATURES, N_ROWS)).astype(np.uint8)
    trees = random_trees(rng, sizes, 3)
    found = np.ones((N_ROWS, 3), dtype=np.float32)
    add_vectors(columns, *trees, found)
    expected = [1 + sum(leaf_of(row, t, *trees) for t in range(len(sizes))) for row in columns.T]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)

    trees = random_trees(rng, sizes, 1)
    outputs = np.arange(len(sizes)) % 2
    lines = np.ones((2, N_ROWS), dtype=np.float32)
    add_scalars(columns, *trees, outputs, lines)
    for k in range(2):
        mine = np.flatnonzero(outputs == k)
        expected = [1 + sum(leaf_of(row, t, *trees)[0] for t in mine) for row in columns.T]
        np.testing.assert_allclose(lines[k], expected, rtol=1e-5, atol=1e-6)
