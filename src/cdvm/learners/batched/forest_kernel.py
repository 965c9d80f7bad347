"""Compiled code that grows the trees of a forest on the few rows of a training set.

A feature has at most 64 codes, so the codes that occur in a node are the bits of one word, and the best split
of a node costs as much as reading its rows, however many codes and classes there are. Two classes are counted
in the halves of one integer; the rows of several classes are passed in the order of their codes; targets are
added up as they are. Gini's impurity is the squared error of classes written as 0 and 1, so the gain is one.
A feature that cannot split a node is not looked at below it.

Random numbers are hashes of what they decide (tree, row or node): no answer depends on the order of the rows,
and training sets that share most rows share most randomness.

See :mod:`cdvm.learners.batched.tree_answers` for how trees are written down.
"""

from __future__ import annotations

import numpy as np

from cdvm.learners.batched.compiling import entry, inner

TARGETS, TWO_CLASSES, CLASSES = 0, 1, 2

_ONE = np.uint64(1)
_LOWER_HALF = (1 << 32) - 1
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
def _draw(rows, seed, copies, bootstrap, weight, members):
    """Weights of the rows in one tree; how many rows have any."""
    n_members = 0
    for i in range(rows.shape[0]):
        w = _occurrences(seed, rows[i], copies[i]) if bootstrap else np.int64(copies[i])
        weight[i] = w
        members[n_members] = i
        n_members += w > 0
    return n_members


@inner
def _lowest(word):
    """The place of a word's lowest bit."""
    return np.int64(_PLACES[((word & (~word + _ONE)) * _DEBRUIJN) >> np.uint64(58)])


@inner
def _wins(gain, gap, best, widest):
    """Whether a cut is better than the best so far, or as good in a wider gap."""
    return gain > best * _TIE or (gain * _TIE > best and gap > widest)


@inner
def _split_targets(column, members, start, stop, weights, amounts, n, total, sums, sizes, least):
    """Best split of a node on one feature: its gain, and the codes on either side, -1 where there is none."""
    occupied = np.uint64(0)
    for i in range(start, stop):
        b = column[members[i]]
        sums[b] += amounts[i]
        sizes[b] += weights[i]
        occupied |= _ONE << np.uint64(b)
    best, low, high, before = -1.0, np.int64(-1), np.int64(-1), np.int64(-1)
    n_left, left, left_squares, squares = np.int64(0), 0.0, 0.0, total**2
    while occupied:
        b = _lowest(occupied)
        occupied &= occupied - _ONE
        if n_left >= least and n - n_left >= least:
            gain = left_squares / n_left + squares / (n - n_left)
            if _wins(gain, b - before, best, high - low):
                best, low, high = gain, before, b
        c = sums[b]
        left_squares += c * (2.0 * left + c)
        squares += c * (c - 2.0 * (total - left))
        left += c
        n_left += sizes[b]
        sums[b], sizes[b] = 0.0, 0
        before = b
    return best, low, high


@inner
def _split_two_classes(column, members, start, stop, counted, n, total, counts, least):
    """The same for two classes: rows are in the upper half of a count, those of the second class below."""
    occupied = np.uint64(0)
    for i in range(start, stop):
        b = column[members[i]]
        counts[b] += counted[i]
        occupied |= _ONE << np.uint64(b)
    best, low, high, before = -1.0, np.int64(-1), np.int64(-1), np.int64(-1)
    n_left, left = np.int64(0), np.int64(0)
    while occupied:
        b = _lowest(occupied)
        occupied &= occupied - _ONE
        if n_left >= least and n - n_left >= least:
            one, other = np.float64(left), np.float64(total - left)
            gain = one * one / n_left + other * other / (n - n_left)
            if _wins(gain, b - before, best, high - low):
                best, low, high = gain, before, b
        left += counts[b] & _LOWER_HALF
        n_left += counts[b] >> 32
        counts[b] = 0
        before = b
    return best, low, high


@inner
def _split_classes(column, members, start, stop, weights, classes, n, totals, last, earlier, left, least):
    """The same for several classes: ``last`` of a code is one of its rows, ``earlier`` of a row another."""
    occupied = np.uint64(0)
    for i in range(start, stop):
        b = column[members[i]]
        bit = _ONE << np.uint64(b)
        earlier[i] = last[b] if occupied & bit else np.uint32(stop)
        last[b] = i
        occupied |= bit
    squares = np.int64(0)
    for k in range(totals.shape[0]):
        squares += totals[k] * totals[k]
        left[k] = 0
    best, low, high, before = -1.0, np.int64(-1), np.int64(-1), np.int64(-1)
    n_left, left_squares = np.int64(0), np.int64(0)
    while occupied:
        b = _lowest(occupied)
        occupied &= occupied - _ONE
        if n_left >= least and n - n_left >= least:
            gain = left_squares / n_left + squares / (n - n_left)
            if _wins(gain, b - before, best, high - low):
                best, low, high = gain, before, b
        i = last[b]
        while i < stop:
            k, w = classes[i], weights[i]
            here = left[k]
            left_squares += w * (2 * here + w)
            squares += w * (w - 2 * (totals[k] - here))
            left[k] = here + w
            n_left += w
            i = earlier[i]
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
def _gather(kind, members, start, stop, target, weight, counted, amounts, classes, totals):
    """Put what a node's rows count side by side; their weight, their sum, and whether their targets vary."""
    n, total, varies, first = np.int64(0), 0.0, False, target[members[start]]
    totals[:] = 0
    for i in range(start, stop):
        r = members[i]
        w, t = weight[r], target[r]
        n += w
        varies |= t != first
        counted[i] = w
        if kind == CLASSES:
            classes[i] = np.uint32(t)
            totals[classes[i]] += w
        elif kind == TWO_CLASSES:
            second = w * np.int64(t)
            counted[i] = (w << 32) + second
            totals[0] += second
        else:
            amounts[i] = w * t
            total += amounts[i]
    return n, total, varies


