"""Outcomes in a directory or at an address: a store that survives being killed at any moment.

``manifest.json`` states up front what the store is for: the design, the learner, the outcome, a fingerprint
of the data, and a checksum of all these. Each finished range of models is one file named
``<first>-<stop>-<degenerate>-<run>-<checksum>.npy``: the outcomes, and the numbers of the degenerate models
among them. Which models are done follows from the names alone. ``requested-<first>-<stop>`` are empty files,
one a range that some run set out to do.

*run* is a digest of the manifest, and the checksum covers it too: a file that another run left here, after
its store was deleted or while two runs claimed one place, is never taken for one of ours. A writer looks at
the manifest before and after every file, and stops when the store is no longer its own.

A local file is written under another name and moved into place. Remote filesystems cannot all do that, so a
file is never believed for being there: one that does not match the checksum in its name (half-written,
truncated, altered) is reported, set aside, and its models are computed again.

Several writers may share a store. What a model answers follows from the manifest and its number, so a
range that two of them do is the same file twice; ranges that overlap in part are both kept, and a reader
takes each model once.
"""

from __future__ import annotations

import json
import math
import re
import warnings
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from reprlib import repr as repr_short
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cdvm._runtime.files import digest_of
from cdvm.errors import InputWarning, StoreError
from cdvm.outcomes.storage import Address, open_storage

__all__ = ["Chunk", "ChunkFile", "Store", "empty_store", "missing_ranges", "refuse_other"]

_FORMAT = 2
_MANIFEST = "manifest.json"
_NAME = re.compile(r"(\d{8,18})-(\d{8,18})-(\d{1,18})-([0-9a-f]{12})-([0-9a-f]{8})\.npy")
_REQUESTED = re.compile(r"requested-(\d{8,})-(\d{8,})")
_DAMAGED = ".damaged"


@dataclass(frozen=True, eq=False)
class Chunk:
    """Outcomes of models ``first`` to ``stop``, and the numbers of those that were degenerate."""

    first: int
    stop: int
    degenerate: NDArray[np.int64]
    data: NDArray[Any]


class ChunkFile(NamedTuple):
    """What the name of a chunk's file says."""

    first: int
    stop: int
    degenerate: int
    run: str
    checksum: str
    name: str


