"""What ``cdvm prune`` shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cdvm.report.columns import columns_table
from cdvm.report.rare import rare_sentences
from cdvm.selection import Limit

__all__ = ["print_summary"]

_SHOWN = 5  # limits that bind


def print_summary(report: dict[str, Any], out: Path | None, page: Path | None = None) -> None:
    """A table for every model, and a few sentences."""
    from rich.console import Console

    console = Console()
    if any(_is_remarkable(line) for line in report.get("columns", [])):
        console.print(columns_table(report["columns"]))
    if "curve" in report:
        console.print(_curve(report))
    for model in next(iter(report["budgets"].values()), {"evaluated_with": ()})["evaluated_with"]:
        console.print(_table(report, model))
    if any(line.get("leaderboard") for line in report["budgets"].values()):
        console.print(_leaderboard(report))
    for sentence in _sentences(report, out):
        console.print(sentence, highlight=False)
    if page is not None:
        console.print(f"All of this and more is in {page}.", highlight=False, soft_wrap=True)


def _is_remarkable(column: dict[str, Any]) -> bool:
    """Whether a column became anything but the number it was."""
    return column["kind"] != "number" or bool(column["missing"] or column["reason"])


def _table(report: dict[str, Any], model: str) -> Any:
    """Scores of one model: trained on the kept rows, on as many random rows, on all."""
    from rich import box
    from rich.table import Table as RichTable

    own, lines = model == report["learner"], list(report["budgets"].values())
    parts = {"validation": "validation", "outside": "other rows", "test": "held-out"}
    parts = {part: name for part, name in parts.items() if part in lines[0]["evaluated_with"][model]}
    refined = any("fits" in line for line in lines)
    # of the program, which refining and other ways leave behind
    certified = own and not refined and all(line["gap"] is not None for line in lines)
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


def _curve(report: dict[str, Any]) -> Any:
    """Scores over rows kept, the budget that was found in bold."""
    from rich import box
    from rich.table import Table as RichTable

    title = f"{report['source']}: {report['curve_metric']} on rows that had no part in choosing"
    grid = RichTable(title=title, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("keep", "kept", "random", "all rows", "lost"):
        grid.add_column(heading, justify="right")
    found = report.get("smallest", {"rows": None})
    for point in report["curve"]:
        pairs = (("score", 3), ("random", 3), ("all_rows", 3), ("loss", 4))
        cells = [f"{point[name]:.{digits}f}±{point[name + '_error']:.{digits}f}" for name, digits in pairs]
        chosen = found["rows"] is not None and found["fraction"] == point["fraction"]
        grid.add_row(f"{point['fraction']:.1%}", *cells, style="bold" if chosen else None)
    return grid


def _leaderboard(report: dict[str, Any]) -> Any:
    """How each way of choosing did for each budget, the answer in bold."""
    from rich import box
    from rich.table import Table as RichTable

    title = f"ways to choose, by the {report['ways_compared_by']} of {report['learner']} on rows they lack"
    grid = RichTable(title=title, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("keep", "way", "score", "fits", "seconds"):
        grid.add_column(heading, justify="left" if heading == "way" else "right")
    for line in report["budgets"].values():
        for way in line["leaderboard"]:
            score = f"{way['score']:.3f}±{way['standard_error']:.3f}"
            cells = [f"{line['fraction']:.1%}", way["name"], score, str(way["fits"]), f"{way['seconds']:.1f}"]
            grid.add_row(*cells, style="bold" if way["kept"] else None)
        grid.add_section()
    return grid


def _sentences(report: dict[str, Any], out: Path | None) -> list[str]:
    rows, candidates = report["rows"], report["candidates"]
    uses = {"validation_rows": "to choose with", "test_rows": "to report on"}
    others = " and ".join(f"{report[part]} {use}" for part, use in uses.items() if report[part])
    if rows > candidates:
        held = others.replace(" to ", " were held out to ", 1)
        split = (
            f"Of {rows} rows, {held}; rows were kept from the other {candidates}, which fractions refer to."
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
        trained = report.get("proxy") or report["learner"]
        how = (
            f"{report['models']} {trained} models on random subsets of {report['inclusion']:.1%} "
            f"took {report['fit_seconds']:.1f} s"
        )
        if report["degenerate_models"]:
            how += f"; {report['degenerate_models']} gave every evaluation row the same answer"
        how += "."
    how += _refining(list(report["budgets"].values())) + _agreeing(list(report["budgets"].values()))
    lines = report["budgets"].values()
    gap = ""
    if any(line["gap"] is not None and "fits" not in line for line in lines):
        gap = (
            "Gap: what the set lacks, at most, to the largest objective of the program for as many rows; it "
            "says nothing about accuracy."
        )
    limits = _limits(report["budgets"])
    random = f"Random rows: mean ± standard deviation of {report['random_draws']} draws."
    files = (
        ["kept rows", "selection.csv"] * bool(lines) + ["summary.json"] + ["curve.csv"] * ("curve" in report)
    )
    where = f"Written to {out}: {', '.join(files)}." if out is not None else ""
    promise = report["smallest"]["told"] + "." if "smallest" in report else ""
    promise = promise[:1].upper() + promise[1:]
    if not lines:
        return [s for s in (split, how, promise, where) if s]
    return [
        s for s in (split, evaluation, how, gap, *rare_sentences(report), limits, random, promise, where) if s
    ]


def _limits(budgets: dict[str, Any]) -> str:
    """Conditions on groups that bind, and what they cost."""
    told = []
    for name, line in budgets.items():
        found = [Limit(**limit) for limit in line.get("limits", ())]
        if found:
            more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
            objective = line.get("objective")  # none of rows that were exchanged since
            head = name if objective is None else f"{name}, objective {objective:.3g}"
            told.append(f"{head}: {'; '.join(map(str, found[:_SHOWN]))}{more}")
    return f"Limits that bind ({'. '.join(told)})." if told else ""


def _refining(lines: list[dict[str, Any]]) -> str:
    """What refining did."""
    refined = [line for line in lines if line.get("fits") is not None]
    if not refined:
        return ""
    told = f" Rows were then exchanged for better ones by up to {max(x['fits'] for x in refined)} fits"
    optimism = [line["optimism"] for line in refined if line["optimism"] is not None]
    if not optimism:
        return f"{told}."
    if max(optimism) < 0.0005:
        return f"{told}; evaluation rows held back saw all of the gain."
    return f"{told}; evaluation rows held back saw up to {max(optimism):.3f} less of the gain."


def _agreeing(lines: list[dict[str, Any]]) -> str:
    """How well the proxy's scores agree with the learner's."""
    found = [line["agreement"] for line in lines if line.get("agreement") is not None]
    if not found:
        return ""
    return f" On the sets compared, its ranks and the learner's correlate by {min(found):.2f} or more."
