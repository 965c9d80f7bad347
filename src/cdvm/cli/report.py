"""What ``cdvm prune`` shows and writes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdvm.cli.columns import columns_table, told_columns
from cdvm.cli.friendly import warn
from cdvm.cli.output import together
from cdvm.evaluation.comparison import compare_with_random

if TYPE_CHECKING:
    from cdvm.cli.run import Chosen
    from cdvm.cli.source import Source
    from cdvm.learners import Learner
    from cdvm.selection import Selection

__all__ = ["figures", "names_of_files", "print_report", "write_report"]

_DRAWS = 20


def figures(
    source: Source, chosen: Chosen, evaluation: dict[str, Learner], *, seed: int, jobs: int
) -> dict[str, Any]:
    """All metrics of a run as plain values; ``others`` are models to evaluate the chosen rows with."""
    from cdvm import __version__

    split = source.split
    sets = [selection.rows for selection in chosen.selections.values()]
    own = {source.learner_name: source.learner}
    compared = {
        name: compare_with_random(split, learner, sets, draws=_DRAWS, seed=seed, n_jobs=jobs)
        for name, learner in (own | evaluation).items()
    }
    told = ["fraction", "method", "seconds", "alpha", "kappa", "objective", "bound", "gap", "score"]
    if any(selection.fits is not None for selection in chosen.selections.values()):
        told += ["optimism", "fits"]
    return {
        "version": __version__,
        "source": source.name,
        "rows": split.n_table,
        "candidates": split.n_rows,
        "evaluation": "validation rows" if split.evaluation_rows is None else "out_of_bag",
        "n_evaluation": len(split.evaluation[1]),
        "validation_rows": 0 if split.y_val is None else len(split.y_val),
        "test_rows": 0 if split.y_test is None else len(split.y_test),
        "metric": "accuracy" if split.task == "classification" else "R2",
        "learner": source.learner_name,
        "learner_settings": source.learner.spec(),
        "standardised": source.scaled,
        "columns": told_columns(split.preparation),
        "seed": seed,
        "random_draws": _DRAWS,
        "method": chosen.method,
        **chosen.details,
        "budgets": {
            name: {
                "rows": len(selection),
                **{key: getattr(selection, "retained" if key == "fraction" else key) for key in told},
                "evaluated_with": {
                    model: {part: asdict(found) for part, found in lines[number].items()}
                    for model, lines in compared.items()
                },
            }
            for number, (name, selection) in enumerate(chosen.selections.items())
        },
    }


def names_of_files(source: Source, budgets: Iterable[str]) -> list[str]:
    """What :func:`write_report` writes."""
    return [*(_kept_name(source, name) for name in budgets), "selection.csv", "summary.json"]


def _kept_name(source: Source, budget: str) -> str:
    return f"kept-{budget}{source.table.suffix}"


def write_report(out: Path, source: Source, selections: dict[str, Selection], report: dict[str, Any]) -> None:
    """Kept rows per budget, ``selection.csv`` and ``summary.json``: all of them or none."""
    import pandas as pd

    first = next(iter(selections.values()))
    columns: dict[str, Any] = {"row": first.candidates}
    if source.split.index is not None:
        columns["index"] = source.split.index
    with together(out) as staging:
        for name, selection in selections.items():
            source.table.write_rows(selection.indices, staging / _kept_name(source, name))
            columns[f"kept_{name}"] = selection.mask[selection.candidates].astype(int)
            columns[f"weight_{name}"] = selection.weights
        pd.DataFrame(columns).to_csv(staging / "selection.csv", index=False)
        (staging / "summary.json").write_text(json.dumps(report, indent=2) + "\n")


def print_report(report: dict[str, Any], out: Path | None) -> None:
    """A table for every evaluation row, and a few sentences."""
    from rich.console import Console

    console = Console()
    if any(_is_remarkable(line) for line in report.get("columns", [])):
        console.print(columns_table(report["columns"]))
    for model in next(iter(report["budgets"].values()))["evaluated_with"]:
        console.print(_table(report, model))
    for sentence in _sentences(report, out):
        console.print(sentence, highlight=False)
    for warning in _doubts(report):
        warn(warning)


def _is_remarkable(column: dict[str, Any]) -> bool:
    """Whether a column became anything but the number it was."""
    return column["kind"] != "number" or bool(column["missing"] or column["reason"])


def _doubts(report: dict[str, Any]) -> Iterator[str]:
    """Budgets whose rows are no better than random ones, on the rows that had the least part in choosing."""
    shown = {"test": "held-out rows", "validation": "validation rows", "outside": "other rows"}
    for line in report["budgets"].values():
        parts = line["evaluated_with"][report["learner"]]
        part = next(part for part in shown if part in parts)
        found = parts[part]
        if line["rows"] == report["candidates"]:  # random rows are the same rows
            continue
        error = found["random_std"] / math.sqrt(report["random_draws"])
        above = found["kept"] - found["random"]
        figures = f"{found['kept']:.3f} against {found['random']:.3f}±{error:.3f} on the {shown[part]}"
        if above <= 0:
            yield f"the {line['rows']} kept rows are no better than random rows ({figures})"
        elif above <= error:
            yield f"the {line['rows']} kept rows are not clearly better than random rows ({figures})"


def _table(report: dict[str, Any], model: str) -> Any:
    """Scores of one evaluation row: trained on the kept rows, on as many random rows, on all."""
    from rich import box
    from rich.table import Table as RichTable

    own, lines = model == report["learner"], list(report["budgets"].values())
    parts = {"validation": "validation", "outside": "other rows", "test": "held-out"}
    parts = {part: name for part, name in parts.items() if part in lines[0]["evaluated_with"][model]}
    refined = any("fits" in line for line in lines)
    certified = own and lines[0]["gap"] is not None and not refined  # of the program, which is left behind
    grid = RichTable(
        title=f"{report['source']}: {report['metric']} of {model} trained on {report['method']}'s rows"
        + ", refined" * refined,
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
        cells = [f"{line['fraction']:.1%}", str(line["rows"])]
        for part in parts:
            f = line["evaluated_with"][model][part]
            cells += [f"{f['kept']:.3f}", f"{f['random']:.3f}±{f['random_std']:.3f}"]
        cells += [f"{line['gap']:.2%}"] if certified else []
        cells += [f"{line['seconds']:.2f}"] if own else []
        grid.add_row(*cells)
    grid.add_section()
    all_rows = [[f"{lines[0]['evaluated_with'][model][part]['all_rows']:.3f}", ""] for part in parts]
    grid.add_row("all", str(report["candidates"]), *(cell for pair in all_rows for cell in pair))
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
    evaluation = ""
    if report["evaluation"] == "out_of_bag":
        evaluation = (
            "Models were evaluated on rows they did not see. 'Other rows' are those outside each set, which "
            "choosing has seen (all: five-fold cross-validation)"
        )
        evaluation += "." if report["test_rows"] else "; --test 20% reports on rows it has not."
    how = ""
    if "fit_seconds" in report:
        how = (
            f"{report['models']} {report['learner']} models on random subsets of {report['inclusion']:.1%} "
            f"took {report['fit_seconds']:.1f} s"
        )
        if report["degenerate_models"]:
            how += f"; {report['degenerate_models']} gave every evaluation row the same answer"
        how += "."
    how += _refining(list(report["budgets"].values()))
    lines = report["budgets"].values()
    gap = ""
    if any(line["gap"] is not None and "fits" not in line for line in lines):
        gap = (
            "Gap: what the set lacks, at most, to the largest objective of the program for as many rows; it "
            "says nothing about accuracy."
        )
    random = f"Random rows: mean ± standard deviation of {report['random_draws']} draws."
    where = f"Written to {out}: kept rows, selection.csv, summary.json." if out is not None else ""
    return [s for s in (split, evaluation, how, gap, random, where) if s]


def _refining(lines: list[dict[str, Any]]) -> str:
    """What refining did."""
    refined = [line for line in lines if "fits" in line]
    if not refined:
        return ""
    told = f" Rows were then exchanged for better ones by up to {max(x['fits'] for x in refined)} fits"
    optimism = [line["optimism"] for line in refined if line["optimism"] is not None]
    if not optimism:
        return f"{told}."
    if max(optimism) < 0.0005:
        return f"{told}; evaluation rows held back saw all of the gain."
    return f"{told}; evaluation rows held back saw up to {max(optimism):.3f} less of the gain."
