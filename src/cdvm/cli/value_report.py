"""What ``cdvm value`` shows and writes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cdvm.errors import InputError
from cdvm.valuation import suspects, valuation_names, valuation_options

if TYPE_CHECKING:
    from cdvm.cli.source import Source
    from cdvm.split import Split
    from cdvm.valuation import NoiseReport, Values
    from cdvm.valuation.detection import Detection

__all__ = [
    "check_request",
    "check_values_file",
    "print_detection",
    "print_suspects",
    "print_values",
    "write_values",
]

_FLAGS = {"n_models": "--models", "k": "--neighbors", "stop": "--error or --stable"}
_ENDINGS = (".csv", ".parquet", ".feather")


def check_request(method: str, report: str, options: dict[str, Any], *, flip: float | None) -> None:
    """Refuse options that do not go together, before any work is done."""
    if report not in ("values", "noise"):
        raise InputError(f"--report {report!r}: use values or noise")
    if method == "all":
        if flip is None or report != "noise":
            raise InputError(
                "--method all compares methods at finding flipped labels: add --flip 0.1 --report noise, or "
                f"choose one of {', '.join(valuation_names())}"
            )
        return
    known = valuation_options(method)
    for name in options:
        if name not in known:
            flag = _FLAGS.get(name, f"--{name}")
            raise InputError(f"{flag} has no meaning for --method {method}: leave it out")


def check_values_file(out: Path | None) -> None:
    """Refuse a file that cannot be written, before any work is done."""
    if out is None:
        return
    if out.suffix.lower() not in _ENDINGS:
        raise InputError(f"--out {out} has no known ending: use {', '.join(_ENDINGS)}")
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise InputError(f"--out {out} cannot be written: name a file in a directory that exists")


def write_values(out: Path, source: Source, values: Values) -> None:
    """The valued rows with all their columns, and value, stderr and count beside them."""
    raw, frame = source.table.raw, source.table.frame
    # the text of a CSV file goes back as it stood
    rows = (raw if hasattr(raw, "iloc") and out.suffix.lower() == ".csv" else frame).iloc[values.rows]
    columns = values.to_frame().drop(columns="row")
    taken = {str(name) for name in frame.columns}
    for name in columns.columns:
        free = name if name not in taken else f"{values.method}_{name}"
        rows = rows.assign(**{free: columns[name].to_numpy()})
    ending = out.suffix.lower()
    if ending == ".csv":
        rows.to_csv(out, index=False)
    elif ending == ".parquet":
        rows.to_parquet(out, index=False)
    else:
        rows.reset_index(drop=True).to_feather(out)


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


def print_suspects(source: Source, values: Values, top: int) -> None:
    """Rows whose label is suspected to be wrong, the worst first."""
    from rich.console import Console

    found = suspects(values)
    sign = -1 if values.method == "memorization" else 1
    worst = found[np.argsort(sign * values.values[found], kind="stable")][:top]
    split = source.split
    grid = _grid(["row", "label", "value"])
    labels = split.labels(split.y)
    for k in worst:
        grid.add_row(_row(values, int(k)), str(labels[k]), f"{values.values[k]:.4f}")
    console = Console()
    console.print(f"{source.name}: suspected labels by {values.method}", highlight=False)
    console.print(grid)
    console.print(
        f"{len(found)} of {len(values)} rows form the worse of two groups of values; "
        f"the {len(worst)} worst are shown.",
        highlight=False,
    )


def print_detection(source: Source, found: Sequence[Detection], n_flipped: int) -> None:
    """F1, precision and recall of each method."""
    from rich.console import Console

    headings = ["method", "F1", "precision", "recall", "F1 auto", "suspects", "models", "seconds"]
    grid = _grid(headings)
    for line in found:
        if line.known is None or line.automatic is None:
            continue
        auto: NoiseReport = line.automatic
        share = [f"{number:.3f}" for number in (line.known.f1, line.known.precision, line.known.recall)]
        rest = [f"{auto.f1:.3f}", str(auto.n_suspects), str(line.trainings), f"{line.seconds:.1f}"]
        grid.add_row(line.method, *share, *rest)
    console = Console()
    console.print(
        f"{source.name}: finding {n_flipped} flipped labels among {source.split.n_rows}", highlight=False
    )
    console.print(grid)
    console.print(
        f"F1, precision and recall of the {n_flipped} most suspicious rows; 'auto': of as many suspects as "
        "the values themselves set apart.",
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
    split, numbers = source.split, values.values
    held = (
        f"{split.n_table - len(values)} of {split.n_table} rows were held out"
        if split.n_table > len(values)
        else ""
    )
    summary = (
        f"{len(values)} rows: mean {numbers.mean():.4f}, deviation {numbers.std():.4f}, "
        f"{int((numbers < 0).sum())} below 0"
    )
    cost = (
        f"{source.learner_name}: {values.meta['trainings']} trainings" if values.meta.get("trainings") else ""
    )
    if cost and "seconds" in values.meta:
        cost += f" in {values.meta['seconds']:.1f} s"
    if values.meta.get("exact"):
        cost += ", every training set tried"
    if values.meta.get("converged") is not None:
        cost += "; the goal was reached" if values.meta["converged"] else "; the goal was not reached"
    where = f"Written to {out}." if out is not None else ""
    return [s if s.endswith(".") else f"{s}." for s in (summary, held, cost, where) if s]
