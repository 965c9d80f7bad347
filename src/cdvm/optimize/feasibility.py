"""Can conditions be met at all, and if not, which of them stand against each other?

Blocks of rows that are of the same groups, cost the same and must, may or may not be kept are one variable:
how many of them are kept. A linear program over these tells whether there are weights. Where there are none,
each condition is left out in turn, and for good if there are none without it either; what remains is a
conflict of which no part could be left out (a deletion filter).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from cdvm.errors import InputError
from cdvm.optimize.conditions import Conditions

__all__ = ["can_be_met", "conflict", "refuse_conflict"]

_SLACK = 1e-9  # of a limit, for sums that are rounded

Item = tuple[str, int]  # a condition: its word, and its group


def can_be_met(conditions: Conditions, budget: float) -> bool:
    """Whether there are weights that fulfil the conditions and the budget."""
    return _Patterns(conditions, budget).met(_items(conditions))


def conflict(conditions: Conditions, budget: float) -> list[str]:
    """The smallest conditions that cannot be met together, in words; none where all can.

    >>> found = Conditions.of(6, groups=list("aabbcc"), at_least={"a": 2, "b": 2, "c": 1})
    >>> conflict(found, 3)
    ['a budget of 3', "at_least=2 of group 'a'", "at_least=2 of group 'b'"]
    """
    patterns, kept = _Patterns(conditions, budget), _items(conditions)
    if patterns.met(kept):
        return []
    # those of least consequence go first, so that what is named is what a user would look at first
    for item in sorted(kept, key=lambda item: _size(conditions, item)):
        rest = [other for other in kept if other != item]
        if not patterns.met(rest):
            kept = rest
    return [_words(conditions, budget, item) for item in kept]


def refuse_conflict(conditions: Conditions, budget: float) -> None:
    """Name the smallest conflicting conditions, where there are some."""
    found = conflict(conditions, budget)
    if found:
        raise InputError(f"the conditions cannot be met together: {', '.join(found)}; loosen one of them")


class _Patterns:
    """Blocks that are alike, and how many there are of each kind."""

    def __init__(self, conditions: Conditions, budget: float) -> None:
        self._conditions, self._budget = conditions, budget
        kept, dropped = conditions.fixed
        kinds = np.column_stack([conditions.counts, conditions.prices, kept, dropped])
        found, self._many = _distinct(kinds)
        self._counts, self._price = found[:, : len(conditions.names)], found[:, -3]
        self._kept, self._dropped = found[:, -2] > 0, found[:, -1] > 0

    def met(self, items: Collection[Item]) -> bool:
        """Whether there are weights that fulfil some of the conditions."""
        low = np.where(self._kept & (("keep", 0) in items), self._many, 0.0)
        high = np.where(self._dropped & (("drop", 0) in items), 0.0, self._many)
        rows: list[Any] = []
        limits: list[float] = []
        equal: dict[str, Any] = {}
        for word, g in items:
            if word in ("at_least", "at_most"):
                sign, limit = (
                    (-1.0, self._conditions.low[g]) if word == "at_least" else (1.0, self._conditions.high[g])
                )
                rows.append(sign * self._counts[:, g])
                limits.append(sign * limit + _SLACK)
        if ("budget", 0) in items:
            if self._conditions.exact:
                equal = {"A_eq": self._price[None, :], "b_eq": [self._budget]}
            else:
                rows.append(self._price)
                limits.append(self._budget * (1 + _SLACK))
        inside = {"A_ub": np.array(rows), "b_ub": limits} if rows else {}
        bounds = np.column_stack([low, high])
        return bool(linprog(np.zeros(len(low)), **inside, **equal, bounds=bounds, method="highs").status == 0)


def _distinct(lines: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Lines that differ, and how often each occurs."""
    # one number a line is sorted ten times as fast; that two lines share one is looked for, not expected
    key = lines @ np.random.default_rng(0).random(lines.shape[1])
    _, first, line, many = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    if (lines[first][line] == lines).all():
        return lines[first], many
    return np.unique(lines, axis=0, return_counts=True)


def _items(conditions: Conditions) -> list[Item]:
    sizes = conditions.counts.sum(axis=0)
    found: list[Item] = [("budget", 0)]
    found += [("keep", 0)] * bool(conditions.keep.any()) + [("drop", 0)] * bool(conditions.drop.any())
    found += [("at_least", int(g)) for g in np.flatnonzero(conditions.low > 0)]
    return found + [("at_most", int(g)) for g in np.flatnonzero(conditions.high < sizes)]


def _size(conditions: Conditions, item: Item) -> float:
    word, g = item
    if word == "at_least":
        return float(conditions.low[g])
    return float(-conditions.high[g]) if word == "at_most" else np.inf


def _words(conditions: Conditions, budget: float, item: Item) -> str:
    word, g = item
    if word == "budget":
        return f"a budget of {budget:g}" if conditions.costs is None else f"spending of {budget:g}"
    if word == "keep":
        rows = int((conditions.members.T @ conditions.fixed[0]).sum())
        return f"keep= of {rows} rows" + (
            "" if conditions.costs is None else f" for {conditions.prices[conditions.fixed[0]].sum():g}"
        )
    if word == "drop":
        return f"drop= of {int(conditions.drop.sum())} rows"
    limit = conditions.low[g] if word == "at_least" else conditions.high[g]
    return f"{word}={limit:g} of group {conditions.names[g]!r}"
