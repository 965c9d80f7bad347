"""``cdvm benchmark``: compare methods as the paper does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cdvm.cli.options import Jobs
from cdvm.errors import InputError

__all__ = ["run"]


def run(
    out: Annotated[
        Path, typer.Option(help="Directory for the results; a run that was stopped goes on there.")
    ],
    protocol: Annotated[
        str, typer.Option(help="paper, clean, or noisy (clean with 10 % of the labels wrong).")
    ] = "paper",
    preset: Annotated[
        str,
        typer.Option(
            help="Data sets, methods and budgets of: benchmark, inclusion, models, banzhaf, nested, ends."
        ),
    ] = "benchmark",
    datasets: Annotated[
        str, typer.Option(help="Data sets, separated by commas.", show_default="the preset's")
    ] = "",
    methods: Annotated[
        str, typer.Option(help="Methods, separated by commas.", show_default="the preset's")
    ] = "",
    repetitions: Annotated[int | None, typer.Option(help="How often.", show_default="25")] = None,
    jobs: Jobs = -1,
    track: Annotated[str, typer.Option(help="Log to mlflow as well; needs the extra mlflow.")] = "",
    track_uri: Annotated[
        str, typer.Option(help="MLflow server or directory.", show_default="MLflow's own default")
    ] = "",
) -> None:
    """Run methods on data sets, repetition by repetition, and keep every result.

    Results go to OUT/results.parquet: one row per data set, method, budget and repetition. Stop it whenever
    you like; the same command goes on where it stopped. `cdvm benchmark table OUT` and
    `cdvm benchmark figures OUT` show what there is, also while it runs.

    Example: `cdvm benchmark run --datasets pol --methods CDVM5k,Random --repetitions 3 --out results`
    """
    from cdvm.benchmark.presets import get_preset
    from cdvm.benchmark.protocol import get_protocol
    from cdvm.benchmark.runner import run_benchmark

    if track not in ("", "mlflow"):
        raise InputError(f"--track {track!r}: mlflow is the one tracker there is")
    if track_uri and not track:
        raise InputError("--track-uri says where to log: add --track mlflow")
    if track:
        from cdvm.benchmark.tracking import check_tracking

        check_tracking()
    chosen = get_preset(preset)
    plan = get_protocol(protocol).replace(**chosen.changes)
    if repetitions is not None:
        plan = plan.replace(repetitions=repetitions)
    typer.echo(str(plan))
    results = run_benchmark(
        plan, _names(datasets) or chosen.datasets, _names(methods) or chosen.methods, out, n_jobs=jobs
    )
    typer.echo(f"{len(results.frame):,} results in {results.path / 'results.parquet'}")
    if track:
        from cdvm.benchmark.tracking import track as log

        log(results.path, results.frame, results.protocol, uri=track_uri or None)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
