"""``cdvm benchmark table``, ``figures`` and ``claims``: what a run found."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cdvm._runtime.files import write_whole
from cdvm.cli.options import Force
from cdvm.errors import InputError
from cdvm.report.output import refuse_present, together

if TYPE_CHECKING:
    import pandas as pd

    from cdvm.benchmark.results import Results

__all__ = ["claims", "figures", "table"]

ResultDirectories = Annotated[
    list[Path],
    typer.Argument(
        metavar="RESULTS...",
        help="Directories that `cdvm benchmark run` wrote, of one protocol.",
        show_default=False,
    ),
]


def table(
    results: ResultDirectories,
    out: Annotated[
        Path | None,
        typer.Option(help="Directory for the tables.", show_default="tables in the first of RESULTS"),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Print the tables of all settings and ablations too.")
    ] = False,
    force: Force = False,
) -> None:
    """Print the paper's table with ours beside it, who wins, and the seconds; write all tables.

    Every table is written as Markdown, CSV and LaTeX. Several directories are taken together, for example
    the main benchmark and the ablations.

    Example: `cdvm benchmark table results/paper`
    """
    from rich.console import Console

    from cdvm.benchmark.tables.write import BUILDERS, MAIN, write_tables

    out = _place(out, results[0] / "tables", BUILDERS, (".md", ".csv", ".tex"), force=force)
    frame = _frame(results)
    with together(out) as staging:
        tables = write_tables(frame, staging)
    console = Console()
    shown = list(tables) if every else [name for name in MAIN if name in tables]
    for name in shown:
        console.print(tables[name].rich())
    more = f"{len(tables)} tables" + (
        "" if len(shown) == len(tables) else f", {len(tables) - len(shown)} not shown,"
    )
    console.print(f"{more} in {out} (.md, .csv, .tex)", highlight=False, soft_wrap=True)


def figures(
    results: ResultDirectories,
    out: Annotated[
        Path | None,
        typer.Option(help="Directory for the figures.", show_default="figures in the first of RESULTS"),
    ] = None,
    force: Force = False,
) -> None:
    """Draw the paper's figures from results, as PNG and SVG.

    Our curves are solid, the paper's dashed. Figures that need results which are not there are named.
    Several directories are taken together, for example the main benchmark and the ablations.

    Example: `cdvm benchmark figures results/paper`
    """
    from cdvm.benchmark.figures.clusters import FIGURES as CLUSTERS
    from cdvm.benchmark.figures.write import FIGURES, write_figures

    out = _place(out, results[0] / "figures", [*FIGURES, *CLUSTERS], (".png", ".svg"), force=force)
    frame = _frame(results)
    with together(out) as staging:
        found = write_figures(frame, staging)
    for name in found.written:
        typer.echo(f"{out / name}.png, .svg")
    for name, why in found.missing.items():
        typer.echo(f"{name} is left out: it {why}")


def claims(
    results: Annotated[
        Path,
        typer.Argument(
            help="Directory above those of the protocols: paper, clean, noisy.", show_default=False
        ),
    ],
    fill: Annotated[
        list[Path] | None,
        typer.Option(
            help="Texts whose marked numbers are to be replaced; may be repeated.", show_default=False
        ),
    ] = None,
) -> None:
    """Print every number that texts may state, computed from results, or put them into the texts.

    A text marks a number as `<!--claim clean.refined.above_all-->36 of 36<!--/claim-->`, and a table in the
    same way. Three numbers with strokes are settings won, lost and undecided by a paired test.

    Example: `cdvm benchmark claims results --fill README.md`
    """
    from cdvm.benchmark.claims import claims_of, fill_claims

    values = claims_of(results)
    texts = {path: path.read_text(encoding="utf-8") for path in fill or []}
    filled = {path: fill_claims(text, values) for path, text in texts.items()}
    for path, text in filled.items():
        if text != texts[path]:
            write_whole(path, text.encode())
        typer.echo(f"{path}: {'filled' if text != texts[path] else 'as it was'}")
    if not fill:
        for name, value in values.items():
            typer.echo(f"{name}: {'a table' if '.table.' in name else value}")


def _place(
    out: Path | None, usual: Path, names: Iterable[str], endings: tuple[str, ...], *, force: bool
) -> Path:
    """Where to write; files in a directory that the user named are replaced only if that is said."""
    if out is None:
        if force:
            raise InputError("--force is about files in a directory you name: add --out, or leave it out")
        return usual
    refuse_present(out, [name + ending for name in names for ending in endings], force=force)
    return out


def _frame(results: list[Path]) -> pd.DataFrame:
    """The rows of all directories; a result that two of them hold counts once."""
    import pandas as pd

    from cdvm.benchmark.results import ORDER, Results

    opened = [Results.open(path) for path in results]
    for other in opened[1:]:
        _refuse_other(opened[0], other)
    frames = [found.frame for found in opened]
    return pd.concat(frames, ignore_index=True).drop_duplicates(ORDER, ignore_index=True)


def _refuse_other(first: Results, other: Results) -> None:
    """Budgets, repetitions and random draws may differ between directories that are shown together."""
    a, b = first.protocol.to_dict(), other.protocol.to_dict()
    free = {"budgets", "repetitions", "random_draws"}
    different = [f"{k} is {b[k]!r} there and {a[k]!r} here" for k in a if a[k] != b[k] and k not in free]
    if different:
        raise InputError(
            f"{other.path} holds results of another protocol than {first.path}: {'; '.join(different)}. "
            "Show them one at a time"
        )
