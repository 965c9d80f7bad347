"""Results of a benchmark: a directory with the protocol and one table, which a killed run leaves usable.

Every finished (data set, method, repetition) is one small file under ``parts/``, written under another name
and moved into place. When a run ends, the parts are joined into ``results.parquet`` and removed. Reading
takes both, so tables and figures of a run under way can be made too. One run at a time writes.

The name of a part ends in a checksum of the rest of the name and of its bytes, and ``results.parquet.sha256``
holds that of the table (two, while it is being replaced), so a damaged file is never taken for results.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from cdvm._runtime.files import sweep_parts, write_whole
from cdvm.benchmark.protocol import Protocol
from cdvm.errors import InputError, InputWarning, StoreError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ORDER", "Results", "Unit"]

ORDER = ["dataset", "method", "budget", "repetition", "draw"]
Unit = tuple[str, str, int]
_PART = re.compile(
    r"(?P<dataset>[^~]+)~(?P<method>[^~]+)~(?P<repetition>\d+)(~(?P<checksum>[0-9a-f]{8}))?\.parquet"
)
_WHOLE = "results.parquet"
_DIGEST = "results.parquet.sha256"


@dataclass(frozen=True, eq=False)
class Results:
    """A results directory.

    Parameters
    ----------
    path : path
    protocol : Protocol
    """

    path: Path
    protocol: Protocol

    @classmethod
    def create(cls, path: str | Path, protocol: Protocol) -> Results:
        """Open a directory for a run, or make it; one of another protocol is refused."""
        path = Path(path)
        if (path / "protocol.json").exists():
            here = cls.open(path)
            _refuse_other(path, here.protocol, protocol)
        elif path.exists() and (not path.is_dir() or any(path.glob("*.parquet"))):
            raise InputError(f"out={str(path)!r} is no results directory: name another")
        path.mkdir(parents=True, exist_ok=True)
        write_whole(path / "protocol.json", (json.dumps(protocol.to_dict(), indent=2) + "\n").encode())
        return cls(path, protocol)

    @classmethod
    def open(cls, path: str | Path) -> Results:
        """A directory that ``cdvm benchmark run`` wrote."""
        file = Path(path) / "protocol.json"
        if not file.exists():
            raise InputError(f"{path} holds no results: make some with cdvm benchmark run --out {path}")
        try:
            return cls(Path(path), Protocol.from_dict(json.loads(file.read_text())))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{file} cannot be read ({error}): name another directory, or restore it from a copy"
            ) from error

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Keep other runs out, and clear away what killed ones left; damaged parts are set aside."""
        with _locked(self.path):
            (self.path / "parts").mkdir(exist_ok=True)
            for folder in (self.path, self.path / "parts"):
                sweep_parts(folder)
            for _, file in self._parts():
                if not _is_whole(file):
                    file.rename(file.with_name(f"{file.name}.damaged"))
                    warnings.warn(
                        f"{file} is damaged: it was set aside and is computed again",
                        InputWarning,
                        stacklevel=3,
                    )
            yield

    @property
    def frame(self) -> pd.DataFrame:
        """One row per data set, method, budget, repetition and draw, in this order."""
        frame = self._joined()
        if frame is None:
            raise InputError(f"{self.path} holds no finished repetition yet: let the run go on")
        return frame

    def done(self) -> set[Unit]:
        """(data set, method, repetition) that need not be run again."""
        units = {unit for unit, _ in self._parts()}
        whole = self._read_whole(["dataset", "method", "repetition"])
        if whole is not None:
            units |= set(whole.drop_duplicates().itertuples(index=False, name=None))
        return units

    def write(self, unit: Unit, rows: list[dict[str, Any]]) -> None:
        """Keep what one method gave in one repetition."""
        import pandas as pd

        dataset, method, repetition = unit
        content = _parquet(pd.DataFrame(rows))
        name = f"{quote(dataset, safe='')}~{quote(method, safe='')}~{repetition}"
        name += f"~{_checksum(name, content)}"
        (self.path / "parts").mkdir(exist_ok=True)
        write_whole(self.path / "parts" / f"{name}.parquet", content)

    def join(self) -> None:
        """Make one table of all parts."""
        frame, parts = self._joined(), [file for _, file in self._parts()]
        if frame is not None and parts:
            self._replace_whole(_parquet(frame))
        for file in parts:
            file.unlink()
        if (self.path / "parts").is_dir() and not any((self.path / "parts").iterdir()):
            (self.path / "parts").rmdir()

    def _replace_whole(self, content: bytes) -> None:
        """Replace the table; whenever that is interrupted, the table there is one that its digests allow."""
        file, digest = self.path / _WHOLE, _digest(content)
        before = [_digest(_read(file))] if file.exists() else []
        self._allow([*before, digest])
        write_whole(file, content)
        self._allow([digest])

    def _allow(self, digests: list[str]) -> None:
        write_whole(self.path / _DIGEST, "".join(f"{one}  {_WHOLE}\n" for one in digests).encode())

    def _allowed(self) -> list[str]:
        file = self.path / _DIGEST
        return _read(file).decode(errors="replace").split() if file.exists() else []

    def _read_whole(self, columns: list[str] | None = None) -> pd.DataFrame | None:
        file = self.path / _WHOLE
        if not file.exists():
            return None
        allowed = self._allowed()
        content = _read(file)
        allowed += self._allowed()  # a run may have replaced the table meanwhile
        if allowed and _digest(content) not in allowed:
            raise StoreError(
                f"{file} is damaged, its checksum is not that in {_DIGEST}: restore it from a copy, or "
                "delete both and run the benchmark again"
            )
        return _table(file, content, columns)

    def _parts(self) -> Iterator[tuple[Unit, Path]]:
        for file in sorted((self.path / "parts").glob("*.parquet")):
            if match := _PART.fullmatch(file.name):
                unit = (unquote(match["dataset"]), unquote(match["method"]), int(match["repetition"]))
                yield unit, file

    def _joined(self) -> pd.DataFrame | None:
        import pandas as pd

        # parts first: a run that ends meanwhile moves them to the table
        parts = []
        for _, file in self._parts():
            with suppress(FileNotFoundError):
                parts.append((file, _read(file)))
        for file, content in parts:
            if not _is_whole(file, content):
                raise StoreError(
                    f"{file} is damaged: cdvm benchmark run with the same --out computes it again"
                )
        frames = [_table(file, content, None) for file, content in parts]
        whole = self._read_whole()
        if whole is not None:
            frames.insert(0, whole)
        if not frames:
            return None
        # a run killed between writing the table and removing the parts leaves both
        joined = pd.concat(frames, ignore_index=True).drop_duplicates(ORDER)
        return joined.sort_values(ORDER, ignore_index=True)


