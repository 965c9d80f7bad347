from __future__ import annotations

import re

import numpy as np
import pytest
from pages import LABELS, a_run, read

from cdvm import Split
from cdvm.report.html.looking import find_oddities
from cdvm.report.html.oddities import Doubts, Twin


def test_rows_to_look_at_have_the_wrong_label_and_the_twins(text):
    reader = read(text)
    lines = {
        row: "".join(t)
        for tag, a, t in reader.found
        if tag == "tr"
        for row in re.findall(r"^\d+", "".join(t))
    }
    assert "label suspect" in lines["7"]
    assert lines["11"].startswith("11duplicate" + LABELS[1])
    assert "duplicate, other label" in lines["13"]


def test_findings_are_sorted_by_kind_and_nearness_and_told_with_their_twin():
    rng = np.random.default_rng(0)
    split = Split.from_arrays(rng.standard_normal((20, 2)), np.arange(20) % 2, validation="out_of_bag")
    run = a_run(split, [np.array([4, 5]), np.array([5, 6])])
    twins = [Twin(6, 4, 0.05), Twin(8, 4, 0.02), Twin(9, 4, 0.0), Twin(12, 4, 0.0)]
    doubts = Doubts(np.linspace(0, 1, 20), 1 - split.y, np.full(20, 0.5), np.array([5, 3]), models=50)
    found = find_oddities(run, doubts, twins, 18, None)
    assert [(line.row, line.finding, line.twin) for line in found.lines] == [
        (5, "label suspect", None),
        (3, "label suspect", None),
        (9, "duplicate, other label", 4),
        (12, "duplicate", 4),
        (8, "near-duplicate", 4),
        (6, "near-duplicate", 4),
    ]
    first = found.lines[0]
    assert (first.label, first.said, first.kept) == ("1", "0", (True, True))
    assert first.p == pytest.approx(5 / 19)
    assert found.lines[2].said is None
    assert first.holds == f"feature 0 {split.X[5, 0]:.6g}, feature 1 {split.X[5, 1]:.6g}"
    labels, duplicates = found.sentences
    assert "50 models were asked" in labels
    assert "2 labels are suspect" in labels
    assert "2 rows have exactly the features of an earlier row, 1 of them with another label" in duplicates
    assert "of 18 rows searched 2 are ten times nearer" in duplicates


def test_nothing_odd_is_said_and_too_much_is_cut():
    split = Split.from_arrays(np.arange(600.0)[:, None], np.arange(600) % 2, validation="out_of_bag")
    run = a_run(split, [np.arange(5)])
    nothing = find_oddities(run, None, [], 600, None)
    assert (nothing.lines, nothing.rows.tolist()) == ([], [])
    assert nothing.sentences == [
        "Duplicates: no rows have exactly the features of an earlier row; of 600 rows searched none is ten "
        "times nearer to another than rows usually are."
    ]
    many = find_oddities(run, None, [Twin(k, 0, 0.0) for k in range(2, 600, 2)], 600, None)
    assert len(many.lines) == 200
    assert many.sentences[-1] == "Of each kind at most 200 are listed."
