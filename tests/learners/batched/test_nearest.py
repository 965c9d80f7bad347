from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from time import sleep

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist

from cdvm.learners.batched import nearest
from cdvm.learners.batched.nearest import NearestRows, distinct_rows, index_type


def by_brute_force(X, answers, rows, k):
    """The first k of the rows, by distance and then by position."""
    distances = cdist(answers, X)
    return [sorted(rows, key=lambda r, d=line: (d[r], r))[:k] for line in distances]


def table(seed, n=120, m=40):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), rng.normal(size=(m, 3)), rng


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(10, 120))
def test_first_of_a_set_match_brute_force(seed, k, size):
    X, answers, rng = table(seed)
    rows = rng.permutation(120)[:size]
    found, distances = NearestRows(X, answers, "euclidean").first(rows, k)
    assert found.tolist() == by_brute_force(X, answers, rows.tolist(), k)
    assert distances is None


def test_distances_are_those_of_the_rows():
    X, answers, rng = table(0)
    lists = NearestRows(X, answers, "manhattan", with_distances=True)
    found, distances = lists.first(rng.permutation(120)[:50], 3)
    expected = np.take_along_axis(cdist(answers, X, "cityblock"), found, 1)
    np.testing.assert_allclose(distances, expected, rtol=1e-12)


@pytest.mark.parametrize("depth", [0.01, 1, 1000])
def test_lists_that_end_too_early_leave_the_answer_open(monkeypatch, depth):
    monkeypatch.setattr(nearest, "_LISTED", 7)
    monkeypatch.setattr(nearest, "_DEPTH", depth)
    X, answers, rng = table(1)
    rows = np.sort(rng.permutation(120)[:40])
    found, _ = NearestRows(X, answers, "euclidean").first(rows, 3)
    in_list = [np.isin(line, rows).sum() for line in by_brute_force(X, answers, list(range(120)), 7)]
    assert min(in_list) < 3 <= max(in_list)
    for line, expected, count in zip(found, by_brute_force(X, answers, rows, 3), in_list, strict=True):
        assert line.tolist() == [*expected[: min(3, count)], *[-1] * (3 - min(3, count))]


def test_of_rows_as_far_the_earlier_are_listed(monkeypatch):
    monkeypatch.setattr(nearest, "_LISTED", 30)
    rng = np.random.default_rng(2)
    X = rng.integers(0, 3, size=(200, 2)).astype(float)
    answers = rng.integers(0, 3, size=(50, 2)) + 0.0
    found, _ = NearestRows(X, answers, "manhattan").first(np.arange(200), 30)
    assert found.tolist() == by_brute_force_manhattan(X, answers, 30)


def by_brute_force_manhattan(X, answers, k):
    return np.argsort(cdist(answers, X, "cityblock"), axis=1, kind="stable")[:, :k].tolist()


def test_reach_is_how_far_lists_are_read():
    X = np.zeros((5000, 1))
    lists = NearestRows(X, X[:10], "euclidean")
    assert lists.reach(50, 5)  # 2 · 5 · 5000 / 50 rows of 1,024
    assert not lists.reach(48, 5)
    assert NearestRows(X[:100], X[:10], "euclidean").reach(10, 5)


def test_lists_are_as_long_as_memory_allows(monkeypatch):
    X, answers, _ = table(3)
    monkeypatch.setattr(nearest, "MEMORY_LIMIT", 40 * 2 * 9)
    found, _ = NearestRows(X, answers, "euclidean").first(np.arange(120), 12)
    assert ((found >= 0).sum(axis=1) == 9).all()
    monkeypatch.setattr(nearest, "MEMORY_LIMIT", 40 * 10 * 9)
    found, _ = NearestRows(X, answers, "euclidean", with_distances=True).first(np.arange(120), 12)
    assert ((found >= 0).sum(axis=1) == 9).all()


def test_threads_share_one_making(monkeypatch):
    made, blocks = [], nearest.distance_blocks

    def slow(*given):
        made.append(1)
        sleep(0.2)  # for the others to come
        return blocks(*given)

    monkeypatch.setattr(nearest, "distance_blocks", slow)
    X, answers, _ = table(4)
    lists = NearestRows(X, answers, "euclidean")
    assert not made  # nobody asked
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: lists.first(np.arange(0, 120, 2), 4)[0].tolist(), range(8)))
    assert made == [1]
    assert all(line == found[0] for line in found)


def test_distinct_rows_and_their_copies():
    X = np.array([[1.0, 2.0], [0.0, 0.0], [1.0, 2.0], [3.0, 1.0]])
    first, copy_of = distinct_rows(X)
    assert first.tolist() == [0, 1, 3]
    assert copy_of.tolist() == [0, 1, 0, 2]
    first, copy_of = distinct_rows(sparse.csr_array(X))
    assert first.tolist() == copy_of.tolist() == [0, 1, 2, 3]


def test_index_type_has_a_value_above_all_rows():
    assert index_type(65_535) == np.uint16
    assert index_type(65_536) == np.uint32
