"""Where files are kept: a local directory, or any address that fsspec understands (``s3://bucket/runs``).

A local file is written under another name and moved into place: it is whole or not there. An address is
written to in one call. Object stores show such a file whole or not at all; other remote filesystems may keep
half a file when its writer dies. Files that must be told whole from half carry a checksum in their name, see
:mod:`cdvm.outcomes.store`.

fsspec is imported for addresses only; ``file://`` is the local directory.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from cdvm._runtime.files import part_of, sweep_parts, write_whole
from cdvm.errors import InputError, StoreError

__all__ = ["Address", "Storage", "inside", "open_storage"]

Address = str | Path

_SCHEME = re.compile(r"[A-Za-z][\w+.-]+(::[A-Za-z][\w+.-]*)*://")  # one letter is a Windows drive
_BUCKETS = frozenset(["s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oss", "oci", "b2"])
_FLATTENED = re.compile(r"[a-z][a-z0-9+.-]+:/\w")  # what pathlib makes of s3://bucket


class Storage(ABC):
    """A flat collection of files, each read and written as a whole."""

    address: Address

    @abstractmethod
    def make(self) -> None:
        """Create the directory where there is none."""

    @abstractmethod
    def names(self) -> list[str]:
        """Names of what is here, files being written left out; none where there is no directory."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """Content of a file; FileNotFoundError where there is none."""

    @abstractmethod
    def write(self, name: str, content: bytes) -> None:
        """Write a file, over one that is there."""

    @abstractmethod
    def create(self, name: str, content: bytes) -> None:
        """Write a file unless there is one; of several writers at once one wins."""

    @abstractmethod
    def sweep(self) -> None:
        """Remove what writers that were killed left behind."""

    @abstractmethod
    def rename(self, name: str, new: str) -> bool:
        """Give a file another name; False where that cannot be done."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""

    @abstractmethod
    def modified(self, name: str) -> float | None:
        """When a file was written, in seconds since 1970; None where that is not known."""


def open_storage(address: Address) -> Storage:
    """The place an address names.

    >>> open_storage("runs/one").names()
    []
    """
    if not isinstance(address, str | os.PathLike) or not str(address):
        raise InputError(f"store={address!r}: use a directory, or an address such as 's3://bucket/runs'")
    text = str(address)
    if isinstance(address, Path) and _FLATTENED.match(text):
        raise InputError(f"store=Path({text!r}) has lost a slash: pass an address as text")
    if not _SCHEME.match(text):
        return _Directory(Path(address))
    if text.startswith("file://"):
        return _Directory(Path(unquote(urlsplit(text).path)))
    return _Remote(text)


def inside(address: Address, name: str) -> Address:
    """The address of a directory within another.

    >>> inside("s3://bucket/runs/", "one"), str(inside("runs", "one"))
    ('s3://bucket/runs/one', 'runs/one')
    """
    if isinstance(address, str) and _SCHEME.match(address):
        return f"{address.rstrip('/')}/{name}"
    return Path(address) / name


