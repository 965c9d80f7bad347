"""Outcomes on disk: a directory that survives being killed at any moment.

``manifest.json`` declares up front what the store is for: the design, the learner, the outcome, a fingerprint
of the data. Each finished range of models is one file named
``<first>-<stop>-<degenerate>-<checksum>.npy``, written under another name and moved into place, so a file
is either whole or not there. Which models are done follows from the names alone; a file that does not match
its checksum is set aside and its models are computed again.
"""

from __future__ import annotations

import json
import re
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from reprlib import repr as repr_short
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm.errors import InputWarning, StoreError
from cdvm.files import write_whole

__all__ = ["Chunk", "Store", "missing_ranges"]

_FORMAT = 1
_NAME = re.compile(r"(\d{8,})-(\d{8,})-(\d+)-([0-9a-f]{8})\.npy")


@dataclass(frozen=True, eq=False)
class Chunk:
    """Outcomes of models ``first`` to ``stop``, and how many of them were degenerate."""

    first: int
    stop: int
    degenerate: int
    data: NDArray[Any]


class Store:
    """A directory of outcomes that belongs to one declaration.

    Parameters
    ----------
    path : path
    declaration : dict of plain values, or None to open whatever is there
    """

    def __init__(self, path: str | Path, declaration: dict[str, Any] | None = None) -> None:
        self.path = Path(path)
        manifest = self.path / "manifest.json"
        if manifest.exists():
            self.declaration = _read_manifest(manifest)
            if declaration is not None:
                _refuse_other(self.path, self.declaration, json.loads(json.dumps(declaration)))
        elif declaration is None:
            raise StoreError(f"{self.path} is no outcome store: it has no manifest.json")
        else:
            if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
                raise StoreError(f"{self.path} is not empty and is no outcome store: name another directory")
            self.path.mkdir(parents=True, exist_ok=True)
            self.declaration = json.loads(json.dumps(declaration))
            text = json.dumps({"format": _FORMAT, **self.declaration}, indent=2, sort_keys=True)
            write_whole(manifest, text.encode())

    def ranges(self) -> list[tuple[int, int]]:
        """Model ranges whose outcomes are here, in order."""
        return sorted((first, stop) for first, stop, *_ in self._files())

    def write(self, chunk: Chunk) -> None:
        """Add a finished range of models."""
        buffer = BytesIO()
        np.save(buffer, chunk.data, allow_pickle=False)
        content = buffer.getvalue()
        name = f"{chunk.first:08d}-{chunk.stop:08d}-{chunk.degenerate}-{zlib.crc32(content):08x}.npy"
        write_whole(self.path / name, content)

    def read(self) -> Iterator[Chunk]:
        """Every whole range, in order; a damaged file is reported, set aside and skipped."""
        for first, stop, degenerate, checksum, file in sorted(self._files()):
            content = file.read_bytes()
            if zlib.crc32(content) != checksum:
                file.replace(file.with_name(file.name + ".damaged"))
                warnings.warn(
                    f"{file} is damaged: it was set aside, and models {first} to {stop} count as not done",
                    InputWarning,
                    stacklevel=2,
                )
                continue
            yield Chunk(first, stop, degenerate, np.load(BytesIO(content), allow_pickle=False))

    def _files(self) -> Iterator[tuple[int, int, int, int, Path]]:
        for file in self.path.iterdir():
            match = _NAME.fullmatch(file.name)
            if match:
                first, stop, degenerate = (int(g) for g in match.groups()[:3])
                yield first, stop, degenerate, int(match[4], 16), file


def missing_ranges(first: int, stop: int, done: list[tuple[int, int]], at_most: int) -> list[tuple[int, int]]:
    """What of ``first`` to ``stop`` is not done, in pieces of at most ``at_most`` models.

    >>> missing_ranges(0, 10, [(2, 4)], at_most=3)
    [(0, 2), (4, 7), (7, 10)]
    """
    gaps, at = [], first
    for a, b in [*sorted(done), (stop, stop)]:
        gaps += [(s, min(s + at_most, a, stop)) for s in range(at, min(a, stop), at_most)]
        at = max(at, b)
    return gaps


def _read_manifest(manifest: Path) -> dict[str, Any]:
    try:
        declared: dict[str, Any] = json.loads(manifest.read_text())
        version = declared.pop("format")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"{manifest} cannot be read ({error}): delete the store and run again") from error
    if version != _FORMAT:
        raise StoreError(f"{manifest} has format {version}; this version reads format {_FORMAT}")
    return declared


def _refuse_other(path: Path, here: dict[str, Any], wanted: dict[str, Any]) -> None:
    differences = list(_differences(here, wanted))
    if differences:
        raise StoreError(
            f"{path} belongs to another run: {'; '.join(differences)}. Name another store, or delete this one"
        )


def _differences(here: Any, wanted: Any, name: str = "") -> Iterator[str]:
    if isinstance(here, dict) and isinstance(wanted, dict):
        for key in sorted({*here, *wanted}):
            label = f"{name}.{key}" if name else key
            yield from _differences(here.get(key), wanted.get(key), label)
    elif here != wanted:
        yield f"{name} is {repr_short(here)} there and {repr_short(wanted)} here"
