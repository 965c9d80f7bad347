"""CSV and its kin: found out, checked line by line, parsed once, and kept as they stand to be written back.

Of a file the records are kept as bytes, so rows go back with their quotes, spaces, leading zeros and line
ends. The parser sees the same bytes once, for the numbers and labels to learn from.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdvm.data.contents import Contents
from cdvm.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Delimited", "read_delimited"]

_SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "space"}
_LOOKED_AT = 100  # records that say which separator a file has
_BOM = b"\xef\xbb\xbf"
_LONGEST = 2**31 - 1  # of a cell


@dataclass(frozen=True, eq=False)
class Delimited:
    """The records of a file as they stand in it.

    Attributes
    ----------
    header : bytes
    records : list of bytes
        Each with its line end.
    separator : str
    encoding : str
        What the file was written in; header and records are UTF-8.
    """

    header: bytes
    records: list[bytes]
    separator: str
    encoding: str = "utf-8"

    def words(self, column: int) -> list[str]:
        """A column as it is written, quotes removed."""
        return [_cells(record, self.separator)[column] for record in self.records]

    def contents(self, rows: Iterable[int], added: pd.DataFrame | None = None) -> Contents:
        """The header and some rows, with further columns if wanted (one line of ``added`` a row)."""
        lines = [self.header, *(self.records[row] for row in rows)]
        end = _line_end(self.header) or b"\n"
        if added is not None:
            more = added.to_csv(index=False, sep=self.separator, lineterminator="\n").encode().splitlines()
            joint = self.separator.encode()
            lines = [_content(line) + joint + extra + end for line, extra in zip(lines, more, strict=True)]
        text = b"".join(line if _line_end(line) else line + end for line in lines)
        return Contents(text, self.encoding)


def read_delimited(path: Path, contents: Contents, separators: str) -> tuple[pd.DataFrame, Delimited]:
    """Typed columns, and the records they came from.

    Parameters
    ----------
    path : path
        What messages call it.
    contents : Contents
    separators : str
        Those that may be; the first is what the name suggests, another is taken where it alone makes columns.
    """
    lines = contents.text.splitlines(keepends=True)
    separator = _separator(lines, separators)
    header, records, numbers = _records(lines, separator)
    _check_columns(path, header, separator)
    width = len(_cells(header, separator))
    if records and _is_open(records[-1], separator):
        raise InputError(
            f"{path} cannot be read: a quote that opens in line {numbers[-1][0]} is never closed"
        )
    for record, (line, found) in zip(records, numbers, strict=True):
        if found != width:
            raise InputError(
                f"{path} has {found} columns in line {line} and {width} in its header (separator "
                f"{_SEPARATORS[separator]}): mend that line, {record[:40].decode(errors='replace')!r}"
            )
    raw = Delimited(header, records, separator, contents.encoding)
    return _parse(path, raw), raw


def _separator(lines: list[bytes], separators: str) -> str:
    """The separator under which the first records have the same number of columns, more than one."""
    usual, fitting = separators[0], {}
    for separator in separators:
        widths = [len(cells) for cells in islice(_split(iter(lines), separator), _LOOKED_AT) if cells]
        if widths and min(widths) == max(widths) > 1:
            fitting[separator] = widths[0]
    if len(fitting) > 1:
        fitting.pop(" ", None)  # words of texts in columns
    if not fitting:
        header = next(line for line in lines if line.strip()).decode(errors="replace")
        marks = separators.strip(" ") or separators
        return usual if usual in header else max(marks, key=lambda s: (header.count(s), s == usual))
    return usual if usual in fitting else max(fitting, key=lambda s: fitting[s])


def _split(lines: Iterator[bytes], separator: str) -> Iterator[list[str]]:
    csv.field_size_limit(_LONGEST)
    return csv.reader((line.decode(errors="replace") for line in lines), delimiter=separator)


def _cells(record: bytes, separator: str) -> list[str]:
    return next(_split(iter(record.removeprefix(_BOM).splitlines(keepends=True)), separator))


def _records(lines: list[bytes], separator: str) -> tuple[bytes, list[bytes], list[tuple[int, int]]]:
    """Header and records without blank ones, and for each record its first line and number of columns."""
    blank = b" \t\r\n".replace(separator.encode(), b"") if separator in " \t" else b" \t\r\n"
    found = [(n, line, width) for n, line, width in _counted(lines, separator) if line.strip(blank)]
    (_, header, _), *rest = found
    return header, [line for _, line, _ in rest], [(n, width) for n, _, width in rest]


def _counted(lines: list[bytes], separator: str) -> Iterator[tuple[int, bytes, int]]:
    """First line, bytes and number of columns of every record; one with quotes may span several lines."""
    joint, number = separator.encode(), 0
    while number < len(lines):
        line = lines[number]
        if b'"' not in line:
            yield number + 1, line, line.count(joint) + 1
            number += 1
            continue
        rest = (lines[k] if k else line.removeprefix(_BOM) for k in range(number, len(lines)))
        reader = _split(rest, separator)
        cells = next(reader)
        taken = reader.line_num  # type: ignore[attr-defined]
        yield number + 1, b"".join(lines[number : number + taken]), len(cells)
        number += taken


def _is_open(record: bytes, separator: str) -> bool:
    """Whether a record ends inside of a quoted cell: a strict reader then misses the rest."""
    lines = (line.decode(errors="replace") for line in record.splitlines(keepends=True))
    try:
        next(csv.reader(lines, delimiter=separator, strict=True))
    except csv.Error as error:
        return "unexpected end of data" in str(error)
    return False


def _check_columns(path: Path, header: bytes, separator: str) -> None:
    names = _cells(header, separator)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{path} has more than one column {twice[0]!r}: give each a name of its own")


def _parse(path: Path, raw: Delimited) -> pd.DataFrame:
    import pandas as pd

    records, separator = raw.records, raw.separator
    options: dict[str, Any] = {"sep": separator, "index_col": False, "low_memory": False}
    if separator == ";" and _decimal_commas(records):
        options["decimal"] = ","
    frame: pd.DataFrame = pd.read_csv(BytesIO(b"".join([raw.header, *records])), **options)
    if len(frame) != len(records):
        raise InputError(
            f"{path} cannot be read: {len(records)} records are {len(frame)} rows. Check its quotes"
        )
    return frame


def _decimal_commas(records: list[bytes]) -> bool:
    """Whether numbers are written as 1,5 and never as 1.5."""
    cells = [cell for record in records[:_LOOKED_AT] for cell in record.replace(b'"', b"").split(b";")]
    shapes = {mark: any(_is_fraction(cell.strip(), mark) for cell in cells) for mark in (b",", b".")}
    return shapes[b","] and not shapes[b"."]


def _is_fraction(cell: bytes, mark: bytes) -> bool:
    whole, _, rest = cell.lstrip(b"+-").partition(mark)
    return whole.isdigit() and rest.isdigit()


def _line_end(line: bytes) -> bytes:
    return line[len(_content(line)) :]


def _content(line: bytes) -> bytes:
    return line.rstrip(b"\r\n")
