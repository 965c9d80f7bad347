"""Figures show what they were given."""

import sys

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from matplotlib import pyplot
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex

from cdvm import InputError
from cdvm.evaluation.curve import Curve, CurvePoint
from cdvm.plots import PALETTE, plot_curve, plot_curves, plot_decision, plot_sizes, plot_values
from cdvm.valuation import Values

X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
Y = np.array(["a", "a", "b", "b"])


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


def test_curves_band_and_line_are_drawn():
    ax = plot_curves([0.1, 0.2], {"CDVM": [0.8, 0.9]}, random=([0.7, 0.8], [0.05, 0.02]), all_rows=0.95)
    names = {line.get_label(): line.get_ydata() for line in ax.lines}
    np.testing.assert_allclose(names["CDVM"], [0.8, 0.9])
    np.testing.assert_allclose(names["random"], [0.7, 0.8])
    np.testing.assert_allclose(names["all rows"], [0.95, 0.95])
    band = ax.collections[0].get_paths()[0].vertices
    assert band[:, 1].min() == pytest.approx(0.65)
    assert band[:, 1].max() == pytest.approx(0.82)


def test_a_curve_of_another_length_is_refused():
    with pytest.raises(InputError, match="CDVM has 1 numbers for 2"):
        plot_curves([0.1, 0.2], {"CDVM": [0.8]})


def test_decision_draws_kept_rows_in_colour_and_others_grey():
    ax = plot_decision(X, Y, lambda grid: np.where(grid[:, 1] > 0.5, "b", "a"), kept=[0, 3], steps=20)
    drawn = [c for c in ax.collections if isinstance(c, PathCollection)]
    points = {to_hex(c.get_facecolor()[0]): c.get_offsets() for c in drawn}
    np.testing.assert_allclose(points[PALETTE[0].lower()], X[[0]])
    np.testing.assert_allclose(points[PALETTE[1].lower()], X[[3]])
    assert {(1.0, 0.0), (0.0, 1.0)} in [{tuple(p) for p in c.get_offsets()} for c in drawn]


def test_decision_needs_a_plane():
    with pytest.raises(InputError, match="two features"):
        plot_decision(np.zeros((3, 3)), [0, 1, 0])


def test_bars_are_as_high_as_the_values():
    values = Values(np.array([0.3, -0.1, 0.2, 0.0]), "shapley", rows=np.arange(4), stderr=np.full(4, 0.01))
    ax = plot_values(values, labels=Y)
    assert [bar.get_height() for bar in ax.patches] == [0.3, -0.1, 0.2, 0.0]
    assert ax.get_ylabel() == "shapley"
    assert len(ax.containers) >= 2


def test_sizes_are_proportional_to_the_values():
    ax = plot_sizes(X, Y, [0.5, 0.25, -1.0, 0.0], area=100)
    assert ax.collections[0].get_sizes().tolist() == [100.0, 50.0]
    assert ax.collections[2].get_sizes().tolist() == [0.0, 0.0]


def test_given_axes_are_used():
    _, ax = pyplot.subplots()
    assert plot_values([1.0, 2.0], ax=ax) is ax


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    with pytest.raises(InputError, match=r"pip install cdvm\[plot\]"):
        plot_values([1.0])


def test_a_curve_is_drawn_with_bands_of_a_standard_error():
    points = [
        CurvePoint(f, s, s - 0.1, 0.95, 0.95 - s, 0.01, 0.02, 0.01, 0.01, 0.01, 100, 5)
        for f, s in ((0.5, 0.9), (0.1, 0.8))
    ]
    ax = plot_curve(Curve(tuple(points), "f1"))
    kept, random = (band.get_paths()[0].get_extents() for band in ax.collections)
    assert (kept.y0, kept.y1) == pytest.approx((0.79, 0.91))
    assert (random.y0, random.y1) == pytest.approx((0.68, 0.82))
    assert ax.get_ylabel() == "f1"
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {"kept", "random", "all rows"}
