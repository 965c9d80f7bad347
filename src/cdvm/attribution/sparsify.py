"""One pass over the entries of T: the largest, and the fraction of largest magnitude.

T is read in tiles by several threads. A few rows tell roughly where the threshold will lie; the pass keeps
everything above a little less than that, and the exact threshold is found among what was kept. Only when the
guess was too high is T read again. Which entries are kept does not depend on tiles, guesses or threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cdvm._runtime.memory import bytes_text
from cdvm._runtime.parallel import run_tasks
from cdvm._runtime.progress import Progress, tell
from cdvm.errors import InputError

__all__ = ["largest_entry", "strongest_entries"]

Single = NDArray[np.float32]
Found = TypeVar("Found")
_Kept = tuple[Single, NDArray[np.int32], NDArray[np.int64]]  # values, columns, entries a row

_TILE = 1 << 20  # entries of T a thread holds at once
_SAMPLE = 1 << 22  # entries that tell where the threshold lies
_SPARE = 1.1  # how much more than the wanted fraction the guess is to keep
_TILE_BYTES = 24  # per entry of a tile: sums, double and single precision, magnitudes, masks
_KEPT_BYTES = 18  # per entry kept: value and position, with the spare, and again in the result
_STRIP_BYTES = 1 << 22  # outcomes of a strip of columns, one byte each: about what a cache holds


class Entries(Protocol):
    """What is read here of an attribution."""

    shape: tuple[int, int]

    def block(self, rows: Any = None, columns: Any = None) -> NDArray[np.float64]: ...
    def reader(self, columns: slice) -> Callable[[slice], Single]: ...
    def max(self) -> float: ...


def largest_entry(attribution: Entries, *, n_jobs: int | None = -1) -> float:
    """The largest entry of T."""
    largest, read, whole = -np.inf, 0, attribution.shape[0] * attribution.shape[1]
    for columns in _strips(attribution):
        tops = _read(attribution, columns, lambda _, tile: (tile.size, float(tile.max())), n_jobs)
        for _, (size, top) in tops:
            largest, read = max(largest, top), read + size
            tell(f"largest influence: {read / whole:.0%} of T read")
    return largest


def strongest_entries(
    attribution: Entries,
    keep: float,
    *,
    memory: int | None = None,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> tuple[sparse.csr_array, float]:
    """The ``keep`` fraction of largest magnitude as a sparse matrix, and the largest entry of all.

    Parameters
    ----------
    attribution : Entries
    keep : float
        Fraction of the entries between 0 and 1. Of entries equal in magnitude at the threshold, the first in
        row order are kept.
    memory : int, optional
        Bytes that tiles and kept entries may take.
    n_jobs : int, optional
    progress : bool, optional
    """
    n, m = attribution.shape
    wanted = round(keep * n * m)
    matrix = getattr(attribution, "matrix", None)
    if sparse.issparse(matrix):  # what is not stored is 0
        stored = sparse.csr_array(matrix, dtype=np.float32, copy=True)
        stored.eliminate_zeros()
        return _cut(stored, wanted), float(attribution.max())
    _check_memory(attribution, keep, wanted, memory)
    fraction = keep
    while True:
        fraction = min(1.0, fraction * _SPARE)
        floor = _guess(attribution, fraction)
        found, largest = _above(attribution, floor, n_jobs, progress)
        if found.nnz >= wanted or floor == 0.0:
            return _cut(found, wanted), largest
        fraction *= 2  # the sample was not typical


def _check_memory(attribution: Entries, keep: float, wanted: int, memory: int | None) -> None:
    if memory is None:
        return
    need = _KEPT_BYTES * wanted + 2 * _TILE_BYTES * _TILE
    if need > memory:
        fraction = max(0.0, (memory - 2 * _TILE_BYTES * _TILE) / _KEPT_BYTES) / np.prod(attribution.shape)
        raise InputError(
            f"keep={keep}: {wanted:,} entries need {bytes_text(need)}, but {bytes_text(memory)} are allowed: "
            + (f"keep at most {fraction:.2g}" if fraction > 0 else "allow more, or use T as it is")
        )


def _strips(attribution: Entries) -> list[slice]:
    """All columns, in strips whose outcomes fit into a bounded memory."""
    m = attribution.shape[1]
    height = max(1, getattr(attribution, "n_models", 1))
    width = min(m, max(8, _STRIP_BYTES // height // 8 * 8))
    return [slice(start, min(start + width, m)) for start in range(0, m, width)]


def _tiles(n: int, width: int) -> list[slice]:
    step = max(1, _TILE // max(1, width))
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def _read(
    attribution: Entries,
    columns: slice,
    use: Callable[[slice, Single], Found],
    n_jobs: int | None,
) -> Iterator[tuple[int, Found]]:
    """``use`` of every tile of a strip, with the tile's number, as they come."""
    reader = attribution.reader(columns)
    tasks = [(rows,) for rows in _tiles(attribution.shape[0], columns.stop - columns.start)]
    yield from run_tasks(lambda rows: use(rows, reader(rows)), tasks, n_jobs=n_jobs, prefer="threads")


