"""The text of a file as UTF-8, whatever it was written and compressed in, and the way back to its bytes."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from cdvm.errors import InputError, InputWarning

__all__ = ["COMPRESSIONS", "Contents", "compression_of", "read_contents", "write_contents"]

_BOMS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_LOOKED_AT = 1000  # bytes that say whether every other one is 0


class _Compression(NamedTuple):
    name: str
    pack: Callable[[bytes], bytes]
    unpack: Callable[[bytes], bytes]


class Contents(NamedTuple):
    """A text in UTF-8, and the encoding it came in; its byte order mark, if any, is still there."""

    text: bytes
    encoding: str


def _zstd_pack(content: bytes) -> bytes:
    import pyarrow as pa

    return bytes(pa.compress(content, codec="zstd", asbytes=True))


def _zstd_unpack(content: bytes) -> bytes:
    import pyarrow as pa

    with pa.CompressedInputStream(pa.BufferReader(content), "zstd") as stream:
        return bytes(stream.read())


COMPRESSIONS = {
    ".gz": _Compression("gzip", lambda content: gzip.compress(content, mtime=0), gzip.decompress),
    ".zst": _Compression("Zstandard", _zstd_pack, _zstd_unpack),
    ".bz2": _Compression("bzip2", bz2.compress, bz2.decompress),
    ".xz": _Compression("xz", lzma.compress, lzma.decompress),
}


def compression_of(name: str) -> str:
    """The ending that tells how a file is compressed, or nothing.

    >>> compression_of("table.csv.GZ"), compression_of("table.csv")
    ('.gz', '')
    """
    return next((ending for ending in COMPRESSIONS if name.lower().endswith(ending)), "")


def read_contents(path: Path) -> Contents:
    """The text of a file that is compressed as its name says."""
    content = path.read_bytes()
    if ending := compression_of(path.name):
        how = COMPRESSIONS[ending]
        try:
            content = how.unpack(content)
        except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
            raise InputError(
                f"{path} is no whole {how.name} file ({error}): copy or compress it again"
            ) from error
    encoding = _encoding(path, content)
    text = content if encoding == "utf-8" else content.decode(encoding).encode()
    if b"\0" in text:
        raise InputError(f"{path} holds NUL bytes, which no text does: save it as text, e.g. in UTF-8")
    if not text.strip(b"\xef\xbb\xbf \t\r\n"):
        raise InputError(f"{path} is empty")
    return Contents(text, encoding)


def write_contents(path: Path, contents: Contents) -> None:
    """The bytes back, in their encoding, compressed as the name says."""
    text, encoding = contents
    content = text if encoding == "utf-8" else text.decode().encode(encoding)
    ending = compression_of(path.name)
    path.write_bytes(COMPRESSIONS[ending].pack(content) if ending else content)


def _encoding(path: Path, content: bytes) -> str:
    """The first encoding that fits; UTF-16 without a mark is known by zeros at every other place."""
    zeros = [content[k:_LOOKED_AT:2].count(0) for k in (0, 1)]
    wide = _BOMS.get(content[:2])
    if wide is None and max(zeros) > min(len(content), _LOOKED_AT) / 4 and min(zeros) == 0:
        wide = "utf-16-be" if zeros[0] else "utf-16-le"
    for encoding in [wide] if wide else ["utf-8", "cp1252", "latin-1"]:
        try:
            content.decode(encoding)
        except UnicodeDecodeError as error:
            if wide:
                raise InputError(
                    f"{path} is no whole UTF-16 text ({error.reason}): save it as UTF-8"
                ) from None
            continue
        if encoding in ("cp1252", "latin-1"):
            odd = re.search(rb"[^\x00-\x7f]", content)
            line = content.count(b"\n", 0, odd.start() if odd else 0) + 1
            warnings.warn(
                f"{path} is not UTF-8 (line {line}) and was read as {_WESTERN[encoding]}: if letters look "
                "wrong, save it as UTF-8. Rows are written as they stand",
                InputWarning,
                stacklevel=6,
            )
        return encoding
    raise AssertionError("latin-1 reads any bytes")


_WESTERN = {"cp1252": "Windows-1252", "latin-1": "Latin-1"}
