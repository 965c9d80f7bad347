"""Doubted labels and twins in one list, the most urgent first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cdvm.data.split import Split
from cdvm.report.html.oddities import Doubts, Twin
from cdvm.report.html.plane import cells_of
from cdvm.report.run import Run

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Finding", "Findings", "find_oddities"]

MOST = 200  # of each kind
_SUSPECT = "label suspect"
_KINDS = ("duplicate, other label", "duplicate", "near-duplicate, other label", "near-duplicate")
_WIDE = 30  # columns beyond which their content says little
_LETTERS = 90


@dataclass(frozen=True)
class Finding:
    """A row, and what is odd about it."""

    row: int
    finding: str
    label: str
    said: str | None
    p: float | None
    twin: int | None
    kept: tuple[bool, ...]
    holds: str


@dataclass(frozen=True)
class Findings:
    """What was looked for, and what was found."""

    sentences: list[str]
    lines: list[Finding]
    rows: NDArray[np.int64]  # among the training rows


def find_oddities(
    run: Run, doubts: Doubts | None, twins: list[Twin], searched: int, frame: pd.DataFrame | None
) -> Findings:
    """Sentences and lines for a table."""
    split = run.split
    suspects = [] if doubts is None else doubts.suspects[:MOST].tolist()
    kinds: dict[str, list[Twin]] = {}
    for found in sorted(twins, key=lambda t: t.distance):
        kinds.setdefault(_kind(split, found), []).append(found)
    shown = [(kind, found) for kind in _KINDS for found in kinds.get(kind, [])[:MOST]]
    rows = np.array(suspects + [t.row for _, t in shown], dtype=np.int64)
    named: list[tuple[str, Twin | None]] = [*((_SUSPECT, None) for _ in suspects), *shown]
    holds = _holds(split, rows, frame)
    kept = np.array([np.isin(rows, s.rows) for s in run.selections]).T
    lines = []
    for k, row in enumerate(rows.tolist()):
        kind, twin = named[k]
        lines.append(
            Finding(
                row=int(split.rows[row]),
                finding=kind,
                label=_label(split, split.y[row]),
                said=_label(split, doubts.said[row]) if doubts is not None and twin is None else None,
                p=float(doubts.p_values[row]) if doubts is not None and twin is None else None,
                twin=None if twin is None else int(split.rows[twin.other]),
                kept=tuple(kept[k].tolist()),
                holds=holds[k],
            )
        )
    return Findings(_sentences(split, doubts, kinds, searched), lines, rows)


def _kind(split: Split, twin: Twin) -> str:
    other_label = split.task == "classification" and split.y[twin.row] != split.y[twin.other]
    return _KINDS[2 * (twin.distance > 0) + (not other_label)]


def _label(split: Split, code: int | float) -> str:
    return f"{code:.6g}" if split.classes is None else str(split.classes[int(code)])


def _holds(split: Split, rows: NDArray[np.int64], frame: pd.DataFrame | None) -> list[str]:
    """The first cells of rows; nothing where there are too many columns to tell anything."""
    width = split.X.shape[1] if frame is None else frame.shape[1]
    if width > _WIDE:
        return [""] * len(rows)
    names, cells = cells_of(split, rows, frame)
    told = [", ".join(f"{n} {v}" for n, v in zip(names, line, strict=True) if v) for line in cells]
    return [text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…" for text in told]


def _sentences(split: Split, doubts: Doubts | None, kinds: dict[str, list[Twin]], searched: int) -> list[str]:
    told = []
    if doubts is not None:
        found = len(doubts.suspects)
        told.append(
            f"Labels: {doubts.models} models were asked about the rows they did not see. At a rate of false "
            f"alarms of {doubts.rate:.3g} (were labels drawn as the models believe, at most "
            f"{doubts.rate * split.n_rows:.3g} of {split.n_rows:,} rows) "
            f"{_some(found, 'label is suspect', 'labels are suspect')}. A suspect is a row to look at, not "
            "an error."
        )
    counts = {kind: len(kinds.get(kind, [])) for kind in _KINDS}
    same, near = counts[_KINDS[0]] + counts[_KINDS[1]], counts[_KINDS[2]] + counts[_KINDS[3]]
    other = f", {counts[_KINDS[0]]:,} of them with another label" if counts[_KINDS[0]] else ""
    near_words = _some(near, "is", "are") if near else "none is"
    told.append(
        f"Duplicates: {_some(same, 'row has', 'rows have')} exactly the features of an earlier row{other}; "
        f"of {searched:,} rows searched {near_words} ten times nearer to another than rows usually are."
    )
    if max(0 if doubts is None else len(doubts.suspects), *counts.values()) > MOST:
        told.append(f"Of each kind at most {MOST} are listed.")
    return told


def _some(count: int, one: str, more: str) -> str:
    return f"1 {one}" if count == 1 else f"{count:,} {more}" if count else f"no {more}"
