"""Kept rows, the selection and the summary as files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cdvm.datasets.source import Source
from cdvm.report.output import together
from cdvm.selection import Selection

__all__ = ["names_of_files", "write_selections"]


def names_of_files(source: Source, budgets: Iterable[str]) -> list[str]:
    """What :func:`write_selections` writes."""
    return [*(_kept_name(source, name) for name in budgets), "selection.csv", "summary.json"]


def _kept_name(source: Source, budget: str) -> str:
    return f"kept-{budget}{source.table.suffix}"


def write_selections(
    out: Path, source: Source, selections: dict[str, Selection], report: dict[str, Any]
) -> None:
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
