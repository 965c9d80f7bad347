"""Results of a benchmark: a directory with the protocol and one table, which a killed run leaves usable.

Every finished (data set, method, repetition) is one small file under ``parts/``, written under another name
and moved into place. When a run ends, the parts are joined into ``results.parquet`` and removed. Reading
takes both, so tables and figures of a run under way can be made too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from cdvm.benchmark.protocol import Protocol
from cdvm.errors import InputError
from cdvm.files import write_whole

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ORDER", "Results", "Unit"]

ORDER = ["dataset", "method", "budget", "repetition", "draw"]
Unit = tuple[str, str, int]
_PART = re.compile(r"(?P<dataset>[^~]+)~(?P<method>[^~]+)~(?P<repetition>\d+)\.parquet")


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
        (path / "parts").mkdir(parents=True, exist_ok=True)
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
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{file} cannot be read ({error}): delete the directory and run again"
            ) from error

    @property
    def frame(self) -> pd.DataFrame:
        """One row per data set, method, budget, repetition and draw, in this order."""
        frame = self._joined()
        if frame is None:
            raise InputError(f"{self.path} holds no finished repetition yet: let the run go on")
        return frame

    def done(self) -> set[Unit]:
        """(data set, method, repetition) that need not be run again."""
        import pandas as pd

        units = {unit for unit, _ in self._parts()}
        whole = self.path / "results.parquet"
        if whole.exists():
            keys = pd.read_parquet(whole, columns=["dataset", "method", "repetition"]).drop_duplicates()
            units |= set(keys.itertuples(index=False, name=None))
        return units

    def write(self, unit: Unit, rows: list[dict[str, Any]]) -> None:
        """Keep what one method gave in one repetition."""
        import pandas as pd

        dataset, method, repetition = unit
        name = f"{quote(dataset, safe='')}~{quote(method, safe='')}~{repetition}.parquet"
        write_whole(self.path / "parts" / name, _parquet(pd.DataFrame(rows)))

    def join(self) -> None:
        """Make one table of all parts."""
        frame, parts = self._joined(), [file for _, file in self._parts()]
        if frame is not None and parts:
            write_whole(self.path / "results.parquet", _parquet(frame))
        for file in parts:
            file.unlink()
        if (self.path / "parts").is_dir() and not any((self.path / "parts").iterdir()):
            (self.path / "parts").rmdir()

    def _parts(self) -> Iterator[tuple[Unit, Path]]:
        for file in sorted((self.path / "parts").glob("*.parquet")):
            if match := _PART.fullmatch(file.name):
                unit = (unquote(match["dataset"]), unquote(match["method"]), int(match["repetition"]))
                yield unit, file

    def _joined(self) -> pd.DataFrame | None:
        import pandas as pd

        files = [file for _, file in self._parts()]
        whole = self.path / "results.parquet"
        frames = [pd.read_parquet(file) for file in ([whole] if whole.exists() else []) + files]
        if not frames:
            return None
        # a run killed between writing the table and removing the parts leaves both
        joined = pd.concat(frames, ignore_index=True).drop_duplicates(ORDER)
        return joined.sort_values(ORDER, ignore_index=True)


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
