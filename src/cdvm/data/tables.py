"""Read tables in the user's format, and write rows of them back unchanged."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cdvm.data.checks import some_of
from cdvm.data.contents import Contents, compression_of, read_contents, write_contents
from cdvm.data.delimited import Delimited, read_delimited
from cdvm.data.json_lines import JsonLines, read_json_lines
from cdvm.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Table", "read_table"]

_TEXTS = {".csv": ",;\t|", ".tsv": "\t,;|", ".txt": ",;\t| ", ".jsonl": "", ".ndjson": ""}  # and separators
_KINDS = dict.fromkeys(_TEXTS, "delimited") | dict.fromkeys((".jsonl", ".ndjson"), "json lines")
_KINDS |= {".parquet": "parquet", ".pq": "parquet", ".feather": "feather", ".arrow": "feather"}
_KINDS |= {".xlsx": "excel", ".xlsm": "excel"}  # read, never written

_CURES = {
    ".json": "write one object a line and call it .jsonl",
    ".xls": "save it as .xlsx or CSV",
    ".zip": "unpack it first",
}


@dataclass(frozen=True, eq=False)
class Table:
    """A table as numbers and labels to learn from, and as it stood in its file.

    Attributes
    ----------
    frame : DataFrame
        Typed columns.
    raw : Delimited, JsonLines, pyarrow.Table or None
        The same rows exactly as in the file, for writing back; None where rows cannot go back as they stood.
    suffix : str
        The ending of a file that rows are written back to, its compression included.
    """

    frame: pd.DataFrame
    raw: Any
    suffix: str

    def check_columns(self, target: str, **options: list[str]) -> None:
        """Refuse options of the command line that name what is no column, or name the target."""
        columns = [str(c) for c in self.frame.columns]
        given = [(c, f"--{option}") for option, names in options.items() for c in names]
        for name, option in [(target, "--target"), *given]:
            if name not in columns:
                raise InputError(f"{option} {name!r} is no column: there are {some_of(columns, most=40)}")
            if name == target and option != "--target":
                raise InputError(f"{option} {target!r} is the label: leave it out, or name another --target")

    def features_and_labels(
        self, target: str, left_out: Iterable[str] = ()
    ) -> tuple[pd.DataFrame, pd.Series[Any]]:
        """The target column apart from the features."""
        self.check_columns(target)
        features = self.frame.drop(columns=[target, *left_out])
        if features.shape[1] == 0:
            raise InputError(f"the table has no column besides {target!r} to learn from")
        return features, self._labels(target)

    def _labels(self, target: str) -> pd.Series[Any]:
        """The target column. Among names "NA" is one, and so is "None": only an empty cell is missing."""
        import pandas as pd

        labels = self.frame[target]
        missing = labels.isna()
        named = not missing.all() and pd.api.types.infer_dtype(labels, skipna=True) in ("string", "boolean")
        if not (missing.any() and named and isinstance(self.raw, Delimited)):
            return labels
        words = pd.Series(self.raw.words(list(self.frame.columns).index(target)), index=labels.index)
        return words.where(words.str.strip() != "").rename(target)

    def write_rows(self, indices: NDArray[np.int64], path: Path, added: pd.DataFrame | None = None) -> None:
        """Write some rows with all their columns in the format of ``path``'s name.

        In the format they came in they are written as they stood. ``added`` holds further columns.
        """
        suffix = _suffix(path) or self.suffix
        kind, own = _kind(suffix), _kind(self.suffix)
        if kind == own and isinstance(self.raw, Delimited | JsonLines):
            write_contents(path, self.raw.contents(indices.tolist(), added))
        elif kind == own and self.raw is not None:
            self._write_arrow(indices, path, added)
        else:
            rows = self.frame.iloc[indices]
            if added is not None:
                rows = rows.assign(**{str(name): column.to_numpy() for name, column in added.items()})
            _write_frame(rows, path, suffix)

    def _write_arrow(self, indices: NDArray[np.int64], path: Path, added: pd.DataFrame | None) -> None:
        import pyarrow as pa

        rows = self.raw.take(indices)
        for name, column in () if added is None else added.items():
            rows = rows.append_column(str(name), pa.array(column.to_numpy()))
        if _kind(self.suffix) == "parquet":
            import pyarrow.parquet

            pyarrow.parquet.write_table(rows, path)
        else:
            import pyarrow.feather

            pyarrow.feather.write_feather(rows, str(path))

    def joined(self, other: Table, name: str) -> Table:
        """The rows of this table and then those of another, called ``name`` in messages."""
        import pandas as pd

        own, its = ([str(c) for c in table.frame.columns] for table in (self, other))
        if apart := [c for c in own if c not in its] + [c for c in its if c not in own]:
            where = "has no" if apart[0] in own else "has a further"
            raise InputError(f"{name} {where} column {apart[0]!r}: it must have the columns of the table")
        alike = own == its and _kind(self.suffix) == _kind(other.suffix)
        frame = pd.concat([self.frame, other.frame[self.frame.columns]], ignore_index=True)
        return Table(frame, _joined(self.raw, other.raw) if alike else None, self.suffix)

    @classmethod
    def of_frame(cls, frame: pd.DataFrame) -> Table:
        """A table that came from no file; its rows are written as CSV."""
        return cls(frame, None, ".csv")


def _joined(raw: Any, other: Any) -> Any:
    """Rows as they stood in two files of one format, or None where they cannot stand in one."""
    if isinstance(raw, Delimited) and isinstance(other, Delimited):
        same = (raw.separator, raw.encoding) == (other.separator, other.encoding)
        return replace(raw, records=raw.records + other.records) if same else None
    if isinstance(raw, JsonLines) and isinstance(other, JsonLines):
        return replace(raw, lines=raw.lines + other.lines) if raw.encoding == other.encoding else None
    if raw is None or other is None or raw.schema != other.schema:
        return None
    import pyarrow as pa

    return pa.concat_tables([raw, other])


def read_table(path: Path) -> Table:
    """Read a table: separated or JSON lines, compressed or not, Parquet, Feather or Excel."""
    suffix = _suffix(path)
    if suffix is None:
        cure = _CURES.get(
            path.suffix.lower(), f"use {', '.join(_KINDS)}, texts also with .gz, .zst, .bz2 or .xz"
        )
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
    name = path.name.lower()
    packed = compression_of(name)
    name = name.removesuffix(packed)
    known = _TEXTS if packed else _KINDS
    return next((ending + packed for ending in known if name.endswith(ending)), None)


def _plain(suffix: str) -> str:
    return suffix.removesuffix(compression_of(suffix))


def _kind(suffix: str) -> str:
    return _KINDS[_plain(suffix)]


def _read(path: Path, suffix: str) -> Table:
    kind = _kind(suffix)
    if kind == "delimited":
        return Table(*read_delimited(path, read_contents(path), _TEXTS[_plain(suffix)]), suffix)
    if kind == "json lines":
        return Table(*read_json_lines(path, read_contents(path)), suffix)
    if kind == "excel":
        return Table(_read_excel(path), None, ".csv")
    if kind == "parquet":
        import pyarrow.parquet

        _refuse_twice(path, pyarrow.parquet.read_schema(path).names)
        raw = pyarrow.parquet.read_table(path)
    else:
        import pyarrow.feather

        raw = pyarrow.feather.read_table(path)
        _refuse_twice(path, raw.column_names)
    return Table(raw.to_pandas(), raw, suffix)


def _read_excel(path: Path) -> pd.DataFrame:
    """The first sheet."""
    import pandas as pd

    try:
        rows = pd.read_excel(path, header=None, dtype=object, na_filter=False)
    except ImportError as error:
        raise InputError(
            f"{path} needs openpyxl to be read: pip install 'cdvm[excel]', or save it as CSV"
        ) from error
    rows = rows[(rows != "").any(axis=1)]
    names = ["" if name is None else str(name) for name in rows.iloc[0]] if len(rows) else []
    _refuse_twice(path, names)
    frame = rows.iloc[1:].set_axis(names, axis=1).reset_index(drop=True)
    return frame.where(frame != "").infer_objects()


def _write_frame(rows: pd.DataFrame, path: Path, suffix: str) -> None:
    """Rows that came in another format, or from no file."""
    kind = _kind(suffix)
    if kind == "delimited":
        separator = _TEXTS[_plain(suffix)][0]
        write_contents(path, Contents(rows.to_csv(index=False, sep=separator).encode(), "utf-8"))
    elif kind == "json lines":
        text = rows.to_json(orient="records", lines=True, date_format="iso", force_ascii=False)
        write_contents(path, Contents(text.encode(), "utf-8"))
    elif kind == "parquet":
        rows.to_parquet(path, index=False)
    else:
        rows.reset_index(drop=True).to_feather(path)


def _refuse_twice(path: Path, names: list[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{path} has more than one column {twice[0]!r}: give each a name of its own")
