"""The page of seconds, ``results/speed/README.md``: ``python -m perf.speed``.

It is made of the lines that ``make bench`` and ``make bench-valuation`` have kept.

Of several lines about the same thing the last one counts.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path

from perf.kept import Line, read

FOLDER = Path("results/speed")


def page(folder: Path) -> str:
    """What was measured, as Markdown."""
    parts = [
        ("Learners", _learners(read(folder / "learners.jsonl"))),
        ("Trees", _trees(read(folder / "trees.jsonl"))),
        ("Programs", _solvers(read(folder / "solvers.jsonl"))),
        ("Values", _values(read(folder / "values.jsonl"))),
    ]
    text = ["# Seconds", "", _INTRODUCTION]
    for title, lines in parts:
        if lines:
            text += ["", f"## {title}", "", *lines]
    return "\n".join(text) + "\n"


_INTRODUCTION = """\
By `make bench` and `make bench-valuation`, which measure ours and the peer in the same minute on the same
work and compare the answers; lines are in `results/speed`, this page is `python -m perf.speed`. A *ratio* is
the peer's seconds over ours. Peers that take long are timed on some of the work and scaled, which is said."""


def _learners(lines: list[Line]) -> list[str]:
    kept = _last(lines, "what", "data", "models", "inclusion")
    if not kept:
        return []
    rows = [
        [x["what"], x["data"], _s(x["ours"]), _s(x["peer"]), _ratio(x), f"{x['agreement']:.3%}", x["how"]]
        for x in kept
    ]
    told = f"{kept[0]['models']:,} models of {kept[0]['inclusion']:.0%} of the rows; {_machine(kept)}."
    heads = ["learner", "rows", "ours, s", "peer, s", "ratio", "same labels", "peer's time"]
    return [told, "", *_table(heads, rows)]


def _trees(lines: list[Line]) -> list[str]:
    kept = _last(lines, "what", "table", "rows", "size", "peer")
    if not kept:
        return []
    rows = [
        [x["what"], f"{x['table']}, {x['size']} of {x['rows']:,}", x["peer"],
         _ms(x["ours"]), _ms(x["theirs"]),
         f"{x['theirs'] / x['ours']:.0f}×", " / ".join(f"{a:.3f}" for a in x["accuracies"])]
        for x in kept
    ]  # fmt: skip
    heads = ["model", "rows", "peer", "ours, ms", "peer, ms", "ratio", "accuracy, ours / peer"]
    return [f"A model; {_machine(kept)}.", "", *_table(heads, rows)]


def _solvers(lines: list[Line]) -> list[str]:
    grid = _last((x for x in lines if x["part"] == "grid"), "what", "programs")
    large = _last((x for x in lines if x["part"] == "large"), "name")
    off = _last((x for x in lines if x["part"] == "objectives"), "programs")
    text = []
    if grid:
        rows = [[x["what"], _s(x["ours"]), _s(x["peer"]), _ratio(x)] for x in grid]
        told = f"{grid[0]['programs']} programs of 1,000 × 500 (digits) to 1e-8; {_machine(grid)}."
        text += [told, "", *_table(["peer", "ours, s", "peer, s", "ratio"], rows)]
    if off:
        text += ["", f"Objectives differ from HiGHS' by {off[-1]['largest']:.0e} of themselves at most."]
    if large:
        n, models, m = large[0]["shape"]
        heads = ["solver", "s", "processor s", "gap", "peak GiB"]
        rows = [
            [x["name"], _s(x["seconds"]), _s(x["cpu"]), f"{x['gap']:.2%}", f"{x['peak']:.2f}"] for x in large
        ]
        text += ["", f"{n:,} × {m:,}, {models:,} models, a twentieth of the rows kept:", ""]
        text += _table(heads, rows)
    return text


def _values(lines: list[Line]) -> list[str]:
    kept = _last(lines, "what", "fits")
    if not kept:
        return []
    rows = [
        [x["what"], f"{x['fits']:,}", _s(x["ours"]), _s(x["peer"]), _ratio(x), x["how"],
         f"{x['correlation']:.2f} ({x['at_best']:.2f})"]
        for x in kept
    ]  # fmt: skip
    heads = [
        "values",
        "fits",
        "ours, s",
        "pyDVL, s",
        "ratio",
        "pyDVL's time",
        "rank correlation (of ours twice)",
    ]
    return [f"{_machine(kept)}.", "", *_table(heads, rows)]


def _last(lines: Iterable[Line], *names: str) -> list[Line]:
    """The last line about each thing, in the order of the first."""
    found: dict[Hashable, Line] = {}
    for line in lines:
        found[tuple(str(line[name]) for name in names)] = line
    return list(found.values())


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *rows)]


def _machine(lines: list[Line]) -> str:
    return str(lines[-1]["machine"])


def _ratio(line: Line) -> str:
    return f"{line['peer'] / line['ours']:.0f}×"


def _s(seconds: float) -> str:
    return f"{seconds:.2f}" if seconds < 10 else f"{seconds:.0f}"


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.1f}"


if __name__ == "__main__":
    (FOLDER / "README.md").write_text(page(FOLDER), encoding="utf-8")
