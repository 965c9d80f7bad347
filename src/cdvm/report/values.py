"""What ``cdvm value`` shows and writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cdvm._runtime.files import write_whole
from cdvm.datasets.source import Source
from cdvm.valuation import p_values, suspects

if TYPE_CHECKING:
    from cdvm.data.split import Split
    from cdvm.valuation import Values
    from cdvm.valuation.detection import Detection

__all__ = [
    "ENDINGS",
    "Suspicion",
    "print_detection",
    "print_suspects",
    "print_values",
    "write_values",
]

ENDINGS = (".csv", ".csv.gz", ".tsv", ".jsonl", ".parquet", ".feather")


@dataclass(frozen=True, eq=False)
class Suspicion:
    """Rows whose label is suspected to be wrong, and why.

    Attributes
    ----------
    rows : ndarray
        Positions among the valued rows, the most suspicious first.
    p_values : ndarray or None
        Of all valued rows.
    sentence : str
        What decided.
    """

    rows: NDArray[np.int64]
    p_values: NDArray[np.float64] | None
    sentence: str

    @classmethod
    def of(cls, values: Values, rate: float, fraction: float | None) -> Suspicion:
        """Suspects at a rate of false alarms, or as many as a known fraction of wrong labels says."""
        found = suspects(values, fraction) if fraction is not None else suspects(values, rate=rate)
        p = p_values(values)
        signed = -values.values if values.method == "memorization" else values.values
        order = np.lexsort(
            [signed[found]] if p is None or fraction is not None else [signed[found], p[found]]
        )
        if fraction is not None:
            why = (
                f"{_some(found)} suspected: as many as there are known to be wrong, from the end where wrong "
                "labels lie."
            )
        elif values.p_values is not None:
            why = (
                f"{_some(found)} suspected: were labels drawn as the models that did not see their rows "
                f"believe, at most {rate:.3g} of them ({rate * len(values):.3g} of {len(values)}) would be."
            )
        else:
            why = (
                f"{_some(found)} suspected: their values are below 0, as those of at most {rate:.3g} of the "
                "rows whose true value is 0 or more would be by chance."
            )
        return cls(found[order], p, why)


def _some(found: NDArray[np.int64]) -> str:
    return "1 row is" if len(found) == 1 else f"{len(found)} rows are"


def write_values(out: Path, source: Source, values: Values, suspicion: Suspicion | None) -> None:
    """The valued rows with all their columns, and beside them what was found of each; whole or not at all."""
    columns = values.to_frame().reset_index(drop=True)
    if suspicion is not None:
        if suspicion.p_values is not None:
            columns["p_value"] = suspicion.p_values
        columns["suspect"] = np.isin(np.arange(len(values)), suspicion.rows).astype(int)
    taken = {str(name) for name in source.table.frame.columns}
    columns.columns = [n if n not in taken else f"{values.method}_{n}" for n in columns.columns]
    with TemporaryDirectory() as scratch:
        made = Path(scratch) / out.name
        source.table.write_rows(values.rows, made, columns)
        write_whole(out, made.read_bytes())


def print_values(source: Source, split: Split, values: Values, top: int, out: Path | None) -> None:
    """Highest and lowest rows, and a summary."""
    from rich.console import Console

    order = np.argsort(-values.values, kind="stable")
    whole = len(values) <= 2 * top
    headings = ["row", "label", "value"] if values.stderr is None else ["row", "label", "value", "± error"]
    grid = _grid(headings)
    labels = split.labels(split.y)
    for number, k in enumerate(np.arange(len(values)) if whole else np.r_[order[:top], order[-top:]]):
        if not whole and number == top:
            grid.add_section()
        error = [] if values.stderr is None else [f"{values.stderr[k]:.4f}"]
        grid.add_row(_row(values, int(k)), str(labels[k]), f"{values.values[k]:.4f}", *error)
    console = Console()
    console.print(f"{source.name}: {values.method}", highlight=False)
    console.print(grid)
    for sentence in _sentences(source, values, out):
        console.print(sentence, highlight=False)


def print_suspects(source: Source, values: Values, suspicion: Suspicion, top: int, out: Path | None) -> None:
    """Rows whose label is suspected to be wrong, the worst first."""
    from rich.console import Console

    worst, p, labels = suspicion.rows[:top], suspicion.p_values, source.split.labels(source.split.y)
    grid = _grid(["row", "label", "value"] + ["p-value"] * (p is not None))
    for k in worst:
        more = [] if p is None else [f"{p[k]:.2g}"]
        grid.add_row(_row(values, int(k)), str(labels[k]), f"{values.values[k]:.4f}", *more)
    console = Console()
    console.print(f"{source.name}: suspected labels by {values.method}", highlight=False)
    if len(worst):
        console.print(grid)
    more_there = len(suspicion.rows) - len(worst)
    shown = f" The {len(worst)} worst are shown." if more_there else ""
    console.print(suspicion.sentence + shown, highlight=False)
    unexplained = values.meta.get("unexplained")
    if unexplained is not None:
        console.print(
            f"By the models' votes about {unexplained:.1%} of all labels are wrong or beyond these models.",
            highlight=False,
        )
    for sentence in _held_and_written(source, values, out):
        console.print(sentence, highlight=False)


def print_detection(source: Source, found: Sequence[Detection], n_flipped: int, rate: float) -> None:
    """F1, precision and recall of each method."""
    from rich.console import Console

    headings = ["method", "F1", "precision", "recall", "F1 auto", "suspects", "models", "seconds"]
    grid = _grid(headings)
    for line in found:
        if line.known is None:
            continue
        auto = line.automatic
        fraction = [f"{number:.3f}" for number in (line.known.f1, line.known.precision, line.known.recall)]
        own = ["–", "–"] if auto is None else [f"{auto.f1:.3f}", str(auto.n_suspects)]
        grid.add_row(line.method, *fraction, *own, str(line.fits), f"{line.seconds:.1f}")
    console = Console()
    console.print(
        f"{source.name}: finding {n_flipped} flipped labels among {source.split.n_rows}", highlight=False
    )
    console.print(grid)
    console.print(
        f"F1, precision and recall of the {n_flipped} most suspicious rows; 'auto': of the suspects at a "
        f"rate of false alarms of {rate:.3g}, where the values hold evidence for one.",
        highlight=False,
    )
    for line in found:
        if line.skipped:
            console.print(f"{line.method} was left out: {line.skipped}", highlight=False)


def _grid(headings: list[str]) -> Any:
    from rich import box
    from rich.table import Table as RichTable

    grid = RichTable(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in headings:
        grid.add_column(heading, justify="left" if heading == "method" else "right")
    return grid


def _row(values: Values, k: int) -> str:
    return str(values.rows[k] if values.index is None else values.index[k])


def _sentences(source: Source, values: Values, out: Path | None) -> list[str]:
    numbers = values.values
    summary = (
        f"{len(values)} rows: mean {numbers.mean():.4f}, standard deviation {numbers.std():.4f}, "
        f"{int((numbers < 0).sum())} below 0."
    )
    cost = f"{source.learner_name}: {values.meta['fits']} fits" if values.meta.get("fits") else ""
    if cost and "seconds" in values.meta:
        cost += f" in {values.meta['seconds']:.1f} s"
    if values.meta.get("exact"):
        cost += ", every training set tried"
    if values.meta.get("converged") is not None:
        cost += "; the goal was reached" if values.meta["converged"] else "; the goal was not reached"
    return [summary, *([f"{cost}."] if cost else []), *_held_and_written(source, values, out)]


def _held_and_written(source: Source, values: Values, out: Path | None) -> list[str]:
    held = source.split.n_table - len(values)
    told = [f"{held} of {source.split.n_table} rows were held out to score models on."] if held else []
    return told + ([f"Written to {out}."] if out is not None else [])
