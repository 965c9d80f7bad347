"""What became of each column of a table, for a summary and for the screen."""

from __future__ import annotations

from typing import Any

__all__ = ["columns_table", "told_columns"]

_SHOWN = 40  # columns on the screen; the summary has them all


def told_columns(preparation: Any) -> list[dict[str, Any]]:
    """One entry a column, as plain values; nothing where features came ready."""
    return [] if preparation is None else preparation.report_.to_dict("records")


def columns_table(columns: list[dict[str, Any]]) -> Any:
    """A table for the screen: kind, missing values, levels, and how it was encoded or why it was ignored."""
    from rich import box
    from rich.table import Table

    grid = Table(title="what became of each column", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("column", "kind", "missing", "levels", "features", "how, or why not"):
        grid.add_column(heading, justify="right" if heading in ("missing", "levels", "features") else "left")
    for line in columns[:_SHOWN]:
        told = "; ".join(part for part in (line["encoding"], line["reason"]) if part)
        counts = [str(line[name]) if line[name] else "" for name in ("missing", "levels", "features")]
        grid.add_row(line["column"], line["kind"], *counts, told)
    if len(columns) > _SHOWN:
        grid.add_row("…", f"and {len(columns) - _SHOWN} more, see summary.json")
    return grid
