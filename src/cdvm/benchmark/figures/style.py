"""How figures look: a colour and a marker for each method, and files that are the same each time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from cdvm.errors import InputError
from cdvm.plots import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "Style",
    "draw_curve",
    "has_style",
    "legend_below",
    "new_figure",
    "note_below",
    "panels",
    "print_style",
    "save",
    "style_of",
    "told_repetitions",
]

_WIDTH = 125  # characters of a note in one line
_BLUE, _VERMILION, _GREEN, _PURPLE, _ORANGE, _SKY, _BLACK = PALETTE
GREY = "#6B6B6B"
_RULES: Any = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9,
    "figure.dpi": 200,
    "font.size": 8,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "path.simplify": True,
    "svg.hashsalt": "cdvm",
}


class Style(NamedTuple):
    """Of one curve."""

    color: str
    marker: str


_STYLES = {
    "CDVM+refine": Style(_VERMILION, "*"),
    "CDVM5k": Style(_BLUE, "o"),
    "CDVM10k": Style(_SKY, "s"),
    "CDVM-n": Style(_BLACK, "v"),
    "CDVM": Style(_BLUE, "h"),
    "CDVM5k-nokappa": Style(_BLACK, "P"),
    "InfOpt": Style(_GREEN, "D"),
    "InfOpt-val": Style(_GREEN, "d"),
    "DataOOB": Style(_ORANGE, "^"),
    "Banzhaf": Style(_PURPLE, "X"),
    "Random": Style(GREY, "."),
}


def has_style(method: str) -> bool:
    """Whether a method has a colour and a marker of its own."""
    return method in _STYLES


def style_of(method: str, number: int = 0) -> Style:
    """A method's own style, or the next of the palette."""
    return _STYLES.get(method, Style(PALETTE[number % len(PALETTE)], "osD^vPX"[number % 7]))


@contextmanager
def print_style() -> Iterator[None]:
    """Matplotlib's settings for all figures; those of the user are back afterwards."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise InputError("figures need matplotlib: pip install cdvm[plot]") from error
    with mpl.rc_context(_RULES):
        yield


def new_figure(width: float, height: float) -> Figure:
    """A figure outside of pyplot, so that nothing stays open."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def panels(count: int, *, across: int = 3, height: float = 2.3) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels, and the panels."""
    across = min(count, across)
    down = -(-count // across)
    width = 7.2 if across >= 3 else 3.0 * across
    figure = new_figure(width, height * down + 0.5)
    axes = np.atleast_1d(figure.subplots(down, across)).ravel()
    for unused in axes[count:]:
        unused.set_axis_off()
    return figure, list(axes[:count])


def draw_curve(ax: Axes, table: pd.DataFrame, style: Style, label: str, **options: Any) -> None:
    """Accuracy over percent, a marker at each budget, and a band of two standard errors of the mean.

    Means of fewer repetitions than most of the table's figure are hollow: ``most`` names their number.
    """
    most = options.pop("most", None)
    part = table.sort_values("percent")
    shown: dict[str, Any] = {"color": style.color, "marker": style.marker, "label": label} | options
    if most is not None and len(part) and part["repetitions"].max() < most:
        shown["markerfacecolor"] = "white"
    at, mean = part["percent"].to_numpy(), part["accuracy"].to_numpy()
    ax.plot(at, mean, **shown)
    if "stderr" in part.columns and part["stderr"].notna().all():
        error = 2 * part["stderr"].to_numpy()
        ax.fill_between(at, mean - error, mean + error, color=style.color, alpha=0.15, linewidth=0)


def told_repetitions(table: pd.DataFrame, *, hollow: bool = True, bands: bool = True) -> str:
    """How many repetitions stand behind the means of a figure, and what its bands are."""
    fewest, most = int(table["repetitions"].min()), int(table["repetitions"].max())
    text = f"{most} repetition{'s' * (most > 1)}"
    if fewest < most:
        thin = table[table["repetitions"] < most]
        names = thin["method"] + " on " + thin["dataset"] if hollow else thin["dataset"]
        counts = dict(zip(names, thin["repetitions"], strict=True))
        told = ", ".join(f"{name} {count}" for name, count in counts.items())
        text += f" ({'hollow, ' * hollow}fewer: {told})"
    text += "; bands: two standard errors of the mean" * (bands and most > 1)
    return fill(text, _WIDTH)


def note_below(figure: Figure, text: str) -> None:
    """A small line below everything."""
    figure.supxlabel(text, fontsize=7, color=GREY)


def legend_below(
    figure: Figure, axes: Sequence[Axes], *, columns: int = 5, first: Sequence[str] = (), note: str = ""
) -> None:
    """One legend for all panels, each name once, some of them first; a note stands above it."""
    found: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    names = [*(name for name in first if name in found), *(name for name in found if name not in first)]
    columns = min(columns, max(int(figure.get_figwidth() / 1.4), 1))
    handles = [found[name] for name in names]
    place: dict[str, Any] = {"loc": "outside lower center", "ncols": columns, "title_fontsize": 7}
    figure.legend(handles, names, title=note or None, **place)


def save(figure: Figure, directory: Path, name: str) -> list[Path]:
    """Write ``name.png`` and ``name.svg``; the same figure gives the same files."""
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for suffix, metadata in ((".png", {"Software": None}), (".svg", {"Date": None, "Creator": "cdvm"})):
        target = directory / (name + suffix)
        figure.savefig(target, metadata=metadata)
        written.append(target)
    return written
