"""Margin: the rows nearest to the boundary (Coleman et al., 2020, selection via proxy).

These are the rows whose mean margin is closest to 0, by models of half of the rows that did not see them: the
models are in doubt about them, whether they are right or wrong.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from cdvm.data.split import Split
from cdvm.evaluation.difficulty import ease_of_rows
from cdvm.optimize.program import resolve_budget
from cdvm.selectors.base import Positions, numbers_of, refuse_regression

__all__ = ["margin"]


def margin(
    split: Split, budget: float, *, learner: Any = "logistic", ease: Any = None, random_state: Any = None
) -> Positions:
    """Choose the rows that models are most in doubt about.

    Parameters
    ----------
    split : Split
    budget : int or float
        Rows to keep, as a count or as a fraction.
    learner : str, estimator or Learner
        Whose models are asked, see :func:`cdvm.evaluation.difficulty.ease_of_rows`.
    ease : ndarray, optional
        What they said earlier; nothing is trained then.
    random_state : int, RandomState or None

    Returns
    -------
    ndarray
        Sorted positions among the training rows.
    """
    refuse_regression(split, "margin")
    size = resolve_budget(budget, split.n_rows)
    rng = check_random_state(random_state)
    ease = numbers_of(split, partial(ease_of_rows, learner=learner), rng, ease=ease)
    return np.sort(np.argsort(np.abs(ease), kind="stable")[:size])
