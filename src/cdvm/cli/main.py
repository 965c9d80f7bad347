"""Entry point: the commands."""

from __future__ import annotations

import logging
from typing import Annotated

import typer

from cdvm._runtime.versions import versions
from cdvm.cli import outcomes
from cdvm.cli.benchmark import run
from cdvm.cli.benchmark_report import claims, figures, table
from cdvm.cli.datasets import datasets
from cdvm.cli.explain import explain
from cdvm.cli.friendly import Command, friendly
from cdvm.cli.prune import prune
from cdvm.cli.value import value

__all__ = ["app", "main"]

app = typer.Typer(
    name="cdvm",
    help="Which rows of a training set should be kept?",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)

app.command(no_args_is_help=True, cls=Command)(friendly(prune))
app.command(no_args_is_help=True, cls=Command)(friendly(value))
app.command(no_args_is_help=True, cls=Command)(friendly(explain))
app.command()(friendly(datasets))

benchmark = typer.Typer(
    help="Compare methods as the paper does: run, then table, figures and claims.", no_args_is_help=True
)
app.add_typer(benchmark, name="benchmark")
benchmark.command(no_args_is_help=True)(friendly(run))
benchmark.command(no_args_is_help=True)(friendly(table))
benchmark.command(no_args_is_help=True)(friendly(figures))
benchmark.command(no_args_is_help=True)(friendly(claims))

_outcomes = typer.Typer(
    help="Train models in parts: several runs into one store, its state, and merging stores.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
for _command in (outcomes.run, outcomes.merge, outcomes.status):
    _outcomes.command(no_args_is_help=True, cls=Command)(friendly(_command))
app.add_typer(_outcomes, name="outcomes")


def _version(wanted: bool) -> None:
    if wanted:
        first, *others = (f"{name} {number}" for name, number in versions().items())
        typer.echo(first)
        typer.echo(", ".join(others))
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_version,
            is_eager=True,
            help="Show the version, also of libraries, and stop.",
        ),
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", help="Tell how far the work is, a line every ten seconds, without a terminal too."
        ),
    ] = False,
) -> None:
    """Example: `cdvm --verbose prune train.csv --target label --keep 5% 2> progress.log`"""
    if verbose:
        logging.basicConfig(format="%(message)s")
        logging.getLogger("cdvm").setLevel(logging.INFO)


def main() -> None:
    """Run the command line."""
    app()
