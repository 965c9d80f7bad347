"""Figures show the rows they were given, and are written as whole files."""

import struct
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from benchmark_frames import curves, frame_of, line, run

from cdvm import InputError
from cdvm.benchmark.figures import ablations as figure_ablations
from cdvm.benchmark.figures.style import print_style, save
from cdvm.benchmark.figures.write import FIGURES, main_results, write_figures
from cdvm.benchmark.published import paper_results
from cdvm.benchmark.tables.summary import means


def test_our_curves_are_solid_and_the_papers_dashed_in_the_same_colour(frame):
    ax = main_results(frame).axes[0]
    ours = curves(ax)["CDVM5k"]
    rows = means(frame).query("dataset == 'pol' and method == 'CDVM5k'")
    np.testing.assert_allclose(ours.get_ydata(), rows["accuracy"])
    np.testing.assert_allclose(ours.get_xdata(), [5, 10, 15, 20, 25, 30])
    assert ours.get_linestyle() == "-"
    theirs = paper_results().query("dataset == 'pol' and method == 'CDVM5k'").sort_values("percent")["paper"]
    dashed = [c for c in ax.lines if len(c.get_ydata()) == 6 and np.allclose(c.get_ydata(), theirs)]
    assert [(c.get_color(), c.get_linestyle()) for c in dashed] == [(ours.get_color(), "--")]


def test_all_rows_are_a_dotted_line(frame):
    found = curves(main_results(frame).axes[0])["all rows"]
    assert found.get_ydata()[0] == pytest.approx(0.85)
    assert found.get_linestyle() == ":"


def test_another_protocol_has_no_dashed_curves():
    figure = main_results(run(("pol",), 2, protocol="clean", ablations=False))
    assert "--" not in {c.get_linestyle() for c in figure.axes[0].lines}


def test_of_many_methods_those_with_a_style_have_curves():
    few = [line("pol", f"way{k:02d}", 50, 0, 0.5) for k in range(10)]
    known = [line("pol", name, 50, 0, 0.6) for name in ("CDVM5k", "Random")]
    names = set(curves(main_results(frame_of(*known, *few)).axes[0]))
    assert {"CDVM5k", "way00", "way09", "Random"} <= names
    many = frame_of(*known, *few, line("pol", "way10", 50, 0, 0.5))
    assert not any(name.startswith("way") for name in curves(main_results(many).axes[0]))
    others = frame_of(*(line("pol", f"way{k:02d}", 50, 0, 0.5) for k in range(13)))
    assert {"way00", "way12"} <= set(curves(main_results(others).axes[0]))  # none has a style


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
    assert found.missing["beside_random"] == "needs results of Random and another method"
    assert found.missing["p_benchmark"] == "needs results of CDVM5k-p02 and others"
    assert not (tmp_path / "p_benchmark.png").exists()


def test_settings_of_matplotlib_are_left_as_they_were(tmp_path):
    before = mpl.rcParams["font.size"]
    write_figures(frame_of(line("pol", "Random", 50, 0, 0.6)), tmp_path, clusters=False)
    assert mpl.rcParams["font.size"] == before
    with pytest.raises(InputError, match="no rows"):
        write_figures(frame_of(line("pol", "Random", 50, 0, 0.6)).iloc[:0], tmp_path)