@inner
def _grow(
    columns, kind, target, weight, members, n_members, n_try, least, max_depth, seed,
    counted, amounts, sums, counts, totals, left, classes, earlier, last, spare,
    order, drawn, stack, seeds, useless, parent, feature, threshold, values,
):  # fmt: skip
    """Grow a tree on the first of ``members``, depth first; the number of splits.

    ``useless`` are the features that cannot split a node on the stack, nor any below it.
    """
    d = columns.shape[0]
    n_splits, top = 0, 0
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3], seeds[0] = 0, n_members, 0, 0, seed
    useless[0] = False
    while top >= 0:
        start, stop, depth, leaf = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
        node_seed, cannot = seeds[top], useless[top]
        top -= 1
        here, end = np.uint64(start), np.uint64(stop)  # indices that need no look at their sign
        n, total, varies = _gather(
            kind, members, here, end, target, weight, counted, amounts, classes, totals
        )
        for k in range(values.shape[1]):
            values[leaf, k] = total / n if kind == TARGETS else totals[k] / n
        best, split, low, high, j = -1.0, -1, np.int64(-1), np.int64(-1), 0
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
                j += 1
                if cannot[f]:
                    continue
                if kind == TARGETS:
                    gain, a, b = _split_targets(
                        columns[f], members, here, end, counted, amounts, n, total, sums, counts, least
                    )
                elif kind == TWO_CLASSES:
                    gain, a, b = _split_two_classes(
                        columns[f], members, here, end, counted, n, totals[0], counts, least
                    )
                else:
                    gain, a, b = _split_classes(
                        columns[f], members, here, end, counted, classes, n, totals,
                        last, earlier, left, least,
                    )  # fmt: skip
                if a < 0:  # constant here, and not one of those tried
                    cannot[f] = True
                    continue
                found += 1
                if _wins(gain, b - a, best, high - low):
                    best, split, low, high = gain, f, a, b
        while n_try < d and j > 0:  # the next node draws from the features in their own order again
            j -= 1
            f = order[drawn[j]]
            order[drawn[j]] = order[j]
            order[j] = f
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
            useless[top] = cannot  # the other child has its parent's place, and so its useless features
    return n_splits


@entry
def grow_forest(
    columns, kind, target, copies, rows, seed, n_try, least, max_depth, bootstrap,
    starts, parent, feature, threshold, values,
):  # fmt: skip
    """Grow a forest and write its trees down.

    Parameters
    ----------
    columns : uint8 array of shape (n_features, n_rows)
    kind : int
        What the targets are.
    target : float64 array of shape (n_rows,)
        Targets, or the numbers of classes.
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
    weight, counted, amounts = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    members, spare = np.empty(n, np.uint32), np.empty(n, np.uint32)
    classes, earlier, last = np.empty(n, np.uint32), np.empty(n, np.uint32), np.empty(64, np.uint32)
    sums, counts = np.zeros(64), np.zeros(64, np.int64)
    totals, left = np.empty(width, np.int64), np.empty(width, np.int64)
    stack, seeds = np.empty((n + 2, 4), np.int64), np.empty(n + 2, np.uint64)
    order, drawn, useless = np.arange(d), np.empty(d, np.int64), np.empty((n + 2, d), np.bool_)
    at = 0
    for t in range(starts.shape[0] - 1):
        starts[t] = at
        own = _mix(seed, np.uint64(t))
        n_members = _draw(rows, own, copies, bootstrap, weight, members)
        if n_members == 0:
            n_members = _draw(rows, own, copies, False, weight, members)
        leaves = at + t  # a tree has one leaf more than splits
        at += _grow(
            columns, kind, target, weight, members, n_members, n_try, least, max_depth, own,
            counted, amounts, sums, counts, totals, left, classes, earlier, last, spare,
            order, drawn, stack, seeds, useless,
            parent[at:], feature[at:], threshold[at:], values[leaves:],
        )  # fmt: skip
    starts[starts.shape[0] - 1] = at
