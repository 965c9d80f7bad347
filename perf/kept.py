"""Lines of JSON with what was measured: a file that a later run adds to, and pages are made of."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

Line = dict[str, Any]


def read(path: Path) -> list[Line]:
    """The lines there are."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def keep(path: Path | None, *lines: Line) -> None:
    """Add lines, each with the sources it is of; nowhere, nothing."""
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.writelines(json.dumps(line | {"commit": commit()}, default=float) + "\n" for line in lines)


@cache
def commit() -> str:
    """Which sources are measured."""
    found = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    return found.stdout.strip()


def machine() -> str:
    """Where seconds are measured, and what else runs there."""
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{os.cpu_count()} cores{load}, Python {platform.python_version()}, NumPy {np.__version__}"
