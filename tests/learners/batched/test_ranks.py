from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from cdvm.learners.batched import ranks
from cdvm.learners.batched.ranks import bytes_of_ranks, rank_rows


def table(seed=0, n=90, m=30):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), rng.normal(size=(m, 3)), rng.integers(0, 5, n).astype(np.uint8), rng


@pytest.mark.parametrize("limit", [1 << 20, 4_000, 0])
def test_ranks_are_places_by_distance_in_any_number_of_blocks(monkeypatch, limit):
    monkeypatch.setattr(ranks, "MEMORY_LIMIT", limit)
    X, answers, labels, _ = table()
    tables = list(rank_rows(X, answers, "euclidean", labels, with_distances=True))
    distances = cdist(answers, X)
    order = np.argsort(distances, axis=1)
    assert (len(tables) == 1) == (limit == 1 << 20)
    assert [k for t in tables for k in range(t.columns.start, t.columns.stop)] == list(range(30))
    for t in tables:
        own = order[t.columns]
        np.testing.assert_array_equal(np.argsort(t.ranks[:-1], axis=0).T, own)
        np.testing.assert_array_equal(t.labels, labels[own])
        np.testing.assert_allclose(t.distances, np.take_along_axis(distances[t.columns], own, 1), rtol=1e-9)
        assert (t.ranks[-1] >= len(X)).all()


@pytest.mark.parametrize("k", [1, 3, 16, 17, 25])
def test_smallest_are_those_a_sort_finds(k):
    X, answers, labels, rng = table(1)
    (t,) = rank_rows(X, answers, "euclidean", labels)
    members = np.stack([rng.permutation(90)[:20] for _ in range(6)])
    expected = np.sort(t.ranks[members], axis=1)[:, :k]
    np.testing.assert_array_equal(t.smallest(members, k), expected)


def test_memory_is_counted():
    X, answers, labels, _ = table()
    (t,) = rank_rows(X, answers, "euclidean", labels, with_distances=True)
    held = t.ranks[:-1].nbytes + t.labels.nbytes + t.distances.nbytes
    assert bytes_of_ranks(90, labels, True) * 30 == held
    assert bytes_of_ranks(90, labels, False) * 30 == held - t.distances.nbytes
    assert t.bytes_of(40, 3) == t.bytes_of(80, 3) == 30 * 2 * 15
    assert t.bytes_of(40, 20) == 30 * 2 * 80
