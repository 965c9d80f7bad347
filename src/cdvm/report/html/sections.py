"""The map, classes and groups, rows to look at, columns and settings, as parts of a page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cdvm._runtime.markup import Markup, join, tag
from cdvm._runtime.versions import versions
from cdvm.report.html.breakdown import Breakdown
from cdvm.report.html.looking import Findings
from cdvm.report.html.tables import Column, columns, note, pairs, table
from cdvm.selection import Limit

__all__ = ["column_section", "look_section", "map_section", "settings_section", "shares"]

_COLUMNS = 500  # of a table that are told of
_LETTERS = 2_000  # of one setting
_NAMES = {
    "candidates": "rows that could be kept",
    "evaluation": "evaluated on",
    "n_evaluation": "evaluation rows",
    "random_draws": "random draws of each size",
    "models": "subset models",
    "inclusion": "rows in a subset",
    "degenerate_models": "models of one answer",
    "fit_seconds": "seconds of fitting",
    "curve_metric": "metric of the curve",
}


def map_section(plane: dict[str, Any]) -> Markup:
    """Controls, an empty drawing and a panel; the script fills them."""
    shown, total = len(plane["row"]), plane["n"]
    drawn = "Every row is drawn."
    if shown < total:
        drawn = f"{shown:,} of {total:,} rows are drawn, kept rows more often than others."
    where = (
        f"{drawn} Rows lie along the two directions in which the features vary most, which hold "
        f"{plane['variance']:.0%} of their variance: rows that look near may differ in the rest."
    )
    budgets = [
        tag("label", tag("input", type="radio", name="budget", value=k, checked=k == 0), f" {words}")
        for k, words in enumerate(plane["budgets"])
    ]
    labels = [tag("option", "all", value="")]
    labels += [tag("option", name, value=k) for k, name in enumerate(plane["classes"])]
    highlight = tag("label", "Label ", tag("select", labels, id="highlight")) if plane["classes"] else None
    controls = tag(
        "form",
        tag("fieldset", tag("legend", "Kept at"), budgets),
        highlight,
        tag("label", tag("input", type="checkbox", id="dropped", checked=True), " rows not kept"),
        tag("label", "Go to row ", tag("input", type="number", id="goto", min=0, step=1)),
        class_="controls",
        id="map-controls",
    )
    how = "Arrow keys go from row to row, Enter tells what a row does, Escape lets go."
    picture = tag(
        "div",
        tag(
            "svg",
            id="map",
            viewBox="0 0 640 480",
            tabindex=0,
            role="application",
            aria_label=f"Map of {shown:,} rows. {how}",
            aria_describedby="map-row",
        ),
        tag("ul", class_="legend", id="map-legend"),
        class_="picture",
    )
    panel = tag(
        "div",
        tag(
            "p",
            "Point at a row to see what it holds; click it to see what it does for which rows.",
            class_="note hint",
        ),
        id="panel",
        class_="panel",
        aria_live="polite",
    )
    spoken = tag("p", id="map-row", class_="hidden", aria_live="polite")
    needs = tag("noscript", note("The map needs JavaScript. Everything else on this page does without."))
    return join([note(where), needs, controls, tag("div", picture, panel, class_="map"), spoken])


def shares(found: Breakdown, budgets: list[str]) -> Markup:
    """Rows and scores before and after."""
    heads = [
        Column("Class" if found.by == "class" else found.by),
        Column("All rows", True),
        *(Column(f"Kept {b}", True) for b in budgets),
    ]
    heads += [Column(f"{found.measure.capitalize()}, all", True)]
    heads += [Column(f"{found.measure.capitalize()}, {b}", True) for b in budgets]
    rows = []
    for k, name in enumerate(found.names):
        kept = [_none_kept(line[k]) for line in found.kept]
        rows.append([name, found.rows[k], *kept, found.before[k], *(line[k] for line in found.after)])
    words = "fraction of labels answered right" if found.measure == "right" else found.measure
    how = f"{found.measure.capitalize()}: {words} on the {found.part}"
    how += ", all rows by five-fold cross-validation." if "outside" in found.part else "."
    more = (
        f" The {len(found.names)} largest of {len(found.names) + found.left_out}." if found.left_out else ""
    )
    return join([table(f"Rows and scores by {found.by}", heads, rows), note(how + more)])


def _none_kept(count: int) -> Any:
    return tag("b", "0", class_="gone", title="no row is kept") if count == 0 else count


def look_section(found: Findings, budgets: list[str]) -> Markup:
    """A table that sorts, filters and can be taken along."""
    said = [note(sentence) for sentence in found.sentences]
    if not found.lines:
        return join([*said, tag("p", "Nothing was found.")])
    heads = columns("Row#", "Finding", "Label", "Models say", "p-value#", "Like row#")
    heads += [Column(f"Kept {b}") for b in budgets] + ([Column("Holds")] if found.lines[0].holds else [])
    rows = []
    for line in found.lines:
        go = tag("button", str(line.row), type="button", class_="go", data_row=line.row)
        cells = [go, line.finding, line.label, line.said or "", "" if line.p is None else f"{line.p:.2g}"]
        cells += [
            "" if line.twin is None else str(line.twin),
            *("yes" if kept else "no" for kept in line.kept),
        ]
        rows.append(cells + ([line.holds] if line.holds else []))
    kinds = [tag("option", "any finding", value="")]
    kinds += [tag("option", kind, value=kind) for kind in dict.fromkeys(line.finding for line in found.lines)]
    controls = tag(
        "form",
        tag("label", "Search ", tag("input", type="search", id="look-search")),
        tag("label", "Show ", tag("select", kinds, id="look-kind")),
        tag("button", "Download as CSV", type="button", id="look-export"),
        tag("output", f"{len(rows)} rows", id="look-count", for_="look-search look-kind"),
        class_="controls",
        id="look-controls",
    )
    return join(
        [*said, controls, table("Rows to look at", heads, rows, sortable=True, quiet=True, id="look")]
    )


def column_section(told: list[dict[str, Any]], n_features: int) -> Markup:
    """What became of each column."""
    if not told:
        return tag("p", f"The {n_features:,} features came ready and were used as they are.")
    heads = columns("Column", "Kind", "Missing#", "Levels#", "Features#", "How, or why not")
    rows = [
        [
            line["column"],
            line["kind"],
            *(line[name] or "" for name in ("missing", "levels", "features")),
            "; ".join(part for part in (line["encoding"], line["reason"]) if part),
        ]
        for line in told[:_COLUMNS]
    ]
    more = note(f"And {len(told) - _COLUMNS:,} more.") if len(told) > _COLUMNS else None
    return join([table("What became of each column", heads, rows, quiet=True), more])


def settings_section(report: dict[str, Any], command: str) -> Markup:
    """What it takes to do it again."""
    left = {"budgets", "columns", "version", "source", "curve", "smallest"}
    plain: Iterable[tuple[str, Any]] = (
        (_NAMES.get(name, name.replace("_", " ")), _setting(value))
        for name, value in report.items()
        if name not in left and value is not None
    )
    heads = columns("Kept#", "Rows#", "alpha#", "kappa#", "Gap#", "Fits#", "Optimism#", "Seconds#")
    rows = [
        [
            f"{line['fraction']:.1%}",
            line["rows"],
            *(None if line[name] is None else f"{line[name]:.4g}" for name in ("alpha", "kappa")),
            None if line["gap"] is None else f"{line['gap']:.2%}",
            line.get("fits"),
            line.get("optimism"),
            f"{line['seconds']:.1f}",
        ]
        for line in report["budgets"].values()
    ]
    limits = [(line, one) for line in report["budgets"].values() for one in line.get("limits", ())]
    gap = (
        "Gap: what the set lacks, at most, to the largest objective of the program for as many rows. It says "
        "nothing about the score, and a refined set leaves the program behind on purpose."
    )
    return join(
        [
            tag("h3", "To do it again"),
            tag(
                "div",
                tag("pre", tag("code", command)),
                class_="scroll",
                tabindex=0,
                role="region",
                aria_label="Command",
            ),
            [
                tag("h3", "How each set was found"),
                table("How each set was found", heads, rows, quiet=True),
                note(gap),
                [note(f"{line['fraction']:.1%}, {Limit(**one)}.") for line, one in limits],
            ]
            if rows
            else None,
            tag("h3", "Settings"),
            pairs(plain),
            tag("h3", "Versions"),
            pairs(versions().items()),
        ]
    )


def _setting(value: Any) -> str:
    if isinstance(value, dict):
        value = ", ".join(f"{name} {_setting(part)}" for name, part in value.items())
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _LETTERS else f"{text[:_LETTERS]}…"
