"""Every figure of the paper and one of all methods, drawn from results.

Curves of ours are solid, the paper's dashed in the same colour.

The paper's curves stand where the features are the paper's, too.
Figures whose rows are missing are left out, and named.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cdvm._runtime.progress import Progress
from cdvm.benchmark.figures import ablations as figure_ablations
from cdvm.benchmark.figures import clusters as figure_clusters
from cdvm.benchmark.figures.beside_random import beside_random
from cdvm.benchmark.figures.style import (
    GREY,
    draw_curve,
    has_style,
    legend_below,
    panels,
    print_style,
    save,
    style_of,
    told_repetitions,
)
from cdvm.benchmark.tables import summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["FIGURES", "Figures", "main_results", "write_figures"]

_LEFT_OUT = {"All", "CDVM5k-nokappa", "InfOpt-val"}
_MOST_CURVES = 12  # that can be told apart; of more, those with a style of their own are drawn


@dataclass
class Figures:
    """Files by figure, and what each figure that could not be drawn would need."""

    written: dict[str, list[Path]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)


def main_results(frame: pd.DataFrame) -> Figure | None:
    """Test accuracy over the fraction of rows kept, a panel for each data set."""
    table = summary.compare_with_paper(frame)
    datasets = summary.in_order(table["dataset"])
    tuned = {"CDVM"} if "CDVM5k" in set(table["method"]) else set()
    table = table[~table["method"].isin(_LEFT_OUT | tuned)]
    styled = table[table["method"].map(has_style)]
    if table["method"].nunique() > _MOST_CURVES and len(styled):
        table = styled
    whole = summary.means(summary.main_rows(frame)).query("method == 'All'").set_index("dataset")["accuracy"]
    figure, axes = panels(len(datasets))
    for number, (ax, dataset) in enumerate(zip(axes, datasets, strict=True)):
        _main_panel(ax, table[table["dataset"] == dataset], int(table["repetitions"].max()))
        if dataset in whole.index:
            ax.axhline(whole[dataset], color="black", linestyle=":", linewidth=1, label="all rows")
        ax.set_title(dataset)
        ax.set_ylabel("test accuracy" if number % 3 == 0 else "")
        ax.set_xlabel("rows kept, %" if number + 3 >= len(datasets) else "")
    if "paper" in table.columns and table["paper"].notna().any():
        axes[0].plot([], [], color=GREY, linestyle="--", linewidth=0.9, label="the paper's")
    legend_below(figure, axes, first=summary.in_order(table["method"]), note=told_repetitions(table))
    return figure


def _main_panel(ax: Axes, table: pd.DataFrame, most: int) -> None:
    left_out = []
    for number, method in enumerate(summary.in_order(table["method"])):
        rows, style = table[table["method"] == method].sort_values("percent"), style_of(method, number)
        draw_curve(ax, rows, style, method, zorder=3, most=most)
        stated = rows.dropna(subset=["paper"]) if "paper" in rows.columns else rows.iloc[:0]
        if len(stated) and stated["paper"].min() < table["accuracy"].min() - np.ptp(table["accuracy"]) / 2:
            # would flatten all the rest
            low, high = stated["paper"].min(), stated["paper"].max()
            left_out.append(f"not drawn: the paper's {method}, {low:.2f} to {high:.2f}")
        elif len(stated):
            options: dict[str, Any] = {"linestyle": (0, (3, 2)), "linewidth": 0.9, "alpha": 0.75}
            ax.plot(stated["percent"], stated["paper"], color=style.color, zorder=2, **options)
    if left_out:
        place: dict[str, Any] = {"transform": ax.transAxes, "ha": "right", "va": "bottom"}
        ax.text(1.0, 0.01, "\n".join(left_out), fontsize=6, color=GREY, **place)


# name: the function, and the methods it needs, for the reader of a note
FIGURES: dict[str, tuple[Callable[[pd.DataFrame], Figure | None], str]] = {
    "main_results": (main_results, "any method"),
    "beside_random": (beside_random, "Random and another method"),
    "motivation": (figure_ablations.motivation, "Banzhaf10k, CDVM5k@5 or DataOOB-high"),
    "ablation": (figure_ablations.ablation, "two methods or variants of CDVM"),
    "p_benchmark": (figure_ablations.p_benchmark, "CDVM5k-p02 and others"),
    "models_benchmark": (figure_ablations.models_benchmark, "CDVM3k, CDVM3k-nokappa and others"),
    "spectrum": (figure_ablations.spectrum, "CDVM5k, on the same split in every repetition"),
}


def write_figures(
    frame: pd.DataFrame, directory: str | Path, *, clusters: bool = True, progress: bool | None = None
) -> Figures:
    """Draw every figure the results have the rows for, as PNG and SVG.

    Parameters
    ----------
    frame : DataFrame
        The rows of a run.
    directory : path
    clusters : bool
        Draw the paper's synthetic clusters too, which takes no results but a few fits.

    Returns
    -------
    Figures
        The files written, and why others were not.
    """
    rows = summary.checked(frame)
    found = Figures()
    more = figure_clusters.FIGURES if clusters else {}
    with print_style(), Progress("figures", len(FIGURES) + len(more), enabled=progress) as bar:
        for name, (draw, needed) in FIGURES.items():
            figure = draw(rows)
            if figure is None:
                found.missing[name] = f"needs results of {needed}"
            else:
                found.written[name] = save(figure, Path(directory), name)
            bar.advance()
        for name, draw_clusters in more.items():
            found.written[name] = save(draw_clusters(), Path(directory), name)
            bar.advance()
    return found
