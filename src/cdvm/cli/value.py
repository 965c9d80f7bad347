"""``cdvm value``: what each row of a table is worth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cdvm._runtime.progress import Progress
from cdvm.cli.options import (
    Categorical,
    Cluster,
    Columns,
    DatasetName,
    Force,
    Ignore,
    Jobs,
    LearnerName,
    Scale,
    Seed,
    Store,
    TableFile,
    Target,
    Text,
    Validation,
)

__all__ = ["value"]


def value(
    table: TableFile = None,
    target: Target = "target",
    dataset: DatasetName = "",
    method: Annotated[
        str | None,
        typer.Option(
            help="{valuations}; with --flip also all.",
            show_default="banzhaf; out_of_bag with --report noise",
        ),
    ] = None,
    validation: Validation = None,
    columns: Columns = None,
    ignore: Ignore = None,
    categorical: Categorical = None,
    text: Text = None,
    learner: LearnerName = "",
    models: Annotated[
        int | None, typer.Option(help="Models to train, at most.", show_default="the method's")
    ] = None,
    inclusion: Annotated[
        float | None,
        typer.Option(help="banzhaf: probability of a row to be in a subset.", show_default="0.5"),
    ] = None,
    neighbors: Annotated[
        int | None, typer.Option(help="knn_shapley: neighbours that vote.", show_default="5")
    ] = None,
    error: Annotated[
        float | None, typer.Option(help="Stop when no value has a larger standard error than this.")
    ] = None,
    stable: Annotated[
        float | None,
        typer.Option(help="Stop when two halves of the models rank rows with this correlation, e.g. 0.9."),
    ] = None,
    flip: Annotated[
        float | None, typer.Option(help="Fraction of training labels to move to another class first.")
    ] = None,
    report: Annotated[
        str, typer.Option(help="values, or noise: rows whose label is suspected to be wrong.")
    ] = "values",
    false_alarms: Annotated[
        str,
        typer.Option(help="Fraction of the rows with right labels that may be suspected.", show_default="1%"),
    ] = "",
    fraction: Annotated[
        str, typer.Option(help="Known fraction (5%) or number of wrong labels: as many rows are suspected.")
    ] = "",
    top: Annotated[int | None, typer.Option(help="Rows to show from each end.", show_default="5")] = None,
    out: Annotated[
        Path | None, typer.Option(help="File (.csv, .jsonl, .parquet, .feather) for rows and values.")
    ] = None,
    force: Force = False,
    store: Store = None,
    scale: Scale = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    cluster: Cluster = None,
) -> None:
    """Value the rows of a training table.

    Every row gets a value. Only for methods that need validation rows (leave_one_out, shapley, beta_shapley,
    knn_shapley, influence) a stratified fifth of the table is held out where --validation names none.

    The file of --out has the rows with all their columns and beside them row (the position in the table, from
    0), value and, where there is such a thing, stderr, count, p_value and suspect (1 or 0).

    Example: `cdvm value train.csv --target label --method out_of_bag --out values.csv`
    """
    with Progress("starting"):  # the libraries take seconds to load
        from cdvm.cli.value_run import ValueRequest, run_value

    run_value(
        ValueRequest(
            table=table,
            target=target,
            dataset=dataset,
            method=method or ("out_of_bag" if report == "noise" else "banzhaf"),
            validation=validation,
            uses={"columns": columns, "ignore": ignore, "categorical": categorical, "text": text},
            learner=learner,
            models=models,
            inclusion=inclusion,
            neighbors=neighbors,
            error=error,
            stable=stable,
            flip=flip,
            report=report,
            false_alarms=false_alarms,
            fraction=fraction,
            top=top,
            out=out,
            force=force,
            store=store,
            scale=scale,
            seed=seed,
            jobs=jobs,
            cluster=cluster,
        )
    )
