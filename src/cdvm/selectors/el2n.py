"""EL2N: the rows with the largest errors (Paul et al., 2021).

A row's score is the mean length of its residual, the probability of each class less 1 for the true one, over
several models. Theirs are networks early in training; here they are models of half of the rows, and of every
row only those that did not see it are asked.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from cdvm.data.split import Split
from cdvm.evaluation.difficulty import errors_of_rows
from cdvm.optimize.program import resolve_budget
from cdvm.selectors.base import Positions, numbers_of

__all__ = ["el2n"]


def el2n(
    split: Split, budget: float, *, learner: Any = "logistic", errors: Any = None, random_state: Any = None
) -> Positions:
    """Choose the rows whose mean error is largest.

    Parameters
    ----------
    split : Split
    budget : int or float
        Rows to keep, as a count or as a fraction.
    learner : str, estimator or Learner
        Whose models are asked, see :func:`cdvm.evaluation.difficulty.errors_of_rows`; one with
        probabilities.
    errors : ndarray, optional
        What they said earlier; nothing is trained then.
    random_state : int, RandomState or None

    Returns
    -------
    ndarray
        Sorted positions among the training rows.
    """
    size, rng = resolve_budget(budget, split.n_rows), check_random_state(random_state)
    errors = numbers_of(split, partial(errors_of_rows, learner=learner), rng, errors=errors)
    return np.sort(np.argsort(-errors, kind="stable")[:size])
