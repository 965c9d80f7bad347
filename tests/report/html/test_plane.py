from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from pages import a_run, plane_in
from sklearn.decomposition import PCA

from cdvm import Split
from cdvm.report.html.plane import MOST_POINTS, cells_of, draw_rows, plane_of


def test_a_click_tells_what_explain_tells(text, pruner, chosen):
    plane = plane_in(text)
    k = plane["kept"][0][3]
    told = pruner.explain(plane["row"][k], chosen[0], top=3)
    value, error, helps, hurts = plane["effects"][str(k)]
    assert value == pytest.approx(told.value, rel=1e-2)
    assert error == pytest.approx(told.standard_error, rel=1e-2)
    for lines, found in ((helps, told.helps), (hurts, told.hurts)):
        assert [line[0] for line in lines] == [x.row for x in found]
        assert [line[2] for line in lines] == pytest.approx([x.influence for x in found], rel=1e-2)


@pytest.fixture
def large():
    rng = np.random.default_rng(0)
    n = 2 * MOST_POINTS
    split = Split.from_arrays(rng.standard_normal((n, 3)), np.arange(n) % 2, validation="out_of_bag")
    return a_run(split, [np.arange(0, n, 3)])


def test_of_many_rows_half_are_kept_ones_and_some_are_always_drawn(large):
    always = np.array([1, 2, 4])
    rows = draw_rows(large, always)
    assert len(rows) == len(np.unique(rows)) == MOST_POINTS
    assert (np.diff(rows) > 0).all()
    assert np.isin(always, rows).all()
    assert (rows % 3 == 0).sum() == MOST_POINTS // 2
    few = a_run(Split.from_arrays(np.eye(20), np.arange(20) % 2, validation="out_of_bag"), [np.arange(3)])
    assert draw_rows(few, always).tolist() == list(range(20))


def test_cells_are_those_of_the_users_table_or_of_the_features():
    frame = pd.DataFrame({"a": [1.23456789, None, 3.0, 4.0], "b": ["x" * 100, "é", None, ""]})
    split = Split.from_arrays(
        np.array([[0.5, 2.0], [1.5, 3.0], [2.5, 4.0], [3.5, 5.0]]), [0, 1, 0, 1], validation="out_of_bag"
    )
    names, cells = cells_of(split, np.array([0, 2, 1]), frame)
    assert names == ["a", "b"]
    assert cells == [["1.23457", "x" * 59 + "…"], ["3", ""], ["", "é"]]
    assert cells_of(split, np.array([2]), None) == (["feature 0", "feature 1"], [["2.5", "4"]])


def test_places_follow_the_first_two_principal_components(large):
    plane = plane_of(large, large.split, None, None, np.empty(0, dtype=np.int64))
    rows = np.array(plane["row"])
    both = PCA(2).fit(large.split.X).transform(large.split.X[rows])
    for axis, place in zip("xy", both.T, strict=True):
        assert abs(np.corrcoef(plane[axis], place)[0, 1]) > 0.99
        assert (min(plane[axis]), max(plane[axis])) == (0, 1000)
    assert plane["variance"] == pytest.approx(
        PCA(2).fit(large.split.X).explained_variance_ratio_.sum(), abs=1e-3
    )
    assert [rows[k] % 3 for k in plane["kept"][0]] == [0] * len(plane["kept"][0])
    assert plane["label"] == large.split.y[rows].tolist()
