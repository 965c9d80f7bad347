"""Compiled code that grows the trees of a forest on the few rows of a training set.

A feature has at most 64 codes, so the codes that occur in a node are the bits of one word, and the best split
of a node costs as much as reading its rows, however many codes there are. Gini's impurity is the squared
error of classes written as 0 and 1, so one kernel serves classes and targets: row ``i`` adds ``unit[i]`` to
output ``output[i]``. Targets and two classes have one output, more classes one each.

Random numbers are hashes of what they decide (tree, row or node): no answer depends on the order of the rows,
and training sets that share most rows share most randomness.

See :mod:`cdvm.learners.batched.tree_answers` for how trees are written down.
"""

from __future__ import annotations

import numpy as np

from cdvm.learners.batched.compiling import entry, inner

_ONE = np.uint64(1)
_DEBRUIJN = np.uint64(0x03F79D71B4CB0A89)
_PLACES = np.zeros(64, dtype=np.uint8)
for _k in range(64):
    _PLACES[((1 << _k) * int(_DEBRUIJN) % 2**64) >> 58] = _k
_TIE = 1 + 1e-9  # gains this close are equal but for rounding, and the wider gap wins
# chances of at most 0, 1, … occurrences under a Poisson law of mean 1
_POISSON = np.cumsum(np.exp(-1) / np.cumprod(np.r_[1.0, np.arange(1, 12)]))


@inner
def _mix(a, b):
    """A hash of two words (SplitMix64)."""
    z = a + (b + _ONE) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inner
def _occurrences(seed, row, copies):
    """How often a bootstrap holds a row that is there ``copies`` times: Poisson of mean ``copies``."""
    total = 0
    for copy in range(copies):
        word = _mix(_mix(seed, np.uint64(row)), np.uint64(copy))
        unit = np.float64(word >> np.uint64(11)) * 2.0**-53
        k = 0
        while k < 11 and unit >= _POISSON[k]:
            k += 1
        total += k
    return total


@inner
def _draw(rows, seed, copies, unit, bootstrap, weight, weighted, members):
    """Weights of the rows in one tree; how many rows have any."""
    n_members = 0
    for i in range(rows.shape[0]):
        w = _occurrences(seed, rows[i], copies[i]) if bootstrap else np.int64(copies[i])
        weight[i], weighted[i] = w, w * unit[i]
        members[n_members] = i
        n_members += w > 0
    return n_members


@inner
def _split_feature(
    column,
    members,
    start,
    stop,
    output,
    weight,
    weighted,
    sums,
    sizes,
    totals,
    left,
    present,
    n_present,
    least,
):
    """Best split of a node on one feature: its gain, and the codes on either side."""
    occupied = np.uint64(0)
    n = np.int64(0)
    for i in range(start, stop):
        r = members[i]
        b = column[r]
        sums[b, output[r]] += weighted[r]
        sizes[b] += weight[r]
        n += weight[r]
        occupied |= _ONE << np.uint64(b)
    squares = 0.0
    for j in range(n_present):
        squares += totals[present[j]] ** 2
        left[j] = 0.0
    best, low, high = -1.0, -1, -1
    n_left, left_squares, before = np.int64(0), 0.0, -1
    while occupied:
        b = np.int64(_PLACES[((occupied & (~occupied + _ONE)) * _DEBRUIJN) >> np.uint64(58)])
        occupied &= occupied - _ONE
        if n_left >= least and n - n_left >= least:
            gain = left_squares / n_left + squares / (n - n_left)
            if gain > best * _TIE or (gain * _TIE > best and b - before > high - low):
                best, low, high = gain, before, b
        for j in range(n_present):
            k = present[j]
            c = sums[b, k]
            sums[b, k] = 0.0
            left_squares += c * (2.0 * left[j] + c)
            squares += c * (c - 2.0 * (totals[k] - left[j]))
            left[j] += c
        n_left += sizes[b]
        sizes[b] = 0
        before = b
    return best, low, high


@inner
def _partition(column, members, start, stop, threshold, spare):
    """Move the rows above the threshold behind the others, each part in its order; where they start."""
    n_left, n_right = start, 0
    for i in range(start, stop):
        r = members[i]
        above = column[r] > threshold
        members[n_left] = r
        spare[n_right] = r
        n_right += above
        n_left += not above
    for i in range(n_right):
        members[n_left + i] = spare[i]
    return n_left


