"""What ``cdvm prune`` shows and writes."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdvm.errors import InputError
from cdvm.evaluate import compare_with_random
from cdvm.files import write_whole

if TYPE_CHECKING:
    from cdvm.cli.source import Source
    from cdvm.pruner import CDVM
    from cdvm.selection import Selection

__all__ = ["check_out", "compare", "print_report", "write_report"]

_DRAWS = 20


def check_out(out: Path | None, *, force: bool) -> None:
    """Refuse an output directory that holds something, before any work is done."""
    if out is None:
        return
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out} is a file: name a directory")
    if out.is_dir() and any(out.iterdir()) and not force:
        raise InputError(f"--out {out} is not empty: name another directory, or add --force to write into it")


def compare(
    source: Source,
    pruner: CDVM,
    selections: dict[str, Selection],
    *,
    fit_seconds: float,
    seed: int,
    jobs: int,
) -> dict[str, Any]:
    """All figures of a run as plain values."""
    from cdvm import __version__

    split = source.split
    sets = [selection.rows for selection in selections.values()]
    comparisons = compare_with_random(split, pruner.learner_, sets, draws=_DRAWS, seed=seed, n_jobs=jobs)
    return {
        "version": __version__,
        "source": source.name,
        "rows": split.n_table,
        "candidates": split.n_rows,
        "validation_rows": len(split.y_val),
        "test_rows": 0 if split.y_test is None else len(split.y_test),
        "held_out": source.held_out,
        "metric": "accuracy" if split.task == "classification" else "R2",
        "learner": source.learner_name,
        "learner_settings": pruner.learner_.spec(),
        "standardised": source.scaled,
        "models": pruner.outcomes_.n_models,
        "inclusion": pruner.outcomes_.design.inclusion,
        "degenerate_models": pruner.outcomes_.degenerate,
        "rows_without_attribution": pruner.attribution_.n_unusable,
        "seed": seed,
        "random_draws": _DRAWS,
        "fit_seconds": fit_seconds,
        "budgets": {
            name: {
                "rows": len(selection),
                "share": selection.retained,
                "alpha": selection.alpha,
                "kappa": selection.kappa,
                "objective": selection.objective,
                "bound": selection.bound,
                "gap": selection.gap,
                "method": selection.method,
                "seconds": selection.seconds,
                **{part: asdict(figures) for part, figures in comparison.items()},
            }
            for (name, selection), comparison in zip(selections.items(), comparisons, strict=True)
        },
    }


def write_report(out: Path, source: Source, selections: dict[str, Selection], report: dict[str, Any]) -> None:
    """Kept rows per budget, ``selection.csv`` and ``summary.json``."""
    import pandas as pd

    out.mkdir(parents=True, exist_ok=True)
    first = next(iter(selections.values()))
    columns: dict[str, Any] = {"row": first.candidates}
    if source.split.index is not None:
        columns["index"] = source.split.index
    for name, selection in selections.items():
        source.table.write_rows(selection.indices, out / f"kept-{name}{source.table.suffix}")
        columns[f"kept_{name}"] = selection.mask[selection.candidates].astype(int)
        columns[f"weight_{name}"] = selection.weights
    pd.DataFrame(columns).to_csv(out / "selection.csv", index=False)
    write_whole(out / "summary.json", (json.dumps(report, indent=2) + "\n").encode())


def print_report(report: dict[str, Any], out: Path | None) -> None:
    """The comparison as a table."""
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable

    console = Console()
    parts = {"validation": "validation", "test": "held-out"}
    parts = {part: name for part, name in parts.items() if part in next(iter(report["budgets"].values()))}
    grid = RichTable(
        title=f"{report['source']}: {report['metric']} when trained on the kept rows, as many random, all",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for heading in ("keep", "rows"):
        grid.add_column(heading, justify="right")
    for name in parts.values():
        grid.add_column(f"{name}\nkept", justify="right", style="bold")
        grid.add_column("\nrandom", justify="right")
    for heading in ("gap", "seconds"):
        grid.add_column(heading, justify="right")
    for line in report["budgets"].values():
        cells = [f"{line['share']:.1%}", str(line["rows"])]
        for part in parts:
            f = line[part]
            cells += [f"{f['kept']:.3f}", f"{f['random']:.3f}±{f['random_deviation']:.3f}"]
        grid.add_row(*cells, f"{line['gap']:.2%}", f"{line['seconds']:.2f}")
    last = next(reversed(report["budgets"].values()))
    cells = ["all", str(report["candidates"])]
    for part in parts:
        cells += [f"{last[part]['everything']:.3f}", ""]
    grid.add_section()
    grid.add_row(*cells)
    console.print(grid)
    for sentence in _sentences(report, out):
        console.print(sentence, highlight=False)


def _sentences(report: dict[str, Any], out: Path | None) -> list[str]:
    if report["held_out"]:
        split = (
            f"Of {report['rows']} rows, {report['validation_rows']} were held out to choose with and "
            f"{report['test_rows']} to report on; rows were kept from the other {report['candidates']}, "
            "and shares refer to those."
        )
    else:
        split = (
            f"All {report['rows']} rows were candidates; {report['validation_rows']} validation rows were "
            f"chosen with, {report['test_rows']} test rows reported on."
        )
    models = (
        f"{report['models']} {report['learner']} models on random subsets of "
        f"{report['inclusion']:.1%} took {report['fit_seconds']:.1f} s"
    )
    if report["degenerate_models"]:
        models += f"; {report['degenerate_models']} saw one class or no row and answered with a constant"
    random = f"Random rows: mean ± deviation of {report['random_draws']} draws."
    where = f"Written to {out}: kept rows, selection.csv, summary.json." if out is not None else ""
    return [s for s in (split, models + ".", random, where) if s]
