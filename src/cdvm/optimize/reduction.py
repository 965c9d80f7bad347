"""A program with conditions as one that every solver knows.

Rows that must be kept leave the program and take their influence from every cap; rows that may not be kept
leave it. Blocks of rows become rows. A block of cost *c* is measured in cost, ``u = c·w`` between 0 and *c*,
so that the budget is ``Σu = S`` again; what may be left unspent is one more row that does nothing.

A limit on a group is one more evaluation row: ``Σ n_bg w_b ≤ high`` says that its influence stays below a
cap, and a penalty that is large enough makes that exact. Its multiplier is what one more row of the group
would be worth. The bound of :mod:`cdvm.optimize.program` holds as it stands: any multipliers are a proof.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cdvm.attribution.base import Attribution, MatrixAttribution
from cdvm.attribution.layout import Arrays
from cdvm.attribution.sparsify import largest_entry
from cdvm.optimize.program import Program

__all__ = ["Reduced", "ReducedProgram", "Stacked", "reduce_program"]

Vector = NDArray[np.float64]

_SAMPLED = 256  # rows that tell how large a multiplier can be
_SAFE = 2.0  # times what they tell
_STIFF = (
    100.0  # largest entry of a limit's column, in those of T: the first-order method then keeps to limits
)


class ReducedProgram(Program):
    """A program with one reward, penalty and cap for each column, and one largest weight for each row."""

    def __init__(
        self,
        attribution: Attribution,
        budget: float,
        *,
        rewards: Vector,
        reward: Vector,
        penalties: Vector,
        caps: Vector,
        upper: Vector,
        middle: Vector,
    ) -> None:
        self.__dict__ |= {
            "attribution": attribution,
            "budget": budget,
            "alpha": 0.5,  # this and kappa have no meaning here
            "kappa": 0.0,
            "importance": None,
            "conditions": None,
            "rewards": rewards,
            "gains": rewards,
            "reward": reward,
            "_penalties": penalties,
            "_caps": caps,
            "_upper": upper,
            "_middle": middle,
        }

    @property
    def penalties(self) -> Any:
        return self.__dict__["_penalties"]

    @property
    def caps(self) -> Any:
        return self.__dict__["_caps"]

    @property
    def upper(self) -> Any:
        return self.__dict__["_upper"]

    @property
    def whole(self) -> bool:
        return bool(self.upper.sum() <= self.budget * (1 + 1e-12))

    @cached_property
    def n_needed(self) -> int:
        enough = int(np.searchsorted(np.cumsum(np.sort(self.upper)), self.budget * (1 - 1e-12)))
        return min(enough + 1, self.n_rows)

    def middle(self) -> Vector:
        return np.asarray(self.__dict__["_middle"])

    def uniform(self) -> Vector:
        return np.asarray(self.upper * (self.budget / self.upper.sum()))

    def greedy(self) -> Vector:
        return self._fill(self.rewards)

    def level(self, reduced: NDArray[Any]) -> float:
        filled = self._fill(reduced)
        return float(reduced[filled > 0].min()) if self.budget > 0 else float(reduced.max())

    def _fill(self, values: NDArray[Any]) -> Vector:
        """Weights of the largest total value: rows in the order of value, the last one in part."""
        order = np.argsort(-values, kind="stable")
        before = np.cumsum(self.upper[order]) - self.upper[order]
        weights = np.zeros(self.n_rows)
        weights[order] = np.clip(self.budget - before, 0.0, self.upper[order])
        return weights

    def objective_at(self, influence: NDArray[Any]) -> float:
        excess = np.maximum(influence - self.caps, 0.0)
        return float(self.__dict__["reward"] @ influence - self.penalties @ excess)

    def bound(self, multipliers: NDArray[Any]) -> float:
        lam = np.clip(np.asarray(multipliers, dtype=np.float64), 0.0, self.penalties)
        return self.bound_at(lam, self.reduced_gains(lam))

    def bound_at(self, multipliers: NDArray[Any], reduced: NDArray[Any]) -> float:
        return float(self._fill(reduced) @ reduced + self.caps @ multipliers)

    @cached_property
    def _scale(self) -> float:
        return float(np.abs(self._fill(np.abs(self.rewards)) @ self.rewards)) or 1.0

    def densified(self) -> ReducedProgram:
        if isinstance(self.attribution, MatrixAttribution):
            return self
        return self._with(MatrixAttribution(self.attribution.dense()))

    def restricted(self, rows: NDArray[Any], block: NDArray[np.float64]) -> ReducedProgram:
        """The same program on some rows only, whose block of T is known."""
        return self._with(MatrixAttribution(block), rows)

    def _with(self, attribution: Attribution, rows: Any = slice(None)) -> ReducedProgram:
        own = self.__dict__
        return ReducedProgram(
            attribution,
            self.budget,
            rewards=self.rewards[rows],
            reward=own["reward"],
            penalties=self.penalties,
            caps=self.caps,
            upper=self.upper[rows],
            middle=own["_middle"],
        )

    def limit_prices(self, multipliers: NDArray[Any]) -> dict[tuple[int, int], float]:
        """Prices of limits that are no columns: none here."""
        return {}

    def penalised(self, columns: NDArray[np.intp], factor: float) -> ReducedProgram:
        """The same program with larger penalties of some columns."""
        penalties = self.penalties.copy()
        penalties[columns] *= factor
        other = self._with(self.attribution)
        other.__dict__["_penalties"] = penalties
        return other


class Stacked(Attribution):
    """Sums of T's rows, with further columns beside them."""

    def __init__(self, inner: Attribution, rows: sparse.csr_array, extra: NDArray[np.float64]) -> None:
        self.inner, self.rows, self.extra = inner, rows, extra
        self._columns = sparse.csr_array(rows.T)
        self.shape = (rows.shape[0], inner.shape[1] + extra.shape[1])

    def matvec(self, evaluation: NDArray[Any]) -> Vector:
        m = self.inner.shape[1]
        return np.asarray(self.rows @ self.inner.matvec(evaluation[:m]) + self.extra @ evaluation[m:])

    def rmatvec(self, rows: NDArray[Any]) -> Vector:
        return np.concatenate([self.inner.rmatvec(self._columns @ rows), rows @ self.extra])

    def block(self, rows: Any = None, columns: Any = None) -> NDArray[np.float64]:
        part = self.rows if rows is None else self.rows[rows]
        needed = np.unique(part.indices)
        dense = part[:, needed] @ self.inner.block(needed)
        whole = np.concatenate([dense, self.extra if rows is None else self.extra[rows]], axis=1)
        return np.asarray(whole if columns is None else whole[:, columns])

    def max(self) -> float:
        return largest_entry(self)

    def _payload(self) -> Arrays:
        return {"data": self.dense()}

    @classmethod
    def _from_arrays(cls, arrays: Arrays, shape: tuple[int, int]) -> Attribution:
        return MatrixAttribution(arrays["data"])


