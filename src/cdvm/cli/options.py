"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Jobs", "Keep", "Seed", "Store"]

Keep = Annotated[
    list[str] | None,
    typer.Option(help="How much to keep: 5%, 0.05 or 120 (rows). Repeat for several.", show_default="10%"),
]
Store = Annotated[
    Path | None,
    typer.Option(help="Directory for the models' outcomes; an interrupted run goes on from there."),
]
Seed = Annotated[int, typer.Option(help="Seed of all randomness.")]
Jobs = Annotated[int, typer.Option(help="Parallel tasks; -1 for all cores.")]
