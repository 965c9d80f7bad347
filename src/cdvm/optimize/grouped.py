"""Limits on groups as part of the set of weights, for methods that only project and maximise over it.

Where every row is of one group at most, ``W = {0 ≤ w ≤ 1, Σw = S, low_g ≤ Σ_g w ≤ high_g}`` is as good as
the plain one. The nearest point to *z* is ``clip(z − μ, 0, 1)`` but for groups that this takes beyond a
limit, whose weights are the nearest with the limit as their sum, whatever μ is. The largest total of given
values takes from each group what it must, and then the best of the rest that its limit allows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cdvm.attribution.base import Attribution, MatrixAttribution
from cdvm.optimize.conditions import Conditions
from cdvm.optimize.program import Program
from cdvm.optimize.reduction import Reduced, ReducedProgram, Stacked
from cdvm.optimize.solvers.projection import project

__all__ = ["GroupedProgram", "can_be_grouped", "group_program"]

Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]

_PASSES = 200


def can_be_grouped(conditions: Conditions) -> bool:
    """Whether sets meet the budget exactly and every row is of one group at most."""
    return conditions.exact and bool((np.diff(conditions.membership.indptr) <= 1).all())


class GroupedProgram(ReducedProgram):
    """A program whose weights keep to limits on groups by themselves."""

    def with_groups(self, code: NDArray[np.int64], low: Vector, high: Vector) -> GroupedProgram:
        """The same, with the group of each row (the last for none) and its limits."""
        places = np.split(
            np.argsort(code, kind="stable"), np.cumsum(np.bincount(code, minlength=len(low)))[:-1]
        )
        self.__dict__ |= {"_code": code, "_low": low, "_high": high, "_places": places}
        return self

    @property
    def _groups(self) -> tuple[NDArray[np.int64], Vector, Vector]:
        own = self.__dict__
        return own["_code"], own["_low"], own["_high"]

    def uniform(self) -> Vector:
        return self.project(np.full(self.n_rows, self.budget / self.n_rows))[0]

    def project(self, point: NDArray[Any], shift: float | None = None) -> tuple[Vector, float]:
        z = np.asarray(point, dtype=np.float64)
        code, low, high = self._groups
        left, right = float(z.min()) - 1.0, float(z.max())
        mu = shift if shift is not None and left < shift < right else project(z, self.budget)[1]
        for _ in range(_PASSES):
            weights = np.clip(z - mu, 0.0, 1.0)
            sums = np.bincount(code, weights, minlength=len(low))
            limited = np.clip(sums, low, high)
            excess = float(limited.sum()) - self.budget
            if abs(excess) <= 1e-13 * max(self.budget, 1.0):
                break
            left, right = (mu, right) if excess > 0 else (left, mu)
            inner = (weights > 0.0) & (weights < 1.0) & (sums == limited)[code]
            count = np.count_nonzero(inner)
            step = mu + excess / count if count else np.nan
            new = step if left < step < right else 0.5 * (left + right)
            if new == mu:
                break
            mu = new
        for g in np.flatnonzero(sums != limited).tolist():
            rows = self.__dict__["_places"][g]
            weights[rows] = project(z[rows], float(limited[g]))[0]
        return weights, mu

    def _fill(self, values: NDArray[Any]) -> Vector:
        _, taken = self._take(values)
        return taken.astype(np.float64)

    def level(self, reduced: NDArray[Any]) -> float:
        """The value of the last row that was taken without having to be."""
        forced, taken = self._take(reduced)
        return float(reduced[taken & ~forced].min(initial=np.inf))

    def _take(self, values: NDArray[Any]) -> tuple[Mask, Mask]:
        """Rows that a limit asks for, and all rows of the largest total."""
        code, low, high = self._groups
        order = np.lexsort((np.arange(len(values)), -values, code))
        sizes = np.bincount(code, minlength=len(low))
        rank = np.empty(len(values), dtype=np.int64)
        rank[order] = np.arange(len(values)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        forced = rank < low[code]
        free = np.flatnonzero(~forced & (rank < high[code]))
        taken = forced.copy()
        taken[free[np.argsort(-values[free], kind="stable")[: round(self.budget - forced.sum())]]] = True
        return forced, taken

    def limit_prices(self, multipliers: NDArray[Any]) -> dict[tuple[int, int], float]:
        """What one more row of a group (1) is worth, or one fewer (-1), where its limit is met exactly."""
        code, low, high = self._groups
        values = self.reduced_gains(multipliers)
        forced, taken = self._take(values)
        level = float(values[taken & ~forced].min(initial=np.inf))
        found = {}
        for g in range(len(low) - 1):
            own = code == g
            count = np.count_nonzero(taken & own)
            if count == high[g] and (own & ~taken).any() and np.isfinite(level):
                found[g, 1] = float(values[own & ~taken].max()) - level
            if count == low[g] > 0 and np.isfinite(level):
                found[g, -1] = level - float(values[own & taken].min())
        return found


def group_program(program: Program) -> Reduced:
    """The program with its limits in the set of weights."""
    conditions = program.conditions
    assert conditions is not None
    kept, dropped = conditions.fixed
    free, k = np.flatnonzero(~kept & ~dropped), len(conditions.names)
    base = program.influence(kept.astype(np.float64))
    membership = conditions.membership[free]
    code = np.full(len(free), k, dtype=np.int64)
    code[np.diff(membership.indptr) > 0] = membership.indices
    already = conditions.counts[kept].sum(axis=0)
    sizes = np.bincount(code, minlength=k + 1).astype(np.float64)
    low = np.r_[np.maximum(conditions.low - already, 0.0), 0.0]
    high = np.r_[np.minimum(conditions.high - already, sizes[:k]), sizes[k]]
    budget = float(program.budget - kept.sum())
    importance, m = program.importance_or_one(), program.n_evaluation
    grouped = GroupedProgram(
        _rows_of(program.attribution, free),
        budget,
        rewards=program.rewards[free],
        reward=program.alpha * importance,
        penalties=np.ones(m) * program.penalties,
        caps=program.kappa - base,
        upper=np.ones(len(free)),
        middle=program.middle(),
    )
    constant = program.alpha * float(importance @ base)
    return Reduced(
        grouped.with_groups(code, low, high),
        program,
        free,
        np.flatnonzero(kept),
        constant,
        [],
        np.empty(0),
    )


def _rows_of(attribution: Attribution, rows: NDArray[np.intp]) -> Attribution:
    if len(rows) == attribution.shape[0]:
        return attribution
    if isinstance(attribution, MatrixAttribution):
        return MatrixAttribution(attribution.matrix[rows])
    some = sparse.csr_array(
        (np.ones(len(rows)), (np.arange(len(rows)), rows)), (len(rows), attribution.shape[0])
    )
    return Stacked(attribution, some, np.empty((len(rows), 0)))