@dataclass(frozen=True, eq=False)
class Reduced:
    """A reduced program and the way back.

    Attributes
    ----------
    program : ReducedProgram
    original : Program
    free : ndarray
        Blocks that are neither kept nor dropped, in the order of the program's rows.
    kept : ndarray
        Blocks that are kept.
    constant : float
        What kept rows add to the objective, before anything is taken away.
    limits : list of (group, sign)
        What the further columns stand for: 1 for at_most, -1 for at_least.
    scale : ndarray
        What those columns are multiplied by.
    """

    program: ReducedProgram
    original: Program
    free: NDArray[np.intp]
    kept: NDArray[np.intp]
    constant: float
    limits: list[tuple[int, int]]
    scale: Vector

    def weights(self, u: NDArray[Any]) -> Vector:
        """Weights of all blocks, from those of the program."""
        conditions = self.original.conditions
        assert conditions is not None
        found = np.zeros(conditions.members.shape[0])
        found[self.kept] = 1.0
        found[self.free] = np.clip(u[: len(self.free)] / conditions.prices[self.free], 0.0, 1.0)
        return found

    def prices(self, multipliers: NDArray[Any]) -> dict[tuple[Any, str], float]:
        """What one more row would be worth, by group and limit, where a limit binds."""
        conditions = self.original.conditions
        assert conditions is not None
        own = self.program.limit_prices(multipliers) or dict(
            zip(self.limits, multipliers[self.original.n_evaluation :] * self.scale, strict=True)
        )
        word = {1: "at_most", -1: "at_least"}
        return {(conditions.names[g], word[s]): float(price) for (g, s), price in own.items() if price > 0}

    def with_penalties(self, factor: float) -> Reduced:
        """The same with larger penalties of the limits."""
        columns = np.arange(self.original.n_evaluation, self.program.n_evaluation)
        return replace(self, program=self.program.penalised(columns, factor))


