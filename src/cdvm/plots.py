"""Figures from results. Nothing is computed here but the colours of a plane.

Every function draws on the axes it is given, or on new ones, and returns them. Colours are Okabe and Ito's,
which colour-blind readers can tell apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cdvm.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cdvm.evaluation.curve import Curve

__all__ = ["PALETTE", "plot_curve", "plot_curves", "plot_decision", "plot_sizes", "plot_values"]

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_GREY = "#9A9A9A"
_MARKERS = "osD^vPX"


def plot_curves(
    retained: ArrayLike,
    curves: Mapping[str, ArrayLike],
    *,
    random: tuple[ArrayLike, ArrayLike] | None = None,
    all_rows: float | None = None,
    ax: Axes | None = None,
    xlabel: str = "fraction of rows kept",
    ylabel: str = "accuracy",
) -> Axes:
    """Accuracy over what is retained.

    Parameters
    ----------
    retained : sequence
        Fractions (or numbers) of rows kept.
    curves : mapping from a name to as many accuracies
    random : (mean, standard deviation), optional
        Random rows, drawn as a band.
    all_rows : float, optional
        Accuracy with all rows, drawn as a line.
    ax : Axes, optional
    """
    at = np.asarray(retained, dtype=np.float64)
    ax = _axes(ax)
    if random is not None:
        mean, deviation = (_as_long(part, at, "random") for part in random)
        ax.fill_between(at, mean - deviation, mean + deviation, color=_GREY, alpha=0.3, linewidth=0)
        ax.plot(at, mean, color=_GREY, label="random")
    for number, (name, curve) in enumerate(curves.items()):
        marker = _MARKERS[number % len(_MARKERS)]
        ax.plot(at, _as_long(curve, at, name), color=_colour(number), marker=marker, label=name)
    if all_rows is not None:
        ax.axhline(all_rows, color="black", linestyle=":", linewidth=1, label="all rows")
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.legend(frameon=False)
    return ax


def plot_curve(curve: Curve, *, ax: Axes | None = None) -> Axes:
    """Score over rows kept, beside random rows and all rows; bands of one standard error.

    Parameters
    ----------
    curve : Curve
        From ``CDVM.curve`` or ``CDVM.smallest``.
    ax : Axes, optional
    """
    frame = curve.to_frame()
    at, score, error = (frame[name].to_numpy() for name in ("fraction", "score", "score_error"))
    ax = _axes(ax)
    ax.fill_between(at, score - error, score + error, color=_colour(0), alpha=0.2, linewidth=0)
    plot_curves(
        at,
        {"kept": score},
        random=(frame["random"], frame["random_error"]),
        all_rows=float(frame["all_rows"].iloc[0]),
        ax=ax,
        ylabel=curve.metric,
    )
    ax.set_xscale("log")
    return ax


def plot_decision(
    X: ArrayLike,
    y: ArrayLike,
    predict: Any = None,
    *,
    kept: ArrayLike | None = None,
    ax: Axes | None = None,
    margin: float = 0.75,
    steps: int = 200,
) -> Axes:
    """Rows of two features in the colours of their classes, over the regions a model decides for.

    Parameters
    ----------
    X : array of shape (n_rows, 2)
    y : labels
    predict : function from points of shape (k, 2) to k labels, optional
        A trained model's ``predict``.
    kept : positions, optional
        The rows that stay; the others are drawn grey.
    ax : Axes, optional
    margin : float
        Room around the rows.
    steps : int
        Points per axis at which the model is asked.
    """
    points, labels = np.asarray(X, dtype=np.float64), np.asarray(y)
    if points.ndim != 2 or points.shape[1] != 2:
        raise InputError(f"X has shape {points.shape}: a plane needs two features")
    ax = _axes(ax)
    classes = np.unique(labels)
    if predict is not None:
        _regions(ax, points, classes, predict, margin, steps)
    stays = np.ones(len(points), dtype=bool)
    if kept is not None:
        stays[:] = False
        stays[np.asarray(kept, dtype=np.int64)] = True
    ax.scatter(points[~stays, 0], points[~stays, 1], color=_GREY, marker="x", s=35, linewidth=1.2)
    for number, label in enumerate(classes):
        mine = stays & (labels == label)
        marker = _MARKERS[number % len(_MARKERS)]
        ax.scatter(
            points[mine, 0],
            points[mine, 1],
            color=_colour(number),
            marker=marker,
            s=45,
            edgecolor="white",
            label=str(label),
        )
    return ax


def plot_values(values: Any, *, labels: Sequence[Any] | None = None, ax: Axes | None = None) -> Axes:
    """One bar a row; error bars of two standard errors where the values carry them.

    Parameters
    ----------
    values : Values or sequence of numbers
    labels : sequence, optional
        A group per row, told apart by colour: its class, or its cluster.
    ax : Axes, optional
    """
    heights, errors = _numbers(values), getattr(values, "stderr", None)
    ax = _axes(ax)
    groups = np.zeros(len(heights)) if labels is None else np.asarray(labels)
    for number, group in enumerate(np.unique(groups)):
        mine = np.flatnonzero(groups == group)
        ax.bar(
            mine,
            heights[mine],
            yerr=None if errors is None else 2 * np.asarray(errors)[mine],
            color=_colour(number),
            label=None if labels is None else str(group),
        )
    ax.axhline(0.0, color="black", linewidth=0.8)
    ax.set(xlabel="row", ylabel=getattr(values, "method", "value").replace("_", " "))
    if labels is not None:
        ax.legend(frameon=False)
    return ax


def plot_sizes(
    X: ArrayLike, y: ArrayLike, values: Any, *, predict: Any = None, ax: Axes | None = None, area: float = 600
) -> Axes:
    """Rows of two features, as large as their values (the largest has the given area)."""
    points, labels, sizes = np.asarray(X, dtype=np.float64), np.asarray(y), _numbers(values)
    if points.ndim != 2 or points.shape[1] != 2:
        raise InputError(f"X has shape {points.shape}: a plane needs two features")
    ax = _axes(ax)
    classes = np.unique(labels)
    if predict is not None:
        _regions(ax, points, classes, predict, 0.75, 200)
    shown = area * np.maximum(sizes, 0.0) / (float(sizes.max()) if sizes.max() > 0 else 1.0)
    for number, label in enumerate(classes):
        mine = labels == label
        colour = _colour(number)
        ax.scatter(
            points[mine, 0],
            points[mine, 1],
            s=shown[mine],
            color=colour,
            alpha=0.6,
            edgecolor=colour,
            label=str(label),
        )
        ax.scatter(points[mine, 0], points[mine, 1], s=4, color="black")
    return ax


def _regions(
    ax: Axes, points: NDArray[Any], classes: NDArray[Any], predict: Any, margin: float, steps: int
) -> None:
    from matplotlib.colors import ListedColormap

    low, high = points.min(axis=0) - margin, points.max(axis=0) + margin
    across, up = (np.linspace(low[k], high[k], steps) for k in (0, 1))
    grid = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    answers = np.asarray(predict(grid))
    code = np.full(len(answers), -1.0)
    for number, label in enumerate(classes):
        code[answers == label] = number
    plane = np.ma.masked_less(code.reshape(steps, steps), 0)
    colours = ListedColormap([_colour(number) for number in range(len(classes))])
    ax.pcolormesh(
        across, up, plane, cmap=colours, vmin=-0.5, vmax=len(classes) - 0.5, alpha=0.18, rasterized=True
    )
    if len(classes) == 2:
        ax.contour(across, up, plane.filled(-1), levels=[0.5], colors="black", linewidths=1)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise InputError("figures need matplotlib: pip install cdvm[plot]") from error
    return pyplot.subplots(layout="constrained")[1]


def _numbers(values: Any) -> NDArray[np.float64]:
    # a Values carries them in an attribute, which of an array or a mapping is something else
    plain = values.values if hasattr(values, "method") else values
    return np.asarray(plain, dtype=np.float64)


def _as_long(curve: ArrayLike, at: NDArray[Any], name: str) -> NDArray[np.float64]:
    numbers = np.asarray(curve, dtype=np.float64)
    if numbers.shape != at.shape:
        raise InputError(f"{name} has {numbers.size} numbers for {at.size} retained fractions")
    return numbers


def _colour(number: int) -> str:
    return PALETTE[number % len(PALETTE)]
