"""Kept rows, the selection and the summary as files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdvm._runtime.files import write_whole
from cdvm.datasets.source import Source
from cdvm.evaluation.curve import Curve
from cdvm.plots import plot_curve
from cdvm.report.output import together
from cdvm.report.run import Chosen
from cdvm.selection import Selection

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["names_of_files", "write_results", "write_selections"]


def names_of_files(source: Source, budgets: Iterable[str], *, curve: bool = False) -> list[str]:
    """What :func:`write_selections` writes."""
    kept = [_kept_name(source, name) for name in budgets]
    return [*kept, "selection.csv", "summary.json", *(["curve.csv", "curve.svg"] if curve else [])]


def _kept_name(source: Source, budget: str) -> str:
    return f"kept-{budget}{source.table.suffix}"


def write_results(
    source: Source,
    chosen: Chosen,
    summary: dict[str, Any],
    *,
    out: Path | None,
    at: Path | None,
    page: str,
) -> None:
    """What was chosen into the directory ``out``, and the page ``at`` its path, which may be in there."""
    inside = out is not None and at is not None and at.absolute().parent == out.absolute()
    if out is not None:
        write_selections(out, source, chosen, summary, {at.name: page} if at is not None and inside else {})
    if at is not None and not inside:
        write_whole(at, page.encode())


def write_selections(
    out: Path,
    source: Source,
    chosen: Chosen,
    report: dict[str, Any],
    pages: Mapping[str, str] | None = None,
) -> None:
    """Kept rows per budget, ``selection.csv``, ``summary.json``, the curve and pages: all of them or none."""
    with together(out) as staging:
        for name, selection in chosen.selections.items():
            source.table.write_rows(selection.indices, staging / _kept_name(source, name))
        if chosen.selections:
            _selections(source, chosen.selections).to_csv(staging / "selection.csv", index=False)
        if chosen.curve is not None:
            chosen.curve.save(staging / "curve.csv")
            _draw(chosen.curve, staging / "curve.svg")
        (staging / "summary.json").write_text(json.dumps(report, indent=2) + "\n")
        for name, text in (pages or {}).items():
            (staging / name).write_text(text, encoding="utf-8")


def _selections(source: Source, selections: dict[str, Selection]) -> pd.DataFrame:
    import pandas as pd

    first = next(iter(selections.values()))
    columns: dict[str, Any] = {"row": first.candidates}
    if source.split.index is not None:
        columns["index"] = source.split.index
    for name, selection in selections.items():
        columns[f"kept_{name}"] = selection.mask[selection.candidates].astype(int)
        columns[f"weight_{name}"] = selection.weights
    return pd.DataFrame(columns)


def _draw(curve: Curve, path: Path) -> None:
    """The figure, where Matplotlib is there to draw it."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return
    figure = Figure(figsize=(5, 3.5), layout="constrained")
    plot_curve(curve, ax=figure.subplots())
    figure.savefig(path)
