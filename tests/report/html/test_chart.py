"""Scores over the rows kept: what is drawn is where the numbers say."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pages import read

from cdvm.report.html.chart import Line, percent, score_chart, ticks


@settings(max_examples=50, deadline=None)
@given(st.floats(-1e3, 1e3), st.floats(1e-6, 1e3))
def test_ticks_are_few_round_numbers_in_range(low, width):
    high = low + width
    found = ticks(low, high)
    assert 2 <= len(found) <= 7
    assert all(low - 1e-6 * width <= tick <= high + 1e-6 * width for tick in found)
    step = (found[-1] - found[0]) / (len(found) - 1)
    np.testing.assert_allclose(np.diff(found), step, rtol=1e-4, atol=1e-9)
    assert min(abs(step / (k * 10.0 ** np.floor(np.log10(step) + 1e-6)) - 1) for k in (1, 2, 5, 10)) < 1e-4


@pytest.mark.parametrize(
    ("fraction", "said"),
    [(0.05, "5 %"), (0.125, "12.5 %"), (0.001, "0.1 %"), (0.00042, "0.04 %"), (1, "100 %")],
)
def test_fractions_are_told_as_one_reads_them(fraction, said):
    assert percent(fraction) == said


def circles(chart):
    return [
        (float(a["cx"]), float(a["cy"]), a["data-tip"])
        for name, a, _ in read(chart).found
        if name == "circle"
    ]


def test_points_lie_on_a_logarithmic_axis_and_higher_scores_higher():
    line = Line("mine", "ours", [0.01, 0.1, 1.0], [0.5, 0.7, 0.6])
    (x, y), (x2, y2), (x3, y3) = (p[:2] for p in circles(score_chart("t", "accuracy", [line], 0.9)))
    assert x2 - x == pytest.approx(x3 - x2, abs=0.11)
    assert y > y3 > y2
    assert (y - y3) == pytest.approx(y3 - y2, abs=0.11)  # scores are evenly apart
    (dashed,) = [
        a["d"] for _, a, _ in read(score_chart("t", "a", [line], 0.9)).found if a.get("class") == "all-rows"
    ]
    assert float(re.match(r"M\d+ ([\d.]+)H", dashed)[1]) < y2


def test_what_is_around_a_line_is_drawn_and_told():
    line = Line("random rows", "random", [0.1, 0.5], [0.6, 0.8], [0.05, 0.1])
    chart = score_chart("t", "accuracy", [line], 0.9)
    assert [tip for *_, tip in circles(chart)] == [
        "random rows, 10 % of the rows: 0.600 ± 0.050",
        "random rows, 50 % of the rows: 0.800 ± 0.100",
    ]
    bars = [a["d"] for _, a, _ in read(chart).found if a.get("class") == "bar"]
    for (x, y, _), bar in zip(circles(chart), bars, strict=True):
        left, top, bottom = map(float, re.match(r"M([\d.]+) ([\d.]+)V([\d.]+)", bar).groups())
        assert left == x
        assert (top + bottom) / 2 == pytest.approx(y, abs=0.11)


def test_scores_that_are_missing_are_left_out_and_a_single_one_is_a_dot():
    line = Line("mine", "ours", [0.1, 0.5], [float("nan"), 0.8], [0.0, 0.1])
    chart = score_chart("t", "accuracy", [line], 0.8)
    assert len(circles(chart)) == 1
    assert "nan" not in chart
    assert not [1 for _, a, _ in read(chart).found if a.get("class") in ("curve", "band")]
