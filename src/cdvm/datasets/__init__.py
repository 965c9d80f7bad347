"""Data sets by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cdvm.datasets.clusters import PAPER_CLUSTERS, ClusterGame, ClusterLearner, Clusters, make_clusters
from cdvm.errors import InputError
from cdvm.learners import Learner

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "PAPER_CLUSTERS",
    "ClusterGame",
    "Clusters",
    "Dataset",
    "dataset_names",
    "load_dataset",
    "make_clusters",
]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table with a target column, and validation and test tables where the data set brings its own.

    Attributes
    ----------
    name : str
    table : DataFrame
    target : str
    validation, test : DataFrame or None
    learner : str or Learner
        A learner that suits the data.
    scale : bool
        Whether features are better standardised.
    """

    name: str
    table: pd.DataFrame
    target: str = "target"
    validation: pd.DataFrame | None = None
    test: pd.DataFrame | None = None
    learner: str | Learner = "logistic"
    scale: bool = True


def _from_sklearn(name: str, **fields: Any) -> Dataset:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    table = bunch.frame
    if name != "digits":
        table = table.assign(target=[str(bunch.target_names[code]) for code in table["target"]])
    return Dataset(name, table, **fields)


def _clusters() -> Dataset:
    train, validation, test = (
        _cluster_table(PAPER_CLUSTERS if part == 0 else PAPER_CLUSTERS.resized(25), seed=part)
        for part in range(3)
    )
    return Dataset("clusters", train, validation=validation, test=test, learner=ClusterLearner(), scale=False)


def _cluster_table(clusters: Any, seed: int) -> pd.DataFrame:
    import pandas as pd

    X, y, _ = make_clusters(clusters, random_state=seed)
    return pd.DataFrame({"x1": X[:, 0], "x2": X[:, 1], "target": y})


_BUNDLED: dict[str, Callable[[], Dataset]] = {
    "digits": lambda: _from_sklearn("digits", scale=False),
    "breast_cancer": lambda: _from_sklearn("breast_cancer"),
    "wine": lambda: _from_sklearn("wine"),
    "clusters": _clusters,
}


def dataset_names() -> list[str]:
    """Names :func:`load_dataset` knows."""
    return list(_BUNDLED)


def load_dataset(name: str) -> Dataset:
    """A data set by name.

    >>> load_dataset("wine").table.shape
    (178, 14)
    """
    if name not in _BUNDLED:
        near = difflib.get_close_matches(name, _BUNDLED, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise InputError(f"dataset={name!r} is unknown: {hint}choose from {', '.join(_BUNDLED)}")
    return _BUNDLED[name]()
