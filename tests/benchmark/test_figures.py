"""Figures show the rows they were given, and are written as whole files."""

import struct
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from benchmark_frames import frame_of, line, run
from matplotlib.colors import to_hex

mpl.use("Agg")

from cdvm import InputError
from cdvm.benchmark import ablations
from cdvm.benchmark.figures import ablations as figure_ablations
from cdvm.benchmark.figures import clusters as figure_clusters
from cdvm.benchmark.figures.style import print_style, save, style_of
from cdvm.benchmark.figures.write import FIGURES, main_results, write_figures
from cdvm.benchmark.published import paper_results
from cdvm.benchmark.tables.summary import means


@pytest.fixture(scope="module")
def frame():
    return run(("pol", "nomao"), 2)


def _curves(ax):
    return {found.get_label(): found for found in ax.lines}


def test_our_curves_are_solid_and_the_papers_dashed_in_the_same_colour(frame):
    ax = main_results(frame).axes[0]
    ours = _curves(ax)["CDVM5k"]
    rows = means(frame).query("dataset == 'pol' and method == 'CDVM5k'")
    np.testing.assert_allclose(ours.get_ydata(), rows["accuracy"])
    np.testing.assert_allclose(ours.get_xdata(), [5, 10, 15, 20, 25, 30])
    assert ours.get_linestyle() == "-"
    theirs = paper_results().query("dataset == 'pol' and method == 'CDVM5k'").sort_values("percent")["paper"]
    dashed = [c for c in ax.lines if len(c.get_ydata()) == 6 and np.allclose(c.get_ydata(), theirs)]
    assert [(c.get_color(), c.get_linestyle()) for c in dashed] == [(ours.get_color(), "--")]


def test_every_method_has_a_colour_and_marker_of_its_own(frame):
    shown = [c for c in main_results(frame).axes[1].lines if c.get_marker() not in {"", "None"}]
    looks = [(to_hex(c.get_color()), c.get_marker()) for c in shown]
    assert len(set(looks)) == len(looks) == 8
    assert style_of("new", 1) != style_of("new", 2)


def test_all_rows_are_a_dotted_line(frame):
    found = _curves(main_results(frame).axes[0])["all rows"]
    assert found.get_ydata()[0] == pytest.approx(0.85)
    assert found.get_linestyle() == ":"


def test_another_protocol_has_no_dashed_curves():
    figure = main_results(run(("pol",), 2, protocol="clean", ablations=False))
    assert "--" not in {c.get_linestyle() for c in figure.axes[0].lines}


def test_sets_for_one_budget_have_a_dot_at_it(frame):
    figure = figure_ablations.motivation(frame)
    assert [ax.get_title() for ax in figure.axes] == [
        "More models\npol, 2 repetitions",
        "Sets are budget-specific\npol, 2 repetitions",
        "Data-OOB, both ends\npol, 2 repetitions",
    ]
    dots = [c for c in figure.axes[1].lines if c.get_marker() == "o"]
    rows = ablations.nestedness(frame).query("dataset == 'pol' and method == 'CDVM5k@5' and percent == 5")
    np.testing.assert_allclose(np.concatenate([c.get_data() for c in dots]), [[5], rows["accuracy"]])


def test_panels_without_rows_are_left_out():
    frame = frame_of(
        *(line("pol", name, 50, 0, 0.7) for name in ("DataOOB", "DataOOB-high", "Random", "CDVM5k-p05"))
    )
    assert len(figure_ablations.motivation(frame).axes) == 1
    assert figure_ablations.p_benchmark(frame) is None
    assert figure_ablations.models_benchmark(frame) is None


def test_bars_of_the_spectrum_fill_the_whole(frame):
    ax = figure_ablations.spectrum(frame).axes[0]
    widths = np.array([[bar.get_width() for bar in group] for group in ax.containers])
    np.testing.assert_allclose(widths.sum(axis=0), 100)
    assert [t.get_text() for t in ax.get_yticklabels()] == ablations.spectrum(frame)["dataset"].to_list()


def test_shares_of_kappa_and_overlaps_are_those_of_the_tables(frame):
    axes = figure_ablations.ablation(frame).axes
    assert [ax.get_title()[:3] for ax in axes] == ["(a)", "(b)", "(c)", "(d)"]
    heights = np.array([[bar.get_height() for bar in group] for group in axes[2].containers])
    np.testing.assert_allclose(heights.sum(axis=0), 1)
    np.testing.assert_allclose(axes[3].images[0].get_array(), ablations.overlap(frame))


def test_lines_without_kappa_are_dotted(frame):
    found = _curves(figure_ablations.models_benchmark(frame).axes[0])
    dotted = {label: c.get_linestyle() for label, c in found.items() if "no kappa" in label}
    assert len(found) == 6
    assert len(dotted) == 3
    assert set(dotted.values()) == {"--"}  # Matplotlib's name for any pattern
    assert {c.get_linestyle() for label, c in found.items() if label not in dotted} == {"-"}


def test_files_are_whole_and_the_same_each_time(frame, tmp_path):
    found = write_figures(frame, tmp_path / "a", clusters=False)
    assert set(found.written) == set(FIGURES)
    assert not found.missing
    for png, svg in found.written.values():
        assert png.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        width, height = struct.unpack(">II", png.read_bytes()[16:24])
        assert width >= 1000
        assert height >= 300
        assert ElementTree.parse(svg).getroot().tag.endswith("svg")
        assert svg.stat().st_size < 400_000
    for folder in ("b", "c"):
        with print_style():
            save(figure_ablations.p_benchmark(frame), tmp_path / folder, "p_benchmark")
    for suffix in (".png", ".svg"):
        files = [(tmp_path / folder / f"p_benchmark{suffix}").read_bytes() for folder in "abc"]
        assert files[0] == files[1] == files[2]


def test_what_is_missing_is_named(tmp_path):
    found = write_figures(frame_of(line("pol", "Random", 50, 0, 0.6)), tmp_path, clusters=False)
    assert set(found.written) == {"main_results"}
    assert found.missing["p_benchmark"] == "needs results of CDVM5k-p02 and others"
    assert not (tmp_path / "p_benchmark.png").exists()


def test_settings_of_matplotlib_are_left_as_they_were(tmp_path):
    before = mpl.rcParams["font.size"]
    write_figures(frame_of(line("pol", "Random", 50, 0, 0.6)), tmp_path, clusters=False)
    assert mpl.rcParams["font.size"] == before
    with pytest.raises(InputError, match="no rows"):
        write_figures(frame_of(line("pol", "Random", 50, 0, 0.6)).iloc[:0], tmp_path)


def test_orders_of_removal_are_the_papers():
    ax = figure_clusters.cluster_overview().axes[3]
    found = {c.get_label(): c.get_ydata() for c in ax.lines}
    # a network that has seen one class alone is right about half of the test rows
    np.testing.assert_allclose(found["one of each cluster last"], [1, 1, 1, 1, 1, 0.75, 0.5, 0.5])
    np.testing.assert_allclose(found["lowest Shapley value first"], [1, 1, 1, 0.75, 0.75, 0.5, 0.5, 0.5])
    removed = [text.get_text() for text in ax.texts]
    assert sorted(removed[:7]) != removed[:7]  # the order of removal, row by row
    assert len(set(removed[:7])) == len(set(removed[7:])) == 7


def test_without_a_cluster_a_quarter_of_the_test_rows_is_lost():
    titles = [ax.get_title() for ax in figure_clusters.cluster_removed().axes]
    assert titles == [f"without cluster {k}: accuracy 0.75" for k in (1, 2, 3, 4)]
