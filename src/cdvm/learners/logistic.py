"""Logistic regression with an L2 penalty, trained to its optimum, many models at once.

Each model minimises, over weights W and intercepts b of the classes its training set has,

    C Σᵢ cᵢ [log Σₖ exp fᵢₖ − fᵢ,yᵢ] + ½ ‖W‖²,    f = X W + b,

cᵢ being how often row i occurs: scikit-learn's ``LogisticRegression``. Two classes are scikit-learn's
single-vector form, which is this one at C/2.

The steps are those of :mod:`cdvm.learners.softmax`, in single precision; a model that does not converge so is
trained again in double.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm.errors import InputError
from cdvm.learners.base import Learner, Trainer, class_counts
from cdvm.learners.linear import MEMORY_LIMIT, Batch, Floats, Geometry, batches, fill_absent, winners
from cdvm.learners.softmax import Problem, SharedProblem, Table, minimise
from cdvm.split import Features, Split
from cdvm.subsets import Subsets

__all__ = ["LogisticLearner"]

_TABLES_AT_ONCE = 64
_SHARED = 2.5  # with two classes, models on n / 2.5 rows or more are fitted on the whole table


class LogisticLearner(Learner):
    """Converged L2-penalised logistic regression, binary or multinomial.

    Parameters
    ----------
    C : float
        Inverse of the penalty's strength, as in scikit-learn.
    fit_intercept : bool
    tol : float
        A model is done when a step would change no logit of its rows, and its weights in norm, by more than
        this share.

    Examples
    --------
    >>> split = Split.from_arrays([[0.0], [1.0], [2.0], [3.0]] * 5, ["a", "a", "b", "b"] * 5, random_state=0)
    >>> learner = LogisticLearner(C=10.0)
    >>> learner.predict(split, Subsets.of([range(16)], 16), np.array([[0.5], [2.5]])).tolist()
    [[0, 1]]
    """

    name = "logistic"

    def __init__(self, C: float = 1.0, fit_intercept: bool = True, tol: float = 1e-4) -> None:
        if not C > 0 or not np.isfinite(C):
            raise InputError(f"C={C!r}: use a positive number")
        if not tol > 0:
            raise InputError(f"tol={tol!r}: use a positive number, e.g. 1e-4")
        self.C = float(C)
        self.fit_intercept = bool(fit_intercept)
        self.tol = float(tol)

    @classmethod
    def from_sklearn(cls, estimator: Any) -> LogisticLearner | None:
        """The learner with a ``LogisticRegression``'s optimum, or None if its parameters ask for another."""
        from sklearn.linear_model import LogisticRegression

        if type(estimator) is not LogisticRegression:
            return None
        given = estimator.get_params()
        default = LogisticRegression().get_params()
        # These change the way to the optimum, not the optimum.
        free = {"C", "fit_intercept", "tol", "max_iter", "random_state", "verbose", "n_jobs", "warm_start"}
        free |= {"intercept_scaling"} if given["solver"] != "liblinear" else set()
        smooth = ("lbfgs", "newton-cg", "newton-cholesky", "sag", "saga")
        if given.pop("solver") not in smooth or not np.isfinite(given["C"]):
            return None
        if given.get("penalty") == "l2":
            free.add("penalty")
        if any(given[key] != default[key] for key in given.keys() - free):
            return None
        return cls(C=given["C"], fit_intercept=given["fit_intercept"])

    def bind(self, split: Split, X: Features) -> Trainer:
        if split.task != "classification":
            raise InputError("learner='logistic' fits classes: use learner='ridge_regression' for targets")
        return _LogisticTrainer(split, X, self)

    def spec(self) -> dict[str, Any]:
        return {"name": self.name, "C": self.C, "fit_intercept": self.fit_intercept, "tol": self.tol}


