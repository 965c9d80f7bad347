"""The derivatives of a linear model at its optimum, and systems with its Hessian.

A linear model with decision values ``f = XW + b`` minimises

    J(θ) = (1/n) Σ_i ℓ(f_i, y_i) + (λ/2) ‖W‖²,

the logistic loss with λ = 1/(nC), or half the squared error with λ = alpha/n. Row *i* has the gradient
``x̃_i ⊗ e_i`` (x̃ the row with a 1 appended, e the derivative of ℓ by f: probability less truth, or the
residual) and the Hessian is ``H = (1/n) Σ_i x̃_i x̃_iᵀ ⊗ Λ_i + λI + damping·I``, without λ for intercepts.

Nothing leaves the span of the training rows, so more features than rows are first rotated into it; softmax
gradients sum to 0 over the classes, so K classes need K − 1 coordinates. What is left is factorised or,
where that is too large, solved by conjugate gradients.

Products of a training set with a few vectors are too small to share between BLAS threads: on a busy
machine waiting for each other takes them many times longer than one needs alone. Only large factorisations
get more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import linalg, sparse
from scipy.special import expit, softmax
from threadpoolctl import threadpool_limits

from cdvm.data.split import Split
from cdvm.errors import InputError
from cdvm.learners import make_learner
from cdvm.learners.sklearn import SklearnLearner

__all__ = ["LinearFit", "fit_linear"]

Matrix = NDArray[np.float64]

_DOUBLE = 2000  # parameters up to which the Hessian is factorised in double precision,
_SINGLE = 16_000  # and in single precision, refined to double: 1 GB
_DENSE_ENTRIES = 1 << 28  # features held as an array: 2 GB
_RTOL = 1e-9


@dataclass(frozen=True, eq=False)
class LinearFit:
    """A trained linear model as far as influence needs it.

    Attributes
    ----------
    rows, evaluation : ndarray of shape (n, p), (m, p)
        Features in the span of the training rows, the last column 1 where there is an intercept.
    errors, evaluation_errors : ndarray of shape (n, k), (m, k)
        Derivative of each loss by the decision values.
    curvature : ndarray of shape (n, k, k) or None
        Second derivative Λ; None where it is the identity (squared loss).
    diagonal : ndarray of shape (p,)
        Penalty and damping of each feature.
    """

    rows: Matrix
    evaluation: Matrix
    errors: Matrix
    evaluation_errors: Matrix
    curvature: Matrix | None
    diagonal: Matrix

    @property
    def n_rows(self) -> int:
        return len(self.rows)

    @property
    def width(self) -> int:
        """Parameters a feature has."""
        return int(self.errors.shape[1])

    @property
    def n_parameters(self) -> int:
        return int(self.rows.shape[1]) * self.width

    @staticmethod
    def flat(features: Matrix, errors: Matrix) -> Matrix:
        """Gradients x̃ ⊗ e, one a row."""
        return np.asarray(np.einsum("np,nk->npk", features, errors).reshape(len(features), -1))

    def solve(self, right: Matrix) -> Matrix:
        """H⁻¹ times the columns of ``right``, shape (n_parameters, columns)."""
        large = self.n_parameters > _DOUBLE and right.shape[1] > 1
        with threadpool_limits(limits=None if large else 1, user_api="blas"):
            return self._solve(right)

    def _solve(self, right: Matrix) -> Matrix:
        if self.curvature is None:
            blocks = right.reshape(self.rows.shape[1], -1)
            return _definite_solve(self.preconditioner.copy(), blocks).reshape(right.shape)
        if self.n_parameters <= _DOUBLE:
            return _definite_solve(self._hessian(np.float64), right)
        if self.n_parameters <= _SINGLE and right.shape[1] > 1:
            refined = self._refined(right)
            if refined is not None:
                return refined
        return self._conjugate_gradients(right)

    def _refined(self, right: Matrix) -> Matrix | None:
        """Solve in single precision and correct by the residual in double; None if that does not converge."""
        try:
            factor = linalg.cho_factor(self._hessian(np.float32).T, lower=True, overwrite_a=True)
        except linalg.LinAlgError:
            return None
        solution, residual = np.zeros_like(right), right
        scale = np.linalg.norm(right, axis=0)
        for _ in range(10):
            solution += linalg.cho_solve(factor, residual.astype(np.float32), overwrite_b=True)
            residual = right - self.product(solution)
            if (np.linalg.norm(residual, axis=0) <= _RTOL * scale).all():
                return solution
        return None

    @cached_property
    def preconditioner(self) -> Matrix:
        """The Hessian with every Λ_i replaced by its mean eigenvalue: one block serves all k."""
        strength = 1.0 if self.curvature is None else np.trace(self.curvature, axis1=1, axis2=2) / self.width
        weighted = self.rows * np.reshape(strength, (-1, 1))
        return np.asarray(weighted.T @ self.rows / self.n_rows + np.diag(self.diagonal))

    def _hessian(self, dtype: DTypeLike) -> NDArray[Any]:
        p, k = self.rows.shape[1], self.width
        hessian = np.empty((p, k, p, k), dtype=dtype)
        rows, curvature = self.rows.astype(dtype), np.asarray(self.curvature, dtype=dtype) / self.n_rows
        for a in range(k):
            for b in range(a + 1):
                block = (rows * curvature[:, a, b, None]).T @ rows
                if a == b:
                    block[np.diag_indices(p)] += self.diagonal
                hessian[:, a, :, b] = block
                hessian[:, b, :, a] = block
        return hessian.reshape(p * k, p * k)

    def product(self, right: Matrix) -> Matrix:
        """H times the columns of ``right``."""
        p, k = self.rows.shape[1], self.width
        blocks = right.reshape(p, -1)
        moved = (self.rows @ blocks).reshape(self.n_rows, k, -1)
        bent = np.matmul(np.asarray(self.curvature), moved).reshape(self.n_rows, -1)
        answer = self.rows.T @ bent / self.n_rows + self.diagonal[:, None] * blocks
        return np.asarray(answer.reshape(right.shape))

    def _conjugate_gradients(self, right: Matrix) -> Matrix:
        """Preconditioned conjugate gradients, every column with its own steps."""
        factor = linalg.cho_factor(self.preconditioner)

        def precondition(residual: Matrix) -> Matrix:
            blocks = residual.reshape(len(self.preconditioner), -1)
            return np.asarray(linalg.cho_solve(factor, blocks).reshape(residual.shape))

        solution, residual = np.zeros_like(right), right.copy()
        scale = np.linalg.norm(right, axis=0)
        moved = precondition(residual)
        direction = moved.copy()
        fall = np.einsum("pc,pc->c", residual, moved)
        for _ in range(10 * len(right)):
            if (np.linalg.norm(residual, axis=0) <= _RTOL * scale).all():
                break
            image = self.product(direction)
            bend = np.einsum("pc,pc->c", direction, image)
            step = np.divide(fall, bend, out=np.zeros_like(fall), where=bend > 0)
            solution += step * direction
            residual -= step * image
            moved = precondition(residual)
            before, fall = fall, np.einsum("pc,pc->c", residual, moved)
            direction = moved + np.divide(fall, before, out=np.zeros_like(fall), where=before > 0) * direction
        return solution


def fit_linear(split: Split, learner: Any = "logistic", *, damping: float = 0.01) -> LinearFit:
    """Train the linear model on all training rows, to convergence, and differentiate it twice."""
    kind, strength, intercept = _recipe(learner)
    if (kind == "ridge_regression") != (split.task == "regression"):
        raise InputError(f"learner={learner!r} does not fit a {split.task} split")
    fit = _fit_logistic if kind == "logistic" else _fit_squares
    with threadpool_limits(limits=1, user_api="blas"):
        train, evaluation = _reduced(split)
        errors, evaluation_errors, curvature, penalty = fit(split, train, evaluation, strength, intercept)
    # a label never seen in training has no loss to speak of
    unseen = (split.evaluation[1] < 0) & (split.classes is not None)
    evaluation_errors = np.where(unseen[:, None], 0.0, evaluation_errors)
    diagonal = np.full(train.shape[1], penalty + float(damping))
    if intercept:
        train, evaluation = (np.column_stack([part, np.ones(len(part))]) for part in (train, evaluation))
        diagonal = np.append(diagonal, float(damping))
    return LinearFit(train, evaluation, errors, evaluation_errors, curvature, diagonal)


def _recipe(learner: Any) -> tuple[str, float, bool]:
    """Kind of linear model, strength of its penalty, and whether it has an intercept."""
    from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier

    made = make_learner(learner)
    # a learner of this library keeps scikit-learn's parameters under scikit-learn's names
    model: Any = made.estimator if isinstance(made, SklearnLearner) else made
    if isinstance(model, LogisticRegression):
        plain = model.get_params()
        penalised = plain.get("penalty") not in ("l1", "elasticnet") and not plain.get("l1_ratio")
        if penalised and model.class_weight is None:
            unpenalised = plain.get("penalty", "l2") is None
            return "logistic", np.inf if unpenalised else float(model.C), bool(model.fit_intercept)
    elif isinstance(model, Ridge | RidgeClassifier) and not model.positive:
        kind = "ridge" if isinstance(model, RidgeClassifier) else "ridge_regression"
        if np.ndim(model.alpha) == 0 and getattr(model, "class_weight", None) is None:
            return kind, float(model.alpha), bool(model.fit_intercept)
    elif made.name == "logistic" and hasattr(made, "C"):
        return "logistic", float(made.C), bool(getattr(made, "fit_intercept", True))
    elif made.name.startswith("ridge") and hasattr(made, "alpha"):
        kind = "ridge_regression" if made.task == "regression" else "ridge"
        return kind, float(made.alpha), bool(getattr(made, "fit_intercept", True))
    raise InputError(
        f"learner={learner!r}: influence needs a model's derivatives, which are known for linear models: "
        "use 'logistic', 'ridge' or 'ridge_regression', or LogisticRegression (L2, no class weights), Ridge "
        "or RidgeClassifier; influence values also work with a cdvm.learners.TorchLearner"
    )


def _reduced(split: Split) -> tuple[Matrix, Matrix]:
    """Training and evaluating features, rotated into the training rows' span if that is smaller."""
    n, d = split.X.shape
    if n * d > _DENSE_ENTRIES:
        raise InputError(
            f"X has {n} rows and {d} features, too many for an exact Hessian: reduce the features first, "
            "e.g. with sklearn.decomposition.TruncatedSVD"
        )
    train, evaluation = (
        np.asarray(part.toarray() if sparse.issparse(part) else part, dtype=np.float64)
        for part in (split.X, split.evaluation[0])
    )
    if d <= n:
        return train, evaluation
    basis, triangle = linalg.qr(train.T, mode="economic", check_finite=False)
    return np.ascontiguousarray(triangle.T), np.asarray(evaluation @ basis)


