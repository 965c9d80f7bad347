"""What removing a row does to a trained model, to first order (Koh and Liang, 2017).

A model minimises ``J(θ) = (1/n) Σ_i ℓ_i(θ) + penalty``. With g_i the gradient of row *i*'s loss and H the
Hessian of J, damping·I added::

    parameters move by        I_i  = (1/n) H⁻¹ g_i     when row i is removed
    evaluation row j's loss rises by   T_ij = g_jᵀ I_i

and a row's value is the mean of T_ij over the evaluation rows: what the row's removal would cost. As H is
symmetric, one system gives all values: H s = mean of the evaluation rows' g_j, then value_i = g_iᵀs / n.

Linear models are trained to their optimum and their Hessian is exact
(:mod:`cdvm.valuation.influence_linear`); modules of PyTorch are trained as their learner says and met with
conjugate gradients (:mod:`cdvm.valuation.influence_torch`).
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm.attribution.base import MatrixAttribution
from cdvm.data.split import Split
from cdvm.errors import InputError
from cdvm.learners import make_learner
from cdvm.learners.torch import TorchLearner
from cdvm.valuation.base import Values
from cdvm.valuation.influence_linear import fit_linear

__all__ = ["influence", "influence_attribution", "influence_vectors"]


def influence(
    split: Split,
    learner: Any = "logistic",
    *,
    damping: float = 0.01,
    tolerance: float = 1e-5,
    max_iterations: int = 500,
    seed: int = 0,
    progress: bool | None = None,
) -> Values:
    """How much the evaluation rows' mean loss would rise if a row were removed.

    Parameters
    ----------
    split : Split
    learner : str, estimator or Learner
        Logistic regression with an L2 penalty, ridge regression or the ridge classifier; or a
        :class:`~cdvm.learners.TorchLearner`.
    damping : float
        Added to the Hessian's diagonal; 0 is exact where the Hessian can be inverted. A network that stopped
        short of a minimum needs as much as its Hessian is negative.
    tolerance, max_iterations : float, int
        PyTorch only: conjugate gradients stop when the residual is this fraction of the right side.
    seed : int
        PyTorch only: seeds the training.
    progress : bool, optional
        PyTorch only: show a progress bar; by default on a terminal.

    Examples
    --------
    >>> from cdvm import Split
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [2.0], [1.5]]), np.array([0, 0, 1, 1, 0])
    >>> values = influence(Split.from_arrays(X, y, X[:4], y[:4]))
    >>> int(values.values.argmin())  # the row with the wrong label does harm
    4
    """
    _check_number("damping", damping, 0.01)
    _check_number("tolerance", tolerance, 1e-5)
    if isinstance(max_iterations, bool) or not isinstance(max_iterations, Integral) or max_iterations < 1:
        raise InputError(f"max_iterations={max_iterations!r}: use a whole number of at least 1, e.g. 500")
    made = make_learner(learner)
    if isinstance(made, TorchLearner):
        from cdvm.valuation.influence_torch import torch_influence

        values, solved = torch_influence(
            split,
            made,
            damping=float(damping),
            tolerance=float(tolerance),
            max_iterations=int(max_iterations),
            seed=seed,
            progress=progress,
        )
        return Values.of(split, values, "influence", damping=float(damping), **solved)
    n_evaluation = len(split.validation[1])
    fit = fit_linear(split, learner, damping=damping)
    total = (fit.evaluation.T @ fit.evaluation_errors / n_evaluation).reshape(-1, 1)
    direction = fit.solve(total).reshape(-1, fit.width)
    values = np.einsum("nk,nk->n", fit.rows @ direction, fit.errors) / fit.n_rows
    return Values.of(split, values, "influence", damping=float(damping), parameters=fit.n_parameters)


def influence_attribution(
    split: Split, learner: Any = "logistic", *, damping: float = 0.01
) -> MatrixAttribution:
    """How each evaluation row's loss rises when a row is removed: a *T* without subset models.

    Linear models only.
    """
    _check_number("damping", damping, 0.01)
    _ = split.validation
    fit = fit_linear(split, learner, damping=damping)
    evaluation = fit.flat(fit.evaluation, fit.evaluation_errors)
    rows = fit.flat(fit.rows, fit.errors)
    if len(evaluation) <= len(rows):
        return MatrixAttribution(rows @ fit.solve(evaluation.T) / fit.n_rows)
    return MatrixAttribution(fit.solve(rows.T).T @ evaluation.T / fit.n_rows)


def influence_vectors(
    split: Split, learner: Any = "logistic", *, damping: float = 0.01
) -> NDArray[np.float64]:
    """How the parameters move when a row is removed: one vector a row, up to a rotation common to all.

    Linear models only.
    """
    _check_number("damping", damping, 0.01)
    fit = fit_linear(split, learner, damping=damping)
    return np.ascontiguousarray(fit.solve(fit.flat(fit.rows, fit.errors).T).T) / fit.n_rows


def _check_number(name: str, value: Any, example: float) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < np.inf:
        raise InputError(f"{name}={value!r}: use a number of at least 0, e.g. {example}")
