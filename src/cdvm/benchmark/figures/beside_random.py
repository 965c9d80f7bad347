"""Every method beside random rows, for more methods than curves can tell apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cdvm.benchmark.figures.style import GREY, legend_below, new_figure, style_of, told_repetitions
from cdvm.benchmark.tables import summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["beside_random"]

_LEVELS = (5.0, 10.0, 20.0, 30.0)  # percent, a panel each
_LINEAR = 10  # points to either side; what is further away is drawn closer together


def beside_random(frame: pd.DataFrame) -> Figure | None:
    """Points above random rows: a line for each method, best first, and a mark for each data set."""
    table = summary.means(summary.main_rows(frame))
    wide, counts = (
        table.pivot(index=["dataset", "percent"], columns="method", values=value)
        for value in ("accuracy", "repetitions")
    )
    levels = [level for level in _LEVELS if level in wide.index.get_level_values("percent")]
    others = [name for name in wide.columns if name not in ("All", "Random")]
    if "Random" not in wide or not others or not levels:
        return None
    points = 100 * wide[others].sub(wide["Random"], axis=0)
    points = points[points.index.get_level_values("percent").isin(levels)]
    # over budgets first, so that a data set with fewer of them counts as much
    ranked = points.groupby(level="dataset").mean().mean().dropna().sort_values()
    shown = table[table["method"].isin(ranked.index) & table["percent"].isin(levels)]
    most = shown["repetitions"].max()
    figure = new_figure(7.2, 1.3 + 0.17 * len(ranked))
    axes = list(np.atleast_1d(figure.subplots(1, len(levels), sharey=True)))
    datasets, height = summary.in_order(table["dataset"]), np.arange(len(ranked))
    for ax, level in zip(axes, levels, strict=True):
        for number, dataset in enumerate(datasets):
            if (dataset, level) in points.index:
                style: dict[str, Any] = style_of(dataset, number)._asdict()
                style |= {"linestyle": "", "markersize": 3.5, "alpha": 0.8}
                found = points.loc[(dataset, level), ranked.index]
                thin = counts.loc[(dataset, level), ranked.index] < most
                ax.plot(found.mask(thin), height, label=dataset, **style)
                ax.plot(found.where(thin), height, markerfacecolor="white", **style)
        ax.set_xscale("symlog", linthresh=_LINEAR)
        ax.set_xticks([-50, -10, 0, 10, 50], ["-50", "-10", "0", "10", "50"])
        ax.axvline(0, color=GREY, linewidth=0.8, zorder=1)
        ax.grid(axis="y", linewidth=0.3)
        ax.set_title(f"{level:g} % kept")
    axes[0].set_yticks(height, list(ranked.index))
    axes[len(axes) // 2].set_xlabel("points above random rows")
    legend_below(figure, axes, first=datasets, note=told_repetitions(shown, bands=False))
    return figure
