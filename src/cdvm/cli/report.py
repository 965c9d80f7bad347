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
    from cdvm.cli.run import Chosen
    from cdvm.cli.source import Source
    from cdvm.learners import Learner
    from cdvm.selection import Selection

__all__ = ["check_out", "figures", "print_report", "write_report"]

_DRAWS = 20


def check_out(out: Path | None, *, force: bool) -> None:
    """Refuse an output directory that holds something, before any work is done."""
    if out is None:
        return
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out} is a file: name a directory")
    if out.is_dir() and any(out.iterdir()) and not force:
        raise InputError(f"--out {out} is not empty: name another directory, or add --force to write into it")


def figures(
    source: Source, chosen: Chosen, judges: dict[str, Learner], *, seed: int, jobs: int
) -> dict[str, Any]:
    """All figures of a run as plain values; ``judges`` are other models to try the chosen rows with."""
    from cdvm import __version__

    split = source.split
    sets = [selection.rows for selection in chosen.selections.values()]
    own = {source.learner_name: source.learner}
    compared = {
        name: compare_with_random(split, learner, sets, draws=_DRAWS, seed=seed, n_jobs=jobs)
        for name, learner in (own | judges).items()
    }
    told = ["share", "method", "seconds", "alpha", "kappa", "objective", "bound", "gap", "score"]
    if any(selection.trainings is not None for selection in chosen.selections.values()):
        told += ["optimism", "trainings"]
    return {
        "version": __version__,
        "source": source.name,
        "rows": split.n_table,
        "candidates": split.n_rows,
        "judges": "validation rows" if split.judge_rows is None else "out-of-bag",
        "n_judges": len(split.judges[1]),
        "validation_rows": 0 if split.y_val is None else len(split.y_val),
        "test_rows": 0 if split.y_test is None else len(split.y_test),
        "metric": "accuracy" if split.task == "classification" else "R2",
        "learner": source.learner_name,
        "learner_settings": source.learner.spec(),
        "standardised": source.scaled,
        "seed": seed,
        "random_draws": _DRAWS,
        "method": chosen.method,
        **chosen.details,
        "budgets": {
            name: {
                "rows": len(selection),
                **{key: getattr(selection, "retained" if key == "share" else key) for key in told},
                "judged_by": {
                    judge: {part: asdict(found) for part, found in lines[number].items()}
                    for judge, lines in compared.items()
                },
            }
            for number, (name, selection) in enumerate(chosen.selections.items())
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
    """A table for every judge, and a few sentences."""
    from rich.console import Console

    console = Console()
    for judge in next(iter(report["budgets"].values()))["judged_by"]:
        console.print(_table(report, judge))
    for sentence in _sentences(report, out):
        console.print(sentence, highlight=False)


def _table(report: dict[str, Any], judge: str) -> Any:
    """Scores of one judge: trained on the kept rows, on as many random rows, on all."""
    from rich import box
    from rich.table import Table as RichTable

    own, lines = judge == report["learner"], list(report["budgets"].values())
    parts = {"validation": "validation", "outside": "other rows", "test": "held-out"}
    parts = {part: name for part, name in parts.items() if part in lines[0]["judged_by"][judge]}
    refined = any("trainings" in line for line in lines)
    certified = own and lines[0]["gap"] is not None and not refined  # of the program, which is left behind
    grid = RichTable(
        title=f"{report['source']}: {report['metric']} of {judge} trained on {report['method']}'s rows",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for heading in ("keep", "rows"):
        grid.add_column(heading, justify="right")
    for name in parts.values():
        grid.add_column(f"{name}\nkept", justify="right", style="bold")
        grid.add_column("\nrandom", justify="right")
    for heading in ["gap"] * certified + ["seconds"] * own:
        grid.add_column(heading, justify="right")
    for line in lines:
        cells = [f"{line['share']:.1%}", str(line["rows"])]
        for part in parts:
            f = line["judged_by"][judge][part]
            cells += [f"{f['kept']:.3f}", f"{f['random']:.3f}±{f['random_deviation']:.3f}"]
        cells += [f"{line['gap']:.2%}"] if certified else []
        cells += [f"{line['seconds']:.2f}"] if own else []
        grid.add_row(*cells)
    grid.add_section()
    everything = [[f"{lines[0]['judged_by'][judge][part]['everything']:.3f}", ""] for part in parts]
    grid.add_row("all", str(report["candidates"]), *(cell for pair in everything for cell in pair))
    return grid


def _sentences(report: dict[str, Any], out: Path | None) -> list[str]:
    rows, candidates = report["rows"], report["candidates"]
    uses = {"validation_rows": "to choose with", "test_rows": "to report on"}
    others = " and ".join(f"{report[part]} {use}" for part, use in uses.items() if report[part])
    if rows > candidates:
        held = others.replace(" to ", " were held out to ", 1)
        split = (
            f"Of {rows} rows, {held}; rows were kept from the other {candidates}, and shares refer to those."
        )
    else:
        split = f"All {rows} rows were candidates."
        if others:
            split += f" There were {others.replace(' to ', ' others to ', 1)}."
    judges = ""
    if report["judges"] == "out-of-bag":
        judges = (
            "Models were judged on rows they did not see. 'Other rows' are those outside each set, which "
            "choosing has seen (all: five-fold cross-validation); --test 20% reports on rows it has not."
        )
    how = ""
    if "fit_seconds" in report:
        how = (
            f"{report['models']} {report['learner']} models on random subsets of {report['inclusion']:.1%} "
            f"took {report['fit_seconds']:.1f} s"
        )
        if report["degenerate_models"]:
            how += f"; {report['degenerate_models']} gave every judge the same answer"
        how += "."
    if trained := [line["trainings"] for line in report["budgets"].values() if "trainings" in line]:
        optimism = max(line["optimism"] for line in report["budgets"].values())
        how += (
            f" Rows were then exchanged for better ones by up to {max(trained)} trainings; judges held back "
            f"saw up to {optimism:.3f} less of the gain."
        )
    random = f"Random rows: mean ± deviation of {report['random_draws']} draws."
    where = f"Written to {out}: kept rows, selection.csv, summary.json." if out is not None else ""
    return [s for s in (split, judges, how, random, where) if s]
