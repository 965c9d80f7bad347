"""Where files of data sets lie, and how those that are missing come here.

A file is looked for in the directory that the variable ``CDVM_DATA_HOME`` names, then in the cache
(``CDVM_CACHE``, or the user's cache directory), and is then downloaded into the cache. A download has the
digest it was published with or it is not used, and nobody ever sees half of one.
"""

from __future__ import annotations

import json
import os
import tarfile
import tempfile
import uuid
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pooch

from cdvm._runtime.progress import Progress
from cdvm.errors import InputError

__all__ = ["HOME", "Remote", "cache_dir", "data_home", "fetch", "fetch_openml", "find", "place", "reading"]

HOME = "CDVM_DATA_HOME"
_CACHE = "CDVM_CACHE"
_OPENML = "https://www.openml.org/api/v1/json/data/{}"
_CHUNK = 1 << 16
_HEADERS = {"User-Agent": "cdvm", "Accept-Encoding": "identity"}  # the published bytes as they are
_TIMEOUT = 30.0  # seconds of silence before a server counts as gone


@dataclass(frozen=True)
class Remote:
    """A public file: its name here, its address, and its digest (``"sha256:…"`` or ``"md5:…"``)."""

    name: str
    url: str
    digest: str


class _TransferError(Exception):
    """The other side, not this one, is why a file did not come."""


def data_home() -> Path | None:
    """The directory of ready files, where the user named one."""
    named = os.environ.get(HOME)
    if not named:
        return None
    home = Path(named).expanduser()
    if not home.is_dir():
        raise InputError(f"{HOME}={named!r} is not a directory: name one that is, or unset the variable")
    return home


def cache_dir() -> Path:
    """The directory of downloaded files; it need not exist yet."""
    named = os.environ.get(_CACHE)
    return Path(named).expanduser() if named else Path(pooch.os_cache("cdvm"))


def find(name: str) -> Path | None:
    """A file by name, with or without ``.gz``: ready, or cached, or None."""
    folders = [folder for folder in (data_home(), cache_dir()) if folder is not None]
    paths = (folder / f"{name}{ending}" for folder in folders for ending in (".gz", ""))
    return next((path for path in paths if path.is_file()), None)


def place(*names: str) -> str | None:
    """Where all these files are: ``"CDVM_DATA_HOME"``, ``"cached"``, or None when one is missing."""
    paths = [find(name) for name in names]
    if any(path is None for path in paths):
        return None
    home = data_home()
    ready = [home is not None and path is not None and path.is_relative_to(home) for path in paths]
    return HOME if all(ready) else "cached"


def fetch(remote: Remote, *, instead: str) -> Path:
    """Download one file into the cache.

    Parameters
    ----------
    remote : Remote
    instead : str
        The files a user without network can put into ``CDVM_DATA_HOME``.
    """
    target = cache_dir() / remote.name
    partial = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        kind = remote.digest.partition(":")[0]
        _download(remote.url, partial, remote.name)
        found = f"{kind}:{pooch.file_hash(str(partial), alg=kind)}"
        if found != remote.digest:
            aside = target.with_name(f"{target.name}.rejected")
            partial.replace(aside)
            raise InputError(
                f"{remote.url} has the checksum {found}, not {remote.digest}: it was altered or is not what "
                f"was published. It was set aside as {aside} and is not used; try again, or put {instead} "
                f"into the directory that the variable {HOME} names"
            )
        partial.replace(target)
    except _TransferError as error:
        raise _unreachable(remote.url, error, instead) from error
    except OSError as error:
        raise InputError(
            f"{target} cannot be written ({error.strerror or error}): make room, or name another directory "
            f"with the variable {_CACHE}"
        ) from error
    finally:
        with suppress(OSError):
            partial.unlink()
    return target


def fetch_openml(number: int, name: str, *, instead: str) -> Path:
    """Download a data set of OpenML by its number, as ARFF; OpenML says where it lies and its digest."""
    url = _OPENML.format(number)
    try:
        with tempfile.TemporaryDirectory() as scratch:
            _download(url, Path(scratch) / "answer", f"description of {name}")
            answer: Any = json.loads((Path(scratch) / "answer").read_bytes())
        description = answer["data_set_description"]
        remote = Remote(name, description["url"], f"md5:{description['md5_checksum']}")
    except (_TransferError, ValueError, KeyError, TypeError) as error:
        raise _unreachable(url, error, instead) from error
    return fetch(remote, instead=instead)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what readers raise at a broken file into one line that names it."""
    try:
        yield
    except InputError:
        raise
    except (
        OSError,
        EOFError,
        ValueError,
        LookupError,
        zlib.error,
        zipfile.BadZipFile,
        tarfile.TarError,
    ) as e:
        reason = (str(e).strip().splitlines() or [""])[0] or type(e).__name__
        raise InputError(
            f"{path} cannot be read ({type(e).__name__}: {reason}): it is broken or has another layout than "
            "the data set's; remove it or replace it"
        ) from e


def _download(url: str, target: Path, name: str) -> None:
    """Write what an address answers; what the other side does wrong is a transfer error."""
    import requests

    with Progress(f"{Path(name).name} (KiB)") as progress:
        transfer = pooch.HTTPDownloader(
            progressbar=_Bar(progress), chunk_size=_CHUNK, timeout=_TIMEOUT, headers=_HEADERS
        )
        try:
            transfer(url, str(target), None)
        except (requests.RequestException, ValueError) as error:
            raise _TransferError(error) from error


class _Bar:
    """Our progress as pooch wants a bar to be."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._arrived = progress, False

    @property
    def total(self) -> int:
        return 1024 * (self._progress.total or 0)

    @total.setter
    def total(self, count: int) -> None:
        self._progress.total = count // 1024 or None

    def update(self, count: int) -> None:
        if not self._arrived:
            self._progress.advance(count // 1024)

    def reset(self) -> None:
        """Comes when all is here, before one last update by everything."""
        self._arrived = True

    def close(self) -> None:
        """The bar is closed where it was opened."""


def _unreachable(url: str, error: Exception, instead: str) -> InputError:
    reason = f"{type(error).__name__}: {error}" if isinstance(error, LookupError) else str(error)
    return InputError(
        f"{url} cannot be downloaded ({reason}). There are two ways: put {instead} into a directory and name "
        f"it with the variable {HOME}, or connect to the network and run the same again"
    )
