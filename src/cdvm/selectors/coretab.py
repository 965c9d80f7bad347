"""CoreTab: few rows of regions with one class, and the rest (Hadar, Milo and Razmadze, 2025).

Boosted trees divide the rows: those that fall into the same leaf of the first tree are a group, those also in
the same leaf of the second are a smaller one, and so on. A group of one class is a homogeneous region, easy
to learn, and is divided no further; what has not become part of one after the last tree is hard. Of every
homogeneous region a fraction of the rows is kept, of the hard rows all. Here the budget is given: the
fraction is what fills it, at least 3 %, and hard rows are drawn at random where they are too many.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from cdvm._runtime.parameters import check
from cdvm.data.split import Split
from cdvm.optimize.program import resolve_budget
from cdvm.selectors.base import RULES, Positions, numbers_of, refuse_regression

__all__ = ["coretab", "regions_of_leaves", "regions_of_rows"]

_DEPTH = 6


def coretab(
    split: Split,
    budget: float,
    *,
    trees: int = 30,
    regions: Any = None,
    least: float = 0.03,
    random_state: Any = None,
) -> Positions:
    """Choose a fraction of every region that has one class only, and the rows of no such region.

    Parameters
    ----------
    split : Split
    budget : int or float
        Rows to keep, as a count or as a fraction.
    trees : int
        That divide the rows.
    regions : ndarray, optional
        What :func:`regions_of_rows` found earlier; nothing is trained then.
    least : float
        Fraction of the homogeneous regions' rows that is kept at least.
    random_state : int, RandomState or None

    Returns
    -------
    ndarray
        Sorted positions among the training rows.
    """
    refuse_regression(split, "coretab")
    check(RULES, {"least": least})
    size, rng = resolve_budget(budget, split.n_rows), check_random_state(random_state)
    region = numbers_of(split, partial(regions_of_rows, trees=trees), rng, regions=regions)
    easy, hard = np.flatnonzero(region >= 0), np.flatnonzero(region < 0)
    n_easy = min(len(easy), size, max(size - len(hard), round(least * len(easy))))
    kept = np.concatenate([_of_each(region, easy, n_easy, rng), rng.permutation(hard)[: size - n_easy]])
    return np.sort(kept)


def regions_of_rows(split: Split, *, trees: int = 30, seed: int = 0) -> NDArray[np.int64]:
    """The homogeneous region of each training row by boosted trees, or -1.

    >>> split = Split.from_arrays([[0.0], [1.0], [2.0], [3.0]] * 6, list("aabb") * 6, random_state=0)
    >>> len(set(regions_of_rows(split)))  # one of each class
    2
    """
    from sklearn.ensemble import GradientBoostingClassifier

    refuse_regression(split, "coretab")
    check(RULES, {"trees": trees})
    rounds = -(-trees // (split.n_classes if split.n_classes > 2 else 1))  # a round has a tree a class
    model = GradientBoostingClassifier(n_estimators=rounds, max_depth=_DEPTH, random_state=seed)
    model.fit(split.X, split.y)
    leaves = model.apply(sparse.csr_matrix(split.X) if sparse.issparse(split.X) else split.X)
    return regions_of_leaves(leaves.reshape(split.n_rows, -1)[:, :trees], split.y)


def regions_of_leaves(leaves: NDArray[Any], y: NDArray[Any]) -> NDArray[np.int64]:
    """The homogeneous region of each row, or -1; ``leaves`` has a column a tree.

    >>> regions_of_leaves(np.array([[0, 0, 1, 1, 1], [0, 0, 0, 0, 1]]).T, np.array([0, 0, 0, 1, 1]))
    array([ 0,  0, -1, -1, -1])
    """
    region, found = np.full(len(y), -1), 0
    left, group = np.arange(len(y)), np.zeros(len(y), dtype=np.int64)
    for column in leaves.T:
        _, group = np.unique(np.column_stack([group, column[left]]), axis=0, return_inverse=True)
        group = group.ravel()
        count = np.bincount(group)
        of_first = y[left[np.unique(group, return_index=True)[1]]]
        alike = np.bincount(group, weights=y[left] == of_first[group]) == count
        pure = (alike & (count > 1))[group]
        region[left[pure]] = found + group[pure]
        found += len(count)
        left, group = left[~pure], group[~pure]
        if not len(left):
            break
    return region


def _of_each(region: NDArray[np.int64], easy: Positions, size: int, rng: np.random.RandomState) -> Positions:
    """As near the same fraction of every region as whole rows allow, ``size`` in all."""
    order = easy[np.lexsort((rng.random_sample(len(easy)), region[easy]))]
    _, first, counts = np.unique(region[order], return_index=True, return_counts=True)
    place = np.arange(len(order)) - np.repeat(first, counts)
    share = (place + rng.random_sample(len(counts)).repeat(counts)) / np.repeat(counts, counts)
    return np.asarray(order[np.argsort(share, kind="stable")[:size]])
