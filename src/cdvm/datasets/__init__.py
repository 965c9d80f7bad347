"""Data sets by name: bundled ones, the six of the paper's benchmark, and Fashion-MNIST."""

from __future__ import annotations

from cdvm.datasets import bundled, images, tabular, text
from cdvm.datasets.base import Dataset, Info, standardize
from cdvm.datasets.clusters import PAPER_CLUSTERS, ClusterGame, ClusterLearner, Clusters, make_clusters
from cdvm.errors import unknown_name

__all__ = [
    "PAPER_CLUSTERS",
    "ClusterGame",
    "ClusterLearner",
    "Clusters",
    "Dataset",
    "Info",
    "dataset_info",
    "dataset_names",
    "load_dataset",
    "make_clusters",
    "standardize",
]

_RECIPES = bundled.RECIPES | tabular.RECIPES | text.RECIPES | images.RECIPES


def dataset_names() -> list[str]:
    """Names :func:`load_dataset` knows."""
    return list(_RECIPES)


def dataset_info(name: str) -> Info:
    """Size, source and whereabouts of a data set, without loading it.

    >>> dataset_info("wine")
    Info(name='wine', rows=178, features=13, classes=3, source='scikit-learn', here='bundled')
    """
    _check(name)
    return _RECIPES[name].describe()


def load_dataset(name: str) -> Dataset:
    """A data set by name; one that is not here is downloaded first.

    >>> load_dataset("wine").table.shape
    (178, 14)
    """
    _check(name)
    return _RECIPES[name].checked()


def _check(name: str) -> None:
    if name not in _RECIPES:
        raise unknown_name("dataset", name, _RECIPES)
