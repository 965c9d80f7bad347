"""Half of the budget at random, half the hardest rows that models without them still get right.

Easy rows teach a model nothing it does not learn from any other, and rows that models get wrong are often
wrong themselves; the random half keeps the classes and the easy regions where they were.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from cdvm.data.split import Split
from cdvm.evaluation.difficulty import ease_of_rows
from cdvm.optimize.program import resolve_budget
from cdvm.selectors.base import Positions, numbers_of

__all__ = ["hardest_right"]


def hardest_right(
    split: Split, budget: float, *, learner: Any = "logistic", ease: Any = None, random_state: Any = None
) -> Positions:
    """Choose random rows, and the hardest of those that are right.

    Parameters
    ----------
    split : Split
    budget : int or float
        Rows to keep, as a count or as a fraction.
    learner : str, estimator or Learner
        Whose models say what is hard, see :func:`cdvm.evaluation.difficulty.ease_of_rows`.
    ease : ndarray, optional
        What they said earlier; nothing is trained then.
    random_state : int, RandomState or None

    Returns
    -------
    ndarray
        Sorted positions among the training rows.
    """
    size, rng = resolve_budget(budget, split.n_rows), check_random_state(random_state)
    ease = numbers_of(split, partial(ease_of_rows, learner=learner), rng, ease=ease)
    right = np.flatnonzero(ease > 0) if split.task == "classification" else np.arange(split.n_rows)
    hard = right[np.argsort(ease[right], kind="stable")[: size // 2]]
    others = np.setdiff1d(np.arange(split.n_rows), hard)
    return np.sort(np.concatenate([hard, rng.choice(others, size - len(hard), replace=False)]))