class _Directory(Storage):
    def __init__(self, path: Path) -> None:
        self.address = self.path = path

    def make(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            raise StoreError(
                f"{self.path} cannot be made a directory ({_reason(error)}): name another place"
            ) from error

    def names(self) -> list[str]:
        with self._asked(self.path):
            try:
                return [name for name in os.listdir(self.path) if not part_of(name)]
            except FileNotFoundError:
                return []

    def read(self, name: str) -> bytes:
        with self._asked(self.path / name):
            return (self.path / name).read_bytes()

    def write(self, name: str, content: bytes) -> None:
        write_whole(self.path / name, content)

    def create(self, name: str, content: bytes) -> None:
        write_whole(self.path / name, content, replace=False)

    def sweep(self) -> None:
        sweep_parts(self.path)

    def rename(self, name: str, new: str) -> bool:
        try:
            (self.path / name).replace(self.path / new)
        except OSError:
            return False
        return True

    def remove(self, name: str) -> None:
        with self._asked(self.path / name):
            (self.path / name).unlink(missing_ok=True)

    def modified(self, name: str) -> float | None:
        try:
            return (self.path / name).stat().st_mtime
        except OSError:
            return None

    @contextmanager
    def _asked(self, what: Path) -> Iterator[None]:
        """One clear line for what the system will not let us read."""
        try:
            yield
        except FileNotFoundError:
            raise
        except NotADirectoryError as error:
            raise StoreError(f"{self.path} is a file: name a directory") from error
        except IsADirectoryError as error:
            raise StoreError(f"{what} is a directory where a file should be: move it away") from error
        except PermissionError as error:
            raise StoreError(f"{what} may not be read: allow it, or name another place") from error
        except (OSError, ValueError) as error:
            raise StoreError(f"{what} cannot be read ({_reason(error)}): name another place") from error


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


class _Remote(Storage):
    def __init__(self, address: str) -> None:
        self.address: str = address
        try:
            from fsspec.core import url_to_fs
        except ImportError as error:
            raise InputError(
                f"store={address!r} is an address and needs fsspec: pip install 'cdvm[remote]'"
            ) from error
        try:
            self._system, self._root = url_to_fs(address)
        except (ImportError, ValueError) as error:
            raise InputError(f"store={address!r} cannot be opened: {error}") from error

    def make(self) -> None:
        """Directories only: a bucket that is not there is more likely a slip than a wish."""
        scheme = self.address.rpartition("://")[0].rpartition("::")[2]
        if scheme.lower() not in _BUCKETS:
            with self._asked("written"):
                self._system.makedirs(self._root, exist_ok=True)

    def names(self) -> list[str]:
        with self._asked("read"):
            self._system.invalidate_cache()  # others write here too
            try:
                found: list[dict[str, Any]] = self._system.ls(self._root, detail=True)
            except FileNotFoundError:
                return []
            names = (entry["name"].rstrip("/") for entry in found)
            last = (name.rpartition("/")[2] for name in names if name != self._root)
            return [name for name in last if not part_of(name)]

    def read(self, name: str) -> bytes:
        with self._asked("read"):
            return bytes(self._system.cat_file(self._file(name)))

    def write(self, name: str, content: bytes) -> None:
        with self._asked("written"):
            self._system.pipe_file(self._file(name), content)

    def create(self, name: str, content: bytes) -> None:
        with self._asked("written"):
            if self._system.exists(self._file(name)):
                return
            try:  # newer fsspec can leave the choice to the server, where that knows how
                self._system.pipe_file(self._file(name), content, mode="create")
            except FileExistsError:
                return
            except Exception:  # it does not; whoever comes second is found out by the manifest
                self._system.pipe_file(self._file(name), content)

    def sweep(self) -> None:
        """Nothing: no file is written under another name here."""

    def rename(self, name: str, new: str) -> bool:
        try:
            self._system.mv(self._file(name), self._file(new))
        except Exception:  # whatever library serves the address, with errors of its own
            return False
        return True

    def remove(self, name: str) -> None:
        with self._asked("changed"), suppress(FileNotFoundError):
            self._system.rm_file(self._file(name))

    def modified(self, name: str) -> float | None:
        try:
            return float(self._system.modified(self._file(name)).timestamp())
        except Exception:
            return None

    def _file(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    @contextmanager
    def _asked(self, doing: str) -> Iterator[None]:
        """One clear line for the errors of whatever library serves the address."""
        try:
            yield
        except FileNotFoundError:
            if doing == "read":
                raise
            top = self._root.strip("/").partition("/")[0]
            raise StoreError(
                f"{self.address}: there is no {top!r}: create it, or name another place"
            ) from None
        except Exception as error:
            raise StoreError(
                f"{self.address} cannot be {doing} ({type(error).__name__}: {error}): nothing that was "
                "finished is lost; run the same command again when it can"
            ) from error
