"""Conditions on the rows to keep, as part of the program.

Rows that must (or may not) be kept, numbers of rows of each group, rows that go together, and rows that cost
different amounts are all linear. With blocks *b* of rows that go together, their costs *c* and the numbers
*n_bg* of rows of group *g* among them::

    Σ_b c_b w_b = S,   low_g ≤ Σ_b n_bg w_b ≤ high_g,   0 ≤ w ≤ 1

Where rows cost or go together the budget is a limit, for no set may meet it exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cdvm.errors import InputError

__all__ = ["Conditions"]

Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Conditions:
    """What a set of rows has to fulfil besides the budget.

    Attributes
    ----------
    keep, drop : ndarray of bool
        Rows that must be kept, and rows that may not.
    membership : csr_array of shape (n_rows, n_groups)
        1 where a row is of a group; a row may be of several, or of none.
    names : sequence
        The groups, for messages.
    low, high : ndarray
        Least and largest number of rows of each group.
    block : ndarray of int
        Rows with equal numbers are kept or dropped together.
    costs : ndarray or None
        What a row costs; the budget is then what may be spent.
    """

    keep: Mask
    drop: Mask
    membership: sparse.csr_array
    names: Sequence[Any]
    low: Vector
    high: Vector
    block: NDArray[np.int64]
    costs: Vector | None = None

    @classmethod
    def of(
        cls,
        n_rows: int,
        *,
        keep: Any = (),
        drop: Any = (),
        groups: Any = None,
        at_least: Any = None,
        at_most: Any = None,
        together: Any = None,
        costs: Any = None,
    ) -> Conditions:
        """Conditions on ``n_rows`` rows, checked one by one.

        Parameters
        ----------
        keep, drop : positions or a mask
        groups : sequence of n_rows labels, optional
            Missing labels belong to no group.
        at_least, at_most : number, fraction or dict by group, optional
            Of the rows kept from each group: a whole number, or a fraction of the group's rows.
        together : sequence of n_rows labels, optional
            Rows of one label are kept or dropped together; a missing label stands for itself.
        costs : sequence of n_rows numbers, optional

        Examples
        --------
        >>> found = Conditions.of(4, groups=list("aabb"), at_least=1, at_most={"b": 0.5})
        >>> found.low, found.high
        (array([1., 1.]), array([2., 1.]))
        """
        kept, dropped = _mask(n_rows, keep, "keep"), _mask(n_rows, drop, "drop")
        if (both := np.flatnonzero(kept & dropped)).size:
            raise InputError(f"keep and drop both name row {both[0]}: leave it in one of them")
        group, names = _codes(n_rows, groups, "groups")
        sizes = np.bincount(group[group >= 0], minlength=len(names)).astype(np.float64)
        if groups is None and (at_least is not None or at_most is not None):
            raise InputError("at_least= and at_most= count rows of groups: name them with groups=")
        low = _limits(at_least, names, sizes, "at_least", np.zeros(len(names)))
        high = _limits(at_most, names, sizes, "at_most", sizes)
        if (wrong := np.flatnonzero(low > high)).size:
            g = wrong[0]
            raise InputError(
                f"at_least= asks for {low[g]:g} rows of group {names[g]!r} and at_most= allows {high[g]:g} "
                f"of its {sizes[g]:g}: lower the first or raise the second"
            )
        block, _ = _codes(n_rows, together, "together")
        alone = block < 0
        block = np.where(alone, block.max(initial=-1) + np.cumsum(alone), block)
        price = None
        if costs is not None:
            price = np.asarray(costs, dtype=np.float64)
            if price.shape != (n_rows,):
                raise InputError(f"costs has shape {price.shape}: use one number for each of {n_rows} rows")
            if (bad := np.flatnonzero(~(np.isfinite(price) & (price > 0)))).size:
                raise InputError(f"costs: row {bad[0]} costs {price[bad[0]]}; use finite numbers above 0")
        block = np.unique(block, return_inverse=True)[1]
        return cls(kept, dropped, _membership(group, len(names)), names, low, high, block, price)

    def with_least(self, labels: NDArray[np.int64], low: NDArray[Any], names: Sequence[Any]) -> Conditions:
        """The same, and at least so many rows of each label, or as many as may be kept."""
        further = _membership(labels, len(low))
        free = np.bincount(labels[~self.drop], minlength=len(low))
        sizes = np.bincount(labels, minlength=len(low)).astype(np.float64)
        return replace(
            self,
            membership=sparse.csr_array(sparse.hstack([self.membership, further])),
            names=[*self.names, *names],
            low=np.r_[self.low, np.minimum(low, free)],
            high=np.r_[self.high, sizes],
        )

    def restricted(self, rows: NDArray[np.intp]) -> Conditions:
        """The same for some of the rows: limits in proportion, and never more than these rows allow."""
        part, keep, drop = len(rows) / self.n_rows, self.keep[rows], self.drop[rows]
        membership = self.membership[rows]
        kept, free = membership.T @ keep.astype(float), membership.T @ (~drop).astype(float)
        return replace(
            self,
            keep=keep,
            drop=drop,
            membership=membership,
            low=np.minimum(np.floor(part * self.low), free),
            high=np.maximum(np.ceil(part * self.high), kept),
            block=np.unique(self.block[rows], return_inverse=True)[1],
            costs=None if self.costs is None else self.costs[rows],
        )

    @property
    def n_rows(self) -> int:
        return len(self.keep)

    @cached_property
    def exact(self) -> bool:
        """Whether a set meets the budget exactly; where rows cost or go together it may stay below."""
        return self.costs is None and self.members.shape[0] == self.n_rows

    @cached_property
    def members(self) -> sparse.csr_array:
        """Blocks × rows, 1 where a row is of a block."""
        n = self.n_rows
        return sparse.csr_array((np.ones(n), (self.block, np.arange(n))), shape=(self.block.max() + 1, n))

    @cached_property
    def counts(self) -> NDArray[np.float64]:
        """Blocks × groups: rows of a group in a block."""
        return np.asarray((self.members @ self.membership).toarray())

    @cached_property
    def prices(self) -> Vector:
        """What a block costs: its rows' costs, or their number."""
        return np.asarray(self.members @ (np.ones(self.n_rows) if self.costs is None else self.costs))

    @cached_property
    def fixed(self) -> tuple[Mask, Mask]:
        """Blocks that must be kept, and blocks that may not."""
        kept = self.members @ self.keep.astype(float) > 0
        dropped = self.members @ self.drop.astype(float) > 0
        if (both := np.flatnonzero(kept & dropped)).size:
            rows = np.flatnonzero(self.block == both[0])
            kept_row, dropped_row = rows[self.keep[rows]][0], rows[self.drop[rows]][0]
            raise InputError(
                f"row {kept_row} must be kept and row {dropped_row} dropped, but they go together: change "
                "keep, drop or together"
            )
        return kept, dropped

    def satisfied(self, weights: NDArray[Any], budget: float, tolerance: float = 1e-7) -> bool:
        """Whether weights of rows fulfil all conditions and the budget."""
        w = np.asarray(weights, dtype=np.float64)
        counts = np.asarray(w @ self.membership)
        spent = float(w.sum() if self.costs is None else w @ self.costs)
        room = tolerance * max(1.0, abs(budget))
        total = spent <= budget + room and (not self.exact or spent >= budget - room)
        spread = np.ptp(np.stack([self._extreme(w, np.fmin), self._extreme(w, np.fmax)]), axis=0)
        return bool(
            total
            and (w >= -tolerance).all()
            and (w <= 1 + tolerance).all()
            and (w[self.keep] >= 1 - tolerance).all()
            and (w[self.drop] <= tolerance).all()
            and (counts >= self.low - room).all()
            and (counts <= self.high + room).all()
            and (spread <= tolerance).all()
        )

    def _extreme(self, w: Vector, which: np.ufunc) -> Vector:
        found = np.full(self.members.shape[0], np.nan)
        which.at(found, self.block, w)
        return found


