"""Checks of the arrays of a file before an attribution is built from them.

The compiled routines that multiply sparse matrices believe what positions they are given: one outside the
matrix reads or writes memory that is none of theirs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm.errors import InputError

__all__ = ["Arrays", "require", "sparse_layout", "within"]

Arrays = dict[str, NDArray[Any]]


def require(condition: bool, otherwise: str) -> None:
    """InputError where a condition does not hold."""
    if not condition:
        raise InputError(otherwise)


def within(positions: NDArray[Any], stop: int) -> bool:
    """Whether these are whole numbers from 0 to ``stop`` - 1."""
    if positions.dtype.kind not in "iu":
        return False
    return positions.size == 0 or (int(positions.min()) >= 0 and int(positions.max()) < stop)


def sparse_layout(arrays: Arrays, rows: int, columns: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Positions and starts of a sparse matrix with so many rows and columns."""
    indices, indptr = arrays["indices"], arrays["indptr"]
    require(indices.ndim == 1 and within(indices, columns), f"positions lie outside its {columns} columns")
    require(indptr.shape == (rows + 1,) and indptr.dtype.kind in "iu", f"it has not {rows} rows")
    ends = indptr.astype(np.int64)
    require(ends[0] == 0 and ends[-1] == len(indices), "its rows do not cover its positions")
    require(bool((np.diff(ends) >= 0).all()), "its rows overlap")
    return indices, indptr
