"""A table to be read: as Markdown, CSV, LaTeX, or on the terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from cdvm._runtime.files import write_whole

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["Cell", "Report", "plain_report"]

_TEX = {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}"}
_TEX |= {"\\": r"\textbackslash{}", "±": r"$\pm$", "·": r"$\cdot$", "−": "$-$", "≈": r"$\approx$"}


class Cell(NamedTuple):
    """A text, what stands small below it, and whether it is the best of its column."""

    text: str
    below: str = ""
    best: bool = False


@dataclass(frozen=True, eq=False)
class Report:
    """A table with a title and a note.

    Attributes
    ----------
    name : str
        Of its files.
    title : str
    data : DataFrame
        The numbers, one to a cell; what is written as CSV.
    headings : sequence of str
    groups : mapping from a group's name to its lines
        Lines of cells, as they are shown; a table without groups has one named "".
    note : str
        What a reader must know.
    """

    name: str
    title: str
    data: pd.DataFrame
    headings: Sequence[str]
    groups: Mapping[str, Sequence[Sequence[Cell]]]
    note: str = ""
    left: int = field(default=1)

    def markdown(self) -> str:
        """As Markdown; a heading for each group."""
        parts = [f"# {self.title}"] + ([self.note] if self.note else [])
        return "\n\n".join([*parts, self.body()]) + "\n"

    def body(self, level: int = 2) -> str:
        """The table as Markdown, without its title and note; groups have headings of a level."""
        parts = []
        rule = ["---"] * self.left + ["---:"] * (len(self.headings) - self.left)
        for group, lines in self.groups.items():
            rows = [self.headings, rule, *([_in_markdown(cell) for cell in line] for line in lines)]
            table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
            parts += [f"{'#' * level} {group}"] * bool(group) + [table]
        return "\n\n".join(parts)

    def csv(self) -> str:
        """The numbers as CSV, with six decimals."""
        return str(self.data.to_csv(index=False, float_format="%.6g", lineterminator="\n"))

    def latex(self) -> str:
        """As a LaTeX table with booktabs' rules."""
        width = len(self.headings)
        columns = "l" * self.left + "r" * (width - self.left)
        lines = [r"\begin{table}", r"\centering", r"\small", rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
        lines += [" & ".join(rf"\textbf{{{_escaped(text)}}}" for text in self.headings) + r" \\"]
        for group, rows in self.groups.items():
            lines += [r"\midrule"]
            if group:
                lines += [rf"\multicolumn{{{width}}}{{c}}{{\textit{{{_escaped(group)}}}}} \\", r"\midrule"]
            for row in rows:
                lines += [" & ".join(_in_latex(cell) for cell in row) + r" \\"]
                if any(cell.below for cell in row):
                    small = (rf"\scriptsize {_escaped(cell.below)}" if cell.below else "" for cell in row)
                    lines += [" & ".join(small) + r" \\"]
        caption = " ".join(_escaped(text) for text in (self.title + ".", self.note) if text)
        lines += [r"\bottomrule", r"\end{tabular}", rf"\caption{{{caption}}}"]
        lines += [rf"\label{{tab:{self.name}}}", r"\end{table}"]
        return "\n".join(lines) + "\n"

    def rich(self) -> RenderableType:
        """For the terminal."""
        from rich import box
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        grids: list[RenderableType] = [Text(self.title, style="bold")]
        for group, rows in self.groups.items():
            grid = Table(box=box.SIMPLE_HEAD, padding=(0, 0), show_edge=False)
            grid.title, grid.title_justify = (f"\n{group}" if group else None), "left"
            for number, heading in enumerate(self.headings):
                if number < self.left:
                    grid.add_column(heading, overflow="fold")
                else:
                    grid.add_column(heading, justify="right", no_wrap=any(c.isdigit() for c in heading))
            for row in rows:
                cells = []
                for cell in row:
                    shown = Text(_compact(cell.text), style="bold green" if cell.best else "")
                    cells.append(
                        shown.append(f"\n{_compact(cell.below)}", style="not bold dim")
                        if cell.below
                        else shown
                    )
                grid.add_row(*cells)
            grids.append(grid)
        if self.note:
            grids.append(Text(self.note + "\n", style="dim"))
        return Group(*grids)

    def write(self, directory: Path) -> list[Path]:
        """Write ``name.md``, ``name.csv`` and ``name.tex``."""
        directory.mkdir(parents=True, exist_ok=True)
        written = []
        for suffix, text in ((".md", self.markdown()), (".csv", self.csv()), (".tex", self.latex())):
            target = directory / (self.name + suffix)
            write_whole(target, text.encode())
            written.append(target)
        return written


def plain_report(
    name: str,
    title: str,
    data: pd.DataFrame,
    formats: Mapping[str, str] | None = None,
    *,
    headings: Mapping[str, str] | None = None,
    by: str | None = None,
    left: int = 1,
    note: str = "",
) -> Report:
    """A report whose cells are the columns of a table.

    Parameters
    ----------
    formats : mapping from a column to a format
        ``".3f"`` and the like; other columns are written as they are.
    headings : mapping from a column to what stands above it
    by : str, optional
        A column whose values become groups.
    left : int
        Columns that stand to the left.
    """
    formats, headings = formats or {}, headings or {}
    columns = [str(c) for c in data.columns if c != by]
    pieces = [("", data)] if by is None else [(str(k), part) for k, part in data.groupby(by, sort=False)]
    groups = {
        group: [
            [
                Cell(_formatted(value, formats.get(column, "")))
                for column, value in zip(columns, line, strict=True)
            ]
            for line in part[columns].itertuples(index=False, name=None)
        ]
        for group, part in pieces
    }
    shown = [headings.get(column, column.replace("_", " ")) for column in columns]
    return Report(name, title, data, shown, groups, note, left)


def _formatted(value: object, form: str) -> str:
    if value is None or (isinstance(value, float) and pd.isna(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return format(value, form or ("g" if isinstance(value, float) else ""))


def _compact(text: str) -> str:
    """A mean or a difference in fewer letters, for narrow terminals.

    >>> _compact("0.752 ± 0.034"), _compact("0.752 (-0.010)")
    ('.752±.034', '.752 -.010')
    """
    if not re.fullmatch(r"0\.\d+ (± 0\.\d+|\([+-]0\.\d+\))", text):
        return text
    return text.replace("0.", ".").replace(" ± ", "±").replace("(", "").replace(")", "")


def _in_markdown(cell: Cell) -> str:
    text = cell.text.replace("|", r"\|")
    text = f"**{text}**" if cell.best else text
    return f"{text}<br>{cell.below}" if cell.below else text


def _in_latex(cell: Cell) -> str:
    text = _escaped(cell.text)
    return rf"\textbf{{{text}}}" if cell.best else text


def _escaped(text: str) -> str:
    return re.sub(r"[&%$#_{}\\±·−≈]", lambda found: _TEX[found[0]], text)
