"""Compiled code that sends many rows down trees.

Trees are written down as the lists of their splits in the order they were made. Split ``s`` of a tree sends
the rows of leaf ``parent[s]`` whose code of ``feature[s]`` is above ``threshold[s]`` to the new leaf
``s + 1``; the others stay where they are. Over whole columns a split is a comparison of bytes, which
processors do 32 at a time, so a small tree answers for a row in about a nanosecond. Large trees are walked
row by row.

Splits of tree ``t`` are ``starts[t]`` to ``starts[t + 1]``; its leaves begin at ``starts[t] + t``.
"""

from __future__ import annotations

import numpy as np

from cdvm.learners.batched.compiling import entry, inner

_BYTE = 256  # leaves that a byte tells apart


@inner
def _assign(columns, parent, feature, threshold, leaf):
    """Leaf of every row, in a tree of at most 256 leaves."""
    for r in range(leaf.shape[0]):
        leaf[r] = 0
    for s in range(parent.shape[0]):
        x, p, b, new = columns[feature[s]], np.uint8(parent[s]), threshold[s], np.uint8(s + 1)
        for r in range(leaf.shape[0]):
            i = leaf[r]
            leaf[r] = new if (i == p) & (x[r] > b) else i


@inner
def _walk(columns, parent, feature, threshold, leaf):
    """The same for larger trees."""
    n = parent.shape[0]
    first = np.full(n + 1, -1, np.int64)  # the first split of each leaf still to come
    below, above = np.empty(n, np.int64), np.empty(n, np.int64)
    for s in range(n - 1, -1, -1):
        below[s], above[s] = first[parent[s]], first[s + 1]
        first[parent[s]] = s
    for r in range(leaf.shape[0]):
        s, i = np.int64(0), 0
        while s >= 0:
            if columns[feature[s], r] > threshold[s]:
                i, s = s + 1, above[s]
            else:
                s = below[s]
        leaf[r] = i


@entry
def add_scalars(columns, starts, parent, feature, threshold, values, outputs, scores):
    """Add each tree's answer to the line of ``scores`` (n_outputs, n_answers) it belongs to."""
    small, large = np.empty(columns.shape[1], np.uint8), np.empty(columns.shape[1], np.int32)
    for t in range(outputs.shape[0]):
        a, b = starts[t], starts[t + 1]
        value, score = values[a + t : b + t + 1, 0], scores[outputs[t]]
        if b - a < _BYTE:
            _assign(columns, parent[a:b], feature[a:b], threshold[a:b], small)
            for r in range(score.shape[0]):
                score[r] += value[small[r]]
        else:
            _walk(columns, parent[a:b], feature[a:b], threshold[a:b], large)
            for r in range(score.shape[0]):
                score[r] += value[large[r]]


@entry
def add_vectors(columns, starts, parent, feature, threshold, values, scores):
    """Add each tree's answers to ``scores`` (n_answers, n_outputs)."""
    small, large = np.empty(columns.shape[1], np.uint8), np.empty(columns.shape[1], np.int32)
    for t in range(starts.shape[0] - 1):
        a, b = starts[t], starts[t + 1]
        if b - a < _BYTE:
            _assign(columns, parent[a:b], feature[a:b], threshold[a:b], small)
            for r in range(small.shape[0]):
                i = a + t + small[r]
                for k in range(scores.shape[1]):
                    scores[r, k] += values[i, k]
        else:
            _walk(columns, parent[a:b], feature[a:b], threshold[a:b], large)
            for r in range(large.shape[0]):
                i = a + t + large[r]
                for k in range(scores.shape[1]):
                    scores[r, k] += values[i, k]
