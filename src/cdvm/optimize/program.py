"""The program that chooses the rows.

With attribution *T* (rows × evaluation rows), budget *S*, trade-off *alpha* and cap *kappa*, CDVM finds
weights *w*::

    maximise   alpha · Σ_j v_j − (1 − alpha) · Σ_j max(v_j − kappa, 0),     v = Tᵀw
    subject to Σ_i w_i = S,  0 ≤ w_i ≤ 1            (w_i ∈ {0, 1} in the exact program)

The excess over kappa is taken away, so influence heaped on one evaluation row is worth nothing and every
evaluation row gets covered. Since (1 − alpha)·max(x, 0) = max over 0 ≤ λ ≤ 1 − alpha of λx, any such
multipliers give an upper bound in closed form::

    bound(λ) = (sum of the S largest entries of alpha·T1 − Tλ) + kappa · Σλ  ≥  every feasible objective

so the quality of any solution can be certified, whoever found it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cdvm.attribution.base import Attribution, MatrixAttribution, as_attribution
from cdvm.errors import InputError

__all__ = ["Program", "check_alpha", "check_kappa", "resolve_budget"]

Vector = NDArray[np.float64]


def resolve_budget(budget: float, n_rows: int) -> int:
    """Rows to keep, from a count (an integer) or a fraction of all rows (a fraction).

    >>> resolve_budget(0.05, 1000), resolve_budget(50, 1000)
    (50, 50)
    """
    if isinstance(budget, bool) or not isinstance(budget, Real):
        raise InputError(f"budget={budget!r}: use a number of rows or a fraction between 0 and 1")
    if isinstance(budget, Integral):
        if not 1 <= budget <= n_rows:
            raise InputError(f"budget={budget}: use at least 1 row and at most the {n_rows} there are")
        return int(budget)
    if not 0 < float(budget) <= 1:
        raise InputError(
            f"budget={budget!r}: a fraction must lie between 0 and 1; for a number of rows pass an integer"
        )
    return max(1, round(float(budget) * n_rows))


def check_alpha(alpha: Any) -> float:
    """A trade-off between 0 and 1, as a float."""
    if isinstance(alpha, bool) or not isinstance(alpha, Real) or not 0 <= float(alpha) <= 1:
        raise InputError(f"alpha={alpha!r}: use a number between 0 and 1")
    return float(alpha)


def check_kappa(kappa: Any) -> float | Literal["auto"]:
    """A cap of at least 0, or ``"auto"``."""
    if isinstance(kappa, str) and kappa == "auto":
        return "auto"
    if isinstance(kappa, bool) or not isinstance(kappa, Real) or not 0 <= float(kappa) < np.inf:
        raise InputError(f"kappa={kappa!r}: use a finite number of at least 0, or 'auto'")
    return float(kappa)


@dataclass(frozen=True, eq=False, init=False)
class Program:
    """One CDVM program: an attribution, a budget and the two parameters.

    Parameters
    ----------
    attribution : Attribution, ndarray or sparse matrix of shape (n_rows, n_evaluation)
    budget : int or float
        Rows to keep, as a count or as a fraction.
    alpha : float in [0, 1]
    kappa : float >= 0 or "auto"
        ``"auto"`` is max T + S · mean T.

    Examples
    --------
    Two clusters, the first with two rows; a budget of two keeps one row of each:

    >>> import numpy as np
    >>> program = Program(np.array([[0.5, 0.0], [0.5, 0.0], [0.0, 0.4]]), budget=2, kappa=0.4)
    >>> float(program.objective(np.array([1.0, 1.0, 0.0])))
    0.2
    >>> float(program.objective(np.array([1.0, 0.0, 1.0])))
    0.4
    """

    attribution: Attribution
    budget: int
    alpha: float
    kappa: float

    def __init__(
        self,
        attribution: Any,
        budget: float,
        alpha: float = 0.5,
        kappa: float | Literal["auto"] = "auto",
    ) -> None:
        set_ = object.__setattr__
        set_(self, "attribution", as_attribution(attribution))
        set_(self, "budget", resolve_budget(budget, self.n_rows))
        set_(self, "alpha", check_alpha(alpha))
        set_(self, "kappa", self.default_kappa() if check_kappa(kappa) == "auto" else float(kappa))

    @property
    def n_rows(self) -> int:
        return self.attribution.shape[0]

    @property
    def n_evaluation(self) -> int:
        return self.attribution.shape[1]

    @cached_property
    def gains(self) -> Vector:
        """T1: what each row adds to all evaluation rows together."""
        return self.attribution.row_sums()

    def default_kappa(self) -> float:
        """The paper's default, max T + S · mean T, and never below 0."""
        mean = float(self.attribution.row_sums().sum()) / (self.n_rows * self.n_evaluation)
        return max(0.0, self.attribution.max() + self.budget * mean)

    def replace(self, **changes: Any) -> Program:
        """The same program with another budget, alpha or kappa; what T1 cost is not paid again."""
        other = replace(self, **changes)
        if "attribution" not in changes and "gains" in self.__dict__:
            other.__dict__["gains"] = self.gains
        return other

    def densified(self) -> Program:
        """The same program on T as an array."""
        if isinstance(self.attribution, MatrixAttribution) and not sparse.issparse(self.attribution.matrix):
            return self
        return self.replace(attribution=MatrixAttribution(self.attribution.dense()))

    def influence(self, weights: NDArray[Any]) -> Vector:
        """V = Tᵀw, what each evaluation row gets."""
        return self.attribution.rmatvec(weights)

    def objective(self, weights: NDArray[Any]) -> float:
        """The objective at given weights."""
        return self.objective_at(self.influence(weights))

    def objective_at(self, influence: NDArray[Any]) -> float:
        """The objective where every evaluation row gets ``influence``."""
        excess = np.maximum(influence - self.kappa, 0.0).sum()
        return float(self.alpha * influence.sum() - (1.0 - self.alpha) * excess)

    def bound(self, multipliers: NDArray[Any]) -> float:
        """Upper bound on every feasible objective, from multipliers clipped into [0, 1 − alpha].

        Where the budget is all rows there is one feasible objective, and no other bound is as good.
        """
        if self.budget == self.n_rows:
            return self.objective(np.ones(self.n_rows))
        lam = np.clip(np.asarray(multipliers, dtype=np.float64), 0.0, 1.0 - self.alpha)
        return self.bound_at(lam, self.reduced_gains(lam))

    def reduced_gains(self, multipliers: NDArray[Any]) -> Vector:
        """``alpha·T1 − Tλ``: what a row is worth where an evaluation row's influence costs λ."""
        return np.asarray(self.alpha * self.gains - self.attribution.matvec(multipliers))

    def bound_at(self, multipliers: NDArray[Any], reduced: NDArray[Any]) -> float:
        """The bound of multipliers in [0, 1 − alpha] whose :meth:`reduced_gains` are known."""
        return _sum_of_largest(reduced, self.budget) + self.kappa * float(multipliers.sum())

    def gap(self, objective: float, bound: float) -> float:
        """Relative distance between an objective and a bound.

        Around an optimum of 0 a ratio means nothing; there, a millionth of the largest total gain of any
        ``budget`` rows serves as the measure, losses counted as gains.
        """
        return max(0.0, bound - objective) / max(abs(bound), abs(objective), 1e-6 * self._scale)

    @cached_property
    def _scale(self) -> float:
        # gains and losses of a row may cancel, and what rounding leaves of them measures nothing
        matrix = getattr(self.attribution, "matrix", None)
        total = np.abs(self.gains) if matrix is None else np.asarray(np.abs(matrix).sum(axis=1))
        return _sum_of_largest(total, self.budget) or 1.0


def _sum_of_largest(values: NDArray[Any], count: int) -> float:
    return float(np.partition(values, len(values) - count)[len(values) - count :].sum())
