import numpy as np
import pytest
from benchmark_frames import frame_of, line

from cdvm.benchmark.figures.beside_random import beside_random


def rows(accuracies, datasets=("pol", "adult"), budgets=(50, 100), repetitions=2):
    """Accuracies of methods, of the first data set; one point less on each further one."""
    return [
        line(dataset, method, budget, repetition, accuracy - 0.01 * number)
        for number, dataset in enumerate(datasets)
        for method, accuracy in accuracies.items()
        for budget in budgets
        for repetition in range(repetitions)
    ]


def marks(ax):
    """Points by data set, filled ones and hollow ones."""
    found = {"filled": {}, "hollow": {}}
    for curve in ax.lines:
        if curve.get_linestyle() == "None":
            kind = "hollow" if curve.get_markerfacecolor() == "white" else "filled"
            found[kind][curve.get_color()] = np.asarray(curve.get_xdata(), dtype=float)
    return [list(found[kind].values()) for kind in ("filled", "hollow")]


def test_each_method_has_a_line_and_each_data_set_a_mark_as_far_as_it_is_above_random():
    found = beside_random(frame_of(*rows({"Random": 0.6, "k_center": 0.55, "CDVM5k": 0.7, "All": 0.9})))
    first, second = found.axes
    assert [ax.get_title() for ax in (first, second)] == ["5 % kept", "10 % kept"]
    assert [label.get_text() for label in first.get_yticklabels()] == ["k_center", "CDVM5k"]  # best on top
    for ax in (first, second):
        filled, hollow = marks(ax)
        np.testing.assert_allclose(filled, [[-5, 10], [-5, 10]], atol=1e-9)
        assert np.isnan(hollow).all()
    assert found.legends[0].get_title().get_text() == "2 repetitions"


def test_fewer_repetitions_are_hollow_and_named():
    thin = rows({"k_center": 0.65}, datasets=("pol",), repetitions=1)
    found = beside_random(frame_of(*rows({"Random": 0.6, "CDVM5k": 0.7}), *thin))
    filled, hollow = marks(found.axes[0])
    assert filled[0][1] == pytest.approx(10)
    assert np.isnan(filled[0][0])
    assert hollow[0][0] == pytest.approx(5)
    assert np.isnan(hollow[0][1])
    assert "k_center on pol 1" in found.legends[0].get_title().get_text()


def test_without_random_rows_or_others_there_is_nothing_to_show():
    assert beside_random(frame_of(*rows({"CDVM5k": 0.7}))) is None
    assert beside_random(frame_of(*rows({"Random": 0.7, "All": 0.8}))) is None
    assert beside_random(frame_of(*rows({"Random": 0.7, "CDVM5k": 0.8}, budgets=(150,)))) is None
