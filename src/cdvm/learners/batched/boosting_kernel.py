"""Compiled code that grows the trees of a gradient-boosted model.

A node's histogram holds, for every code and feature, the sums of gradients, curvatures and rows; features
are innermost, those with most codes first, so the search for the best split runs over several features at a
time, and for high codes over those few that have them. Of two children only the
smaller is counted, the other is what remains of the parent. Trees grow at the leaf with the most to gain,
G₁²/(H₁ + l2) + G₂²/(H₂ + l2) − G²/(H + l2), and a leaf answers −rate·G/(H + l2).

The three sums are the fields of one integer of 64 bits, so that a row costs one addition a feature: rows in
the lowest bits, as many as it takes to count them all, and above them curvatures and gradients in as fine
steps as the rest allows (of a thousand rows, some 30,000 to the mean gradient). Where trees split is found
with these; what their leaves answer, with the gradients as they are.

See :mod:`cdvm.learners.batched.tree_answers` for how trees are written down.
"""

from __future__ import annotations

import numpy as np

from cdvm.learners.batched.compiling import entry, inner

SQUARED, BINARY, SOFTMAX = 0, 1, 2

_ZERO, _UNIT = np.float32(0), np.float32(1)
_TINY = 1e-30
_FITTED = np.float32(0.02)  # a model as sure as this of every row has nothing left to learn
_LEAST = np.float32(1e-4)  # the least gain worth a split
_TIE = np.float32(1 + 1e-5)  # gains this close are equal but for rounding, and the wider gap wins
_FINE = 64  # steps to the mean gradient, that rounding each row by itself does no harm
_GOLDEN = 0.6180339887498949
_ROUGH = 500  # up to this many rows every other code will do (docs/decisions.md)


@inner
def _shifts(weight):
    """Where gradients and curvatures begin in a packed integer: rows first, then half of the bits each."""
    below, total = np.int64(0), np.int64(weight.sum())
    while total >> below:
        below += 1
    return below + (64 - below) // 2, below


