from matplotlib.colors import to_hex

from cdvm.benchmark.figures.style import style_of
from cdvm.benchmark.figures.write import main_results


def test_every_method_has_a_colour_and_marker_of_its_own(frame):
    shown = [c for c in main_results(frame).axes[1].lines if c.get_marker() not in {"", "None"}]
    looks = [(to_hex(c.get_color()), c.get_marker()) for c in shown]
    assert len(set(looks)) == len(looks) == 8
    assert style_of("new", 1) != style_of("new", 2)
