"""A 0/1 matrix kept as the positions of its ones, and its products.

A compressed sparse matrix stores a value beside every position, and SciPy converts all values whenever a
vector is of another type. Here the values of every slice are one shared array of ones, short enough to stay
in the processor's cache: a third of the memory, and half the time of a product or less.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["Incidence"]

_SLICE = 1 << 20  # positions multiplied at once


class Incidence:
    """A matrix of zeros and ones, in compressed row form without values."""

    def __init__(self, indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]) -> None:
        self.indices, self.indptr, self.shape = indices, indptr, shape
        longest = int(np.diff(indptr).max(initial=0))
        self._ones = np.ones(min(len(indices), max(_SLICE, longest)), dtype=np.float32)
        cuts, start = [0], 0
        while start < shape[0]:
            end = int(np.searchsorted(indptr, indptr[start] + len(self._ones), side="right")) - 1
            start = max(start + 1, end)
            cuts.append(min(start, shape[0]))
        self._slices = [(slice(a, b), self._part(a, b)) for a, b in itertools.pairwise(cuts)]

    def _part(self, first: int, last: int) -> sparse.csr_array:
        begin, end = int(self.indptr[first]), int(self.indptr[last])
        part = sparse.csr_array((last - first, self.shape[1]), dtype=np.float32)
        # assigned, not passed: the constructor would copy the shared ones
        part.data = self._ones[: end - begin]
        part.indices = self.indices[begin:end]
        part.indptr = (self.indptr[first : last + 1] - begin).astype(self.indices.dtype)
        return part

    def __matmul__(self, vector: NDArray[Any]) -> NDArray[Any]:
        """The product with a vector, in the vector's precision; single is twice as fast."""
        product = np.empty(self.shape[0], dtype=vector.dtype)
        for rows, part in self._slices:
            product[rows] = part @ vector
        return product

    def transpose(self) -> Incidence:
        """The transposed matrix, its positions in order."""
        values = np.ones(len(self.indices), dtype=np.int8)
        turned = sparse.csr_array((values, self.indices, self.indptr), self.shape).T.tocsr()
        return Incidence(turned.indices, turned.indptr, (self.shape[1], self.shape[0]))

    def to_csr(self) -> sparse.csr_array:
        """The same as a sparse matrix of single-precision ones."""
        ones = np.ones(len(self.indices), dtype=np.float32)
        return sparse.csr_array((ones, self.indices, self.indptr), self.shape)

    def rows(self, rows: Any = None) -> sparse.csr_array:
        """Some rows as a sparse matrix of single-precision ones."""
        if rows is None:
            return self.to_csr()
        if isinstance(rows, slice) and rows.step in (None, 1):
            first, last, _ = rows.indices(self.shape[0])
            if first < last and self.indptr[last] - self.indptr[first] <= len(self._ones):
                return self._part(first, last)
        return self._pick(np.arange(self.shape[0])[rows])

    def _pick(self, rows: NDArray[np.int64]) -> sparse.csr_array:
        lengths = self.indptr[rows + 1] - self.indptr[rows]
        ends = np.cumsum(lengths)
        offset = np.repeat(self.indptr[rows] - (ends - lengths), lengths)
        picked = self.indices[np.arange(len(offset)) + offset]
        indptr = np.concatenate([[0], ends])
        return sparse.csr_array(
            (np.ones(len(picked), dtype=np.float32), picked, indptr), (len(rows), self.shape[1])
        )
