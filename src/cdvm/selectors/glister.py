"""GLISTER: rows whose gradient steps serve the evaluation rows (Killamsetty et al., 2021).

A softmax regression (least squares, for regression) starts at nothing. Of the rows not yet kept, those gain
most whose gradient points along that of the evaluation rows' loss, to first order. They are kept a few at a
time, the model takes a step along the gradient of what is kept, and the gains are computed anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import softmax

from cdvm._runtime.parameters import check
from cdvm.data.split import Features, Split
from cdvm.optimize.program import resolve_budget
from cdvm.selectors.base import RULES, Positions, Vector

__all__ = ["glister"]


def glister(
    split: Split, budget: float, *, rounds: int = 50, step: float = 1.0, random_state: Any = None
) -> Positions:
    """Choose rows that make a linear model better on the evaluation rows, greedily.

    Parameters
    ----------
    split : Split
    budget : int or float
        Rows to keep, as a count or as a fraction.
    rounds : int
        Times that the model is moved and the gains are computed anew.
    step : float
        Of the model, along the mean gradient of the rows kept, over the features' mean squared length.
    random_state : ignored
        The choice is not random; of equal rows the earlier is kept.

    Returns
    -------
    ndarray
        Sorted positions among the training rows.
    """
    check(RULES, {"rounds": rounds, "step": step})
    size = resolve_budget(budget, split.n_rows)
    X, (X_val, y_val) = _with_ones(split.X), split.evaluation
    X_val = _with_ones(X_val)
    targets, wanted = _targets(split, split.y), _targets(split, y_val)
    length = float(X.multiply(X).sum() if sparse.issparse(X) else (X * X).sum()) / X.shape[0]
    model = np.zeros((X.shape[1], targets.shape[1]))
    taken, chosen = np.zeros(split.n_rows, dtype=bool), np.empty(0, dtype=np.int64)
    for part in np.array_split(np.arange(size), min(rounds, size)):
        residuals = _answers(split, X @ model) - targets
        downhill = X_val.T @ (_answers(split, X_val @ model) - wanted)
        gains = np.einsum("ij,ij->i", residuals, np.asarray(X @ downhill))
        gains[taken] = -np.inf
        chosen = np.append(chosen, np.argsort(-gains, kind="stable")[: len(part)])
        taken[chosen] = True
        gradient = X[chosen].T @ residuals[chosen] / len(chosen)
        model -= step / length * np.asarray(gradient)
    return np.sort(chosen)


def _with_ones(X: Features) -> Features:
    one = np.ones((X.shape[0], 1))
    if sparse.issparse(X):
        return sparse.hstack([X, one], format="csr")
    return np.concatenate([np.asarray(X, dtype=np.float64), one], axis=1)


def _targets(split: Split, y: Any) -> Vector:
    if split.task == "regression":
        return np.asarray(y - split.y.mean(), dtype=np.float64)[:, None]
    # a class that no training row has is wanted of no one
    return np.asarray(np.eye(split.n_classes + 1)[y][:, :-1])


def _answers(split: Split, scores: Any) -> Vector:
    return np.asarray(scores if split.task == "regression" else softmax(scores, axis=1))
