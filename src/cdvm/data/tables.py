"""Read tables in the user's format, and write rows of them back unchanged."""

from __future__ import annotations

import gzip
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cdvm.data.delimited import Delimited, read_delimited
from cdvm.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Table", "read_table"]

_FORMATS = {".csv": "csv", ".csv.gz": "csv", ".tsv": "csv", ".tsv.gz": "csv"}
_FORMATS |= {".parquet": "parquet", ".pq": "parquet", ".feather": "feather", ".arrow": "feather"}

_CURES = {
    ".txt": "give it the ending .csv if commas, semicolons, tabs or bars separate its columns",
    ".jsonl": "pandas.read_json('…', lines=True).to_parquet('table.parquet') makes a table of it",
    ".json": "pandas.read_json('…').to_parquet('table.parquet') makes a table of it",
    ".xlsx": "save it as CSV",
    ".xls": "save it as CSV",
}


@dataclass(frozen=True, eq=False)
class Table:
    """A table as numbers and labels to learn from, and as it stood in its file.

    Attributes
    ----------
    frame : DataFrame
        Typed columns.
    raw : Delimited or pyarrow.Table or None
        The same rows exactly as in the file, for writing back; None for a table that came from no file.
    suffix : str
    """

    frame: pd.DataFrame
    raw: Any
    suffix: str

    def features_and_labels(self, target: str, ignore: list[str]) -> tuple[pd.DataFrame, pd.Series[Any]]:
        """The target column apart from the features."""
        columns = [str(c) for c in self.frame.columns]
        for name, option in [(target, "--target"), *((c, "--ignore") for c in ignore)]:
            if name not in columns:
                raise InputError(f"{option} {name!r} is no column: there are {', '.join(map(repr, columns))}")
        if target in ignore:
            raise InputError(f"--ignore {target!r} is the label: leave it out, or name another --target")
        features = self.frame.drop(columns=[target, *ignore])
        if features.shape[1] == 0:
            raise InputError(f"the table has no column besides {target!r} to learn from")
        return features, self.frame[target]

    def write_rows(self, indices: NDArray[np.int64], path: Path, added: pd.DataFrame | None = None) -> None:
        """Write some rows with all their columns in the format of ``path``'s name.

        In the format they came in they are written as they stood. ``added`` holds further columns.
        """
        kind = _FORMATS[_suffix(path) or self.suffix]
        if kind == "csv" and isinstance(self.raw, Delimited):
            content = self.raw.text(indices.tolist(), added)
            path.write_bytes(gzip.compress(content, mtime=0) if path.name.endswith(".gz") else content)
            return
        if kind == _FORMATS[self.suffix] and self.raw is not None:
            self._write_arrow(indices, path, added)
            return
        rows = self.frame.iloc[indices]
        if added is not None:
            rows = rows.assign(**{str(name): column.to_numpy() for name, column in added.items()})
        if kind == "csv":
            rows.to_csv(path, index=False, sep="\t" if ".tsv" in path.suffixes else ",")
        elif kind == "parquet":
            rows.to_parquet(path, index=False)
        else:
            rows.reset_index(drop=True).to_feather(path)

    def _write_arrow(self, indices: NDArray[np.int64], path: Path, added: pd.DataFrame | None) -> None:
        import pyarrow as pa

        rows = self.raw.take(indices)
        for name, column in () if added is None else added.items():
            rows = rows.append_column(str(name), pa.array(column.to_numpy()))
        if _FORMATS[self.suffix] == "parquet":
            import pyarrow.parquet

            pyarrow.parquet.write_table(rows, path)
        else:
            import pyarrow.feather

            pyarrow.feather.write_feather(rows, str(path))

    @classmethod
    def of_frame(cls, frame: pd.DataFrame) -> Table:
        """A table that came from no file; its rows are written as CSV."""
        return cls(frame, None, ".csv")


def read_table(path: Path) -> Table:
    """Read a CSV, Parquet or Feather file."""
    suffix = _suffix(path)
    if suffix is None:
        cure = _CURES.get(path.suffix.lower(), f"use {', '.join(_FORMATS)}")
        raise InputError(f"{path} has no known ending: {cure}")
    if not os.path.isfile(path):
        raise InputError(f"{path} is not a file")
    try:
        table = _read(path, suffix)
    except InputError:
        raise
    except Exception as error:  # readers raise errors of many libraries; a user needs one line
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(f"{path} cannot be read: {reason}") from error
    if len(table.frame) == 0:
        raise InputError(f"{path} has no rows")
    return table


def _suffix(path: Path) -> str | None:
    longest_first = sorted(_FORMATS, key=len, reverse=True)
    return next((s for s in longest_first if path.name.lower().endswith(s)), None)


def _read(path: Path, suffix: str) -> Table:
    kind = _FORMATS[suffix]
    if kind == "csv":
        frame, raw = read_delimited(path, "\t" if suffix.startswith(".tsv") else ",")
        return Table(frame, raw, suffix)
    if kind == "parquet":
        import pyarrow.parquet

        _refuse_twice(path, pyarrow.parquet.read_schema(path).names)
        raw = pyarrow.parquet.read_table(path)
    else:
        import pyarrow.feather

        raw = pyarrow.feather.read_table(path)
        _refuse_twice(path, raw.column_names)
    return Table(raw.to_pandas(), raw, suffix)


def _refuse_twice(path: Path, names: list[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{path} has more than one column {twice[0]!r}: give each a name of its own")
