"""A linear model of random features: a relative of networks and kernel machines at a linear model's cost.

A row's features are its columns and ``max(0, Wx + b)``, the latter standardised over the training rows, with
W and b drawn once for all models; of wide tables, images for example, the 128 leading principal components
stand for the columns. A logistic regression (ridge, for regression) of these is trained to its
optimum, many models at once. That is a network with one hidden layer whose first weights stay as they were
drawn (Rahimi and Recht's random features, an extreme learning machine), and approximates a kernel machine:
boundaries are curved, where those of a linear model of the columns are not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import PCA

from cdvm._runtime.parallel import blas_threads
from cdvm.data.split import Features, Split, Task
from cdvm.errors import InputError
from cdvm.learners.base import Learner, Trainer
from cdvm.learners.logistic import LogisticLearner
from cdvm.learners.ridge import RidgeLearner

__all__ = ["RandomFeaturesLearner"]

_COLUMNS = 128  # of a table, or as many components
_SEED = 20_260  # one draw for all: models differ by their rows alone


class RandomFeaturesLearner(Learner):
    """Logistic regression, or ridge, of random features of the rows.

    Parameters
    ----------
    n_features : int
        Random ones, beside the columns.
    C : float
        Inverse of the penalty's strength, as for logistic regression.
    task : {"classification", "regression"}

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2))
    >>> split = Split.from_arrays(X, (X**2).sum(axis=1) < 1.4, random_state=0)
    >>> from cdvm.sampling import Subsets
    >>> rows = Subsets.of([range(300)], split.n_rows)
    >>> RandomFeaturesLearner().predict(split, rows, [[0.0, 0.0], [0.0, 2.5]]).tolist()
    [[1, 0]]
    """

    name = "random_features"

    def __init__(self, n_features: int = 128, C: float = 0.1, task: Task = "classification") -> None:
        if n_features < 1:
            raise InputError(f"n_features={n_features!r}: use a whole number of at least 1")
        self.n_features = int(n_features)
        self.C = float(C)
        self.task = task
        regression = RidgeLearner(alpha=1 / self.C, task="regression")
        self._linear: Learner = regression if task == "regression" else LogisticLearner(self.C)

    def bind(self, split: Split, X: Features) -> Trainer:
        rng = np.random.default_rng([_SEED, int(split.X.shape[1])])
        turn = rng.standard_normal((int(split.X.shape[1]), self.n_features)) / np.sqrt(split.X.shape[1])
        shift = 0.5 * rng.standard_normal(self.n_features)
        rectified = _rectified(split.X, turn, shift)
        middle, scale = rectified.mean(axis=0), rectified.std(axis=0)
        scale[scale == 0] = 1.0
        columns = _leading(split.X)
        rows = _beside(columns(split.X), (rectified - middle) / scale)
        return self._linear.bind(
            replace(split, X=rows), _beside(columns(X), (_rectified(X, turn, shift) - middle) / scale)
        )

    def spec(self) -> dict[str, Any]:
        known = {"n_features": self.n_features, "columns": _COLUMNS, "C": self.C, "task": self.task}
        return {"name": self.name, **known}


def _leading(X: Any) -> Callable[[Any], Any]:
    """What makes the columns, or components with a variance of 1 on average, of rows."""
    if sparse.issparse(X) or min(X.shape) <= _COLUMNS:
        return lambda rows: rows
    with blas_threads(1):  # rounding must not depend on the cores
        found = PCA(_COLUMNS, random_state=_SEED).fit(np.asarray(X, dtype=np.float64))
    unit = np.sqrt(found.explained_variance_.mean()) or 1.0
    return lambda rows: found.transform(np.asarray(rows, dtype=np.float64)) / unit


def _beside(X: Any, features: NDArray[np.float64]) -> Features:
    if sparse.issparse(X):
        return sparse.csr_array(sparse.hstack([X, features]))
    return np.hstack([np.asarray(X, dtype=np.float64), features])


def _rectified(X: Any, turn: NDArray[np.float64], shift: NDArray[np.float64]) -> NDArray[np.float64]:
    product = X @ turn if sparse.issparse(X) else np.asarray(X, dtype=np.float64) @ turn
    return np.asarray(np.maximum(product + shift, 0.0))
