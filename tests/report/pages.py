"""Runs and a reader for the tests of pages.

The table is small, with everything in it that a page must not fall over.
"""

from __future__ import annotations

import json
from html.parser import HTMLParser

import numpy as np
import pandas as pd

from cdvm import Split, make_learner
from cdvm.report.run import Chosen, Run
from cdvm.selection import Selection

NASTY = '</script><script>alert("x")</script>'
LABELS = ("<b>yes</b>", 'no "&" no')


def nasty_table(n: int = 120) -> pd.DataFrame:
    """Two classes, columns and values that look like markup, a wrong label and twins."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    frame = pd.DataFrame(
        {
            "<script>alert(1)</script>": 3 * y + rng.standard_normal(n),
            "b": rng.standard_normal(n),
            "group": np.where(np.arange(n) % 3 == 0, "<i>south</i>", "north"),
            "note": [NASTY if k == 0 else f"n{k % 4}" for k in range(n)],
            "label": np.array(LABELS, dtype=object)[y],
        }
    )
    frame.loc[7, "label"] = LABELS[0]  # is the other class by its features
    frame.iloc[11] = frame.iloc[9]  # there twice,
    frame.iloc[13] = frame.iloc[9]
    frame.loc[13, "label"] = LABELS[0]  # and once more with another label
    return frame


VOID = {"meta", "input", "br", "hr", "col", "link"}


class Reader(HTMLParser):
    """The texts of a page by element; complains about elements that do not close."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None], list[str]]] = []
        self._inside: list[int] = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs), []))
        if tag not in VOID:
            self.open.append(tag)
            self._inside.append(len(self.found) - 1)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag
        self._inside.pop()

    def handle_data(self, data):
        for k in self._inside:
            self.found[k][2].append(data)

    def texts(self, tag: str, **attributes: str) -> list[str]:
        return ["".join(t) for name, a, t in self.found if name == tag and attributes.items() <= a.items()]


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def plane_in(text: str) -> dict:
    return json.loads(read(text).texts("script", id="plane")[0])


def a_run(split: Split, rows: list[np.ndarray], learner: str = "ridge") -> Run:
    sets = {str(k): Selection.of_rows(split, r, method="mine", seconds=0.0) for k, r in enumerate(rows)}
    return Run(
        name="t", split=split, learner=make_learner(learner), learner_name=learner,
        chosen=Chosen(sets, "mine", {}), jobs=1,
    )  # fmt: skip


def plain_report(**changes):
    found = {"kept": 0.9, "random": 0.8, "random_std": 0.1, "all_rows": 0.95}
    line = {
        "fraction": 0.1,
        "rows": 10,
        "gap": 0.01,
        "seconds": 1.0,
        "evaluated_with": {"ridge": {"outside": found}},
    }
    told = {
        "source": "t.csv", "metric": "accuracy", "learner": "ridge", "method": "cdvm", "rows": 100,
        "candidates": 100, "evaluation": "out_of_bag", "validation_rows": 0, "test_rows": 0,
        "random_draws": 25,
        "budgets": {"10pct": line},
    }  # fmt: skip
    told |= {key: value for key, value in changes.items() if key in told}
    line |= {key: value for key, value in changes.items() if key in ("optimism", "fits")}
    found |= {key: value for key, value in changes.items() if key in found}
    return told
