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
from cdvm.optimize.conditions import Conditions
from cdvm.optimize.solvers.projection import project

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
    importance : array of n_evaluation numbers, optional
        What an evaluation row counts; 1 by default.
    conditions : Conditions, optional
        What the rows have to fulfil besides the budget, which is what may be spent where rows have costs.

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
    importance: Vector | None
    conditions: Conditions | None

    def __init__(
        self,
        attribution: Any,
        budget: float,
        alpha: float = 0.5,
        kappa: float | Literal["auto"] = "auto",
        importance: Any = None,
        conditions: Conditions | None = None,
    ) -> None:
        set_ = object.__setattr__
        set_(self, "attribution", as_attribution(attribution))
        set_(self, "conditions", conditions)
        set_(self, "importance", _check_importance(importance, self.n_evaluation))
        if conditions is not None and conditions.n_rows != self.n_rows:
            raise InputError(f"conditions are on {conditions.n_rows} rows and T has {self.n_rows}")
        spending = conditions is not None and conditions.costs is not None
        set_(self, "budget", _check_spending(budget) if spending else resolve_budget(budget, self.n_rows))
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
        """T1: what each row adds to all evaluation rows together, each as important as it is."""
        if self.importance is not None:
            return self.attribution.matvec(self.importance)
        return self.attribution.row_sums()

    @cached_property
    def rewards(self) -> Vector:
        """What each row earns before anything is taken away: alpha·T1."""
        return self.alpha * self.gains

    # Numbers here, one for each evaluation row or row in a program with conditions.
    @property
    def penalties(self) -> Any:
        """What an evaluation row's influence beyond its cap costs: 1 − alpha."""
        return (1.0 - self.alpha) * (1.0 if self.importance is None else self.importance)

    @property
    def caps(self) -> Any:
        """Influence on an evaluation row that is enough: kappa."""
        return self.kappa

    @property
    def upper(self) -> Any:
        """The largest weight of a row."""
        return 1.0

    @property
    def whole(self) -> bool:
        """Whether the budget is all rows, so that there is nothing to choose."""
        return self.n_needed == self.n_rows

    @cached_property
    def n_needed(self) -> int:
        """Rows that the budget is enough for: the budget itself, or the cheapest that it buys."""
        costs = None if self.conditions is None else self.conditions.costs
        if costs is None:
            return self.budget
        return max(1, int(np.searchsorted(np.cumsum(np.sort(costs)), self.budget, side="right")))

    def importance_or_one(self) -> Vector:
        """The importance of every evaluation row."""
        return np.ones(self.n_evaluation) if self.importance is None else self.importance

    def middle(self) -> Vector:
        """Multipliers to start from."""
        return np.full(self.n_evaluation, 0.5 * self.penalties)

    def level(self, reduced: NDArray[Any]) -> float:
        """The reduced gain of the last row that the budget has room for."""
        return float(np.partition(reduced, self.n_rows - self.budget)[self.n_rows - self.budget])

    def restricted(self, rows: NDArray[Any], block: NDArray[np.float64]) -> Program:
        """The same program on some rows only, whose block of T is known."""
        return Program(MatrixAttribution(block), self.budget, self.alpha, self.kappa, self.importance)

    def project(self, point: NDArray[Any], shift: float | None = None) -> tuple[Vector, float]:
        """The nearest weights, and the shift that gives them."""
        return project(point, self.budget, shift, self.upper)

    def uniform(self) -> Vector:
        """Feasible weights that prefer no row."""
        return np.full(self.n_rows, self.budget / self.n_rows)

    def greedy(self) -> Vector:
        """Feasible weights of the largest total reward."""
        weights = np.zeros(self.n_rows)
        weights[np.argpartition(-self.rewards, self.budget - 1)[: self.budget]] = 1.0
        return weights

    def default_kappa(self) -> float:
        """The paper's default, max T + S · mean T, and never below 0."""
        mean = float(self.attribution.row_sums().sum()) / (self.n_rows * self.n_evaluation)
        return max(0.0, self.attribution.max() + self.n_needed * mean)

    def replace(self, **changes: Any) -> Program:
        """The same program with another budget, alpha or kappa; what T1 cost is not paid again."""
        other = replace(self, **changes)
        if not changes.keys() & {"attribution", "importance"} and "gains" in self.__dict__:
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
        excess = np.maximum(influence - self.kappa, 0.0)
        if self.importance is not None:
            influence, excess = self.importance * influence, self.importance * excess
        return float(self.alpha * influence.sum() - (1.0 - self.alpha) * excess.sum())

    def bound(self, multipliers: NDArray[Any]) -> float:
        """Upper bound on every feasible objective, from multipliers clipped into [0, 1 − alpha].

        Where the budget is all rows there is one feasible objective, and no other bound is as good.
        """
        if self.whole:
            return self.objective(np.ones(self.n_rows))
        lam = np.clip(np.asarray(multipliers, dtype=np.float64), 0.0, self.penalties)
        return self.bound_at(lam, self.reduced_gains(lam))

    def reduced_gains(self, multipliers: NDArray[Any]) -> Vector:
        """``alpha·T1 − Tλ``: what a row is worth where an evaluation row's influence costs λ."""
        return np.asarray(self.rewards - self.attribution.matvec(multipliers))

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
        return _sum_of_largest(total, self.n_needed) or 1.0


def _check_spending(budget: Any) -> float:
    if isinstance(budget, bool) or not isinstance(budget, Real) or not 0 < float(budget) < np.inf:
        raise InputError(f"budget={budget!r}: where rows have costs, use what may be spent, above 0")
    return float(budget)


def _check_importance(importance: Any, n_evaluation: int) -> Vector | None:
    if importance is None:
        return None
    found = np.asarray(importance, dtype=np.float64)
    if found.shape != (n_evaluation,) or not np.isfinite(found).all() or (found < 0).any():
        raise InputError(
            f"importance: use {n_evaluation} finite numbers of at least 0, one for each evaluation row"
        )
    return found


def _sum_of_largest(values: NDArray[Any], count: int) -> float:
    return float(np.partition(values, len(values) - count)[len(values) - count :].sum())
