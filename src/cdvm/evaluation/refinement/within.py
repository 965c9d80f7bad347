"""Exchanges that keep to conditions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cdvm.optimize.conditions import Conditions
from cdvm.optimize.room import Room

__all__ = ["exchange_within"]

Rows = NDArray[np.int64]

_TRIED = 64  # rows considered for the place of one that leaves


def exchange_within(
    conditions: Conditions,
    budget: float,
    start: Rows,
    leaving: NDArray[np.int64],
    entering: NDArray[np.int64],
) -> Rows:
    """The rows of a set with some exchanged, each for the first that conditions and budget admit.

    Rows that go together leave together, for others of that number, so the set stays as large as it is.

    Parameters
    ----------
    start : ndarray
        Rows of the set.
    leaving : ndarray
        Places in ``start``, the first to leave first.
    entering : ndarray
        Rows outside, the most wanted first.
    """
    found, room = start.copy(), _room(conditions, budget, start)
    sizes = np.bincount(conditions.block)
    wanted = np.array(list(dict.fromkeys(conditions.block[entering].tolist())), dtype=np.intp)
    for place in leaving.tolist():
        block = int(conditions.block[start[place]])
        if conditions.fixed[0][block] or not room.chosen[block]:
            continue
        alike = wanted[(sizes[wanted] == sizes[block]) & ~room.chosen[wanted]][:_TRIED]
        fits = alike[room.admits(alike, block)]
        if not len(fits):
            continue
        room.remove(block)
        room.add(int(fits[0]))
        found[np.isin(found, np.flatnonzero(conditions.block == block))] = np.flatnonzero(
            conditions.block == fits[0]
        )
    return found


def _room(conditions: Conditions, budget: float, rows: Rows) -> Room:
    chosen = np.zeros(conditions.members.shape[0], dtype=np.bool_)
    chosen[conditions.block[rows]] = True
    return Room(conditions, budget, chosen)
