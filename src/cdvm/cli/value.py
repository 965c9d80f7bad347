"""``cdvm value``: what each row of a table is worth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cdvm.cli.options import (
    Cluster,
    DatasetName,
    Ignore,
    Jobs,
    LearnerName,
    Scale,
    Seed,
    Store,
    TableFile,
    Target,
    Validation,
)

__all__ = ["value"]


def value(
    table: TableFile = None,
    target: Target = "target",
    dataset: DatasetName = "",
    method: Annotated[
        str,
        typer.Option(
            help="random, leave_one_out, shapley, beta_shapley, banzhaf, out_of_bag, memorization, "
            "knn_shapley or influence; with --flip also all."
        ),
    ] = "banzhaf",
    validation: Validation = None,
    ignore: Ignore = None,
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
        float | None, typer.Option(help="Share of training labels to move to another class first.")
    ] = None,
    report: Annotated[
        str, typer.Option(help="values, or noise: rows whose label is suspected to be wrong.")
    ] = "values",
    top: Annotated[int, typer.Option(help="Rows to show from each end.")] = 5,
    out: Annotated[
        Path | None, typer.Option(help="File (.csv, .parquet, .feather) for rows and values.")
    ] = None,
    store: Store = None,
    scale: Scale = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    cluster: Cluster = None,
) -> None:
    """Value the rows of a training table.

    Without --validation a stratified tenth of the table is held out to score models on, and a tenth is left
    for testing; the other rows get values.

    Example: `cdvm value train.csv --target label --method out_of_bag --out values.csv`
    """
    from cdvm.cli.run import placed
    from cdvm.cli.source import load_source
    from cdvm.cli.value_report import (
        check_request,
        check_values_file,
        print_detection,
        print_suspects,
        print_values,
        write_values,
    )
    from cdvm.valuation import flip_split, valuation_names, value_rows
    from cdvm.valuation.detection import detect, detect_with_each
    from cdvm.valuation.stopping import make_rule

    given: dict[str, Any] = {
        "n_models": models,
        "inclusion": inclusion,
        "k": neighbors,
        "stop": make_rule(error, stable),
        "store": store,
    }
    options = {name: setting for name, setting in given.items() if setting is not None}
    check_request(method, report, options, flip=flip)
    check_values_file(out)
    source = load_source(
        table,
        target,
        dataset=dataset,
        validation="holdout" if validation is None else str(validation),
        own_validation=validation is None,
        test="",
        ignore=ignore or [],
        learner=learner,
        scale=scale,
        seed=seed,
    )
    split, flipped = (source.split, None) if flip is None else flip_split(source.split, flip, seed=seed)
    options |= {"seed": seed, "n_jobs": jobs}
    if method == "all" and flipped is not None:
        options = {"n_models": 1000, **options}
        with placed(cluster):
            found = list(detect_with_each(split, source.learner, flipped, valuation_names(), **options))
        print_detection(source, found, len(flipped))
        return
    with placed(cluster):
        values = value_rows(split, source.learner, method, **options)
    if out is not None:
        write_values(out, source, values)
    if report == "noise" and flipped is not None:
        print_detection(source, [detect(values, flipped)], len(flipped))
    elif report == "noise":
        print_suspects(source, values, top)
    else:
        print_values(source, split, values, top, out)
