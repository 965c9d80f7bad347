"""The paper's figures of eight rows in four clusters: decisions, accuracies and values of a small network."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cdvm.benchmark.figures.style import new_figure, note_below
from cdvm.data.split import Split
from cdvm.datasets.clusters import PAPER_CLUSTERS, make_clusters
from cdvm.evaluation.scoring import evaluate_sets
from cdvm.learners import make_learner
from cdvm.plots import PALETTE, plot_decision, plot_sizes
from cdvm.sampling import Subsets
from cdvm.valuation import value_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["FIGURES", "cluster_data", "cluster_loo", "cluster_overview", "cluster_removed", "cluster_shapley"]

Rows = NDArray[np.int64]
_STEPS = 100
_MODEL = "mlp"
_NOTE = "model: a network with one hidden layer of 16 units; accuracy on 25 rows of each cluster"


class _Scene(NamedTuple):
    split: Split
    X: NDArray[np.float64]
    y: NDArray[Any]
    member: Rows


@cache
def _scene() -> _Scene:
    X, y, member = make_clusters(PAPER_CLUSTERS, random_state=0)
    X_test, y_test, _ = make_clusters(PAPER_CLUSTERS.resized(25), random_state=1)
    return _Scene(Split.from_arrays(X, y, X_test, y_test), X, y, member)


def _trained_on(rows: Rows) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """A small network's answers when it is trained on some rows."""
    split, learner = _scene().split, make_learner(_MODEL)
    subset = Subsets.of([rows], split.n_rows)
    return lambda points: split.labels(learner.predict(split, subset, points)[0])


def _decision(ax: Axes, kept: Rows) -> None:
    scene = _scene()
    plot_decision(scene.X, scene.y, _trained_on(kept), kept=kept, ax=ax, steps=_STEPS)
    ax.set(xticks=[], yticks=[])


def _number_rows(ax: Axes) -> None:
    """The rows of every cluster by number, beside it."""
    scene = _scene()
    for k in np.unique(scene.member):
        rows = np.flatnonzero(scene.member == k)
        x, y = scene.X[rows].mean(axis=0)
        low = k == 3  # beside a cluster of the other class
        place: dict[str, Any] = {"ha": "center", "va": "top" if low else "bottom", "fontsize": 7}
        ax.annotate(
            ", ".join(str(row + 1) for row in rows),
            (x, y),
            xytext=(0, -8 if low else 8),
            textcoords="offset points",
            **place,
        )


def _accuracies(sets: list[Rows]) -> NDArray[np.float64]:
    """Of the network trained on each set."""
    split = _scene().split
    found = evaluate_sets(split, make_learner(_MODEL), sets, split.evaluation, n_jobs=1, progress=False)
    return np.asarray(found[0].mean(axis=1))


def cluster_data() -> Figure:
    """All rows, and the decisions of a network trained on them."""
    figure = new_figure(3.6, 2.8)
    ax = figure.subplots()
    _decision(ax, np.arange(8))
    _number_rows(ax)
    note_below(figure, _NOTE.partition(";")[0])
    return figure


def cluster_removed() -> Figure:
    """Without each of the clusters in turn."""
    scene = _scene()
    figure = new_figure(6.0, 4.4)
    for k, ax in enumerate(figure.subplots(2, 2).flat):
        kept = np.flatnonzero(scene.member != k)
        _decision(ax, kept)
        ax.set_title(f"without cluster {k + 1}: accuracy {_accuracies([kept])[0]:.2f}")
    note_below(figure, _NOTE)
    return figure


def cluster_loo() -> Figure:
    """Without each of the rows in turn."""
    scene = _scene()
    figure = new_figure(7.2, 3.4)
    for row, ax in enumerate(figure.subplots(2, 4).flat):
        _decision(ax, np.delete(np.arange(8), row))
        ring = {"facecolor": "none", "edgecolor": "black", "s": 150, "linewidth": 1.0}
        ax.scatter(*scene.X[row], **ring)  # the rows of a cluster hide each other
        ax.set_title(f"without row {row + 1}, cluster {scene.member[row] + 1}")
    note_below(figure, _NOTE.partition(";")[0])
    return figure


def cluster_shapley() -> Figure:
    """Rows as large as their Shapley values."""
    figure = new_figure(3.6, 2.8)
    _sizes(figure.subplots())
    note_below(figure, "decisions and exact Shapley values of the same small network")
    return figure


def _sizes(ax: Axes) -> None:
    scene = _scene()
    plot_sizes(scene.X, scene.y, _shapley(), predict=_trained_on(np.arange(8)), ax=ax, area=400)
    ax.set(xticks=[], yticks=[])


@cache
def _shapley() -> NDArray[np.float64]:
    """Exact values of the network: all 256 sets are trained on."""
    return value_rows(_scene().split, make_learner(_MODEL), "shapley", n_jobs=1, progress=False).values


def cluster_overview() -> Figure:
    """The paper's first figure: the rows, one cluster less, Shapley values, and two orders of removal."""
    scene = _scene()
    figure = new_figure(7.2, 2.4)
    data, removed, sizes, curve = figure.subplots(1, 4, width_ratios=(1, 1, 1, 1.3))
    _decision(data, np.arange(8))
    _number_rows(data)
    _decision(removed, np.flatnonzero(scene.member != 3))
    _sizes(sizes)
    _orders(curve)
    names = ("all rows", "without cluster 4", "Shapley values", "removing rows")
    for letter, ax, name in zip("abcd", (data, removed, sizes, curve), names, strict=True):
        ax.set_title(f"({letter}) {name}")
    note_below(figure, f"{_NOTE}; numbers in (d): the row removed")
    return figure


def _orders(ax: Axes) -> None:
    """Accuracy while rows go one by one: by Shapley value, and keeping one row of every cluster."""
    first = np.unique(_scene().member, return_index=True)[1]
    best = np.concatenate([np.setdiff1d(np.arange(8), first), first])
    by_value = np.argsort(_shapley(), kind="stable")
    lines = (
        ("one of each cluster last", best, PALETTE[2], "o", "-", 5),
        ("lowest Shapley value first", by_value, "black", "s", "--", -11),
    )
    for name, order, color, marker, line, above in lines:
        scores = _accuracies([np.sort(order[gone:]) for gone in range(8)])
        ax.plot(np.arange(8), scores, color=color, marker=marker, linestyle=line, label=name)
        for gone, score in enumerate(scores[1:], start=1):
            place: dict[str, Any] = {"ha": "center", "fontsize": 6, "color": color}
            text = str(order[gone - 1] + 1)
            ax.annotate(text, (gone, score), xytext=(0, above), textcoords="offset points", **place)
    ax.set(xlabel="rows removed", ylabel="accuracy", ylim=(0, 1.12))
    ax.legend(loc="lower left", fontsize=6.5)


FIGURES: dict[str, Callable[[], Figure]] = {
    function.__name__: function
    for function in (cluster_overview, cluster_data, cluster_removed, cluster_loo, cluster_shapley)
}
