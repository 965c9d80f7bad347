"""What selectors share."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from cdvm.selectors.base import Space, allocate, choose


@pytest.mark.parametrize(("counts", "budget"), [([7, 2, 1], 8), ([98, 1, 1], 4), ([5, 5], 3), ([4, 4, 4], 2)])
def test_allocation_is_within_one_of_the_quota_or_saves_a_class(counts, budget):
    fractions = allocate(np.array(counts), budget)
    assert fractions.sum() == budget
    assert (fractions <= counts).all()
    if budget >= len(counts):
        assert fractions.min() >= 1


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_space_knows_the_distances_and_products_of_rows_seen_from_their_mean(rng, form):
    X = rng.standard_normal((20, 5)) + 3.0
    X[rng.random((20, 5)) < 0.5] = 0.0
    space, rows, centred = Space(form(X)), np.array([4, 0, 17]), X - X.mean(axis=0)
    assert len(space) == 20
    np.testing.assert_allclose(space.distances(rows), cdist(X, X[rows]), atol=1e-6)
    assert (space.distances(rows)[rows, range(3)] == 0.0).all()
    np.testing.assert_allclose(space.products(rows), centred @ centred[rows].T, atol=1e-12)
    np.testing.assert_allclose(space.squares, (centred**2).sum(axis=1), atol=1e-12)


def test_choose_asks_every_class_for_its_share_or_all_rows_at_once(clouds):
    asked = []

    def first(rows, size):
        asked.append((rows.tolist(), size))
        return rows[::-1][:size]

    kept = choose(clouds, 9, None, first)
    assert [size for _, size in asked] == allocate(np.bincount(clouds.y), 9).tolist()
    assert [set(clouds.y[rows].tolist()) for rows, _ in asked] == [{0}, {1}, {2}]
    assert kept.tolist() == sorted(i for rows, size in asked for i in rows[::-1][:size])
    assert choose(clouds, 0.1, False, first).tolist() == list(range(81, 90))
