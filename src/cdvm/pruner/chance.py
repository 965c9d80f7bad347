"""Scores of sets of rows, comparable although each is asked on other rows.

With u_j the mean outcome of the random sets without row *j*, a set's score is the mean of u over real rows
plus its mean gain on u, each stratum of difficulty and class, and the synthetic rows, counting by their size.
So a set that holds the hard rows gains nothing by not being asked about them, and loses nothing either: what
it gains on those left counts for all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm.evaluation.refinement.scorer import RowScores

__all__ = ["DRAWS", "compare_with_chance"]

DRAWS = 8
"""Random sets that the others must beat."""

_NOTHING = 1e-12  # of a weight


def compare_with_chance(
    found: RowScores,
    strata: NDArray[np.int64],
    weights: NDArray[Any] | None = None,
    real: NDArray[np.bool_] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Score of each set, and the standard error of its gain over random sets, which come first.

    ``strata`` are those of the evaluation rows, ``weights`` how much each of them counts, and those that are
    ``real`` (by default all) say on which level. A stratum that a set holds whole has no say.
    """
    right, chance = found.right.astype(np.float64), found.outside[:DRAWS]
    counted = chance.sum(axis=0)
    usual = np.where(chance, right[:DRAWS], 0.0).sum(axis=0) / np.maximum(counted, 1)
    mask = found.outside & (counted > 0)
    each = np.ones(len(strata)) if weights is None else np.asarray(weights, dtype=np.float64)
    one_hot = np.eye(int(strata.max()) + 1)[strata] * each[:, None]
    share = one_hot.sum(axis=0) / np.maximum(mask @ one_hot, _NOTHING)
    counts = np.where(mask, share[:, strata] * each, 0.0)
    counts /= np.maximum(counts.sum(axis=1, keepdims=True), _NOTHING)
    gain = (counts * (right - usual)).sum(axis=1)
    errors = np.sqrt((counts**2 * (right - usual - gain[:, None]) ** 2).sum(axis=1))
    told = counted > 0 if real is None else (counted > 0) & real
    level = np.average(usual[told], weights=each[told]) if told.any() else 0.0
    return level + gain, errors
