"""Tables with one JSON object a line, kept as they stand to be written back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdvm.data.contents import Contents
from cdvm.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["JsonLines", "read_json_lines"]


@dataclass(frozen=True, eq=False)
class JsonLines:
    """The lines of a file as they stand in it, and the encoding they came in."""

    lines: list[bytes]
    encoding: str

    def contents(self, rows: Iterable[int], added: pd.DataFrame | None = None) -> Contents:
        """Some rows, with further columns if wanted (one line of ``added`` a row)."""
        lines = [self.lines[row] for row in rows]
        if added is not None:
            more = [json.dumps(extra).encode() for extra in added.to_dict("records")]
            lines = [_joined(line, extra) for line, extra in zip(lines, more, strict=True)]
        return Contents(
            b"".join(line if line.endswith(b"\n") else line + b"\n" for line in lines), self.encoding
        )


def read_json_lines(path: Path, contents: Contents) -> tuple[pd.DataFrame, JsonLines]:
    """Typed columns, and the lines they came from; a key that an object lacks is a missing value."""
    import pandas as pd

    numbered = enumerate(contents.text.removeprefix(b"\xef\xbb\xbf").splitlines(keepends=True), start=1)
    filled = [(number, line) for number, line in numbered if line.strip()]
    objects = [_object(path, number, line) for number, line in filled]
    return pd.DataFrame(objects), JsonLines([line for _, line in filled], contents.encoding)


def _object(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError as error:
        raise InputError(f"{path} has no JSON in line {number} ({error}): mend that line") from error
    if not isinstance(found, dict):
        raise InputError(
            f"{path} has a {type(found).__name__} in line {number}: each line must be an object, "
            'e.g. {"age": 31, "label": "yes"}'
        )
    return found


def _joined(line: bytes, extra: bytes) -> bytes:
    """An object with the entries of another at its end."""
    body = line.rstrip()[:-1].rstrip()
    return body + (b"" if body.endswith(b"{") else b", ") + extra[1:] + b"\n"
