"""Logistic regression with an L2 penalty, trained to its optimum, many models at once.

Each model minimises, over weights W and intercepts b of the classes its training set has,

    C Σᵢ cᵢ [log Σₖ exp fᵢₖ − fᵢ,yᵢ] + ½ ‖W‖²,    f = X W + b,

cᵢ being how often row i occurs: scikit-learn's ``LogisticRegression``. Two classes are scikit-learn's
single-vector form, which is this one at C/2.

The steps are those of :mod:`cdvm.learners.batched.softmax`, in single precision; a model that does not
converge so is trained again in double.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm.data.split import Features, Split
from cdvm.errors import InputError
from cdvm.learners.base import Learner, Trainer, class_counts
from cdvm.learners.batched.lbfgs import minimise
from cdvm.learners.batched.linear import MEMORY_LIMIT, Batch, Floats, Geometry, batches, fill_absent, winners
from cdvm.learners.batched.softmax import OWN_SYSTEMS, Problem, SharedProblem, Table
from cdvm.sampling import Subsets

__all__ = ["LogisticLearner"]

_TABLES_AT_ONCE = 64
_SHARED = (
    2.5  # with two classes and few features, models on n / 2.5 rows or more are fitted on the whole table
)
_PRODUCTS = 12.0  # what a multiplication of a product costs, measured in those of an inverse
_SEPARATED = 0.05  # a table whose optimum is less in doubt says little of the optimum on a part of it


class LogisticLearner(Learner):
    """Converged L2-penalised logistic regression, binary or multinomial.

    Parameters
    ----------
    C : float
        Inverse of the penalty's strength, as in scikit-learn.
    fit_intercept : bool
    tol : float
        A model is done when a step would change no logit of its rows, and its weights in norm, by more than
        this fraction.

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
    link = "logistic"

    def __init__(self, split: Split, X: Features, learner: LogisticLearner) -> None:
        super().__init__(split, X)
        self.learner = learner
        self.geometry = Geometry(split, X, center=learner.fit_intercept, dtype=np.float32)
        self._inverses: dict[float, Floats] = {}

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

        # what the table's optimum says is asked only where a set is large enough to use it
        whole = self._whole if subsets.sizes.max(initial=0) >= self._large else np.inf
        for batch in batches(subsets, bytes_of, step=16, whole=whole):
            yield batch, present[batch.models]

    def _decide(self, batch: Batch, present: NDArray[np.bool_]) -> Floats:
        """Logits of shape (n_models, K, n_answers); a pair of classes gets the log-odds of each."""
        fit = self._fit_shared if self._shares_table(batch.width) else self._fit_apart
        coefficients, intercepts = fit(batch, present)
        pair = present.sum(axis=1) == 2
        coefficients[pair] *= 2
        intercepts[pair] *= 2
        logits = self.geometry.answers(batch, coefficients, intercepts, dual=self._is_dual(batch.width))
        fill_absent(logits, present)
        return logits

    @cached_property
    def _large(self) -> float:
        """Rows from which on fitting a model on the whole table may save time."""
        n, table = self.split.n_rows, self.geometry.table
        K, r = self.split.n_classes, min(n, self.geometry.n_features)
        if table is None or 4 * table.size > MEMORY_LIMIT:
            return np.inf
        if r < OWN_SYSTEMS:
            return n / _SHARED if K == 2 and not self.geometry.is_dual(int(n / _SHARED)) else np.inf
        # products with rows that are left out, against an inverse for every model
        sizes = np.arange(1, n + 1)
        saves = np.minimum(sizes, r) ** 3.0 >= _PRODUCTS * K * r * (n - sizes)
        return max(int(sizes[saves][0]), n / 10)

    @cached_property
    def _whole(self) -> float:
        """Rows from which on a model is fitted on the whole table; needs the optimum there."""
        common = self._large < np.inf and self._table[0].outer is None
        return np.inf if common and self._table[0].wrong <= _SEPARATED else self._large

    def _shares_table(self, width: int) -> bool:
        return width == self.split.n_rows and self._whole < np.inf

    def _is_dual(self, width: int) -> bool:
        return self.geometry.is_dual(width) and not self._shares_table(width)

    def _fit_shared(self, batch: Batch, present: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Coefficients and intercepts of models on a large part of the table, fitted on all of it."""
        n_models, n = len(present), self.split.n_rows
        place = np.arange(n_models)[:, None] * n + batch.rows
        counts: Floats = np.zeros((n_models, n))
        counts += np.bincount(place.ravel(), batch.counts.ravel(), n_models * n).reshape(n_models, n)
        table, turn = self._table
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
        parts = {f.name: getattr(plain, f.name) for f in fields(plain)} | {"design": table.design}
        problem = SharedProblem(**parts, table=table)
        coefficients = np.zeros((*present.shape, table.optimum.shape[1] - 1))
        intercepts, done = np.zeros(present.shape), np.zeros(n_models, dtype=bool)
        # a model's arithmetic must not depend on its neighbours: those of about one size have one inverse
        sizes = np.round(2 * np.log2(counts.sum(axis=1) / n))
        for size in np.unique(sizes).tolist():
            alike = sizes == size
            mine = replace(problem.keep(alike), common=self._inverse(size))
            coefficients[alike], intercepts[alike], done[alike] = minimise(mine, self.learner.tol)
        coefficients = coefficients if turn is None else coefficients @ turn
        for k in np.flatnonzero(~done):
            one = np.arange(n_models) == k
            coefficients[one], intercepts[one] = self._fit_apart(batch[one], present[one])
        return coefficients, intercepts

    @cached_property
    def _table(self) -> tuple[Table, Floats | None]:
        """The optimum on all rows and what else models on large parts of them fraction.

        Where there are more features than rows, the table is turned into the rows' own space; the second
        item turns coefficients back.
        """
        rows, turn = np.asarray(self.geometry.table), None
        if self.geometry.is_dual(len(rows)):
            left, size, turn = np.linalg.svd(rows, full_matrices=False)
            real = size > 1e-6 * size[0]
            rows, turn = (left * size)[:, real], turn[real]
        present = np.ones((1, self.split.n_classes), dtype=bool)
        counts = np.ones((1, self.split.n_rows))
        weights, targets = self._weights(counts, self.split.y[None], present)
        problem = Problem.of(
            rows[None],
            targets,
            weights,
            present,
            dual=False,
            intercept=self.learner.fit_intercept,
            dtype=np.float64,
        )
        return Table.of(problem, np.float32), turn

    def _inverse(self, size: float) -> Floats | None:
        """The preconditioner of models on 2^(size / 2) of the table; None where each makes its own."""
        table, _ = self._table
        if table.outer is not None:
            return None
        if size not in self._inverses:
            self._inverses[size] = table.inverse(2 ** (size / 2), self.learner.fit_intercept)
        return self._inverses[size]

    def _weights(
        self, counts: Floats, codes: NDArray[Any], present: NDArray[np.bool_]
    ) -> tuple[Floats, Floats]:
        """Weights (n, 1, s) of the rows, and the same (n, K, s) at each row's class."""
        C = np.where(present.sum(axis=1) == 2, self.learner.C / 2, self.learner.C)
        weights = (C[:, None] * counts)[:, None, :]
        targets = np.where(codes[:, None, :] == np.arange(present.shape[1])[:, None], weights, 0.0)
        return weights, targets

    def _fit_apart(self, batch: Batch, present: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        dual = self._is_dual(batch.width)
        design = self.geometry.gram(batch) if dual else self.geometry.rows(batch)
        weights, targets = self._weights(batch.counts, self.split.y[batch.rows], present)
        coefficients = np.zeros((*present.shape, design.shape[2]))
        intercepts = np.zeros(present.shape)
        todo = np.arange(len(present))
        start: Floats | None = None
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
            coefficients[todo], intercepts[todo], done = minimise(problem, self.learner.tol, start)
            todo = todo[~done]
            if not todo.size:
                break
            start = np.concatenate([coefficients[todo], intercepts[todo, :, None]], axis=2)
            start[~np.isfinite(start).all(axis=(1, 2))] = 0.0
        return coefficients, intercepts
