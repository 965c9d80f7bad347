"""Right or wrong as one bit each, and products with it.

A product unpacks a few models at a time into the processor's cache. That takes about as long as reading the
same numbers in single precision from memory, and needs a thirty-second of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bits"]

_AT_ONCE = 1 << 17  # entries unpacked at a time


class Bits:
    """A matrix of packed bits that answers like an array of 0.0 and 1.0 where an attribution asks it to.

    Parameters
    ----------
    packed : ndarray of uint8, shape (n_models, ⌈n_evaluation / 8⌉)
        As ``np.packbits(…, axis=1)`` makes it; may be memory-mapped.
    n_evaluation : int

    Examples
    --------
    >>> bits = Bits(np.packbits([[1, 0, 1], [0, 0, 1]], axis=1), 3)
    >>> bits @ np.array([1.0, 2.0, 4.0], dtype=np.float32)
    array([5., 4.], dtype=float32)
    >>> np.ones(2, dtype=np.float32) @ bits
    array([1., 0., 2.])
    """

    __array_ufunc__ = None  # vector @ bits is ours to answer
    dtype = np.dtype(np.uint8)

    def __init__(self, packed: NDArray[np.uint8], n_evaluation: int) -> None:
        self.packed = packed
        self.shape = (len(packed), int(n_evaluation))

    def _pieces(self) -> Iterator[tuple[slice, NDArray[np.uint8]]]:
        step = max(1, _AT_ONCE // self.shape[1])
        for start in range(0, self.shape[0], step):
            models = slice(start, min(start + step, self.shape[0]))
            yield models, np.unpackbits(self.packed[models], axis=1, count=self.shape[1])

    def __matmul__(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        product = np.empty(self.shape[0], dtype=np.float32)
        for models, piece in self._pieces():
            product[models] = piece.astype(np.float32) @ vector
        return product

    def __rmatmul__(self, vector: NDArray[np.float32]) -> NDArray[np.float64]:
        product = np.zeros(self.shape[1])
        for models, piece in self._pieces():
            product += vector[models] @ piece.astype(np.float32)
        return product

    def sum(self, axis: int, dtype: Any = None) -> NDArray[Any]:
        """Sums over models (axis 0) or over evaluation rows (axis 1)."""
        if axis == 1:
            return np.concatenate([p.sum(axis=1, dtype=np.int64) for _, p in self._pieces()]).astype(dtype)
        total = np.zeros(self.shape[1], dtype=np.int64)
        for _, piece in self._pieces():
            total += piece.sum(axis=0, dtype=np.int64)
        return total.astype(dtype)

    def mean(self, axis: int, dtype: Any = None) -> NDArray[Any]:
        """Means over models (axis 0) or over evaluation rows (axis 1)."""
        return np.asarray(self.sum(axis, np.float64) / self.shape[axis], dtype=dtype)

    def columns(self, columns: Any, dtype: Any = np.uint8) -> NDArray[Any]:
        """All models' outcomes on some evaluation rows, as an array of 0 and 1."""
        if isinstance(columns, slice) and columns.step in (None, 1):
            first, last, _ = columns.indices(self.shape[1])
            start = first // 8
            part = np.unpackbits(self.packed[:, start : -(-last // 8)], axis=1)
            return part[:, first - 8 * start : last - 8 * start].astype(dtype)
        which = np.arange(self.shape[1])[columns]
        shifts = (7 - which % 8).astype(np.uint8)
        part = (self.packed[:, which // 8] >> shifts) & np.uint8(1)
        return np.asarray(part, dtype=dtype)

    def __getitem__(self, key: tuple[slice, Any]) -> NDArray[np.float32]:
        """Columns in single precision, as ``bits[:, columns]``."""
        models, columns = key
        if models != slice(None):
            raise IndexError("bits are read by columns: bits[:, columns]")
        return self.columns(columns, np.float32)
