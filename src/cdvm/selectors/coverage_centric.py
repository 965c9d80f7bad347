"""Coverage-centric selection: every difficulty alike, but for the hardest rows (Zheng et al., 2023).

The hardest tenth is dropped. The range of difficulties that is left is cut into bins of equal width; the
budget is divided among them evenly, smallest bins first, so that what a small bin cannot fill goes to the
larger ones.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from cdvm._runtime.parameters import check
from cdvm.data.split import Split
from cdvm.evaluation.difficulty import ease_of_rows
from cdvm.optimize.program import resolve_budget
from cdvm.selectors.base import RULES, Positions, numbers_of

__all__ = ["coverage_centric"]

_BINS = 50


def coverage_centric(
    split: Split,
    budget: float,
    *,
    learner: Any = "logistic",
    ease: Any = None,
    hardest: float = 0.1,
    random_state: Any = None,
) -> Positions:
    """Choose as many rows of each difficulty, at random within it.

    Parameters
    ----------
    split : Split
    budget : int or float
        Rows to keep, as a count or as a fraction.
    learner : str, estimator or Learner
        Whose models say what is hard, see :func:`cdvm.evaluation.difficulty.ease_of_rows`.
    ease : ndarray, optional
        What they said earlier; nothing is trained then.
    hardest : float
        Fraction of the rows dropped first; no more than the budget leaves room for.
    random_state : int, RandomState or None

    Returns
    -------
    ndarray
        Sorted positions among the training rows.
    """
    check(RULES, {"hardest": hardest})
    n, rng = split.n_rows, check_random_state(random_state)
    size = resolve_budget(budget, n)
    ease = numbers_of(split, partial(ease_of_rows, learner=learner), rng, ease=ease)
    left = np.argsort(ease, kind="stable")[min(int(hardest * n), n - size) :]
    edges = np.linspace(ease[left[0]], ease[left[-1]], _BINS + 1)[1:-1]
    bins = np.searchsorted(edges, ease[left], side="right")
    chosen: list[Positions] = []
    groups = sorted((left[bins == k] for k in np.unique(bins)), key=len)
    for k, rows in enumerate(groups):
        taken = min(len(rows), -(-(size - sum(map(len, chosen))) // (len(groups) - k)))
        chosen.append(rng.choice(rows, taken, replace=False))
    return np.sort(np.concatenate(chosen))
