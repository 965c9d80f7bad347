"""Every table of a run, ready to print and to write.

>>> sorted(BUILDERS)[:3]
['banzhaf_models', 'by_exposure', 'by_inclusion']
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from cdvm.benchmark.tables import ablations as ablation_tables
from cdvm.benchmark.tables import summary, wins
from cdvm.benchmark.tables.formats import Cell, Report, plain_report

__all__ = ["BUILDERS", "MAIN", "make_tables", "write_tables"]

_PERCENT = {"percent": "kept %"}


def results(frame: pd.DataFrame) -> Report | None:
    """The paper's table: our mean ± standard deviation, below it the paper's and the difference."""
    data = summary.compare_with_paper(frame)
    levels = sorted((p for p in data["percent"].unique() if p < 100), reverse=True)
    beside, count = "paper" in data.columns, data["repetitions"].max()
    groups = {
        str(dataset): _result_lines(part, levels, beside, count)
        for dataset, part in data.groupby("dataset", sort=False)
    }
    note = f"Test accuracy, mean ± standard deviation of {count} repetitions; the best is bold."
    if (data["repetitions"] < count).any():
        note += " Where there are fewer, their number stands behind, and nothing is bold."
    if beside:
        note += (
            " Below: the paper's value and ours minus the paper's, where the features are the paper's, too."
        )
    headings = ["method", *(f"{level:g} %" for level in levels)]
    return Report("results", "Test accuracy over the fraction of rows kept", data, headings, groups, note)


def _result_lines(part: pd.DataFrame, levels: list[float], beside: bool, count: int) -> list[list[Cell]]:
    contenders = part[(part["method"] != "All") & (part["repetitions"] == count)]
    best = contenders.groupby("percent")["accuracy"].max()
    lines = []
    for method, rows in part.groupby("method", sort=False):
        if method == "All":
            cell = _result_cell(rows.iloc[0], None, beside, count)
            lines.append([Cell("All rows"), *[cell] * len(levels)])
            continue
        at = {row["percent"]: row for _, row in rows.iterrows()}
        cells = [_result_cell(at[lv], best.get(lv), beside, count) if lv in at else Cell("") for lv in levels]
        lines.append([Cell(str(method)), *cells])
    return lines


def _result_cell(row: pd.Series[float], best: float | None, beside: bool, count: int) -> Cell:
    text, thin = f"{row['accuracy']:.3f}", row["repetitions"] < count
    if pd.notna(row["std"]):
        text += f" ± {row['std']:.3f}"
    text += f" (n = {row['repetitions']:.0f})" if thin else ""
    apart = round(row["difference"], 3) + 0.0 if beside else 0.0  # no -0.000
    below = f"{row['paper']:.3f} ({apart:+.3f})" if beside and pd.notna(row["paper"]) else ""
    return Cell(text, below, best is not None and not thin and row["accuracy"] >= best)


def claims(frame: pd.DataFrame) -> Report | None:
    """What the results show, in counts of settings."""
    data = wins.claims(frame)
    shown = data.assign(
        found=[
            f"{holds} of {of}" if pd.isna(value) else f"{value:+.2f}"
            for holds, of, value in data[["holds", "of", "value"]].itertuples(index=False)
        ]
    )
    lines = [[Cell(str(c)), Cell(str(f))] for c, f in zip(shown["claim"], shown["found"], strict=True)]
    note = "A setting is a data set and a budget; means over repetitions are compared."
    return Report("claims", "What the results show", data, ["claim", "found"], {"": lines}, note)


def winners(frame: pd.DataFrame) -> Report | None:
    """The best method of every setting."""
    data = wins.winners(frame)
    formats = {"accuracy": ".3f", "lead": ".3f", "percent": "g"}
    counts = ", ".join(f"{name} {n}" for name, n in data["best"].value_counts().items())
    note = f"Settings won, of {len(data)}: {counts}."
    title = "Best method of every setting"
    return plain_report("winners", title, data, formats, headings=_PERCENT, by="dataset", left=0, note=note)


def wins_cdvm(frame: pd.DataFrame) -> Report | None:
    """CDVM, best of its three, against each method, over all settings; the paper's own beside."""
    return _wins(frame, "wins", "CDVM", wins.BEST_OF, beside=summary.follows_paper(frame))


def wins_refined(frame: pd.DataFrame) -> Report | None:
    """CDVM+refine against each method, over all settings."""
    return _wins(frame, "wins_refined", summary.REFINED, (summary.REFINED,))


