"""Scores of sets that are asked on other rows each."""

import numpy as np
import pytest

from cdvm.evaluation.refinement.scorer import RowScores
from cdvm.pruner.chance import DRAWS, compare_with_chance


def test_rows_count_by_their_weights():
    """Two strata; a set that is right in one of them gains what its rows weigh."""
    right = np.zeros((DRAWS + 1, 100), dtype=np.float32)
    right[-1, 50:] = 1.0
    outside = np.ones((DRAWS + 1, 100), dtype=bool)
    strata, weights = np.repeat([0, 1], 50), np.repeat([1.5, 0.5], 50)
    found = RowScores(right, right, outside)
    assert compare_with_chance(found, strata)[0][-1] == pytest.approx(0.5)
    assert compare_with_chance(found, strata, weights)[0][-1] == pytest.approx(0.25)
    assert compare_with_chance(found, np.zeros(100, dtype=int), weights)[0][-1] == pytest.approx(0.25)


def test_a_set_that_holds_the_hard_rows_gains_nothing_by_it():
    """Rows 0 to 49 are never right, whoever is asked."""
    right = np.tile(np.repeat([0.0, 1.0], 50), (DRAWS + 2, 1)).astype(np.float32)
    outside = np.random.default_rng(0).random((DRAWS + 2, 100)) < 0.8
    outside[-2], outside[-1] = np.arange(100) >= 40, np.arange(100) < 60
    scores, errors = compare_with_chance(RowScores(right, right, outside), np.repeat([0, 1], 50))
    np.testing.assert_allclose(scores, scores[0])
    np.testing.assert_allclose(errors, 0, atol=1e-12)


def test_what_a_set_gains_on_the_hard_rows_left_counts_for_all_of_them():
    """The last set is right on every hard row, and holds eight in ten of them."""
    right = np.tile(np.repeat([0.0, 1.0], 50), (DRAWS + 1, 1)).astype(np.float32)
    right[-1] = 1.0
    outside = np.ones(right.shape, dtype=bool)
    outside[-1, :40] = False
    scores, _ = compare_with_chance(RowScores(right, right, outside), np.repeat([0, 1], 50))
    np.testing.assert_allclose(scores[[0, -1]], [0.5, 1.0])


def test_the_standard_error_is_that_of_a_mean_difference():
    rng = np.random.default_rng(0)
    right = np.zeros((DRAWS + 1, 4000), dtype=np.float32)
    right[-1] = rng.random(4000) < 0.3
    outside = np.ones(right.shape, dtype=bool)
    _, errors = compare_with_chance(RowScores(right, right, outside), np.zeros(4000, dtype=np.int64))
    assert errors[-1] == pytest.approx(np.sqrt(0.3 * 0.7 / 4000), rel=0.05)


def test_real_rows_say_on_which_level():
    """All are right on synthetic rows and half of the time on real ones; the last set is right everywhere."""
    right = np.ones((DRAWS + 1, 100), dtype=np.float32)
    right[:DRAWS, 40:70] = 0.0
    real = np.arange(100) >= 40
    found = RowScores(right, right, np.ones(right.shape, dtype=bool))
    strata = np.zeros(100, dtype=np.int64)
    assert compare_with_chance(found, strata)[0] == pytest.approx([0.7] * DRAWS + [1.0])
    assert compare_with_chance(found, strata, None, real)[0] == pytest.approx([0.5] * DRAWS + [0.8])