class _LogisticTrainer(Trainer):
    def __init__(self, split: Split, X: Features, learner: LogisticLearner) -> None:
        super().__init__(split, X)
        self.learner = learner
        self.geometry = Geometry(split, X, center=learner.fit_intercept, dtype=np.float32)

    def _labels(self, subsets: Subsets) -> NDArray[Any]:
        labels = np.empty((len(subsets), self.X.shape[0]), dtype=np.int32)
        for batch, present in self._batches(subsets):
            labels[batch.models] = winners(self._decide(batch, present))
        return labels

    def _scores(self, subsets: Subsets) -> NDArray[np.floating[Any]]:
        scores = np.empty((len(subsets), self.X.shape[0], self.split.n_classes), dtype=np.float32)
        for batch, present in self._batches(subsets):
            scores[batch.models] = self._decide(batch, present).transpose(0, 2, 1)
        return scores

    def _batches(self, subsets: Subsets) -> Iterator[tuple[Batch, NDArray[np.bool_]]]:
        present = class_counts(self.split, subsets) > 0
        K, m, d = self.split.n_classes, int(self.X.shape[0]), self.geometry.n_features

        def bytes_of(width: int) -> int:
            if self._shares_table(width):
                # logits of all rows pass through the cache a dozen times an iteration: few models at once
                return max(4 * K * (16 * self.split.n_rows + m), MEMORY_LIMIT // _TABLES_AT_ONCE)
            side = min(width, d)
            held = 5 * side * side + 2 * width * side + K * (30 * width + m)
            return 8 * held + 4 * width * (m + d)

        for batch in batches(subsets, bytes_of, step=16, whole=self._whole):
            yield batch, present[batch.models]

    def _decide(self, batch: Batch, present: NDArray[np.bool_]) -> Floats:
        """Logits of shape (n_models, K, n_answers); a pair of classes gets the log-odds of each."""
        coefficients, intercepts = self._fit(batch, present)
        pair = present.sum(axis=1) == 2
        coefficients[pair] *= 2
        intercepts[pair] *= 2
        logits = self.geometry.answers(batch, coefficients, intercepts)
        fill_absent(logits, present)
        return logits

    def _fit(self, batch: Batch, present: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Coefficients and intercepts; models on a large part of the table are fitted on all of it."""
        shared = np.asarray(present.all(axis=1) & self._shares_table(batch.width))
        if not shared.any():
            return self._fit_apart(batch, present)
        K, d = present.shape[1], self.geometry.n_features
        coefficients, intercepts = np.zeros((len(present), K, d)), np.zeros((len(present), K))
        for which, fit in ((shared, self._fit_shared), (~shared, self._fit_apart)):
            if which.any():
                coefficients[which], intercepts[which] = fit(batch[which], present[which])
        return coefficients, intercepts

    @cached_property
    def _whole(self) -> float:
        """Rows from which on a model is fitted on the whole table."""
        n = self.split.n_rows
        primal = self.geometry.table is not None and not self.geometry.is_dual(int(n / _SHARED))
        return n / _SHARED if primal and self.split.n_classes == 2 else np.inf

    def _shares_table(self, width: int) -> bool:
        return width == self.split.n_rows and self._whole < np.inf

    def _fit_shared(self, batch: Batch, present: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        n_models, n = len(present), self.split.n_rows
        place = np.arange(n_models)[:, None] * n + batch.rows
        counts: Floats = np.zeros((n_models, n))
        counts += np.bincount(place.ravel(), batch.counts.ravel(), n_models * n).reshape(n_models, n)
        table = self._table
        weights, targets = self._weights(counts, np.broadcast_to(self.split.y, counts.shape), present)
        plain = Problem.of(
            np.empty((n_models, 0, 0)),
            targets,
            weights,
            present,
            dual=False,
            intercept=self.learner.fit_intercept,
            dtype=np.float32,
        )
        parts = {f.name: getattr(plain, f.name) for f in fields(plain)}
        problem = SharedProblem(**(parts | {"design": table.design}), table=table)
        coefficients, intercepts, done = minimise(problem, self.learner.tol)
        if not done.all():
            coefficients[~done], intercepts[~done] = self._fit_apart(batch[~done], present[~done])
        return coefficients, intercepts

    @cached_property
    def _table(self) -> Table:
        """The optimum on all rows, and what else models on large parts of them share."""
        present = np.ones((1, self.split.n_classes), dtype=bool)
        counts = np.ones((1, self.split.n_rows))
        weights, targets = self._weights(counts, self.split.y[None], present)
        problem = Problem.of(
            np.asarray(self.geometry.table)[None],
            targets,
            weights,
            present,
            dual=False,
            intercept=self.learner.fit_intercept,
            dtype=np.float64,
        )
        return Table.of(problem, np.float32)

    def _weights(
        self, counts: Floats, codes: NDArray[Any], present: NDArray[np.bool_]
    ) -> tuple[Floats, Floats]:
        """Weights (n, 1, s) of the rows, and the same (n, K, s) at each row's class."""
        C = np.where(present.sum(axis=1) == 2, self.learner.C / 2, self.learner.C)
        weights = (C[:, None] * counts)[:, None, :]
        targets = np.where(codes[:, None, :] == np.arange(present.shape[1])[:, None], weights, 0.0)
        return weights, targets

    def _fit_apart(self, batch: Batch, present: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        dual = self.geometry.is_dual(batch.width)
        design = self.geometry.gram(batch) if dual else self.geometry.rows(batch)
        weights, targets = self._weights(batch.counts, self.split.y[batch.rows], present)
        coefficients = np.zeros((*present.shape, design.shape[2]))
        intercepts = np.zeros(present.shape)
        todo = np.arange(len(present))
        for dtype in (np.float32, np.float64):
            problem = Problem.of(
                design[todo],
                targets[todo],
                weights[todo],
                present[todo],
                dual=dual,
                intercept=self.learner.fit_intercept,
                dtype=dtype,
            )
            coefficients[todo], intercepts[todo], done = minimise(problem, self.learner.tol)
            todo = todo[~done]
            if not todo.size:
                break
        return coefficients, intercepts