Derivatives = tuple[Matrix, Matrix, Matrix | None, float]


def _fit_logistic(split: Split, train: Matrix, evaluation: Matrix, C: float, intercept: bool) -> Derivatives:
    from sklearn.linear_model import LogisticRegression

    # Newton steps reach a gradient of 1e-8 where quasi-Newton ones crawl
    model = LogisticRegression(C=C, fit_intercept=intercept, solver="newton-cg", tol=1e-8, max_iter=1000)
    model.fit(train, split.y)
    penalty = 0.0 if np.isinf(C) else 1.0 / (len(train) * C)
    y_evaluation = split.evaluation[1]
    if split.n_classes == 2:
        chance, evaluated = (expit(model.decision_function(part))[:, None] for part in (train, evaluation))
        curvature = (chance * (1.0 - chance))[:, :, None]
        return chance - split.y[:, None], evaluated - y_evaluation[:, None], curvature, penalty
    chance, evaluated = (softmax(model.decision_function(part), axis=1) for part in (train, evaluation))
    truth = np.eye(split.n_classes)
    basis = linalg.helmert(split.n_classes).T  # orthonormal, and orthogonal to moving all classes alike
    curvature = np.einsum("ka,nk,kb->nab", basis, chance, basis)
    turned = chance @ basis
    curvature -= turned[:, :, None] * turned[:, None, :]
    return (chance - truth[split.y]) @ basis, (evaluated - truth[y_evaluation]) @ basis, curvature, penalty