def _guess(attribution: Entries, fraction: float) -> float:
    """A magnitude that about the given fraction of the entries reaches, evaluated by evenly spaced rows."""
    n, m = attribution.shape
    if fraction >= 1.0 or n * m <= _TILE:
        return 0.0
    rows = min(n, max(16, _SAMPLE // m))
    at = np.unique(np.linspace(0, n - 1, rows).astype(np.int64))
    width = max(1, min(m, 4 * _SAMPLE // len(at)))
    magnitude = np.abs(attribution.block(at, slice(0, width)).astype(np.float32)).ravel()
    place = len(magnitude) - max(1, round(fraction * len(magnitude)))
    return float(np.partition(magnitude, place)[place])


def _above(
    attribution: Entries, floor: float, n_jobs: int | None, progress: bool | None
) -> tuple[sparse.csr_array, float]:
    """Entries of at least the given magnitude, zeros left out, and the largest entry."""
    n, m = attribution.shape
    strips, largest = [], -np.inf

    def pick(_: slice, tile: Single) -> tuple[_Kept, float]:
        hit = np.flatnonzero((np.abs(tile) >= floor) & (tile != 0))
        row, column = np.divmod(hit, tile.shape[1])
        counts = np.bincount(row, minlength=tile.shape[0])
        return (tile.ravel()[hit], column.astype(np.int32), counts), float(tile.max())

    with Progress("entries of T", n * m, enabled=progress) as bar:
        for columns in _strips(attribution):
            width = columns.stop - columns.start
            tiles: dict[int, _Kept] = {}
            for number, (kept, top) in _read(attribution, columns, pick, n_jobs):
                tiles[number] = kept
                largest = max(largest, top)
                bar.advance(len(kept[2]) * width)
            strips.append(_assemble([tiles.pop(k) for k in sorted(tiles)], width))
    whole = strips[0] if len(strips) == 1 else sparse.csr_array(sparse.hstack(strips, format="csr"))
    return whole, largest


def _assemble(tiles: list[_Kept], width: int) -> sparse.csr_array:
    values = np.concatenate([t[0] for t in tiles])
    columns = np.concatenate([t[1] for t in tiles])
    ends = np.cumsum(np.concatenate([t[2] for t in tiles]))
    indptr = np.concatenate([[0], ends]).astype(np.int32 if len(values) < 1 << 31 else np.int64)
    return sparse.csr_array((values, columns, indptr), shape=(len(indptr) - 1, width))


def _cut(found: sparse.csr_array, wanted: int) -> sparse.csr_array:
    """The ``wanted`` entries of largest magnitude, the earliest of equals."""
    if found.nnz <= wanted:
        return found
    magnitude = np.abs(found.data)
    place = found.nnz - wanted
    threshold = np.partition(magnitude, place)[place]
    kept = magnitude > threshold
    kept[np.flatnonzero(magnitude == threshold)[: wanted - int(kept.sum())]] = True
    before = np.concatenate([[0], np.cumsum(kept)])
    indptr = before[found.indptr].astype(found.indptr.dtype)
    return sparse.csr_array((found.data[kept], found.indices[kept], indptr), shape=found.shape)