@inner
def _pack(gradient, curvature, weight, shifts, steps, packed):
    """Gradient, curvature and weight of each row in one integer; ``steps`` gets the size of theirs."""
    n, g, h = weight.shape[0], 0.0, 0.0
    for i in range(n):
        g += abs(gradient[i])
        h += curvature[i]
    above, below = shifts[0], shifts[1]
    most_g, most_h = (np.int64(1) << (63 - above)) - 1, (np.int64(1) << (above - below)) - 1
    coarse = min(most_g, most_h) < _FINE * n
    # room for what rounding adds: a step a row at most, and where it is even, nothing to speak of
    used_g, used_h = (most_g // 2, most_h // 2) if coarse else (most_g - n, most_h - n)
    steps[0], steps[1] = max(g, _TINY) / used_g, max(h, _TINY) / used_h
    for i in range(n):
        up = i * _GOLDEN % 1.0 if coarse else 0.5  # as often up as is right, however small a row's share
        g = np.floor(np.float64(gradient[i]) / steps[0] + up)
        h = np.floor(np.float64(curvature[i]) / steps[1] + up)
        packed[i] = (np.int64(g) << above) + (np.int64(h) << below) + np.int64(weight[i])


@inner
def _count(codes, active, members, start, stop, packed, histogram):
    """Sums over the rows of a node, by code and feature."""
    for b in range(histogram.shape[0]):
        for f in range(active[b]):
            histogram[b, f] = 0
    for i in range(np.uint64(start), np.uint64(stop)):  # indices that need no look at their sign
        r = members[i]
        p = packed[r]
        for f in range(codes.shape[1]):
            histogram[codes[r, f], f] += p


@inner
def _subtract(histogram, active, child):
    """Leave of a parent's histogram what the other child has."""
    for b in range(histogram.shape[0]):
        for f in range(active[b]):
            histogram[b, f] -= child[b, f]


@inner
def _find(histogram, active, total, shifts, steps, l2, least, table, left, fields, best, chosen):
    """Best gain over all features; ``chosen`` gets the feature and the threshold.

    Short loops of one purpose each, so that the compiler makes vectors of them.
    """
    n_codes, d = histogram.shape
    above, below, step_g, step_h = shifts[0], shifts[1], steps[0], steps[1]
    curved, rows = (np.int64(1) << (above - below)) - 1, (np.int64(1) << below) - 1
    G, H, W = fields[0], fields[1], fields[2]
    all_g = np.float32(total >> above) * step_g
    all_h, all_w = np.int32((total >> below) & curved), np.int32(total & rows)
    for f in range(d):
        left[f], best[f] = 0, _ZERO
    for b in range(n_codes - 1):
        gains, wide = table[b], active[b + 1]
        for f in range(wide):
            p = left[f] + histogram[b, f]
            left[f] = p
            G[f] = np.int32(p >> above)
            H[f] = np.int32((p >> below) & curved)
            W[f] = np.int32(p & rows)
        for f in range(wide):
            g, h = np.float32(G[f]) * step_g, np.float32(H[f]) * step_h + l2
            other_g, other_h = all_g - g, np.float32(all_h - H[f]) * step_h + l2
            gain = (g * g * other_h + other_g * other_g * h) / (h * other_h)
            gains[f] = gain if min(W[f], all_w - W[f]) >= least else _ZERO
        for f in range(wide):
            best[f] = gains[f] if gains[f] > best[f] else best[f]
    top, widest = _ZERO, 0
    for f in range(d):
        top = max(top, best[f])
    if top == _ZERO:
        return _ZERO
    for f in range(d):
        if best[f] * _TIE >= top:
            low = 0
            while table[low, f] * _TIE < top:
                low += 1
            high = low + 1
            while histogram[low, f] == 0:
                low -= 1
            while histogram[high, f] == 0:
                high += 1
            if high - low > widest:
                widest, chosen[0], chosen[1] = high - low, f, (low + high) // 2
    return top - all_g * all_g / (np.float32(all_h) * step_h + l2)


@inner
def _partition(codes, members, start, stop, feature, threshold, spare):
    """Move the rows above the threshold behind the others, each part in its order; where they start."""
    n_left, n_right = start, 0
    for i in range(start, stop):
        r = members[i]
        above = codes[r, feature] > threshold
        members[n_left] = r
        spare[n_right] = r
        n_right += above
        n_left += not above
    for i in range(n_right):
        members[n_left + i] = spare[i]
    return n_left


@inner
def _sum(members, start, stop, gradient, curvature, packed, total):
    """Sum of what the rows of a node are packed in; ``total`` gets the exact ones."""
    g, h, p = _ZERO, _ZERO, np.int64(0)
    for i in range(start, stop):
        r = members[i]
        g += gradient[r]
        h += curvature[r]
        p += packed[r]
    total[0], total[1] = g, h
    return p


@inner
def _grow(
    codes, active, members, gradient, curvature, packed, shifts, steps, l2, least, max_depth, histograms,
    table, left, fields, best, spare, totals, sums, gains, chosen, bounds, parent, feature, threshold,
):  # fmt: skip
    """Grow a tree leaf by leaf; the number of splits.

    ``bounds`` of a leaf: where its rows start and stop in ``members``, its depth, and its histogram.
    """
    n, max_leaves = packed.shape[0], gains.shape[0]
    counted = (np.int64(1) << shifts[1]) - 1
    for i in range(n):
        members[i] = i
    bounds[0, 0], bounds[0, 1], bounds[0, 2], bounds[0, 3] = 0, n, 0, 0
    sums[0] = _sum(members, 0, n, gradient, curvature, packed, totals[0])
    _count(codes, active, members, 0, n, packed, histograms[0])
    gains[0] = _find(
        histograms[0], active, sums[0], shifts, steps, l2, least, table, left, fields, best, chosen[0]
    )
    new = 1
    while new < max_leaves:
        p = 0
        for i in range(1, new):
            if gains[i] > gains[p]:
                p = i
        if not gains[p] > _LEAST:
            break
        start, stop, depth = bounds[p, 0], bounds[p, 1], bounds[p, 2] + 1
        parent[new - 1], feature[new - 1], threshold[new - 1] = p, chosen[p, 0], chosen[p, 1]
        middle = _partition(codes, members, start, stop, chosen[p, 0], chosen[p, 1], spare)
        bounds[p, 1], bounds[p, 2] = middle, depth
        bounds[new, 0], bounds[new, 1], bounds[new, 2] = middle, stop, depth
        gains[p], gains[new] = _ZERO, _ZERO
        for i in (p, new):
            sums[i] = _sum(members, bounds[i, 0], bounds[i, 1], gradient, curvature, packed, totals[i])
        most = max(sums[p] & counted, sums[new] & counted)
        if depth < max_depth and new + 1 < max_leaves and most >= least + least:
            small = p if middle - start < stop - middle else new
            place = bounds[p, 3]  # the parent's histogram becomes the larger child's
            bounds[p, 3], bounds[new, 3] = (new, place) if small == p else (place, new)
            _count(codes, active, members, bounds[small, 0], bounds[small, 1], packed, histograms[new])
            _subtract(histograms[place], active, histograms[new])
            for i in (p, new):
                if sums[i] & counted >= least + least:
                    gains[i] = _find(
                        histograms[bounds[i, 3]], active, sums[i], shifts, steps, l2, least,
                        table, left, fields, best, chosen[i],
                    )  # fmt: skip
        new += 1
    return new - 1


@inner
def _derive(loss, margin, target, weight, gradient, curvature):
    """Gradients and curvatures of the loss at the present margins; the largest gradient of any row."""
    largest = _ZERO
    for i in range(weight.shape[0]):
        w = weight[i]
        if loss == SQUARED:
            gradient[0, i] = w * (margin[0, i] - target[i])
            curvature[0, i] = w
            largest = _UNIT
        elif loss == BINARY:
            p = _UNIT / (_UNIT + np.exp(-margin[0, i]))
            gradient[0, i] = w * (p - target[i])
            curvature[0, i] = w * p * (_UNIT - p)
            largest = max(largest, abs(p - target[i]))
        else:
            top, total = margin[0, i], _ZERO
            for k in range(1, margin.shape[0]):
                top = max(top, margin[k, i])
            for k in range(margin.shape[0]):
                gradient[k, i] = np.exp(margin[k, i] - top)
                total += gradient[k, i]
            for k in range(margin.shape[0]):
                p = gradient[k, i] / total
                g = p - np.float32(k == target[i])
                gradient[k, i] = w * g
                curvature[k, i] = w * p * (_UNIT - p)
                largest = max(largest, abs(g))
    return largest


@entry
def grow_boosting(
    codes, sizes, target, weight, base, loss, n_rounds, rate, l2, least, max_depth,
    starts, parent, feature, threshold, values, outputs,
):  # fmt: skip
    """Grow a boosted model and write its trees down; how many there are.

    Parameters
    ----------
    codes : uint8 array of shape (n_rows, n_features)
    sizes : int64 array of shape (n_features,)
        Codes of each feature in the whole table.
    target, weight : float32 arrays of shape (n_rows,)
        Targets or classes, and how often each row occurs.
    base : float32 array of shape (n_outputs,)
        Margins before the first tree; minus infinity for a class without rows.
    loss : int
    n_rounds, max_depth : int
    rate, l2 : float32
        Shrinkage, penalty of a leaf.
    least : int
        Rows of a leaf.
    starts, parent, feature, threshold, values, outputs
        The trees and the output each adds to, filled here.
    """
    n, d = codes.shape
    n_outputs, max_leaves = base.shape[0], values.shape[0] // outputs.shape[0]
    order = np.argsort(-sizes, kind="mergesort")
    shift, n_codes, wide = np.zeros(d, np.uint8), 2, (d + 7) // 8 * 8
    for f in range(d):
        shift[f] = (n <= _ROUGH) & (sizes[order[f]] > 32)
        n_codes = max(n_codes, ((sizes[order[f]] - 1) >> shift[f]) + 1)
    own, active = np.empty((n, d), np.uint8), np.zeros(n_codes, np.int64)
    for f in range(d):
        for b in range(((sizes[order[f]] - 1) >> shift[f]) + 1):
            active[b] = max(active[b], f // 8 * 8 + 8)
        for i in range(n):
            own[i, f] = codes[i, order[f]] >> shift[f]
    margin = np.empty((n_outputs, n), np.float32)
    for k in range(n_outputs):
        for i in range(n):
            margin[k, i] = base[k]
    gradient, curvature = np.empty((n_outputs, n), np.float32), np.empty((n_outputs, n), np.float32)
    members, spare, packed = np.empty(n, np.uint32), np.empty(n, np.uint32), np.empty(n, np.int64)
    shifts, steps = _shifts(weight), np.empty(2, np.float32)
    histograms, table = np.empty((max_leaves, n_codes, wide), np.int64), np.empty((n_codes, wide), np.float32)
    left, fields, best = np.empty(wide, np.int64), np.empty((3, wide), np.int32), np.empty(wide, np.float32)
    totals, sums = np.empty((max_leaves, 2), np.float32), np.empty(max_leaves, np.int64)
    gains = np.empty(max_leaves, np.float32)
    chosen, bounds = np.empty((max_leaves, 2), np.int64), np.empty((max_leaves, 4), np.int64)
    at, t = 0, 0
    for _ in range(n_rounds):
        before = t
        if _derive(loss, margin, target, weight, gradient, curvature) < _FITTED:
            break
        for k in range(n_outputs):
            if base[k] == -np.inf:
                continue
            _pack(gradient[k], curvature[k], weight, shifts, steps, packed)
            n_splits = _grow(
                own, active, members, gradient[k], curvature[k], packed, shifts, steps, l2, least, max_depth,
                histograms, table, left, fields, best, spare, totals, sums, gains, chosen, bounds,
                parent[at:], feature[at:], threshold[at:],
            )  # fmt: skip
            if n_splits == 0:
                continue
            for s in range(at, at + n_splits):
                by = shift[feature[s]]
                feature[s], threshold[s] = order[feature[s]], ((threshold[s] + 1) << by) - 1
            for i in range(n_splits + 1):
                value = -rate * totals[i, 0] / (totals[i, 1] + l2)
                values[at + t + i, 0] = value
                for j in range(bounds[i, 0], bounds[i, 1]):
                    margin[k, members[j]] += value
            starts[t], outputs[t] = at, k
            at += n_splits
            t += 1
        if t == before:
            break
    starts[t] = at
    return t