def _fit_squares(
    split: Split, train: Matrix, evaluation: Matrix, alpha: float, intercept: bool
) -> Derivatives:
    from sklearn.linear_model import Ridge

    y_evaluation = split.evaluation[1]
    if split.classes is None:
        target, evaluated = split.y[:, None], y_evaluation[:, None]
    elif split.n_classes == 2:
        target, evaluated = 2.0 * split.y[:, None] - 1.0, 2.0 * y_evaluation[:, None] - 1.0
    else:
        signs = 2.0 * np.eye(split.n_classes) - 1.0
        target, evaluated = signs[split.y], signs[y_evaluation]
    model = Ridge(alpha=alpha, fit_intercept=intercept, solver="cholesky").fit(train, target)
    errors, evaluation_errors = (
        model.predict(part).reshape(aim.shape) - aim
        for part, aim in ((train, target), (evaluation, evaluated))
    )
    return errors, evaluation_errors, None, alpha / len(train)


def _definite_solve(matrix: Matrix, right: Matrix) -> Matrix:
    """Solve by Cholesky factorisation; ``matrix`` is overwritten."""
    try:
        factor = linalg.cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        raise InputError("the Hessian cannot be inverted: use damping > 0, e.g. 0.01") from None
    return np.asarray(linalg.cho_solve(factor, right, check_finite=False))
