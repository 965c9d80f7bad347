"""CRAIG: rows whose gradients stand for those of all rows (Mirzasoleiman et al., 2020).

The gradient of a linear model's loss at a row is its residual times its features (and 1). Facility location
among these, class by class, bounds how far the gradient of the kept rows is from that of all. The residuals
are those of models that did not see the row. The number of rows that a kept one stands for, its weight in the
original, is not used: sets are compared by what any model learns from them.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from cdvm.data.split import Features, Split
from cdvm.evaluation.difficulty import residuals_of_rows
from cdvm.selectors.base import Positions, Vector, choose, numbers_of
from cdvm.selectors.facility_location import medoids

__all__ = ["craig"]


def craig(
    split: Split,
    budget: float,
    *,
    learner: Any = "logistic",
    residuals: Any = None,
    per_class: bool | None = None,
    random_state: Any = None,
) -> Positions:
    """Choose rows whose gradients are together nearest to the gradients of all rows.

    Parameters
    ----------
    split : Split
    budget : int or float
        Rows to keep, as a count or as a fraction.
    learner : str, estimator or Learner
        Whose models are asked, see :func:`cdvm.evaluation.difficulty.residuals_of_rows`; one with
        probabilities.
    residuals : ndarray, optional
        What they said earlier; nothing is trained then.
    per_class : bool, optional
        Let every class be served by its own rows (the default for classification) or all rows by all.
    random_state : int, RandomState or None

    Returns
    -------
    ndarray
        Sorted positions among the training rows.
    """
    rng = check_random_state(random_state)
    residuals = numbers_of(split, partial(residuals_of_rows, learner=learner), rng, residuals=residuals)
    gradients = _gradients(split, residuals)
    return choose(split, budget, per_class, lambda rows, size: rows[medoids(gradients[rows], size)])


def _gradients(split: Split, residuals: Vector) -> Features:
    """Residual times features and 1; of two classes the one says all."""
    free = residuals[:, :1] if residuals.shape[1] == 2 else residuals
    if sparse.issparse(split.X):
        return sparse.hstack([*(split.X.multiply(r[:, None]) for r in free.T), free], format="csr")
    return np.concatenate([*(np.asarray(split.X) * r[:, None] for r in free.T), free], axis=1)