def _table(file: Path, content: bytes, columns: list[str] | None) -> pd.DataFrame:
    import pandas as pd

    try:
        return pd.read_parquet(BytesIO(content), columns=columns)
    except Exception as error:  # the reader raises errors of several libraries
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise StoreError(
            f"{file} is no whole table ({reason}): restore it from a copy, or delete it and run again"
        ) from error


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StoreError(
            f"{file} cannot be read ({error.strerror}): restore it from a copy, or move it away and run again"
        ) from error


def _is_whole(file: Path, content: bytes | None = None) -> bool:
    """Whether a part's bytes have the checksum in its name; names of old have none."""
    match = _PART.fullmatch(file.name)
    wanted = match["checksum"] if match else None
    try:
        content = file.read_bytes() if content is None else content
    except OSError:  # a directory, or a link to nowhere
        return False
    return wanted is None or _checksum(file.name.rpartition("~")[0], content) == wanted


def _checksum(name: str, content: bytes) -> str:
    """Covers the name as well, so that a file under the name of another is found."""
    return f"{zlib.crc32(content, zlib.crc32(name.encode())):08x}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Hold a directory; it is free again when the process ends, however that is."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        yield
        return
    held = os.open(directory, os.O_RDONLY)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(
                f"out={str(directory)!r} is being written by another run: wait for it, or name another place"
            ) from error
        except OSError:  # a filesystem without locks
            pass
        yield
    finally:
        os.close(held)


def _parquet(frame: pd.DataFrame) -> bytes:
    buffer = BytesIO()
    frame.to_parquet(buffer, index=False, compression="zstd")
    return buffer.getvalue()


def _refuse_other(path: Path, here: Protocol, wanted: Protocol) -> None:
    """Further repetitions may join a directory; anything else must be the same."""
    a, b = here.to_dict(), wanted.to_dict()
    different = [f"{k} is {a[k]!r} there and {b[k]!r} here" for k in a if a[k] != b[k] and k != "repetitions"]
    if different:
        raise InputError(
            f"out={str(path)!r} holds results of another protocol: {'; '.join(different)}. "
            "Name another directory"
        )
