"""Influence pruning: remove the rows whose removal moves the model least (Yang et al., 2022).

With *Z* the influence vectors of all rows (:func:`cdvm.valuation.influence.influence_vectors`), removing rows
moves the parameters by the sum of their vectors. The rows to remove are marked by *r*::

    minimise ‖Zr‖₂    subject to  Σ r = B,  0 ≤ r ≤ 1

For any unit vector u, ‖Zr‖ ≥ uᵀZr, so the sum of the B smallest entries of Zᵀu bounds the optimum from below;
with u along the Zr that was found, this certifies it. A primal-dual interior point method solves the program
in some twenty steps, each a factorisation in the smaller of rows and parameters.

With far fewer parameters than rows, many r reach the optimum, most with every entry a fraction. Among them
the one of smallest Σ rᵢ‖Zᵢ‖ is taken, a linear program with a corner for a solution: all but as many entries
as there are parameters are 0 or 1, and little is lost by rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.optimize import linprog

from cdvm.data.split import Split
from cdvm.errors import InputError
from cdvm.optimize.program import resolve_budget
from cdvm.selectors.base import Positions

__all__ = ["InfluenceProgram", "Removal", "influence_pruning"]

Vector = NDArray[np.float64]

_CORNER_ENTRIES = 150_000  # of Z, up to which the linear program for a corner takes about a second
_NOTHING = 1e-6  # of the length that as many vectors would reach in random directions


def influence_pruning(
    split: Split,
    budget: float,
    *,
    learner: Any = "logistic",
    damping: float = 0.01,
    size: int | None = None,
    reverse: bool = False,
    random_state: Any = None,
) -> Positions:
    """Choose the rows to keep by removing those whose influence on the parameters cancels.

    Parameters
    ----------
    split : Split
    budget : int or float
        Rows to keep, as a count or as a fraction.
    learner : str, estimator or Learner
        A linear model, see :func:`cdvm.valuation.influence.influence`.
    damping : float
        Added to the Hessian's diagonal.
    size : int, optional
        B of the program; by default the rows that are not kept.
    reverse : bool
        Keep the rows the program marks instead of those it does not.
    random_state : ignored
        The choice is not random.

    Returns
    -------
    ndarray
        Sorted positions among the training rows.
    """
    from cdvm.valuation.influence import influence_vectors

    kept = resolve_budget(budget, split.n_rows)
    if kept == split.n_rows and size is None:
        return np.arange(split.n_rows)
    program = InfluenceProgram(influence_vectors(split, learner, damping=damping))
    return program.solve(split.n_rows - kept if size is None else size).keep(kept, reverse=reverse)


@dataclass(frozen=True, eq=False)
class Removal:
    """Solution of an influence program.

    Attributes
    ----------
    weights : ndarray of shape (n_rows,)
        How far each row is marked for removal, between 0 and 1; they sum to ``size``.
    size : int
    norm, bound : float
        ‖Zr‖ and a proven lower bound on it.
    iterations : int
    lengths : ndarray of shape (n_rows,)
        ‖Z_i‖; of rows marked alike, the shorter goes first.
    """

    weights: Vector
    size: int
    norm: float
    bound: float
    iterations: int
    lengths: Vector

    def keep(self, budget: float, *, reverse: bool = False, seed: int | None = None) -> Positions:
        """Sorted positions of the rows least marked (most marked, if ``reverse``).

        Rows marked alike go by the length of their vectors or, with a seed, at random.
        """
        kept = resolve_budget(budget, len(self.weights))
        marked = np.round(self.weights, 9)
        next_ = -self.lengths if seed is None else np.random.default_rng(seed).random(len(marked))
        order = np.lexsort((np.arange(len(marked)), next_, marked))
        return np.sort(order[::-1][:kept] if reverse else order[:kept])


class InfluenceProgram:
    """min ‖Zr‖ over Σr = size, 0 ≤ r ≤ 1, for any number of sizes.

    Parameters
    ----------
    vectors : ndarray of shape (n_rows, n_parameters)
        One influence vector a row.
    tolerance : float
        Relative distance of norm and bound at which to stop.

    Examples
    --------
    Two rows that cancel each other go together:

    >>> program = InfluenceProgram(np.array([[1.0, 0.0], [0.0, 2.0], [0.0, -2.0], [3.0, 1.0]]))
    >>> program.solve(2).weights.round(6)
    array([0., 1., 1., 0.])
    """

    def __init__(self, vectors: NDArray[Any], *, tolerance: float = 1e-7) -> None:
        vectors = np.asarray(vectors, dtype=np.float64)
        if vectors.ndim != 2 or 0 in vectors.shape or not np.isfinite(vectors).all():
            raise InputError("vectors must be a finite array with one influence vector per row")
        self.lengths = np.linalg.norm(vectors, axis=1)
        self._unit = float(self.lengths.max()) or 1.0
        self.vectors = vectors / self._unit
        self.tolerance = tolerance

    @cached_property
    def _gram(self) -> Vector | None:
        """ZᵀZ, where it is smaller than Z."""
        n, p = self.vectors.shape
        return self.vectors @ self.vectors.T if n <= p else None

    def solve(self, size: int) -> Removal:
        """Mark ``size`` rows for removal."""
        n = len(self.vectors)
        if isinstance(size, bool) or not isinstance(size, Integral) or not 1 <= size <= n:
            raise InputError(f"size={size!r}: use a number of rows from 1 to the {n} there are")
        size = int(size)
        if size == n:
            weights, iterations = np.ones(n), 0
        else:
            weights, iterations = self._interior_point(size)
            weights = _feasible(self._corner(weights, size), size)
        norm, bound = self._certify(weights, size)
        return Removal(weights, size, norm * self._unit, bound * self._unit, iterations, self.lengths)

    def _multiply(self, weights: Vector) -> Vector:
        """ZᵀZ times ``weights``."""
        if self._gram is not None:
            return np.asarray(self._gram @ weights)
        return np.asarray(self.vectors @ (weights @ self.vectors))

    def _certify(self, weights: Vector, size: int) -> tuple[float, float]:
        norm = float(np.linalg.norm(weights @ self.vectors))
        if norm == 0.0:
            return 0.0, 0.0
        along = np.sort(self._multiply(weights)) / norm
        return norm, max(0.0, float(along[:size].sum()))

    def _done(self, weights: Vector, size: int) -> bool:
        norm, bound = self._certify(weights, size)
        spread = np.sqrt(size) * float(np.sqrt(np.mean(self.lengths**2))) / self._unit
        return norm - bound <= self.tolerance * norm or norm <= _NOTHING * self.tolerance * spread

    def _factorised(self, barrier: Vector) -> Callable[[Vector], Vector]:
        """A function that solves (ZᵀZ + diag(barrier)) x = b."""
        if self._gram is not None:
            matrix = self._gram + np.diag(barrier)
            factor = linalg.cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)
            return lambda b: linalg.cho_solve(factor, b, check_finite=False)
        scaled = self.vectors / barrier[:, None]
        inner = scaled.T @ self.vectors + np.eye(self.vectors.shape[1])
        factor = linalg.cho_factor(inner, lower=True, overwrite_a=True, check_finite=False)
        return lambda b: b / barrier - scaled @ linalg.cho_solve(factor, scaled.T @ b, check_finite=False)

    def _interior_point(self, size: int) -> tuple[Vector, int]:
        """Mehrotra's predictor and corrector on ½‖Zr‖²."""
        n = len(self.vectors)
        r = np.full(n, size / n)
        gradient = self._multiply(r)
        start = np.full(n, max(float(np.ptp(gradient)), 1e-8))
        at = _Point(r, float(gradient.mean()), start, start)
        for iteration in range(100):
            inside = at.r.min() > 0.0 and at.r.max() < 1.0  # else as far as rounding lets us go
            if not inside or self._done(at.r, size):
                return at.r, iteration
            dual = at.level + at.low - at.high - self._multiply(at.r)
            try:
                solve = self._factorised(at.low / at.r + at.high / (1.0 - at.r))
            except linalg.LinAlgError:  # the same
                return at.r, iteration
            newton = _Newton(at, solve, solve(np.ones(n)), dual, size - float(at.r.sum()))
            ahead = newton.towards(0.0, 0.0)
            gap, reached = at.gap(), at.moved(ahead, 1.0).gap()
            aim = gap * min(1.0, reached / gap) ** 3
            move = newton.towards(aim - ahead.r * ahead.low, aim + ahead.r * ahead.high)
            at = at.moved(move, 0.995)
        return at.r, 100

    def _corner(self, weights: Vector, size: int) -> Vector:
        """Of all r with the same Zr, one that marks short vectors and is whole in most entries."""
        n, p = self.vectors.shape
        if p + 1 >= n or n * p > _CORNER_ENTRIES:
            return weights
        answer = linprog(
            self.lengths / self._unit,
            A_eq=np.vstack([self.vectors.T, np.ones(n)]),
            b_eq=np.append(weights @ self.vectors, size),
            bounds=(0.0, 1.0),
            method="highs-ds",
        )
        if answer.x is None:  # feasible but for rounding: the fractions will do
            return weights
        return np.asarray(answer.x, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _Point:
    """Primal r, multiplier of Σr = size, multipliers of r ≥ 0 and r ≤ 1; or a direction in them."""

    r: Vector
    level: float
    low: Vector
    high: Vector

    def gap(self) -> float:
        """Mean complementarity product."""
        return float(self.r @ self.low + (1.0 - self.r) @ self.high) / (2 * len(self.r))

    def moved(self, move: _Point, fraction: float) -> _Point:
        """Go a fraction of the way to the boundary, but no farther than the whole step."""
        primal = min(1.0, fraction * _reach(self.r, move.r), fraction * _reach(1.0 - self.r, -move.r))
        dual = min(1.0, fraction * _reach(self.low, move.low), fraction * _reach(self.high, move.high))
        return _Point(
            self.r + primal * move.r,
            self.level + dual * move.level,
            self.low + dual * move.low,
            self.high + dual * move.high,
        )


@dataclass(frozen=True, eq=False)
class _Newton:
    """Newton steps from one point, which share a factorisation."""

    at: _Point
    solve: Callable[[Vector], Vector]
    ones: Vector
    dual: Vector
    missing: float

    def towards(self, low_aim: Vector | float, high_aim: Vector | float) -> _Point:
        """The step after which r·low and (1 − r)·high would be the aims."""
        r, low, high, slack = self.at.r, self.at.low, self.at.high, 1.0 - self.at.r
        move = self.solve(self.dual + low_aim / r - low - high_aim / slack + high)
        rise = (self.missing - float(move.sum())) / float(self.ones.sum())
        move = move + rise * self.ones
        return _Point(
            move,
            rise,
            low_aim / r - low - low / r * move,
            high_aim / slack - high + high / slack * move,
        )


def _reach(position: Vector, move: Vector) -> float:
    """How many steps fit before an entry reaches 0."""
    falling = move < 0
    return float((position[falling] / -move[falling]).min()) if falling.any() else np.inf


def _feasible(weights: Vector, size: int) -> Vector:
    """Weights moved by their rounding error back into 0 ≤ r ≤ 1, Σr = size."""
    r = np.clip(weights, 0.0, 1.0)
    missing = size - float(r.sum())
    room = 1.0 - r if missing > 0 else r
    return np.clip(r + missing * room / max(float(room.sum()), 1e-300), 0.0, 1.0)
