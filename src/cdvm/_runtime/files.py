"""Write files whole or not at all, and read arrays back exactly as they were written or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import time
import uuid
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cdvm.errors import InputError, StoreError

__all__ = ["digest_of", "load_arrays", "machine_name", "part_of", "save_arrays", "sweep_parts", "write_whole"]

Loaded = TypeVar("Loaded")

_FORMAT = 2
_PART = re.compile(r"\.([0-9a-f]{8})-(\d+)-[0-9a-f]{32}\.part")
_ABANDONED = 86400  # seconds after which a part of a writer on another machine counts as left behind


def write_whole(target: Path, content: bytes, *, replace: bool = True) -> None:
    """Write next to the target and move into place, so that a reader never sees half a file.

    With ``replace=False`` a target that is there stays as it is.
    """
    partial = target.with_name(f".{machine_name()}-{os.getpid()}-{uuid.uuid4().hex}.part")
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if replace or not _linked(partial, target):
            partial.replace(target)
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        raise StoreError(
            f"{target} cannot be written ({getattr(error, 'strerror', None) or error}): nothing that was "
            "finished is lost; make room or name another place, and run the same command again"
        ) from error
    finally:
        with suppress(OSError, ValueError):
            partial.unlink(missing_ok=True)


def part_of(name: str) -> bool:
    """Whether this is the name of a file that :func:`write_whole` has not finished."""
    return name.startswith(".") and name.endswith(".part")


def sweep_parts(directory: Path) -> None:
    """Remove what writers that were killed left behind; those that may be alive keep theirs."""
    with suppress(OSError):
        for name in os.listdir(directory):
            match = _PART.fullmatch(name)
            if match and _left_behind(directory / name, match[1], int(match[2])):
                (directory / name).unlink(missing_ok=True)


def _left_behind(part: Path, machine: str, process: int) -> bool:
    if machine != machine_name():
        with suppress(FileNotFoundError):
            return time.time() - part.stat().st_mtime > _ABANDONED
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


@cache
def machine_name() -> str:
    """Tells apart all places that count processes on their own: machines, and containers on one machine."""
    name = socket.gethostname()
    with suppress(OSError):
        name += os.readlink("/proc/self/ns/pid")
    return f"{zlib.crc32(name.encode()):08x}"


def _linked(partial: Path, target: Path) -> bool:
    """Give a file its name where that is free; False where the filesystem knows no links."""
    try:
        os.link(partial, target)
    except FileExistsError:
        return True
    except OSError:
        return target.exists()
    return True


def digest_of(values: Any) -> str:
    """A fingerprint of plain values, whatever the order of their keys."""
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def save_arrays(path: str | Path, kind: str, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Path:
    """One ``.npz`` file of arrays and plain values."""
    target = Path(path)
    target = target if target.suffix == ".npz" else target.with_name(target.name + ".npz")
    buffer = BytesIO()
    plain = json.loads(json.dumps({"format": _FORMAT, "kind": kind, **meta}))
    header = np.array(json.dumps({**plain, "checksum": _checksum(plain, arrays)}))
    content: Any = {"meta": header, **arrays}
    np.savez_compressed(buffer, **content)
    sweep_parts(target.parent)
    write_whole(target, buffer.getvalue())
    return target


def load_arrays(
    path: str | Path, kind: str, build: Callable[[dict[str, Any], dict[str, NDArray[Any]]], Loaded]
) -> Loaded:
    """What ``build`` makes of the values and arrays that :func:`save_arrays` wrote."""
    try:
        with np.load(path, allow_pickle=False) as file:
            meta: dict[str, Any] = json.loads(str(file["meta"]))
            arrays = {key: file[key] for key in file.files if key != "meta"}
        checksum = meta.pop("checksum", None)
    except FileNotFoundError:
        raise
    except Exception as error:  # zip, zlib, JSON and array headers each fail in ways of their own
        raise StoreError(f"{path} is not a whole {kind} file ({_brief(error)}): save it again") from error
    whole = checksum is None or checksum == _checksum(meta, arrays)
    if meta.pop("kind", None) != kind or meta.pop("format", None) != _FORMAT or checksum is None:
        raise StoreError(f"{path} is no {kind} file of this version: save it again")
    if not whole:
        raise StoreError(f"{path} is damaged: its content does not match its checksum; save it again")
    try:
        return build(meta, arrays)
    except (InputError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise StoreError(f"{path} holds no valid {kind} ({_brief(error)}): save it again") from error


def _brief(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".split("\n", 1)[0]


def _checksum(meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> str:
    """Covers names, types and shapes, which the format's own checksums leave out."""
    total = hashlib.sha256(digest_of(meta).encode())
    for name in sorted(arrays):
        array = np.asarray(arrays[name])
        total.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()
