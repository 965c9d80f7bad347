"""Sets of rows that fulfil conditions: from weights, and by exchanges that keep fulfilling them.

All is in blocks, the rows that go together; without such there is one block a row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm.errors import InputError
from cdvm.optimize.conditions import Conditions

__all__ = ["Room", "fill_blocks", "random_sets_within"]

Mask = NDArray[np.bool_]

_ROUNDING = 1e-9  # of a price or a limit


class Room:
    """What a set of blocks has left of the budget and of every limit."""

    def __init__(self, conditions: Conditions, budget: float, chosen: Mask) -> None:
        self.conditions, self.chosen = conditions, chosen.copy()
        self.counts = conditions.counts[chosen].sum(axis=0)
        self.spent = float(conditions.prices[chosen].sum())
        self.budget = budget * (1 + _ROUNDING)

    def admits(self, blocks: NDArray[np.intp], leaving: int | None = None) -> Mask:
        """Which blocks could enter, in the place of one that leaves."""
        c = self.conditions
        counts, spent = self.counts, self.spent
        if leaving is not None:
            counts, spent = counts - c.counts[leaving], spent - c.prices[leaving]
        after = counts + c.counts[blocks]
        fits = (after <= c.high + _ROUNDING).all(axis=1) & (spent + c.prices[blocks] <= self.budget)
        if leaving is not None:
            fits &= (after >= c.low - _ROUNDING).all(axis=1)
        return np.asarray(fits & ~c.fixed[1][blocks] & ~self.chosen[blocks])

    def add(self, block: int) -> None:
        self.chosen[block] = True
        self.counts = self.counts + self.conditions.counts[block]
        self.spent += float(self.conditions.prices[block])

    def remove(self, block: int) -> None:
        self.chosen[block] = False
        self.counts = self.counts - self.conditions.counts[block]
        self.spent -= float(self.conditions.prices[block])


def fill_blocks(conditions: Conditions, budget: float, order: NDArray[Any]) -> Mask:
    """Blocks in order of preference, as many as fit: first what limits ask for, then what there is room for.

    >>> found = Conditions.of(4, groups=list("aabb"), at_least=1)
    >>> fill_blocks(found, 2, np.array([0, 1, 2, 3]))
    array([ True, False,  True, False])
    """
    room = Room(conditions, budget, conditions.fixed[0])
    counts = conditions.counts
    for g in np.argsort(conditions.low - counts.sum(axis=0), kind="stable")[::-1].tolist():
        for block in order[counts[order, g] > 0].tolist():
            if room.counts[g] >= conditions.low[g]:
                break
            if room.admits(np.array([block]))[0]:
                room.add(block)
    if (room.counts < conditions.low - _ROUNDING).any():
        g = int(np.argmax(conditions.low - room.counts))
        raise InputError(
            f"no set of rows found with {conditions.low[g]:g} of group {conditions.names[g]!r} within the "
            "budget: raise the budget or lower at_least"
        )
    for block in order.tolist():
        if not room.chosen[block] and room.admits(np.array([block]))[0]:
            room.add(block)
    return room.chosen


def random_sets_within(
    conditions: Conditions, budget: float, draws: int, *, seed: int = 0
) -> list[NDArray[np.int64]]:
    """Random sets of rows that fulfil conditions: what limits ask for, then whatever fits."""
    rng, n = np.random.default_rng(seed), conditions.members.shape[0]
    chosen = (fill_blocks(conditions, budget, rng.permutation(n)) for _ in range(draws))
    return [np.flatnonzero(blocks[conditions.block]) for blocks in chosen]
