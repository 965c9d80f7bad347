"""Tables of a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cdvm._runtime.markup import Markup, tag

__all__ = ["Column", "columns", "note", "pairs", "table"]


@dataclass(frozen=True)
class Column:
    """A heading, and whether numbers stand below it."""

    name: str
    numeric: bool = False


def columns(*names: str) -> list[Column]:
    """Headings; those of numbers end in ``#``."""
    return [Column(name.removesuffix("#"), name.endswith("#")) for name in names]


def table(
    caption: str,
    heads: Sequence[Column],
    rows: Iterable[Sequence[Any]],
    *,
    sortable: bool = False,
    quiet: bool = False,
    **attributes: Any,
) -> Markup:
    """A table that scrolls by itself where the page is narrow.

    ``sortable`` gives its headings buttons; ``quiet`` keeps the caption for those who do not see the heading
    above it.
    """
    head = [
        tag(
            "th",
            tag("button", column.name, type="button", data_column=k) if sortable else column.name,
            scope="col",
            class_="number" if column.numeric else None,
        )
        for k, column in enumerate(heads)
    ]
    lines = [
        tag(
            "tr",
            [
                _cell(k, value, column.numeric)
                for k, (value, column) in enumerate(zip(row, heads, strict=True))
            ],
        )
        for row in rows
    ]
    grid = tag(
        "table",
        tag("caption", tag("span", caption, class_="hidden") if quiet else caption),
        tag("thead", tag("tr", head)),
        tag("tbody", lines),
        **attributes,
    )
    return tag("div", grid, class_="scroll", role="region", aria_label=caption, tabindex=0)


def _cell(place: int, value: Any, numeric: bool) -> Markup:
    if isinstance(value, float):
        value = f"{value:.3f}"
    elif isinstance(value, int) and not isinstance(value, bool):
        value = f"{value:,}"
    elif value is None:
        value = "–"
    style = "number" if numeric else None
    return tag("th", value, scope="row", class_=style) if place == 0 else tag("td", value, class_=style)


def note(*words: Any) -> Markup:
    """A remark in small type."""
    return tag("p", *words, class_="note")


def pairs(of: Iterable[tuple[str, Any]]) -> Markup:
    """Names and what they stand for."""
    return tag("dl", [tag("div", tag("dt", name), tag("dd", value)) for name, value in of])