def reduce_program(program: Program) -> Reduced:
    """The program with its conditions in the form that solvers know."""
    conditions = program.conditions
    assert conditions is not None
    kept, dropped = conditions.fixed
    free = np.flatnonzero(~kept & ~dropped)
    kept_blocks = np.flatnonzero(kept)
    price = conditions.prices
    base = program.influence(np.asarray(kept.astype(float) @ conditions.members))
    counts = conditions.counts
    already = counts[kept].sum(axis=0)
    limits = [
        (g, sign)
        for g in range(len(conditions.names))
        for sign, matters in (
            (1, conditions.high[g] < counts[free, g].sum() + already[g]),
            (-1, conditions.low[g] > already[g]),
        )
        if matters
    ]
    groups, signs = (np.array([pair[k] for pair in limits], dtype=np.int64) for k in (0, 1))
    extra = counts[free][:, groups] * signs / price[free, None]
    bounds = np.where(signs > 0, conditions.high[groups], conditions.low[groups]) - already[groups]
    rows = sparse.csr_array(sparse.diags_array(1.0 / price[free]) @ conditions.members[free])
    upper, budget = price[free], float(program.budget) - float(price[kept].sum())
    if not conditions.exact:  # what is not spent
        rows = sparse.csr_array(sparse.vstack([rows, sparse.csr_array((1, rows.shape[1]))]))
        extra, upper = np.concatenate([extra, np.zeros((1, len(limits)))]), np.append(upper, budget)
    rewards = np.asarray(rows @ program.rewards)
    largest = _reach(program, rows, rewards)
    size = abs(program.attribution.max()) or 1.0
    scale = _STIFF * size / np.maximum(np.abs(extra).max(axis=0, initial=0.0), 1e-300)
    importance = program.importance_or_one()
    reward = np.concatenate([program.alpha * importance, np.zeros(len(limits))])
    penalties = (1.0 - program.alpha) * importance
    # per unit of a limit: a row is worth at most ``largest`` a unit of cost, and has at most this much of it
    least = np.array([col[col > 0].min(initial=np.inf) for col in np.abs(extra).T])
    exact = _SAFE * largest / np.where(np.isfinite(least), least, 1.0)
    inner: Attribution = Stacked(program.attribution, rows, extra * scale)
    if isinstance(program.attribution, MatrixAttribution) and not sparse.issparse(program.attribution.matrix):
        inner = MatrixAttribution(inner.dense())
    reduced = ReducedProgram(
        inner,
        budget,
        rewards=rewards,
        reward=reward,
        penalties=np.concatenate([penalties, exact / scale]),
        caps=np.concatenate([program.kappa - base, bounds * signs * scale]),
        upper=upper,
        middle=np.concatenate([penalties / 2, 0.01 * exact / scale]),
    )
    constant = program.alpha * float(importance @ base)
    return Reduced(reduced, program, free, kept_blocks, constant, limits, scale)


def _reach(program: Program, rows: sparse.csr_array, rewards: Vector) -> float:
    """How far apart the worth of two rows, a unit of cost, can be, about."""
    at = np.unique(np.linspace(0, rows.shape[0] - 1, min(rows.shape[0], _SAMPLED)).astype(np.intp))
    part = rows[at]
    needed = np.unique(part.indices)
    block = np.abs(part[:, needed] @ program.attribution.block(needed))
    taken = block @ (np.ones(program.n_evaluation) * program.penalties)
    return float(np.ptp(rewards) + np.max(taken, initial=0.0)) or 1.0
