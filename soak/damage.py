"""Ways to damage a file."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

__all__ = ["damage"]


def damage(rng: Random, file: Path, others: list[Path]) -> str:
    """Damage a file in a random way, and say how; ``others`` are files whose content it may get."""
    ways = [_truncate, _flip_a_bit, _flip_many, _zero, _delete, _garbage, _append, _directory, _dangling]
    way = rng.choice([*ways, _flip_a_bit, _truncate])
    if others and rng.random() < 0.15:
        other = rng.choice(others)
        file.write_bytes(other.read_bytes())
        return f"{file.name} has the content of {other.parent.name}/{other.name}"
    return f"{file.name} {way(rng, file)}"


def _truncate(rng: Random, file: Path) -> str:
    content = file.read_bytes()
    size = rng.choice([0, 1, len(content) - 1, rng.randrange(len(content) + 1)])
    file.write_bytes(content[: max(size, 0)])
    return f"truncated to {max(size, 0)} of {len(content)} bytes"


def _flip_a_bit(rng: Random, file: Path) -> str:
    return _flip(rng, file, 1)


def _flip_many(rng: Random, file: Path) -> str:
    return _flip(rng, file, rng.randrange(2, 20))


def _flip(rng: Random, file: Path, count: int) -> str:
    content = bytearray(file.read_bytes())
    bits = [rng.randrange(8 * len(content)) for _ in range(count)] if content else []
    for bit in bits:
        content[bit // 8] ^= 1 << bit % 8
    file.write_bytes(content)
    return f"bits {bits} flipped"


def _zero(rng: Random, file: Path) -> str:
    content = bytearray(file.read_bytes())
    first = rng.choice([0, rng.randrange(len(content) + 1)])
    stop = rng.choice([len(content), rng.randrange(first, len(content) + 1)])
    content[first:stop] = bytes(stop - first)
    file.write_bytes(content)
    return f"zeroed from byte {first} to {stop}"


def _delete(_: Random, file: Path) -> str:
    file.unlink()
    return "deleted"


def _garbage(rng: Random, file: Path) -> str:
    file.write_bytes(rng.randbytes(rng.randrange(1, 2000)))
    return "replaced by noise"


def _append(rng: Random, file: Path) -> str:
    with file.open("ab") as open_file:
        open_file.write(rng.randbytes(rng.randrange(1, 50)))
    return "followed by noise"


def _directory(_: Random, file: Path) -> str:
    file.unlink()
    file.mkdir()
    return "replaced by a directory"


def _dangling(_: Random, file: Path) -> str:
    file.unlink()
    os.symlink(file.with_name("nowhere"), file)
    return "replaced by a link to nowhere"
