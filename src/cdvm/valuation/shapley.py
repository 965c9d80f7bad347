"""Shapley and Beta Shapley values (Ghorbani and Zou 2019, Kwon and Zou 2022).

The Shapley value is what a row adds to the rows before it, averaged over all orders. Up to 16 rows every
training set is tried. Beyond, random orders are walked (:mod:`cdvm.valuation.semivalues` has the weights of
Beta Shapley), and an order is cut short once the rows so far are within ``tolerance`` of all rows
together: what follows counts as adding nothing. Many prefixes of many orders are trained as one batch; a
prefix that turns out to lie behind the cut of its order is not used.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cdvm.errors import InputError
from cdvm.sampling import RandomStream, Subsets, draw_words
from cdvm.valuation.base import Game, LearnerLike, Players, Values
from cdvm.valuation.semivalues import MOST_EXACT, beta_weights, enumerate_values, position_weights
from cdvm.valuation.stopping import Estimate, StoppingRule, in_rounds

__all__ = ["beta_shapley", "shapley"]

Vector = NDArray[np.float64]

_ORDERS = 100  # by default
_ROUND = 10  # orders walked side by side
_AT_ONCE = 500  # prefixes trained as one batch
_NEGLIGIBLE = 1e-4  # fraction of all weight that places at the end of an order may have and be left out


def shapley(
    split: Players,
    learner: LearnerLike,
    *,
    exact: bool | None = None,
    n_models: int | None = None,
    tolerance: float = 0.01,
    stop: StoppingRule | None = None,
    seed: int = 0,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> Values:
    """Shapley values of the training rows.

    Parameters
    ----------
    split : Split or int
        A number of rows is enough where ``learner`` is a utility.
    learner : Learner, str, estimator or callable
        Or the utility itself, a function from Subsets to one number per subset.
    exact : bool, optional
        Try all 2^n training sets instead of sampling; by default up to 16 rows.
    n_models : int, optional
        Fits to spend when sampling, enough for 2 orders at least; by default those of 100 orders.
    tolerance : float
        An order is cut where its rows score this close to all rows; 0 for never.
    stop : StoppingRule, optional
        End earlier when met.

    Examples
    --------
    >>> from cdvm.sampling import Subsets
    >>> shapley(3, lambda sets: (sets.sizes > 0).astype(float)).values
    array([0.333..., 0.333..., 0.333...])
    """
    options = _Options(exact, n_models, tolerance, stop, seed, progress)
    return _semivalue("shapley", split, Game(split, learner, n_jobs=n_jobs), 1.0, 1.0, options)


def beta_shapley(
    split: Players,
    learner: LearnerLike,
    *,
    alpha: float = 16.0,
    beta: float = 1.0,
    exact: bool | None = None,
    n_models: int | None = None,
    tolerance: float = 0.01,
    stop: StoppingRule | None = None,
    seed: int = 0,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> Values:
    """Beta(alpha, beta) Shapley values; a large ``alpha`` looks at what rows add to small sets.

    The other parameters are those of :func:`shapley`, which is the case ``alpha = beta = 1``.

    Examples
    --------
    >>> beta_shapley(3, lambda sets: (sets.sizes > 0).astype(float)).values.round(3)
    array([0.889, 0.889, 0.889])
    """
    options = _Options(exact, n_models, tolerance, stop, seed, progress)
    game = Game(split, learner, n_jobs=n_jobs)
    return _semivalue("beta_shapley", split, game, alpha, beta, options)


@dataclass(frozen=True)
class _Options:
    exact: bool | None
    n_models: int | None
    tolerance: float
    stop: StoppingRule | None
    seed: int
    progress: bool | None

    def __post_init__(self) -> None:
        if not 0 <= self.tolerance < np.inf:
            raise InputError(f"tolerance={self.tolerance!r}: use a difference in score of at least 0")
        if self.n_models is not None and self.n_models < 2:
            raise InputError(f"n_models={self.n_models}: use at least 2, better 100 times the rows")


def _semivalue(
    method: str, split: Players, game: Game, alpha: float, beta: float, options: _Options
) -> Values:
    started = time.perf_counter()
    n = game.n_rows
    meta: dict[str, Any] = {"alpha": alpha, "beta": beta}
    weights = beta_weights(n, alpha, beta)
    if options.exact or (options.exact is None and n <= MOST_EXACT):
        values = enumerate_values(game, weights, seed=options.seed, progress=options.progress)
        meta |= {"exact": True}
        stderr = counts = None
    else:
        walks = _Walks(game, position_weights(n, alpha, beta), options)
        converged = walks.run()
        estimate = walks.estimate()
        values, stderr, counts = estimate.values, estimate.stderr, estimate.counts
        meta |= {"exact": False, "orders": walks.done, "converged": converged}
    seconds = time.perf_counter() - started
    meta |= {"fits": game.evaluations, "seconds": seconds}
    return Values.of(split, values, method, stderr=stderr, counts=counts, **meta)


@dataclass
class _Walks:
    """Walk random orders and keep, for even and odd orders, sums of what each row added."""

    game: Game
    weights: Vector  # by place in the order
    options: _Options
    done: int = 0
    sums: Vector = field(init=False)
    squares: Vector = field(init=False)

    def __post_init__(self) -> None:
        n = self.game.n_rows
        self.sums, self.squares = np.zeros((2, n)), np.zeros((2, n))
        tail = np.cumsum(self.weights[::-1])[::-1] / n
        self.length = int((tail > _NEGLIGIBLE).sum())
        ends = Subsets.of([[], np.arange(n)], n, seed=self.options.seed)
        self.empty, self.full = (float(v) for v in self.game(ends))

    def run(self) -> bool | None:
        """Walk until the rule is met (True) or the budget is spent (False; None without a rule)."""
        stop, progress = self.options.stop, self.options.progress
        _, converged = in_rounds(
            self.walk, self.estimate, self._plan, stop=stop, what="orders", progress=progress
        )
        return converged

    def _plan(self, done: int) -> tuple[int, float]:
        """Orders of the next round, and the fraction of the budget spent."""
        budget = self.options.n_models
        if budget is None:
            return min(_ROUND, _ORDERS - done), done / _ORDERS
        used = self.game.evaluations - 2  # those of no row and of all rows are not part of an order
        cost = used / done if done else self.length
        orders = int((budget - used) / max(cost, 1.0))
        return min(_ROUND, orders if done else max(2, orders)), used / budget

    def walk(self, first: int, stop: int) -> None:
        """Walk the orders ``first`` to ``stop``."""
        words = draw_words(
            self.options.seed, RandomStream.PERMUTATIONS, first, stop - first, self.game.n_rows
        )
        orders = np.argsort(words, axis=1)
        gains = self._gains(orders, first) * self.weights[: self.length]
        for order, gain, number in zip(orders[:, : self.length], gains, range(first, stop), strict=True):
            self.sums[number % 2, order] += gain
            self.squares[number % 2, order] += gain**2
        self.done = stop

    def _gains(self, orders: NDArray[np.int64], first: int) -> Vector:
        """What the row at each place of each order added; 0 behind the cut."""
        gains = np.zeros((len(orders), self.length))
        open_, before = np.arange(len(orders)), np.full(len(orders), self.empty)
        place, tolerance = 0, self.options.tolerance
        while open_.size and place < self.length:
            steps = min(max(1, _AT_ONCE // open_.size), self.length - place)
            subsets = self._prefixes(orders[open_], range(place + 1, place + steps + 1), first + open_)
            worth = self.game(subsets).reshape(steps, -1).T
            path = np.column_stack([before[open_], worth])
            close = np.abs(self.full - path) < tolerance
            cut = np.logical_or.accumulate(close, axis=1)
            gains[open_, place : place + steps] = np.where(cut[:, :-1], 0.0, np.diff(path, axis=1))
            before[open_] = worth[:, -1]
            open_ = open_[~cut[:, -1]]
            place += steps
        return gains

    def _prefixes(self, orders: NDArray[np.int64], sizes: range, numbers: NDArray[np.int64]) -> Subsets:
        """Prefixes of all orders, shortest first.

        All prefixes of an order share one model number: where training is random they start alike, and
        their difference is due to the row.
        """
        indices = np.concatenate([np.sort(orders[:, :size], axis=1).ravel() for size in sizes])
        indptr = np.concatenate([[0], np.cumsum(np.repeat(list(sizes), len(orders)))])
        ones = np.ones(len(indices), dtype=np.int32)
        shape = (len(orders) * len(sizes), self.game.n_rows)
        members = sparse.csr_array((ones, indices.astype(np.int32), indptr.astype(np.int32)), shape)
        return Subsets(members, np.tile(numbers, len(sizes)), self.options.seed)

    def estimate(self) -> Estimate:
        """Values so far, with the standard error of a mean over orders."""
        walked = np.array([-(-self.done // 2), self.done // 2])
        mean = self.sums.sum(axis=0) / self.done
        variance = np.maximum(self.squares.sum(axis=0) / self.done - mean**2, 0.0)
        error = np.sqrt(variance / (self.done - 1)) if self.done > 1 else np.full_like(mean, np.nan)
        halves = self.sums / np.maximum(walked, 1)[:, None]
        counts = np.full(self.game.n_rows, self.done)
        return Estimate(mean, error, counts, (halves[0], halves[1]))
