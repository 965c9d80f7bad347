"""Entry point: commands, and what a user sees when something goes wrong."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from cdvm.cli import outcomes
from cdvm.cli.benchmark import run
from cdvm.cli.benchmark_report import figures, table
from cdvm.cli.datasets import datasets
from cdvm.cli.prune import prune
from cdvm.cli.value import value
from cdvm.errors import InputError

__all__ = ["app", "main"]

app = typer.Typer(
    name="cdvm",
    help="Which rows of a training set should be kept?",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


def _friendly(command: Callable[..., None]) -> Callable[..., None]:
    """A user's mistake is one line and exit code 2, an interrupt one line and 130; never a traceback."""

    @wraps(command)
    def wrapped(*args: Any, **options: Any) -> None:
        warnings.showwarning = _show_warning
        try:
            command(*args, **options)
        except InputError as error:
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(2) from error
        except KeyboardInterrupt as error:
            typer.echo(f"interrupted: {_how_to_go_on(options)}", err=True)
            raise typer.Exit(130) from error

    return wrapped


app.command(no_args_is_help=True)(_friendly(prune))
app.command(no_args_is_help=True)(_friendly(value))
app.command()(_friendly(datasets))

benchmark = typer.Typer(
    help="Compare methods as the paper does: run, then table and figures.", no_args_is_help=True
)
app.add_typer(benchmark, name="benchmark")
benchmark.command(no_args_is_help=True)(_friendly(run))
benchmark.command(no_args_is_help=True)(_friendly(table))
benchmark.command(no_args_is_help=True)(_friendly(figures))

_outcomes = typer.Typer(
    help="Train models in parts: several runs into one store, its state, and merging stores.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
for _command in (outcomes.run, outcomes.merge, outcomes.status):
    _outcomes.command(no_args_is_help=True)(_friendly(_command))
app.add_typer(_outcomes, name="outcomes")


def _version(wanted: bool) -> None:
    if wanted:
        from cdvm import __version__

        typer.echo(f"cdvm {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    app()


def _how_to_go_on(options: dict[str, Any]) -> str:
    if options.get("store") is not None:
        return "finished models are in the store; run the same command again to go on"
    if "protocol" in options:
        return "finished repetitions are in the results directory; run the same command again to go on"
    return "nothing was written; with --store DIR a run goes on where it stopped"


def _show_warning(message: Any, category: Any, *_: Any, **__: Any) -> None:
    typer.echo(f"warning: {message}", err=True)
