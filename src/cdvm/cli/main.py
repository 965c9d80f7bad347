"""Entry point: commands, and what a user sees when something goes wrong."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated, Any

import typer

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
app.command(no_args_is_help=True)(prune)
app.command(no_args_is_help=True)(value)


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
    """Run the command line; a user's mistake is one line and exit code 2, never a traceback."""
    warnings.showwarning = _show_warning
    try:
        app()
    except InputError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        typer.echo(f"interrupted: {_how_to_go_on()}", err=True)
        sys.exit(130)


def _how_to_go_on() -> str:
    if any(word == "--store" or word.startswith("--store=") for word in sys.argv):
        return "finished models are in the store; run the same command again to go on"
    return "nothing was written; with --store DIR a run goes on where it stopped"


def _show_warning(message: Any, category: Any, *_: Any, **__: Any) -> None:
    typer.echo(f"warning: {message}", err=True)
