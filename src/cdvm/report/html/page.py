"""The page: all of a run in one file that needs nothing else.

Nothing is fetched: a browser is told to refuse it, and to run no script but the one that belongs here.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cdvm._runtime.files import write_whole
from cdvm._runtime.markup import Markup, embedded_json, join, tag
from cdvm._runtime.progress import Progress
from cdvm.learners.relatives import as_numbers, stand_in
from cdvm.report.html.answer import answer, curves, leaderboard
from cdvm.report.html.breakdown import by_class, by_group
from cdvm.report.html.looking import find_oddities
from cdvm.report.html.oddities import doubt_labels, find_twins
from cdvm.report.html.plane import plane_of
from cdvm.report.html.sections import column_section, look_section, map_section, settings_section, shares
from cdvm.report.run import Run

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["page_of", "write_page"]


def write_page(path: Path, run: Run, report: dict[str, Any], **options: Any) -> None:
    """Write :func:`page_of` whole or not at all."""
    write_whole(path, page_of(run, report, **options).encode())


def page_of(
    run: Run,
    report: dict[str, Any],
    *,
    command: str,
    name: str | None = None,
    frame: pd.DataFrame | None = None,
    groups: Sequence[Any] | None = None,
    groups_name: str = "group",
    progress: bool | None = None,
) -> str:
    """The page as text.

    Parameters
    ----------
    run : Run
    report : dict
        What :func:`cdvm.report.summary.summarize` found of it.
    command : str
        What to type to do it again.
    name : str, optional
        What to call the table; by default the run's name for it.
    frame : DataFrame, optional
        The whole table, as the user has it.
    groups : sequence, optional
        A label for each row of the table.
    groups_name : str
    progress : bool, optional
    """
    sections: dict[str, Markup | None] = {
        "Answer": answer(report, _outside(run)),
        "Score over rows kept": curves(report, _series(run)),
        "Ways compared": leaderboard(report),
    }
    plane = None
    if run.selections:
        with Progress("report", enabled=progress):
            plane, found = _about_rows(run, frame, groups, groups_name)
        sections |= found
    sections["Columns"] = column_section(report["columns"], run.split.X.shape[1])
    sections["How it was done"] = settings_section(report, command)
    shown = {heading: part for heading, part in sections.items() if part is not None}
    return _page(run.name if name is None else name, report, shown, plane)


def _about_rows(
    run: Run, frame: pd.DataFrame | None, groups: Sequence[Any] | None, groups_name: str
) -> tuple[dict[str, Any], dict[str, Markup | None]]:
    """What the map shows, and the parts of the page for which more models are trained."""
    proxy = run.chosen.proxy or stand_in("auto", run.learner, run.split)
    doubts = doubt_labels(proxy, seed=run.seed, jobs=run.jobs)
    numbers = as_numbers(run.split)
    findings = find_oddities(run, doubts, *find_twins(numbers), frame)
    plane = plane_of(run, numbers, frame, doubts, findings.rows)
    classes = by_class(run)
    grouped = None if groups is None else by_group(run, groups, groups_name)
    budgets = [f"{s.retained:.1%}" for s in run.selections]
    return plane, {
        "Map of the rows": map_section(plane),
        "Classes": None if classes is None else shares(classes, budgets),
        f"Groups: {groups_name}": None if grouped is None else shares(grouped, budgets),
        "Rows to look at": look_section(findings, budgets),
    }


def _outside(run: Run) -> list[int]:
    """Evaluation rows outside each selection."""
    own = run.split.evaluation_rows
    return [0 if own is None else int((~np.isin(own, s.rows)).sum()) for s in run.selections]


def _series(run: Run) -> list[str]:
    """Whose rows each selection's are."""
    return [run.chosen.method if s.alpha is not None else s.method for s in run.selections]


def _page(name: str, report: dict[str, Any], sections: dict[str, Markup], plane: Any) -> str:
    style, script = (_asset(name) for name in ("page.css", "page.js"))
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src '{_digest(script)}'"
    question = f"Which rows of {name} should be kept?"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{name}: rows to keep"),
        tag("style", Markup(style)),
    )
    links = [tag("li", tag("a", name, href=f"#part-{k}")) for k, name in enumerate(sections)]
    parts = [
        tag("section", tag("h2", name, id=f"part-{k}"), part, aria_labelledby=f"part-{k}")
        for k, (name, part) in enumerate(sections.items())
    ]
    body = tag(
        "body",
        tag("a", "To the answer", href="#part-0", class_="skip"),
        tag("header", tag("p", f"cdvm {report['version']}", class_="brand"), tag("h1", question)),
        tag("nav", tag("ul", links), aria_label="Parts of this report"),
        tag("main", parts),
        tag("footer", tag("p", _subject(report))),
        tag("div", id="tip", class_="tip", role="tooltip", hidden=True),
        tag("script", embedded_json(plane), type="application/json", id="plane"),
        tag("script", Markup(script)),
    )
    return f"<!doctype html>\n{tag('html', join([head, body]), lang='en')}\n"


def _subject(report: dict[str, Any]) -> str:
    return (
        f"{report['rows']:,} rows, {report['candidates']:,} of them candidates; {report['method']} for "
        f"{report['learner']}; seed {report['seed']}."
    )


def _asset(name: str) -> str:
    return files("cdvm.report.html").joinpath(name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