@inner
def _grow(
    columns, output, weight, weighted, members, n_members, n_try, least, max_depth, seed,
    ints, floats, sums, order, stack, seeds, parent, feature, threshold, values,
):  # fmt: skip
    """Grow a tree on the first of ``members``, depth first; the number of splits."""
    d = columns.shape[0]
    spare, sizes, present, drawn, seen = ints[0], ints[1], ints[2], ints[3], ints[4]
    totals, left = floats[0], floats[1]
    n_splits, top = 0, 0
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3], seeds[0] = 0, n_members, 0, 0, seed
    while top >= 0:
        start, stop, depth, leaf = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
        node_seed = seeds[top]
        top -= 1
        n, n_present, varies = np.int64(0), 0, False
        first = members[start]
        for i in range(start, stop):
            r = members[i]
            k = output[r]
            if not seen[k]:
                seen[k] = 1
                present[n_present] = k
                n_present += 1
            totals[k] += weighted[r]
            n += weight[r]
            varies |= (k != output[first]) | (weighted[r] * weight[first] != weighted[first] * weight[r])
        for k in range(values.shape[1]):
            values[leaf, k] = totals[k] / n
        best, split, low, high, j = -1.0, -1, -1, -1, 0
        if varies and depth < max_depth and n >= 2 * least:
            found = 0
            while j < d and found < n_try:
                f = j
                if n_try < d:
                    word = _mix(node_seed, np.uint64(j)) >> np.uint64(32)
                    drawn[j] = j + np.int64((word * np.uint64(d - j)) >> np.uint64(32))
                    f = order[drawn[j]]
                    order[drawn[j]] = order[j]
                    order[j] = f
                gain, a, b = _split_feature(
                    columns[f], members, start, stop, output, weight, weighted,
                    sums, sizes, totals, left, present, n_present, least,
                )  # fmt: skip
                if a >= 0:  # a feature that is constant here does not count
                    found += 1
                    if gain > best * _TIE or (gain * _TIE > best and b - a > high - low):
                        best, split, low, high = gain, f, a, b
                j += 1
        while n_try < d and j > 0:  # the next node draws from the features in their own order again
            j -= 1
            f = order[drawn[j]]
            order[drawn[j]] = order[j]
            order[j] = f
        for j in range(n_present):
            totals[present[j]] = 0.0
            seen[present[j]] = 0
        if split >= 0:
            cut = (low + high) // 2
            middle = _partition(columns[split], members, start, stop, cut, spare)
            parent[n_splits], feature[n_splits], threshold[n_splits] = leaf, split, cut
            n_splits += 1
            top += 2
            stack[top - 1, 0], stack[top - 1, 1], stack[top - 1, 2] = middle, stop, depth + 1
            stack[top, 0], stack[top, 1], stack[top, 2] = start, middle, depth + 1
            stack[top - 1, 3], stack[top, 3] = n_splits, leaf
            seeds[top - 1], seeds[top] = _mix(node_seed, np.uint64(0)), _mix(node_seed, _ONE)
    return n_splits


@entry
def grow_forest(
    columns, output, unit, copies, rows, seed, n_try, least, max_depth, bootstrap,
    starts, parent, feature, threshold, values,
):  # fmt: skip
    """Grow a forest and write its trees down.

    Parameters
    ----------
    columns : uint8 array of shape (n_features, n_rows)
    output, unit : int32 and float64 arrays of shape (n_rows,)
    copies, rows : int32 arrays of shape (n_rows,)
        How often each row occurs, and its number in the table.
    seed : uint64
    n_try, least, max_depth : int
        Features tried at a node, rows of a leaf at least, depth at most.
    bootstrap : bool
    starts, parent, feature, threshold, values
        The trees, filled here; ``len(starts) - 1`` of them.
    """
    d, n = columns.shape
    width = values.shape[1]
    side = max(64, n, d, width)
    ints, floats, sums = np.zeros((5, side), np.int32), np.zeros((2, side)), np.zeros((64, width))
    weight, members, weighted = np.empty(n, np.int64), np.empty(n, np.int32), np.empty(n)
    stack, seeds = np.empty((n + 2, 4), np.int64), np.empty(n + 2, np.uint64)
    order = np.arange(d)
    at = 0
    for t in range(starts.shape[0] - 1):
        starts[t] = at
        own = _mix(seed, np.uint64(t))
        n_members = _draw(rows, own, copies, unit, bootstrap, weight, weighted, members)
        if n_members == 0:
            n_members = _draw(rows, own, copies, unit, False, weight, weighted, members)
        leaves = at + t  # a tree has one leaf more than splits
        at += _grow(
            columns, output, weight, weighted, members, n_members, n_try, least, max_depth, own,
            ints, floats, sums, order, stack, seeds,
            parent[at:], feature[at:], threshold[at:], values[leaves:],
        )  # fmt: skip
    starts[starts.shape[0] - 1] = at
