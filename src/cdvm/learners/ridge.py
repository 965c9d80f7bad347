"""Ridge regression and the ridge classifier in closed form, many models at once.

Each model minimises Σᵢ cᵢ (yᵢ − f(xᵢ))² + α ‖w‖² with f(x) = w·x + b, cᵢ being how often row i occurs. With
more features than rows that is one symmetric system in coefficients a of the rows (w = Σ aᵢxᵢ, G their
Gram matrix), otherwise one in the weights:

    [ G + α diag(1/c)  1 ] [a]   [y]        [ XᵀcX + αI  Xᵀc ] [w]   [Xᵀcy]
    [ 1ᵀ               0 ] [b] = [0]   or   [ cᵀX        Σc  ] [b] = [cᵀy ]

The classifier fits +1 for a row's own class and −1 for the others, as scikit-learn's does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm.data.split import Features, Split, Task
from cdvm.errors import InputError
from cdvm.learners.base import Learner, Trainer, class_counts
from cdvm.learners.batched.linear import Batch, Floats, Geometry, batches, fill_absent, winners
from cdvm.sampling import Subsets

__all__ = ["RidgeLearner"]

_EXACT = ("auto", "cholesky", "svd")  # scikit-learn's other solvers stop at a tolerance


class RidgeLearner(Learner):
    """Ridge classifier or ridge regression.

    Parameters
    ----------
    alpha : float
        Strength of the penalty, as in scikit-learn.
    task : {"classification", "regression"}
    fit_intercept : bool

    Examples
    --------
    >>> split = Split.from_arrays([[0.0], [1.0], [2.0]] * 8, [0.0, 2.0, 4.0] * 8, task="regression")
    >>> ridge = RidgeLearner(alpha=1e-9, task="regression")
    >>> ridge.predict(split, Subsets.of([[0, 1, 2, 3, 4]], split.n_rows), np.array([[5.0]])).round(4)
    array([[10.]])
    """

    name = "ridge"

    def __init__(self, alpha: float = 1.0, task: Task = "classification", fit_intercept: bool = True) -> None:
        if not alpha > 0 or not np.isfinite(alpha):
            raise InputError(f"alpha={alpha!r}: use a positive number")
        if task not in ("classification", "regression"):
            raise InputError(f"task={task!r}: use 'classification' or 'regression'")
        self.alpha = float(alpha)
        self.task = task
        self.fit_intercept = bool(fit_intercept)

    @classmethod
    def from_sklearn(cls, estimator: Any) -> RidgeLearner | None:
        """The learner equal to a ``Ridge`` or ``RidgeClassifier``, or None if it asks for something else."""
        from sklearn.linear_model import Ridge, RidgeClassifier

        kind = type(estimator)
        if kind is not Ridge and kind is not RidgeClassifier:
            return None
        given = estimator.get_params()
        alpha = given["alpha"]
        if np.ndim(alpha) != 0 or not 0 < alpha < np.inf or given["solver"] not in _EXACT:
            return None
        if given["positive"] or given.get("class_weight") is not None:
            return None
        task: Task = "regression" if kind is Ridge else "classification"
        return cls(alpha=float(alpha), task=task, fit_intercept=given["fit_intercept"])

    def bind(self, split: Split, X: Features) -> Trainer:
        if self.task != split.task:
            raise InputError(f"ridge {self.task} does not fit a {split.task} split")
        return _RidgeTrainer(split, X, self)

    def spec(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "alpha": self.alpha,
            "task": self.task,
            "fit_intercept": self.fit_intercept,
        }


class _RidgeTrainer(Trainer):
    def __init__(self, split: Split, X: Features, learner: RidgeLearner) -> None:
        super().__init__(split, X)
        self.alpha, self.intercept = learner.alpha, learner.fit_intercept
        self.geometry = Geometry(split, X, center=learner.fit_intercept)
        if split.task == "regression":
            self._targets = split.y[None, :]
        else:
            self._targets = np.where(np.arange(split.n_classes)[:, None] == split.y, 1.0, -1.0)

    def _labels(self, subsets: Subsets) -> NDArray[Any]:
        regression = self.split.task == "regression"
        dtype = np.float64 if regression else np.int32
        labels = np.empty((len(subsets), self.X.shape[0]), dtype=dtype)
        for models, values in self._decisions(subsets):
            labels[models] = values[:, 0] if regression else winners(values)
        return labels

    def _scores(self, subsets: Subsets) -> NDArray[np.floating[Any]]:
        if self.split.task == "regression":
            raise InputError("ridge regression gives no class scores: use outcome='correct'")
        scores = np.empty((len(subsets), self.X.shape[0], self.split.n_classes), dtype=np.float32)
        for models, values in self._decisions(subsets):
            scores[models] = values.transpose(0, 2, 1)
        return scores

    def _decisions(self, subsets: Subsets) -> Iterator[tuple[NDArray[np.int64], Floats]]:
        """Positions of models and their decision values (n_models, K, n_answers)."""
        K, m, d = len(self._targets), int(self.X.shape[0]), self.geometry.n_features

        def bytes_of(width: int) -> int:
            side = min(width, d) + 1
            return 8 * (3 * side**2 + 3 * width * d + (width + K) * m + 4 * K * side)

        for batch in batches(subsets, bytes_of):
            dual = self.geometry.is_dual(batch.width)
            coefficients, intercepts = self._dual(batch) if dual else self._primal(batch)
            values = self.geometry.answers(batch, coefficients, intercepts)
            if self.split.task == "classification":
                fill_absent(values, class_counts(self.split, subsets[batch.models]) > 0)
            yield batch.models, values

    def _dual(self, batch: Batch) -> tuple[Floats, Floats]:
        n, s = batch.rows.shape
        inside = batch.counts > 0
        system = np.zeros((n, s + 1, s + 1))
        system[:, :s, :s] = self.geometry.gram(batch) * (inside[:, :, None] & inside[:, None, :])
        system[:, np.arange(s), np.arange(s)] += np.where(inside, self.alpha / np.maximum(batch.counts, 1), 1)
        if self.intercept:
            system[:, :s, s] = system[:, s, :s] = inside
        else:
            system[:, s, s] = 1
        right = np.zeros((n, s + 1, len(self._targets)))
        right[:, :s] = (self._targets[:, batch.rows] * inside).transpose(1, 2, 0)
        return _solve(system, right)

    def _primal(self, batch: Batch) -> tuple[Floats, Floats]:
        rows = self.geometry.rows(batch)
        n, _, d = rows.shape
        weighted = (rows * batch.counts[:, :, None]).transpose(0, 2, 1)
        system = np.zeros((n, d + 1, d + 1))
        system[:, :d, :d] = weighted @ rows
        system[:, np.arange(d), np.arange(d)] += self.alpha
        targets = self._targets[:, batch.rows].transpose(1, 2, 0)
        right = np.zeros((n, d + 1, len(self._targets)))
        right[:, :d] = weighted @ targets
        if self.intercept:
            system[:, :d, d] = system[:, d, :d] = weighted.sum(axis=2)
            system[:, d, d] = batch.counts.sum(axis=1)
            right[:, d] = np.einsum("ij,ijk->ik", batch.counts, targets)
        else:
            system[:, d, d] = 1
        return _solve(system, right)


def _solve(system: Floats, right: Floats) -> tuple[Floats, Floats]:
    solution = np.linalg.solve(system, right).transpose(0, 2, 1)
    return np.ascontiguousarray(solution[:, :, :-1]), solution[:, :, -1].copy()
