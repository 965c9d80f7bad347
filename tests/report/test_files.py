"""Kept rows, the selection and the summary as files."""

import json

import numpy as np
import pandas as pd
import pytest

from cdvm import Selection
from cdvm.datasets.source import load_source
from cdvm.evaluation.curve import Curve, CurvePoint
from cdvm.report.files import names_of_files, write_results, write_selections
from cdvm.report.run import Chosen


@pytest.fixture
def source(tmp_path):
    frame = pd.DataFrame({"a": np.arange(40) / 7, "y": ["p", "q"] * 20}).round(3)
    frame.to_csv(tmp_path / "t.csv", index=False)
    return load_source(
        tmp_path / "t.csv", "y", dataset="", validation="holdout", own_validation=True, test=None, uses={},
        learner="ridge", scale=None, seed=0, reporting=False,
    )  # fmt: skip


@pytest.fixture
def chosen(source):
    rows = {"3rows": np.array([1, 5, 9]), "5rows": np.array([0, 1, 2, 20, 31])}
    sets = {name: Selection.of_rows(source.split, r, method="mine", seconds=0.0) for name, r in rows.items()}
    return Chosen(sets, "mine", {})


def test_rows_are_written_as_they_stood_and_every_row_is_told_of(source, chosen, tmp_path):
    out = tmp_path / "out"
    write_selections(out, source, chosen, {"x": 1})
    assert sorted(p.name for p in out.iterdir()) == sorted(names_of_files(source, chosen.selections))
    assert json.loads((out / "summary.json").read_text()) == {"x": 1}
    lines = (tmp_path / "t.csv").read_text().splitlines(keepends=True)
    told = pd.read_csv(out / "selection.csv")
    assert told["row"].tolist() == source.split.rows.tolist()
    for name, selection in chosen.selections.items():
        kept = (out / f"kept-{name}.csv").read_text().splitlines(keepends=True)
        assert kept == [lines[0], *(lines[1 + row] for row in selection.indices)]
        assert told.loc[told[f"kept_{name}"] == 1, "row"].tolist() == selection.indices.tolist()
        assert told[f"weight_{name}"].tolist() == selection.weights.tolist()


def test_a_curve_is_written_and_drawn(source, tmp_path):
    points = tuple(CurvePoint(part, *[0.5] * 9, n_rows=8, n_sets=2) for part in (0.5, 0.1))
    curve = Curve(points, "accuracy")
    write_selections(tmp_path / "out", source, Chosen({}, "mine", {}, curve=curve), {})
    written = {p.name for p in (tmp_path / "out").iterdir()}
    assert written == {"summary.json", "curve.csv", "curve.svg"}
    assert Curve.load(tmp_path / "out" / "curve.csv").points == curve.points


def test_the_page_goes_beside_the_rows_or_where_it_is_wanted(source, chosen, tmp_path):
    out = tmp_path / "out"
    write_results(source, chosen, {}, out=out, at=out / "page.html", page="<é>")
    assert (out / "page.html").read_text(encoding="utf-8") == "<é>"
    write_results(source, chosen, {}, out=None, at=tmp_path / "alone.html", page="<é>")
    assert (tmp_path / "alone.html").read_text(encoding="utf-8") == "<é>"
    write_results(source, chosen, {}, out=tmp_path / "other", at=tmp_path / "beside.html", page="")
    assert not (tmp_path / "other" / "beside.html").exists()
    assert (tmp_path / "beside.html").exists()
