"""Compiled code that grows the trees of a gradient-boosted model.

A node's histogram holds, for every code and feature, the sums of gradients, curvatures and rows; features
are innermost, so the search for the best split runs over several features at a time. Of two children only the
smaller is counted, the other is what remains of the parent. Trees grow at the leaf with the most to gain,
G₁²/(H₁ + l2) + G₂²/(H₂ + l2) − G²/(H + l2), and a leaf answers −rate·G/(H + l2).

See :mod:`cdvm.learners.batched.tree_answers` for how trees are written down.
"""

from __future__ import annotations

import numpy as np

from cdvm.learners.batched.compiling import entry, inner

SQUARED, BINARY, SOFTMAX = 0, 1, 2

_ZERO, _UNIT = np.float32(0), np.float32(1)
_FITTED = np.float32(0.02)  # a model as sure as this of every row has nothing left to learn
_LEAST = np.float32(1e-4)  # the least gain worth a split
_TIE = np.float32(1 + 1e-5)  # gains this close are equal but for rounding, and the wider gap wins
_ROUGH = 500  # up to this many rows every other code will do (docs/decisions.md)


@inner
def _count(codes, members, start, stop, gradient, curvature, weight, histogram):
    """Sums over the rows of a node, by code and feature."""
    for part in range(3):
        for b in range(histogram.shape[1]):
            for f in range(histogram.shape[2]):
                histogram[part, b, f] = _ZERO
    G, H, W = histogram[0], histogram[1], histogram[2]
    for i in range(start, stop):
        r = members[i]
        g, h, w = gradient[r], curvature[r], weight[r]
        for f in range(codes.shape[1]):
            b = codes[r, f]
            G[b, f] += g
            H[b, f] += h
            W[b, f] += w


@inner
def _subtract(histogram, child):
    """Leave of a parent's histogram what the other child has."""
    for part in range(3):
        for b in range(histogram.shape[1]):
            for f in range(histogram.shape[2]):
                histogram[part, b, f] -= child[part, b, f]


@inner
def _find(histogram, total, l2, least, table, lines, chosen):
    """Best gain over all features; ``chosen`` gets the feature and the threshold.

    Short loops of one purpose each, so that the compiler makes vectors of them.
    """
    n_codes, d = histogram.shape[1], histogram.shape[2]
    G, H, W = histogram[0], histogram[1], histogram[2]
    left_g, left_h, left_w, best = lines[0], lines[1], lines[2], lines[3]
    all_g, all_h, all_w = total[0], total[1] + l2 + l2, total[2]
    for f in range(d):
        left_g[f], left_h[f], left_w[f], best[f] = _ZERO, l2, _ZERO, _ZERO
    for b in range(n_codes - 1):
        gains = table[b]
        for f in range(d):
            left_g[f] += G[b, f]
        for f in range(d):
            left_h[f] += H[b, f]
        for f in range(d):
            left_w[f] += W[b, f]
        for f in range(d):
            g, h, w = left_g[f], left_h[f], left_w[f]
            other_g, other_h = all_g - g, all_h - h
            gain = (g * g * other_h + other_g * other_g * h) / (h * other_h)
            gains[f] = gain if min(w, all_w - w) >= least else _ZERO
        for f in range(d):
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
            while W[low, f] == _ZERO:
                low -= 1
            while W[high, f] == _ZERO:
                high += 1
            if high - low > widest:
                widest, chosen[0], chosen[1] = high - low, f, (low + high) // 2
    return top - all_g * all_g / (all_h - l2)


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
def _sum(members, start, stop, gradient, curvature, weight, total):
    g, h, w = _ZERO, _ZERO, _ZERO
    for i in range(start, stop):
        r = members[i]
        g += gradient[r]
        h += curvature[r]
        w += weight[r]
    total[0], total[1], total[2] = g, h, w


@inner
def _grow(
    codes, members, gradient, curvature, weight, l2, least, max_depth,
    histograms, table, lines, spare, totals, gains, chosen, bounds, parent, feature, threshold,
):  # fmt: skip
    """Grow a tree leaf by leaf; the number of splits.

    ``bounds`` of a leaf: where its rows start and stop in ``members``, its depth, and its histogram.
    """
    n, max_leaves = weight.shape[0], gains.shape[0]
    for i in range(n):
        members[i] = i
    bounds[0, 0], bounds[0, 1], bounds[0, 2], bounds[0, 3] = 0, n, 0, 0
    _sum(members, 0, n, gradient, curvature, weight, totals[0])
    _count(codes, members, 0, n, gradient, curvature, weight, histograms[0])
    gains[0] = _find(histograms[0], totals[0], l2, least, table, lines, chosen[0])
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
            _sum(members, bounds[i, 0], bounds[i, 1], gradient, curvature, weight, totals[i])
        if depth < max_depth and new + 1 < max_leaves:
            small = p if middle - start < stop - middle else new
            place = bounds[p, 3]  # the parent's histogram becomes the larger child's
            bounds[p, 3], bounds[new, 3] = (new, place) if small == p else (place, new)
            _count(
                codes,
                members,
                bounds[small, 0],
                bounds[small, 1],
                gradient,
                curvature,
                weight,
                histograms[new],
            )
            _subtract(histograms[place], histograms[new])
            for i in (p, new):
                if totals[i, 2] >= least + least:
                    gains[i] = _find(histograms[bounds[i, 3]], totals[i], l2, least, table, lines, chosen[i])
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
    rate, l2, least : float32
        Shrinkage, penalty of a leaf, rows of a leaf at least.
    starts, parent, feature, threshold, values, outputs
        The trees and the output each adds to, filled here.
    """
    n, d = codes.shape
    n_outputs, max_leaves = base.shape[0], values.shape[0] // outputs.shape[0]
    shift, n_codes = np.zeros(d, np.uint8), 2
    for f in range(d):
        shift[f] = (n <= _ROUGH) & (sizes[f] > 32)
        n_codes = max(n_codes, ((sizes[f] - 1) >> shift[f]) + 1)
    own = np.empty((n, d), np.uint8)
    for i in range(n):
        for f in range(d):
            own[i, f] = codes[i, f] >> shift[f]
    margin = np.empty((n_outputs, n), np.float32)
    for k in range(n_outputs):
        for i in range(n):
            margin[k, i] = base[k]
    gradient, curvature = np.empty((n_outputs, n), np.float32), np.empty((n_outputs, n), np.float32)
    members, spare = np.empty(n, np.int32), np.empty(n, np.int32)
    wide = (d + 7) // 8 * 8
    histograms = np.empty((max_leaves, 3, n_codes, wide), np.float32)
    table, lines = np.empty((n_codes, wide), np.float32), np.empty((4, wide), np.float32)
    totals, gains = np.empty((max_leaves, 3), np.float32), np.empty(max_leaves, np.float32)
    chosen, bounds = np.empty((max_leaves, 2), np.int64), np.empty((max_leaves, 4), np.int64)
    at, t = 0, 0
    for _ in range(n_rounds):
        before = t
        if _derive(loss, margin, target, weight, gradient, curvature) < _FITTED:
            break
        for k in range(n_outputs):
            if base[k] == -np.inf:
                continue
            n_splits = _grow(
                own, members, gradient[k], curvature[k], weight, l2, least, max_depth, histograms, table,
                lines, spare, totals, gains, chosen, bounds, parent[at:], feature[at:], threshold[at:],
            )  # fmt: skip
            if n_splits == 0:
                continue
            for s in range(at, at + n_splits):
                by = shift[feature[s]]
                threshold[s] = ((threshold[s] + 1) << by) - 1
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
