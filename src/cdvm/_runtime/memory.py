"""How much memory there may be, and how it is shared out."""

from __future__ import annotations

import re
from numbers import Real
from typing import Any

import psutil

from cdvm.errors import InputError

__all__ = ["bytes_text", "parse_bytes", "resident"]

_SIZE = re.compile(r"\s*(\d+(?:\.\d*)?)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)


def parse_bytes(value: Any, name: str = "memory_limit") -> int | None:
    """A number of bytes from itself or from a text such as ``"4GB"`` or ``"512 MiB"``; None stays None.

    >>> parse_bytes("4GB"), parse_bytes("1.5 MiB"), parse_bytes(1000)
    (4000000000, 1572864, 1000)
    """
    if value is None:
        return None
    size = 0
    if isinstance(value, str):
        match = _SIZE.fullmatch(value)
        if match:
            power = " kmgt".find(match[2].lower() or " ")
            size = int(float(match[1]) * (1024**power if match[3] else 1000**power))
    elif isinstance(value, Real) and not isinstance(value, bool) and float(value) < float("inf"):
        size = int(float(value))
    if size <= 0:
        raise InputError(f"{name}={value!r}: use a number of bytes, or a text such as '4GB' or '512MiB'")
    return size


def bytes_text(size: float) -> str:
    """Bytes for people.

    >>> bytes_text(3_250_000_000), bytes_text(900)
    ('3.2 GB', '900 B')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if size >= 10 or unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def resident() -> int:
    """Bytes of memory this process holds now."""
    return int(psutil.Process().memory_info().rss)
