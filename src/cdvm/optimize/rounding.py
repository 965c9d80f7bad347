"""From weights to a set of exactly S rows.

The rows of largest weight lose part of the relaxed optimum. A swap search wins much of it back: with v the
influence of the set, exchanging row *i* for row *k* makes it ``v − T_i + T_k``, so two rows of T give the
exact gain. Only promising rows are tried: those that the program's slope would rank highest outside the set
and lowest inside. The slope jumps from alpha to 2·alpha − 1 where an evaluation row reaches kappa, and most
evaluation rows sit close to it, so the jump is smoothed over the size of a typical entry of T.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from cdvm.errors import InputError
from cdvm.optimize.conditions import Conditions
from cdvm.optimize.program import Program
from cdvm.optimize.room import Room, fill_blocks

__all__ = ["class_floors", "keep_classes", "loss_of", "swap_search", "top_rows", "with_classes"]

Rows = NDArray[np.int64]


def top_rows(program: Program, weights: NDArray[Any]) -> Rows:
    """The S rows of largest weight, sorted; ties go to the larger total gain, then to the earlier row.

    >>> import numpy as np
    >>> program = Program(np.array([[0.1], [0.3], [0.3]]), budget=1)
    >>> top_rows(program, np.array([0.5, 0.5, 0.0]))
    array([1])
    """
    # solvers agree on weights to about 1e-9: below that, a difference is no preference
    rounded = np.round(np.asarray(weights, dtype=np.float64), 9)
    if program.conditions is not None:
        return _fulfilling(program, program.conditions, rounded)
    order = np.lexsort((np.arange(program.n_rows), -program.gains, -rounded))
    return np.sort(order[: program.budget])


def _fulfilling(program: Program, conditions: Conditions, weights: NDArray[Any]) -> Rows:
    """Blocks of largest weight that fulfil the conditions; of equal ones those of most gain a price."""
    members = conditions.members
    size = np.asarray(members.sum(axis=1)).ravel()
    gains = (members @ program.gains) / conditions.prices
    order = np.lexsort((np.arange(len(size)), -gains, -(members @ weights) / size))
    chosen = fill_blocks(conditions, program.budget, order)
    return np.flatnonzero(chosen[conditions.block])


def loss_of(program: Program, rows: NDArray[Any], bound: float) -> tuple[float, float]:
    """The objective of a set of rows, and how far it is below a bound, relative as in ``Program.gap``.

    >>> import numpy as np
    >>> program = Program(np.array([[1.0], [3.0]]), budget=1, kappa=4.0)
    >>> loss_of(program, np.array([0]), bound=1.5)
    (0.5, 0.6666666666666666)
    """
    objective = program.objective(_indicator(program, rows))
    return objective, program.gap(objective, bound)


def swap_search(program: Program, rows: NDArray[Any], *, candidates: int = 64, passes: int = 10) -> Rows:
    """A set with an objective at least as high, found by exchanging one row for another while that helps.

    Parameters
    ----------
    program : Program
    rows : ndarray
        The S rows to start from.
    candidates : int
        Rows on either side of the set's edge that a pass tries; a pass costs candidates² · n_evaluation.
    passes : int
        Passes at most; the search ends with the first that finds nothing.

    Examples
    --------
    >>> import numpy as np
    >>> program = Program(np.array([[0.5, 0.0], [0.5, 0.0], [0.0, 0.4]]), budget=2, kappa=0.4)
    >>> swap_search(program, np.array([0, 1]))
    array([1, 2])
    """
    start = np.unique(np.asarray(rows, dtype=np.int64))
    if program.conditions is not None:
        return _swap_blocks(program, program.conditions, start, candidates, passes)
    if len(start) != program.budget or start[0] < 0 or start[-1] >= program.n_rows:
        raise InputError(
            f"rows holds {len(start)} distinct rows: use {program.budget} of {program.n_rows}, as budgeted"
        )
    if candidates < 1 or passes < 0:
        raise InputError(f"candidates={candidates}, passes={passes}: use at least 1 candidate and 0 passes")
    if program.budget == program.n_rows:
        return start
    chosen = _indicator(program, start)
    influence = program.influence(chosen)
    before = program.objective_at(influence)
    for _ in range(passes):
        influence, swaps = _sweep(program, chosen, influence, candidates)
        if not swaps:
            break
    # sums of many small steps drift: the last word has the objective itself
    return np.flatnonzero(chosen) if program.objective(chosen) > before else start


def class_floors(y: NDArray[Any], size: int) -> Rows:
    """Rows of each class that ``size`` rows should have at least, by class code.

    Twice its fraction of the table, but at least two and at most half of what equal fractions would give;
    fewer where the class or the budget is smaller than that. None where there are more classes than rows.

    >>> import numpy as np
    >>> class_floors(np.repeat([0, 1, 2], [950, 49, 1]), 100)
    array([16,  9,  1])
    """
    counts = np.bincount(y)
    there = int(np.count_nonzero(counts))
    if there > size:
        return np.zeros_like(counts)
    least, most = min(2, size // there), size // (2 * there)
    fraction = np.minimum(2 * size * counts // len(y), most)
    return np.asarray(np.minimum(counts, np.maximum(fraction, least)), dtype=np.int64)


def keep_classes(program: Program, rows: NDArray[Any], weights: NDArray[Any], y: NDArray[Any]) -> Rows:
    """The rows with enough of every class of ``y`` among them, see :func:`class_floors`.

    T does not say that a class without any row is never predicted. A class that lacks rows gets those of its
    largest weight, in place of the rows of least weight of classes that have some to spare.

    >>> import numpy as np
    >>> program = Program(np.array([[0.4], [0.5], [0.1]]), budget=2)
    >>> keep_classes(program, np.array([0, 1]), np.array([1.0, 1.0, 0.0]), np.array([0, 0, 1]))
    array([1, 2])
    """
    best_last = np.lexsort((-np.arange(len(y)), program.gains, np.round(weights, 9)))
    rank = np.empty(len(y), dtype=np.int64)
    rank[best_last] = np.arange(len(y))
    return with_classes(rows, y, class_floors(y, len(rows)), rank)


def with_classes(rows: NDArray[Any], y: NDArray[Any], floors: Rows, rank: NDArray[Any]) -> Rows:
    """The rows with at least ``floors`` of each class: those of low rank leave for those of high rank.

    >>> import numpy as np
    >>> y = np.array([0, 0, 0, 1, 1])
    >>> with_classes(np.array([0, 1, 2]), y, np.array([1, 1]), rank=np.array([5, 3, 4, 1, 2]))
    array([0, 2, 4])
    """
    kept = np.asarray(rows, dtype=np.int64).copy()
    spare = np.bincount(y[kept], minlength=len(floors)) - floors
    for code in np.flatnonzero(spare < 0).tolist():
        own = np.setdiff1d(np.flatnonzero(y == code), kept)
        for enters in own[np.argsort(-rank[own])[: -spare[code]]]:
            several = np.flatnonzero(spare[y[kept]] > 0)
            leaves = several[rank[kept[several]].argmin()]
            spare[y[kept[leaves]]] -= 1
            kept[leaves] = enters
        spare[code] = 0
    return np.sort(kept)


def _swap_blocks(program: Program, conditions: Conditions, start: Rows, candidates: int, passes: int) -> Rows:
    """The swap search over blocks, by exchanges and additions that keep to the conditions."""
    chosen = np.zeros(conditions.members.shape[0], dtype=np.bool_)
    chosen[conditions.block[start]] = True
    room = Room(conditions, program.budget, chosen)
    influence = program.influence(_indicator(program, start))
    before = program.objective_at(influence)
    for _ in range(passes):
        rank = np.asarray(conditions.members @ _slope_gains(program, influence)) / conditions.prices
        inside = np.flatnonzero(room.chosen & ~conditions.fixed[0])
        outside = np.flatnonzero(~room.chosen & ~conditions.fixed[1])
        inside = inside[np.argsort(rank[inside], kind="stable")[:candidates]]
        outside = outside[np.argsort(-rank[outside], kind="stable")[:candidates]]
        if not len(outside):
            break
        needed = np.concatenate([inside, outside])
        rows = np.flatnonzero(np.isin(conditions.block, needed))
        sums = conditions.members[needed][:, rows] @ program.attribution.block(rows)
        own, other = sums[: len(inside)], sums[len(inside) :]
        influence, changed = _exchange(program, room, influence, inside, outside, own, other)
        if not changed:
            break
    found = np.flatnonzero(room.chosen[conditions.block])
    return found if program.objective(_indicator(program, found)) > before else start


def _exchange(
    program: Program,
    room: Room,
    influence: NDArray[np.float64],
    inside: NDArray[np.intp],
    outside: NDArray[np.intp],
    own: NDArray[np.float64],
    other: NDArray[np.float64],
) -> tuple[NDArray[np.float64], bool]:
    """Take in what fits and helps, in an empty place or in that of a block of the set."""
    changed = False
    for k in [None, *range(len(inside))]:
        without = influence if k is None else influence - own[k]
        fits = room.admits(outside, None if k is None else int(inside[k]))
        if k is None and room.conditions.exact:
            continue
        gains = np.array([program.objective_at(without + row) for row in other[fits]])
        present = program.objective_at(influence)
        if not len(gains) or gains.max() <= present + 1e-10 * abs(present):
            continue
        best = int(np.flatnonzero(fits)[gains.argmax()])
        if k is not None:
            room.remove(int(inside[k]))
        room.add(int(outside[best]))
        influence, changed = without + other[best], True
    return influence, changed


def _sweep(
    program: Program, chosen: NDArray[np.float64], influence: NDArray[np.float64], candidates: int
) -> tuple[NDArray[np.float64], int]:
    """Try the weakest rows of the set against the strongest outside; changes ``chosen`` in place."""
    reward, weight, kappa = program.rewards, program.penalties, program.kappa
    inside, outside = _edge(program, chosen, influence, candidates)
    own, other = program.attribution.block(inside), program.attribution.block(outside)
    above = influence - kappa
    work = np.empty_like(other)
    swaps = 0
    for k, row in enumerate(inside):
        without = above - own[k]
        np.maximum(np.add(other, without, out=work), 0.0, out=work)
        scores = reward[outside] - _weighed(work, weight)
        present = reward[row] - float(_weighed(np.maximum(above, 0.0), weight))
        best = int(scores.argmax())
        if scores[best] > present + 1e-10 * max(abs(present), abs(scores[best])):
            above = without + other[best]
            chosen[row], chosen[outside[best]] = 0.0, 1.0
            outside[best], other[best] = row, own[k]
            swaps += 1
    return above + kappa, swaps


def _weighed(excess: NDArray[np.float64], weight: Any) -> Any:
    """Excess of each set, over the evaluation rows at their penalties."""
    return excess @ weight if np.ndim(weight) else weight * excess.sum(axis=-1)


def _edge(
    program: Program, chosen: NDArray[np.float64], influence: NDArray[np.float64], candidates: int
) -> tuple[Rows, Rows]:
    """The rows of the set that the slope ranks lowest, and the rows outside that it ranks highest."""
    members, others = np.flatnonzero(chosen), np.flatnonzero(chosen == 0)
    rank = _slope_gains(program, influence, members[:candidates])
    inside = members[np.argsort(rank[members], kind="stable")[:candidates]]
    outside = others[np.argsort(-rank[others], kind="stable")[:candidates]]
    return inside, outside


def _slope_gains(
    program: Program, influence: NDArray[np.float64], sample: Rows | slice = slice(0, 64)
) -> NDArray[np.float64]:
    """What each row is worth at the margin, the slope smoothed over the size of a typical entry of T."""
    spread = float(np.sqrt(np.mean(program.attribution.block(sample) ** 2))) or 1.0
    slope = program.penalties * ndtr((influence - program.kappa) / spread)
    return np.asarray(program.rewards - program.attribution.matvec(slope))


def _indicator(program: Program, rows: NDArray[Any]) -> NDArray[np.float64]:
    chosen = np.zeros(program.n_rows)
    chosen[rows] = 1.0
    return chosen
