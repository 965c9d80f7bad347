"""Read tables in the user's format, and write rows of them back unchanged."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cdvm.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Table", "read_table"]

_FORMATS = {".csv": "csv", ".csv.gz": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet"}
_FORMATS |= {".feather": "feather", ".arrow": "feather"}


@dataclass(frozen=True, eq=False)
class Table:
    """A table as numbers and labels to learn from, and as it stood in its file.

    Attributes
    ----------
    frame : DataFrame
        Typed columns.
    raw : DataFrame or pyarrow.Table or None
        The same rows exactly as in the file (text for CSV), for writing back.
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
        features = self.frame.drop(columns=[target, *ignore])
        if features.shape[1] == 0:
            raise InputError(f"the table has no column besides {target!r} to learn from")
        return features, self.frame[target]

    def write_rows(self, indices: NDArray[np.int64], path: Path) -> None:
        """Write some rows with all their columns, in the format they came in."""
        kind = _FORMATS[self.suffix]
        if kind == "csv":
            separator = "\t" if self.suffix == ".tsv" else ","
            self.raw.iloc[indices].to_csv(path, index=False, sep=separator)
            return
        rows = self.raw.take(indices)
        if kind == "parquet":
            import pyarrow.parquet

            pyarrow.parquet.write_table(rows, path)
        else:
            import pyarrow.feather

            pyarrow.feather.write_feather(rows, str(path))

    @classmethod
    def of_frame(cls, frame: pd.DataFrame) -> Table:
        """A table that came from no file; its rows are written as CSV."""
        return cls(frame, frame, ".csv")


def read_table(path: Path) -> Table:
    """Read a CSV, Parquet or Feather file."""
    suffix = next((s for s in sorted(_FORMATS, key=len, reverse=True) if path.name.lower().endswith(s)), None)
    if suffix is None:
        raise InputError(f"{path} has no known ending: use {', '.join(_FORMATS)}")
    if not path.is_file():
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


def _read(path: Path, suffix: str) -> Table:
    import pandas as pd

    kind = _FORMATS[suffix]
    if kind == "csv":
        separator = "\t" if suffix == ".tsv" else ","
        if path.stat().st_size == 0:
            raise InputError(f"{path} is empty")
        raw = pd.read_csv(path, sep=separator, dtype=str, keep_default_na=False)
        return Table(pd.read_csv(path, sep=separator), raw, suffix)
    if kind == "parquet":
        import pyarrow.parquet

        raw = pyarrow.parquet.read_table(path)
    else:
        import pyarrow.feather

        raw = pyarrow.feather.read_table(path)
    return Table(raw.to_pandas(), raw, suffix)