def _membership(codes: NDArray[np.int64], n_groups: int) -> sparse.csr_array:
    inside = np.flatnonzero(codes >= 0)
    return sparse.csr_array((np.ones(len(inside)), (inside, codes[inside])), shape=(len(codes), n_groups))


def _mask(n_rows: int, given: Any, name: str) -> Mask:
    rows = np.asarray(given)
    if rows.dtype == np.bool_ and rows.shape == (n_rows,):
        return rows
    if rows.size == 0:
        return np.zeros(n_rows, dtype=np.bool_)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise InputError(f"{name}: pass positions of rows, or a mask of {n_rows} rows")
    if rows.min() < 0 or rows.max() >= n_rows:
        raise InputError(f"{name} names a row outside 0..{n_rows - 1}")
    mask = np.zeros(n_rows, dtype=np.bool_)
    mask[rows] = True
    return mask


def _codes(n_rows: int, labels: Any, name: str) -> tuple[NDArray[np.int64], list[Any]]:
    """The number of each row's label, -1 where it is missing, and the labels."""
    import pandas as pd

    if labels is None:
        return np.full(n_rows, -1, dtype=np.int64), []
    if len(labels) != n_rows:
        raise InputError(f"{name} has {len(labels)} labels: use one for each of {n_rows} rows")
    codes, names = pd.factorize(pd.Series(labels))
    return codes.astype(np.int64), list(names)


def _limits(given: Any, names: Sequence[Any], sizes: Vector, name: str, default: Vector) -> Vector:
    if given is None:
        return default
    by_group = given if isinstance(given, dict) else dict.fromkeys(names, given)
    found = default.copy()
    for label, number in by_group.items():
        if label not in names:
            some = ", ".join(map(repr, names[:5]))
            raise InputError(f"{name}= names group {label!r}, which no row belongs to: there are {some}")
        place = list(names).index(label)
        whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
        if not whole and not (isinstance(number, float) and 0 <= number <= 1):
            raise InputError(
                f"{name}={number!r} for group {label!r}: use a whole number of rows, or a fraction of them"
            )
        if whole and number < 0:
            raise InputError(f"{name}={number!r} for group {label!r}: use at least 0 rows")
        if name == "at_least" and whole and number > sizes[place]:
            raise InputError(
                f"at_least={number} for group {label!r}, which has {sizes[place]:g} rows: ask for fewer"
            )
        count = float(number) if whole else np.round(number * sizes[place])
        found[place] = min(count, sizes[place])
    return found
