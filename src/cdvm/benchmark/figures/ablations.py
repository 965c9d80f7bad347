"""The figures of the paper's motivation and ablations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cdvm.benchmark import ablations
from cdvm.benchmark.figures.style import (
    GREY,
    Style,
    draw_curve,
    legend_below,
    new_figure,
    note_below,
    panels,
    style_of,
    told_repetitions,
)
from cdvm.benchmark.published import RUNTIMES
from cdvm.benchmark.tables import summary
from cdvm.plots import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["ablation", "models_benchmark", "motivation", "p_benchmark", "spectrum"]

_BANDS = ("#2B2B2B", "#6B6B6B", "#A3A3A3", "#D6D6D6", "#D55E00", "#56B4E9", "#0072B2", "#E69F00")
_DOTTED = (0, (1, 1))


def motivation(frame: pd.DataFrame) -> Figure | None:
    """Banzhaf with more models, sets that are not nested, Data-OOB from both ends; as rows allow."""
    drawn = [
        (draw, table)
        for draw, table in (
            (_banzhaf, ablations.banzhaf_models(frame)),
            (_nestedness, ablations.nestedness(frame)),
            (_ends, ablations.out_of_bag_ends(frame)),
        )
        if not table.empty
    ]
    if not drawn:
        return None
    figure, axes = panels(len(drawn), height=2.3)
    for ax, (draw, table) in zip(axes, drawn, strict=True):
        dataset = "cifar10" if "cifar10" in set(table["dataset"]) else summary.in_order(table["dataset"])[0]
        part = table[table["dataset"] == dataset]
        draw(ax, part)
        count = int(part["repetitions"].min())
        ax.set(title=f"{ax.get_title()}\n{dataset}, {count} repetition{'s' * (count > 1)}")
        ax.set(xlabel="rows kept, %", ylabel="test accuracy")
        ax.legend(fontsize=7)
    note_below(figure, "bands: two standard errors of the mean")
    return figure


def _lines(ax: Axes, table: pd.DataFrame, styles: dict[str, tuple[str, Style, str]]) -> None:
    for method, (label, style, line) in styles.items():
        part = table[table["method"] == method]
        if len(part):
            draw_curve(ax, part, style, label, linestyle=line, markersize=3)


def _banzhaf(ax: Axes, table: pd.DataFrame) -> None:
    blue, grey = PALETTE[0], GREY
    styles = {
        "Banzhaf": ("Banzhaf, 1,000 models", Style(blue, "o"), "-"),
        "Banzhaf10k": ("Banzhaf, 10,000 models", Style(blue, "s"), "--"),
        "Random": ("random", Style(grey, "."), "-"),
    }
    _lines(ax, table, styles)
    ax.set_title("More models")


def _ends(ax: Axes, table: pd.DataFrame) -> None:
    styles = {
        "DataOOB": ("lowest removed first", Style(PALETTE[0], "o"), "--"),
        "DataOOB-high": ("highest removed first", Style(PALETTE[0], "s"), "-"),
        "Random": ("random", Style(GREY, "."), "-"),
    }
    _lines(ax, table, styles)
    ax.set_title("Data-OOB, both ends")


def _nestedness(ax: Axes, table: pd.DataFrame) -> None:
    fixed = table.dropna(subset=["target"]).sort_values("target")
    for number, (target, part) in enumerate(fixed.groupby("target")):
        style = Style(PALETTE[number], "")
        draw_curve(ax, part, style, f"optimised for {target:g} %", linestyle=("-", "--", "-.")[number % 3])
        peak = part[part["percent"] == target]
        ax.plot(peak["percent"], peak["accuracy"], "o", color=style.color, markersize=6)
    draw_curve(ax, table[table["method"] == "Random"], Style(GREY, ""), "random", linestyle=_DOTTED)
    ax.set_title("Sets are budget-specific")


def ablation(frame: pd.DataFrame) -> Figure | None:
    """Performance over run time and over p · n_models, the chosen kappa, overlaps; as rows allow."""
    score, seen = summary.normalised(frame), ablations.by_exposure(frame)
    kappa = ablations.chosen(frame)
    square = ablations.overlap(frame, same_seed=not summary.same_split(frame))
    drawn = [
        (draw, table)
        for draw, table, enough in (
            (_trade_off, score, "seconds" in score.columns and score["normalised"].notna().sum() > 1),
            (_exposure, seen, seen["normalised"].notna().sum() > 2),
            (_kappa, kappa[kappa["dataset"] == "all"], not kappa.empty),
            (_overlap, square, not square.isna().all(axis=None)),
        )
        if enough
    ]
    if not drawn:
        return None
    figure, axes = panels(len(drawn), across=2, height=2.6)
    figure.set_size_inches(7.2 if len(drawn) > 1 else 3.6, figure.get_size_inches()[1])
    for letter, ax, (draw, table) in zip("abcd", axes, drawn, strict=False):
        draw(ax, table)
        ax.set_title(f"({letter}) {ax.get_title()}")
    return figure


def _trade_off(ax: Axes, table: pd.DataFrame) -> None:
    """Ours filled, the paper's hollow, both among the paper's methods where those are known."""
    column = "among_paper_methods" if "among_paper_methods" in table.columns else "normalised"
    ours = table.dropna(subset=["seconds"])
    ours = ours.assign(score=ours[column])
    ours = ours.sort_values("score", ignore_index=True)
    for number, row in ours.iterrows():
        method, x, y = str(row["method"]), float(row["seconds"]), float(row["score"])
        style = style_of(method, int(str(number)))
        if x < 0.02:  # what costs nothing has no place on a logarithmic axis
            ax.axhline(y, color=style.color, linestyle=_DOTTED, linewidth=1, zorder=1, label=method)
            continue
        ax.plot(x, y, style.marker, color=style.color, markersize=6, zorder=3, label=method)
        stated = row.get("paper", np.nan)
        if method in RUNTIMES and pd.notna(stated):
            there = RUNTIMES[method].total
            ax.plot([x, there], [y, stated], color=style.color, linestyle="--", linewidth=0.8, alpha=0.7)
            ax.plot(there, stated, style.marker, color=style.color, markerfacecolor="white", markersize=6)
    ax.set_xscale("log")
    _legend_beside(ax)
    ax.set(
        xlabel="seconds of one core (hollow: the paper's, of the clock)",
        ylabel="normalised performance",
        title="speed and accuracy",
    )


def _legend_beside(ax: Axes, title: str | None = None) -> None:
    """To the right of a panel, the highest first."""
    handles, labels = ax.get_legend_handles_labels()
    place: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5), "fontsize": 7}
    ax.legend(handles[::-1], labels[::-1], title=title, handlelength=1.5, **place)


def _exposure(ax: Axes, table: pd.DataFrame) -> None:
    for name, part, style in (
        ("p from 2 to 10 %, 5,000 models", table[table["n_models"] == 5000], Style(PALETTE[5], "s")),
        ("3,000 to 10,000 models, p = 3 %", table[table["inclusion"] == 0.03], Style(PALETTE[0], "o")),
    ):
        if len(part) > 1:
            error = 2 * part["stderr"] if part["stderr"].notna().all() else None
            options: dict[str, Any] = {"color": style.color, "marker": style.marker, "capsize": 2}
            ax.errorbar(part["seen"], part["normalised"], error, label=name, **options)
    ax.legend(fontsize=7)
    count = int(table["repetitions"].min())
    ax.set(
        xlabel="times a row is seen, p · n_models",
        ylabel="normalised performance",
        title=f"rows seen, {count} repetition{'s' * (count > 1)}",
    )


def _kappa(ax: Axes, table: pd.DataFrame) -> None:
    """The fraction of each kappa at every budget, small ones dark, and the mean as a line."""
    import matplotlib as mpl

    wide = table.pivot(index="percent", columns="kappa", values="fraction").fillna(0.0)
    shades = mpl.colormaps["cividis"](np.linspace(0.0, 1.0, wide.shape[1]))
    bottom = np.zeros(len(wide))
    at = np.arange(len(wide))
    for shade, (value, fraction) in zip(shades, wide.items(), strict=True):
        ax.bar(
            at, fraction.to_numpy(), 0.75, bottom=bottom, color=shade, label=f"{value:g}", edgecolor="white"
        )
        bottom += fraction.to_numpy()
    mean = table.groupby("percent")["mean"].first()
    for x, value in zip(at, mean, strict=True):
        ax.text(float(x), 1.02, f"{value:.2f}", ha="center", fontsize=7)
    ax.set_xticks(at, [f"{level:g}" for level in wide.index])
    ax.set(
        xlabel="rows kept, % (above: the mean)",
        ylabel="fraction of runs",
        title="kappa chosen",
        ylim=(0, 1.1),
    )
    _legend_beside(ax, title="kappa")


def _overlap(ax: Axes, table: pd.DataFrame) -> None:
    top = np.ceil(10 * np.nanmax(table.to_numpy())) / 10
    ax.imshow(table.to_numpy(), cmap="cividis", vmin=0, vmax=top, origin="lower")
    names = [f"{level:g}" for level in table.index]
    ax.set_xticks(range(len(names)), names)
    ax.set_yticks(range(len(names)), names)
    for (row, column), value in np.ndenumerate(table.to_numpy()):
        if np.isfinite(value):
            shade = "white" if value < 0.55 * top else "black"
            ax.text(column, row, f"{value:.2f}", ha="center", va="center", color=shade, fontsize=6.5)
    ax.spines[:].set_visible(False)
    ax.set(xlabel="rows kept, %", ylabel="rows kept, %", title="overlap of kept sets")


def p_benchmark(frame: pd.DataFrame) -> Figure | None:
    """Accuracy for every p, a panel for each data set."""
    table = ablations.by_inclusion(frame)
    if table["inclusion"].nunique() < 2:
        return None
    values = sorted(table["inclusion"].unique())
    labels = {value: f"p = {value:.2f}" for value in values}
    styles = {value: Style(PALETTE[k % 7], "osD^vPX"[k % 7]) for k, value in enumerate(values)}
    return _by_dataset(table, [("inclusion", value, labels[value], styles[value], "-") for value in values])


def models_benchmark(frame: pd.DataFrame) -> Figure | None:
    """Accuracy for every number of models, with kappa (solid) and without (dotted); seconds in the legend."""
    table = ablations.by_models(frame)
    kinds = (
        table[["n_models", "kappa"]]
        .drop_duplicates()
        .sort_values(["kappa", "n_models"], ascending=[False, True])
    )
    if len(kinds) < 2:
        return None
    table["kind"] = table["n_models"].astype(str) + table["kappa"].astype(str)
    seconds = table.groupby("kind")["seconds"].mean()
    counts = sorted(table["n_models"].unique())
    lines = []
    for n_models, kappa in kinds.itertuples(index=False):
        key, place = f"{n_models}{kappa}", counts.index(n_models)
        label = f"{n_models:,} models{'' if kappa else ', no kappa'}"
        label += f" ({seconds[key]:.1f} s)" if pd.notna(seconds[key]) else ""
        style = Style(PALETTE[place % 7], "osD^vPX"[place % 7])
        lines.append(("kind", key, label, style, "-" if kappa else _DOTTED))
    return _by_dataset(table, lines, columns=3)


def _by_dataset(
    table: pd.DataFrame, lines: Sequence[tuple[str, object, str, Style, object]], columns: int = 4
) -> Figure:
    datasets = summary.in_order(table["dataset"])
    figure, axes = panels(len(datasets))
    for number, (ax, dataset) in enumerate(zip(axes, datasets, strict=True)):
        part = table[table["dataset"] == dataset]
        for column, value, label, style, line in lines:
            draw_curve(ax, part[part[column] == value], style, label, linestyle=line)
        ax.set(title=dataset, ylabel="test accuracy" if number % 3 == 0 else "")
        ax.set_xlabel("rows kept, %" if number + 3 >= len(datasets) else "")
    legend_below(figure, axes, columns=columns, note=told_repetitions(table, hollow=False))
    return figure


def spectrum(frame: pd.DataFrame) -> Figure | None:
    """Bars of the eight bands, seldom kept rows to the left and often kept ones to the right."""
    if not summary.same_split(frame):
        return None
    table = ablations.spectrum(frame)
    if table.empty:
        return None
    figure = new_figure(7.2, 1.3 + 0.32 * len(table))
    ax = figure.subplots()
    at, left = np.arange(len(table))[::-1], np.zeros(len(table))
    for name, color in zip(ablations.BANDS, _BANDS, strict=True):
        fraction = 100 * table[name].to_numpy()
        ax.barh(at, fraction, 0.7, left=left, color=color, label=name, edgecolor="white", linewidth=0.4)
        for y, start, width in zip(at, left, fraction, strict=True):
            if width >= 4:
                shade = "white" if color in {"#2B2B2B", "#6B6B6B", "#0072B2"} else "black"
                ax.text(
                    start + width / 2, y, f"{width:.0f}", ha="center", va="center", color=shade, fontsize=7
                )
        left += fraction
    for y, fraction in zip(at, table["majority"], strict=True):
        ax.plot([100 - 100 * fraction] * 2, [y - 0.43, y + 0.43], color="black", linewidth=1.6)
    ax.set_yticks(at, table["dataset"].to_list())
    ax.set(
        xlim=(0, 100),
        xlabel="training rows, % (right of the black line: kept by most of the runs at some budget)",
    )
    legend_below(figure, [ax], columns=4)
    return figure
