import numpy as np
from benchmark_frames import curves, frame_of, line

from cdvm.benchmark import ablations
from cdvm.benchmark.figures import ablations as figure_ablations


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
    found = curves(figure_ablations.models_benchmark(frame).axes[0])
    dotted = {label: c.get_linestyle() for label, c in found.items() if "no kappa" in label}
    assert len(found) == 6
    assert len(dotted) == 3
    assert set(dotted.values()) == {"--"}  # Matplotlib's name for any pattern
    assert {c.get_linestyle() for label, c in found.items() if label not in dotted} == {"-"}
