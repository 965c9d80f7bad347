"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Cluster",
    "DatasetName",
    "Ignore",
    "Jobs",
    "JudgeRows",
    "Keep",
    "LearnerName",
    "Scale",
    "Seed",
    "Store",
    "TableFile",
    "Target",
    "TestRows",
    "Validation",
]

TableFile = Annotated[Path | None, typer.Argument(help="CSV, Parquet or Feather file.", show_default=False)]
Target = Annotated[str, typer.Option(help="Column of the label.")]
DatasetName = Annotated[
    str, typer.Option(help="A data set by name instead of TABLE, e.g. digits; cdvm datasets lists them.")
]
JudgeRows = Annotated[
    str,
    typer.Option(
        "--validation",
        help="What models are scored on to choose: a table of other rows; oob, every row by the models "
        "that did not see it; or holdout, a tenth of the table.",
        show_default="oob",
    ),
]
TestRows = Annotated[
    str, typer.Option("--test", help="Rows to report on: a table, or a share to hold out, e.g. 20%.")
]
Validation = Annotated[
    Path | None, typer.Option(help="Table of rows to choose with: models are scored on them.")
]
Ignore = Annotated[
    list[str] | None, typer.Option(help="Column that is no feature (an id, say); it is still written.")
]
LearnerName = Annotated[str, typer.Option(help="Model the rows are for.", show_default="logistic")]
Scale = Annotated[
    bool | None,
    typer.Option("--scale/--no-scale", help="Standardise features for the models.", show_default="scale"),
]

Keep = Annotated[
    list[str] | None,
    typer.Option(help="How much to keep: 5%, 0.05 or 120 (rows). Repeat for several.", show_default="10%"),
]
Store = Annotated[
    str | None,
    typer.Option(
        help="Directory or address (s3://…) for the models' outcomes; an interrupted run goes on from there."
    ),
]
Seed = Annotated[int, typer.Option(help="Seed of all randomness.")]
Jobs = Annotated[int, typer.Option(help="Parallel tasks; -1 for all cores.")]
Cluster = Annotated[
    str | None,
    typer.Option(help="Train on the Dask cluster of this scheduler instead, e.g. tcp://10.0.0.1:8786."),
]
