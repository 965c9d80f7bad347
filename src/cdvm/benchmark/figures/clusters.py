"""The paper's figures of eight rows in four clusters, with a small network's decisions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cdvm.benchmark.figures.style import new_figure
from cdvm.data.split import Split
from cdvm.datasets.clusters import PAPER_CLUSTERS, ClusterLearner, make_clusters
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
    split, learner = _scene().split, make_learner("mlp")
    subset = Subsets.of([rows], split.n_rows)
    return lambda points: split.labels(learner.predict(split, subset, points)[0])


def _decision(ax: Axes, kept: Rows) -> None:
    scene = _scene()
    plot_decision(scene.X, scene.y, _trained_on(kept), kept=kept, ax=ax, steps=_STEPS)
    ax.set(xticks=[], yticks=[])


def cluster_data() -> Figure:
    """All rows, and the decisions of a network trained on them."""
    figure = new_figure(3.6, 2.7)
    _decision(figure.subplots(), np.arange(8))
    return figure


def cluster_removed() -> Figure:
    """Without each of the clusters in turn."""
    scene = _scene()
    figure = new_figure(6.0, 4.4)
    for k, ax in enumerate(figure.subplots(2, 2).flat):
        kept = np.flatnonzero(scene.member != k)
        accuracy = evaluate_sets(
            scene.split, make_learner("mlp"), [kept], scene.split.evaluation, n_jobs=1, progress=False
        ).mean()
        _decision(ax, kept)
        ax.set_title(f"without cluster {k + 1}: accuracy {accuracy:.2f}")
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
    return figure


def cluster_shapley() -> Figure:
    """Rows as large as their Shapley values."""
    figure = new_figure(3.6, 2.7)
    _sizes(figure.subplots())
    return figure


def _sizes(ax: Axes) -> None:
    scene = _scene()
    plot_sizes(scene.X, scene.y, _shapley(), predict=_trained_on(np.arange(8)), ax=ax, area=400)
    ax.set(xticks=[], yticks=[])


@cache
def _shapley() -> NDArray[np.float64]:
    return value_rows(_scene().split, ClusterLearner(), "shapley", progress=False).values


def cluster_overview() -> Figure:
    """The paper's first figure: the rows, one cluster less, Shapley values, and two orders of removal."""
    scene = _scene()
    figure = new_figure(7.2, 2.2)
    data, removed, sizes, curve = figure.subplots(1, 4)
    _decision(data, np.arange(8))
    _decision(removed, np.flatnonzero(scene.member != 3))
    _sizes(sizes)
    _orders(curve)
    names = ("all rows", "one cluster less", "Shapley values", "removing rows")
    for letter, ax, name in zip("abcd", (data, removed, sizes, curve), names, strict=True):
        ax.set_title(f"({letter}) {name}")
    return figure


def _orders(ax: Axes) -> None:
    """Accuracy while rows go one by one: by Shapley value, and keeping one row of every cluster."""
    scene = _scene()
    first = np.unique(scene.member, return_index=True)[1]
    best = np.concatenate([np.setdiff1d(np.arange(8), first), first])
    by_value = np.argsort(_shapley(), kind="stable")
    lines = (("optimal", best, PALETTE[2], "o", "-"), ("Shapley", by_value, "black", "s", "--"))
    for name, order, color, marker, line in lines:
        sets = [np.sort(order[gone:]) for gone in range(8)]
        scores = evaluate_sets(
            scene.split, ClusterLearner(), sets, scene.split.evaluation, n_jobs=1, progress=False
        )
        ax.plot(np.arange(8), scores[0].mean(axis=1), color=color, marker=marker, linestyle=line, label=name)
    ax.set(xlabel="rows removed", ylabel="accuracy", ylim=(0, 1.05))
    ax.legend(loc="lower left")


FIGURES: dict[str, Callable[[], Figure]] = {
    function.__name__: function
    for function in (cluster_overview, cluster_data, cluster_removed, cluster_loo, cluster_shapley)
}