def _wins(
    frame: pd.DataFrame, name: str, who: str, group: tuple[str, ...], *, beside: bool = False
) -> Report | None:
    data = wins.win_counts(frame, group)
    there = [m for m in summary.in_order(frame["method"]) if m in group]
    best = f"In each setting {who} is the best of {', '.join(there)}. " if len(there) > 1 else ""
    note = (
        f"{best}Clear: p < 0.05 in Wilcoxon's two-sided signed-rank test, paired by repetition (draws of "
        "Random averaged); p is the same test on the mean differences of all settings."
    )
    if beside:
        data["in_the_paper"] = data["rival"].map(wins.published_wins(group)).fillna("")
        note += (
            " In the paper: settings won, lost and undecided by its own table, by Welch's test of the "
            "means and deviations of 25 runs."
        )
    formats = {"mean_difference": "+.4f", "p": ".2g"}
    return plain_report(name, f"Settings won by {who}", data, formats, note=note)


def paired(frame: pd.DataFrame) -> Report | None:
    """The paired test of every setting."""
    data = wins.paired(frame)
    formats = {"percent": "g", "difference": "+.4f", "stderr": ".4f", "p": ".2g"}
    note = "Mean difference to the rival, its standard error, and p of Wilcoxon's signed-rank test."
    title = "CDVM against each method, setting by setting"
    return plain_report("paired", title, data, formats, headings=_PERCENT, by="dataset", left=0, note=note)


def refinement(frame: pd.DataFrame) -> Report | None:
    """What refining brings and costs."""
    data = wins.refinement(frame)
    if data.empty:
        return None
    formats = {"CDVM5k": ".3f", "CDVM": ".3f", summary.REFINED: ".3f", "difference": "+.4f", "stderr": ".4f"}
    formats |= {
        "p": ".2g",
        "seconds_optimise": ".2f",
        "fits": ",.0f",
        "optimism": "+.4f",
        "percent": "g",
    }
    title = "Refined sets: gain, seconds and fits of one selection"
    return plain_report("refinement", title, data, formats, headings=_PERCENT, by="dataset", left=0)


def normalised(frame: pd.DataFrame) -> Report | None:
    """Normalised performance and seconds."""
    data = summary.normalised(frame)
    formats = dict.fromkeys(["normalised", "among_paper_methods", "paper"], ".3f") | {"seconds": ",.1f"}
    note = (
        "1: the best method in every setting; 0: the worst in every one. Among paper methods: the same with "
        "best and worst taken from the paper's methods, so that others may lie outside of 0 to 1. Methods "
        "that were not run in all settings are left out. Seconds: preparation and optimisation of all "
        "budgets, mean over data sets."
    )
    return plain_report("normalised", "Normalised performance and run time", data, formats, note=note)


def runtime(frame: pd.DataFrame) -> Report | None:
    """Seconds beside the paper's."""
    if summary.runtimes(frame).empty:
        return None
    data = summary.runtime_summary(frame)
    formats = dict.fromkeys(["prepare", "optimise", "total"], ",.2f")
    note = (
        "Seconds for all budgets of one repetition, mean over data sets: preparation (models, T, values or "
        "influences) and optimisation (with the grid where there is one, and the final choice of rows). "
        "Ours are seconds of one core; the paper's are of the clock, on other machines, and for InfOpt by "
        "another algorithm."
    )
    return plain_report("runtime", "Run time", data, formats, note=note)


def runtime_by_dataset(frame: pd.DataFrame) -> Report | None:
    """Seconds for each data set."""
    data = summary.runtimes(frame)
    formats = dict.fromkeys(["prepare", "optimise", "total"], ",.2f")
    title = "Run time for each data set, seconds"
    return plain_report("runtime_by_dataset", title, data, formats, by="dataset")


BUILDERS: dict[str, Callable[[pd.DataFrame], Report | None]] = {
    function.__name__: function
    for function in (
        results,
        claims,
        wins_cdvm,
        wins_refined,
        winners,
        paired,
        refinement,
        normalised,
        runtime,
        runtime_by_dataset,
        *(getattr(ablation_tables, name) for name in ablation_tables.__all__),
    )
}
MAIN = ("results", "wins", "wins_refined", "normalised", "runtime", "claims")


def make_tables(frame: pd.DataFrame) -> dict[str, Report]:
    """Every table the results have the rows for, by name."""
    rows = summary.checked(frame)
    made = (build(rows) for build in BUILDERS.values())
    return {report.name: report for report in made if report is not None and not report.data.empty}


def write_tables(frame: pd.DataFrame, directory: str | Path) -> dict[str, Report]:
    """Write every table as Markdown, CSV and LaTeX, and return them by name.

    Parameters
    ----------
    frame : DataFrame
        The rows of a run.
    directory : path
        Where ``results.md``, ``results.csv``, ``results.tex`` and the others go.
    """
    tables = make_tables(frame)
    for report in tables.values():
        report.write(Path(directory))
    return tables
