"""Attributions from the arrays of a file, each checked before it is used.

The compiled routines that multiply sparse matrices believe what positions they are given: one outside the
matrix reads or writes memory that is none of theirs.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cdvm.attribution.base import FLOAT_OUTCOMES, Attribution, ImplicitAttribution, MatrixAttribution
from cdvm.attribution.bits import Bits
from cdvm.errors import InputError

__all__ = ["build_attribution"]

Arrays = dict[str, NDArray[Any]]

_PART = re.compile(r"(\d{1,9})\.(\w+)")


def build_attribution(meta: dict[str, Any], arrays: Arrays) -> Attribution:
    """The attribution that a file holds; InputError where what it holds is none."""
    n, m = (int(length) for length in meta["shape"])
    _require(n > 0 and m > 0, f"its shape is {n} × {m}")
    return _mixed(arrays, (n, m)) if "weights" in arrays else _single(arrays, (n, m))


def _mixed(arrays: Arrays, shape: tuple[int, int]) -> Attribution:
    from cdvm.attribution.similarity import MixedAttribution

    weights = arrays["weights"]
    _require(weights.ndim == 1 and weights.dtype.kind == "f", "its weights are no list of numbers")
    _require(len(weights) > 0 and bool(np.isfinite(weights).all()), "its weights are not finite")
    parts: list[Arrays] = [{} for _ in weights]
    for name in arrays.keys() - {"weights"}:
        match = _PART.fullmatch(name)
        if match is None or int(match[1]) >= len(parts):
            raise InputError(f"{name!r} belongs to none of its parts")
        parts[int(match[1])][match[2]] = arrays[name]
    return MixedAttribution([_single(part, shape) for part in parts], weights.tolist())


def _single(arrays: Arrays, shape: tuple[int, int]) -> Attribution:
    if "outcomes" in arrays:
        return _implicit(arrays, shape)
    data = arrays["data"]
    _require(data.dtype.kind == "f", f"its entries are of type {data.dtype}")
    if "indptr" not in arrays:
        _require(data.shape == shape, f"its entries have shape {data.shape}, not {shape}")
        return MatrixAttribution(data)
    indices, indptr = _structure(arrays, *shape)
    _require(data.shape == indices.shape, f"{data.shape} entries stand at {indices.shape} positions")
    return MatrixAttribution(sparse.csr_array((data, indices, indptr), shape))


def _implicit(arrays: Arrays, shape: tuple[int, int]) -> ImplicitAttribution:
    (n, m), outcomes, evaluation_rows = shape, arrays["outcomes"], arrays.get("evaluation_rows")
    packed = "packed" in arrays
    expected = (len(arrays["indptr"]) - 1, -(-m // 8) if packed else m)
    _require(outcomes.shape == expected, f"its outcomes have shape {outcomes.shape}, not {expected}")
    _require(outcomes.dtype == (np.uint8 if packed else np.float32), f"outcomes are {outcomes.dtype}")
    _require(packed or bool(np.isfinite(outcomes).all()), "its outcomes are not finite")
    if evaluation_rows is not None:
        _require(
            evaluation_rows.shape == (m,) and _within(evaluation_rows, n), "its evaluation rows are no rows"
        )
    indices, indptr = _structure(arrays, expected[0], n)
    ones = np.ones(len(indices), dtype=np.int32)
    members = sparse.csr_array((ones, indices, indptr), (expected[0], n))
    if not packed:
        return ImplicitAttribution(members, outcomes, evaluation_rows, centred=True)
    bits = Bits(outcomes, m)
    small = evaluation_rows is not None or expected[0] * m <= FLOAT_OUTCOMES
    return ImplicitAttribution(members, bits.columns(slice(None)) if small else bits, evaluation_rows)


def _structure(arrays: Arrays, rows: int, columns: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Positions and starts of a sparse matrix with so many rows and columns."""
    indices, indptr = arrays["indices"], arrays["indptr"]
    _require(indices.ndim == 1 and _within(indices, columns), f"positions lie outside its {columns} columns")
    _require(indptr.shape == (rows + 1,) and indptr.dtype.kind in "iu", f"it has not {rows} rows")
    ends = indptr.astype(np.int64)
    _require(ends[0] == 0 and ends[-1] == len(indices), "its rows do not cover its positions")
    _require(bool((np.diff(ends) >= 0).all()), "its rows overlap")
    return indices, indptr


def _within(positions: NDArray[Any], stop: int) -> bool:
    if positions.dtype.kind not in "iu":
        return False
    return positions.size == 0 or (int(positions.min()) >= 0 and int(positions.max()) < stop)


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise InputError(otherwise)