class Store:
    """A place with outcomes that belong to one manifest.

    Parameters
    ----------
    path : path or fsspec address
    manifest : dict of plain values, or None to open whatever is there
    """

    def __init__(self, path: Address, manifest: dict[str, Any] | None = None) -> None:
        self.storage = open_storage(path)
        self.path = self.storage.address
        found = self._manifest()
        if found is None:
            if manifest is None:
                raise StoreError(
                    f"{self.path} is no outcome store, it has no manifest.json: name another, or delete it "
                    "and run again"
                )
            found = self._create_manifest(manifest)
        if manifest is not None:
            refuse_other(self.path, found, json.loads(json.dumps(manifest)))
            self.storage.sweep()
        self.manifest, self.run = found, digest_of(found)[:12]

    def _manifest(self) -> dict[str, Any] | None:
        try:
            self._content = self.storage.read(_MANIFEST)
        except FileNotFoundError:
            return None
        return _parse_manifest(f"{self.path}/{_MANIFEST}", self._content)

    def _create_manifest(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """Write the manifest, and return what is there then: another run may have been faster."""
        if self.storage.names() and self._manifest() is None:
            raise StoreError(f"{self.path} is not empty and is no outcome store: name another directory")
        self.storage.make()
        written = {"format": _FORMAT, "checksum": digest_of(manifest), **manifest}
        self.storage.create(_MANIFEST, json.dumps(written, indent=2, sort_keys=True).encode())
        found = self._manifest()
        if found is None:
            raise StoreError(f"{self.path} does not keep what is written to it: name another place")
        return found

    def check_own(self) -> None:
        """Raise where the store was deleted, or begun anew for another run, since it was opened."""
        with suppress(FileNotFoundError):
            if self.storage.read(_MANIFEST) == self._content:
                return
        found = self._manifest()
        if found is None:
            raise StoreError(f"{self.path} was deleted while this run wrote to it: run again to begin anew")
        if digest_of(found)[:12] != self.run:
            differences = "; ".join(_differences(found, self.manifest))
            raise StoreError(
                f"{self.path} was taken over by another run while this one wrote to it: {differences}. "
                "Name another store, and run again"
            )

    def ranges(self) -> list[tuple[int, int]]:
        """Model ranges whose outcomes are here, in order."""
        return [(file.first, file.stop) for file in self.files()]

    def requested(self) -> list[tuple[int, int]]:
        """Model ranges that runs set out to do, in order."""
        matches = map(_REQUESTED.fullmatch, self.storage.names())
        return sorted((int(match[1]), int(match[2])) for match in matches if match)

    def request(self, first: int, stop: int) -> None:
        """Note that models ``first`` to ``stop`` are to be done."""
        if missing_ranges(first, stop, self.requested(), stop):
            self.storage.write(f"requested-{first:08d}-{stop:08d}", b"")

    def write(self, chunk: Chunk) -> None:
        """Add a finished range of models."""
        buffer = BytesIO()
        np.save(buffer, chunk.data, allow_pickle=False)
        np.save(buffer, chunk.degenerate, allow_pickle=False)
        content = buffer.getvalue()
        label = f"{chunk.first:08d}-{chunk.stop:08d}-{len(chunk.degenerate)}-{self.run}"
        self.check_own()
        self.storage.write(f"{label}-{_checksum(label, content)}.npy", content)
        self.check_own()

    def read(self) -> Iterator[Chunk]:
        """Every whole range, in order; a damaged file is reported, set aside and skipped."""
        files, others = self._all_files()
        if others:
            warnings.warn(
                f"{self.path} holds {len(others)} files of another run, e.g. {others[0].name}: "
                "they are left out",
                InputWarning,
                stacklevel=2,
            )
        for file in files:
            try:
                chunk = self._load(file)
            except FileNotFoundError:  # another reader found it damaged
                continue
            if chunk is not None:
                yield chunk
                continue
            moved = self.storage.rename(file.name, file.name + _DAMAGED)
            warnings.warn(
                f"{self.path}/{file.name} is damaged: it {'was' if moved else 'could not be'} set aside, and "
                f"models {file.first} to {file.stop} count as not done",
                InputWarning,
                stacklevel=2,
            )

    def files(self) -> list[ChunkFile]:
        """Files of finished ranges, in order; those of other runs are left out."""
        return self._all_files()[0]

    def foreign(self) -> list[str]:
        """Names of files that another run left here."""
        return [file.name for file in self._all_files()[1]]

    def _all_files(self) -> tuple[list[ChunkFile], list[ChunkFile]]:
        matches = map(_NAME.fullmatch, self.storage.names())
        found = sorted(
            ChunkFile(int(match[1]), int(match[2]), int(match[3]), match[4], match[5], match[0])
            for match in matches
            if match
        )
        return [f for f in found if f.run == self.run], [f for f in found if f.run != self.run]

    def whole(self, file: ChunkFile) -> bool:
        """Whether a file is as it was written."""
        try:
            return self._load(file) is not None
        except FileNotFoundError:
            return False

    def _load(self, file: ChunkFile) -> Chunk | None:
        """The content of a file; None where it is not as it was written."""
        try:
            content = self.storage.read(file.name)
        except StoreError as error:
            if isinstance(error.__cause__, IsADirectoryError):
                return None
            raise
        if _checksum(file.name.rpartition("-")[0], content) != file.checksum:
            return None
        return _parse_chunk(file, content)

    def set_aside(self) -> list[str]:
        """Names of files that were found damaged before."""
        return sorted(name for name in self.storage.names() if name.endswith(_DAMAGED))


def empty_store(path: Address, manifest: dict[str, Any]) -> None:
    """Give a store another manifest, and remove everything that was recorded under the one before.

    The manifest goes first: what a killed run leaves are files of another run, which no reader takes.
    """
    storage = open_storage(path)
    written = {"format": _FORMAT, "checksum": digest_of(manifest), **manifest}
    storage.write(_MANIFEST, json.dumps(written, indent=2, sort_keys=True).encode())
    for name in storage.names():
        if _NAME.fullmatch(name.removesuffix(_DAMAGED)) or _REQUESTED.fullmatch(name):
            storage.remove(name)


def _checksum(label: str, content: bytes) -> str:
    """Covers what the name says as well, so that a file renamed to other models or another run is found."""
    return f"{zlib.crc32(content, zlib.crc32(label.encode())):08x}"


def _parse_chunk(file: ChunkFile, content: bytes) -> Chunk | None:
    """What a file holds; None where it is not what a run writes, whoever gave it its checksum."""
    buffer = BytesIO(content)
    try:
        data, degenerate = (_read_array(buffer) for _ in range(2))
    except (ValueError, EOFError, SyntaxError, OverflowError, MemoryError, TypeError):
        return None
    models = file.stop - file.first
    sound = (
        buffer.tell() == len(content)
        and data.ndim == 2
        and data.dtype in (np.uint8, np.int8, np.int16, np.int32, np.float32)
        and 0 < len(data) == models
        and degenerate.dtype == np.int64
        and degenerate.shape == (file.degenerate,)
        and bool(np.all((degenerate >= file.first) & (degenerate < file.stop)))
        and bool(data.dtype != np.float32 or np.isfinite(data).all())
    )
    return Chunk(file.first, file.stop, degenerate, data) if sound else None


def _read_array(buffer: BytesIO) -> NDArray[Any]:
    """An array, if what its header announces is there: else memory would be taken for it first."""
    start = buffer.tell()
    version = np.lib.format.read_magic(buffer)
    if version != (1, 0):
        raise ValueError(f"array format {version}")
    shape, _, dtype = np.lib.format.read_array_header_1_0(buffer)
    if dtype.hasobject or math.prod(shape) * dtype.itemsize > len(buffer.getbuffer()) - buffer.tell():
        raise ValueError(f"an array of shape {shape} is not all there")
    buffer.seek(start)
    return np.asarray(np.load(buffer, allow_pickle=False))


def missing_ranges(first: int, stop: int, done: list[tuple[int, int]], at_most: int) -> list[tuple[int, int]]:
    """What of ``first`` to ``stop`` is not done, cut at the multiples of ``at_most``.

    Runs over different ranges thus cut at the same places.

    >>> missing_ranges(0, 10, [(2, 4)], at_most=3)
    [(0, 2), (4, 6), (6, 9), (9, 10)]
    """
    gaps, at = [], first
    for a, b in [*sorted(done), (stop, stop)]:
        end = min(a, stop)
        while at < end:
            cut = min((at // at_most + 1) * at_most, end)
            gaps.append((at, cut))
            at = cut
        at = max(at, b)
    return gaps


def _parse_manifest(name: str, content: bytes) -> dict[str, Any]:
    try:
        written: dict[str, Any] = json.loads(content)
        version, checksum = written.pop("format"), written.pop("checksum", None)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreError(f"{name} cannot be read ({error}): delete the store and run again") from error
    if version != _FORMAT:
        raise StoreError(
            f"{name} has format {version!r}; this version reads format {_FORMAT}: name another store, or "
            "delete this one, and run again"
        )
    if checksum != digest_of(written):
        raise StoreError(
            f"{name} is damaged: its content does not match its checksum; put back a copy, or delete the "
            "store and run again"
        )
    return written


def refuse_other(path: Address, here: dict[str, Any], requested: dict[str, Any]) -> None:
    """Raise, with the differences, where a store's manifest is not the requested one."""
    differences = list(_differences(here, requested))
    if differences:
        raise StoreError(
            f"{path} belongs to another run: {'; '.join(differences)}. Name another store, or delete this one"
        )


def _differences(here: Any, requested: Any, name: str = "") -> Iterator[str]:
    if isinstance(here, dict) and isinstance(requested, dict):
        for key in sorted({*here, *requested}):
            label = f"{name}.{key}" if name else key
            yield from _differences(here.get(key), requested.get(key), label)
    elif here != requested:
        yield f"{name} is {repr_short(here)} there and {repr_short(requested)} here"
