"""Write files whole or not at all, and read arrays back with a clear word when they are not whole."""

from __future__ import annotations

import json
import os
import uuid
import zipfile
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm.errors import StoreError

__all__ = ["load_arrays", "part_of", "save_arrays", "write_whole"]

_FORMAT = 1
_PART = ".part"


def write_whole(target: Path, content: bytes, *, replace: bool = True) -> None:
    """Write next to the target and move into place, so that a reader never sees half a file.

    With ``replace=False`` a target that is there stays as it is.
    """
    partial = target.with_name(f".{target.name}.{uuid.uuid4().hex}{_PART}")
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if replace or not _linked(partial, target):
            partial.replace(target)
    except OSError as error:
        raise StoreError(
            f"{target} cannot be written ({error.strerror}): nothing that was finished is lost; "
            "make room or name another place, and run the same command again"
        ) from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def part_of(name: str) -> bool:
    """Whether this is the name of a file that :func:`write_whole` has not finished."""
    return name.startswith(".") and name.endswith(_PART)


def _linked(partial: Path, target: Path) -> bool:
    """Give a file its name where that is free; False where the filesystem knows no links."""
    try:
        os.link(partial, target)
    except FileExistsError:
        return True
    except OSError:
        return target.exists()
    return True


def save_arrays(path: str | Path, kind: str, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Path:
    """One ``.npz`` file of arrays and plain values."""
    target = Path(path)
    target = target if target.suffix == ".npz" else target.with_name(target.name + ".npz")
    buffer = BytesIO()
    header = np.array(json.dumps({"format": _FORMAT, "kind": kind, **meta}))
    content: Any = {"meta": header, **arrays}
    np.savez_compressed(buffer, **content)
    write_whole(target, buffer.getvalue())
    return target


def load_arrays(path: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What :func:`save_arrays` wrote."""
    try:
        with np.load(path, allow_pickle=False) as file:
            meta: dict[str, Any] = json.loads(str(file["meta"]))
            arrays = {key: file[key] for key in file.files if key != "meta"}
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise StoreError(f"{path} is not a whole {kind} file ({error}): save it again") from error
    if meta.pop("kind", None) != kind or meta.pop("format", None) != _FORMAT:
        raise StoreError(f"{path} is no {kind} file of this version")
    return meta, arrays
