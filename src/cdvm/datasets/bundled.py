"""Data sets that need no file: three that scikit-learn brings, the paper's clusters, two generated tables."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from cdvm.datasets.base import Dataset, Info, Recipe
from cdvm.datasets.clusters import PAPER_CLUSTERS, ClusterLearner, make_clusters

__all__ = ["RECIPES"]


def _from_sklearn(name: str, **fields: Any) -> Dataset:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    y = bunch.target if name == "digits" else np.asarray(bunch.target_names).astype(str)[bunch.target]
    return Dataset(name, bunch.data, y, tuple(map(str, bunch.feature_names)), **fields)


def _clusters() -> Dataset:
    large = PAPER_CLUSTERS.resized(25)
    drawn = [make_clusters(PAPER_CLUSTERS if seed == 0 else large, random_state=seed) for seed in range(3)]
    (X, y, _), (X_val, y_val, _), (X_test, y_test, _) = drawn
    return Dataset(
        "clusters",
        X,
        y,
        ("x1", "x2"),
        X_val=X_val,
        y_val=y_val,
        X_test=X_test,
        y_test=y_test,
        learner=ClusterLearner(),
        scale=False,
    )


def _generated(name: str, **options: Any) -> Dataset:
    from sklearn.datasets import make_classification

    X, y = make_classification(n_samples=5000, n_features=30, random_state=0, **options)
    return Dataset(name, X, y, tuple(f"x{k + 1}" for k in range(30)))


def _recipe(name: str, rows: int, features: int, classes: int, load: Any, source: str) -> Recipe:
    return Recipe(lambda: Info(name, rows, features, classes, source, "bundled"), load)


RECIPES = {
    "digits": _recipe("digits", 1797, 64, 10, partial(_from_sklearn, "digits", scale=False), "scikit-learn"),
    "breast_cancer": _recipe(
        "breast_cancer", 569, 30, 2, partial(_from_sklearn, "breast_cancer"), "scikit-learn"
    ),
    "wine": _recipe("wine", 178, 13, 3, partial(_from_sklearn, "wine"), "scikit-learn"),
    "clusters": _recipe("clusters", 8, 2, 2, _clusters, "synthetic"),
    "mixture": _recipe(
        "mixture",
        5000,
        30,
        4,
        partial(_generated, "mixture", n_classes=4, n_informative=10, n_clusters_per_class=2, class_sep=1.5),
        "generated",
    ),
    "imbalanced": _recipe(
        "imbalanced",
        5000,
        30,
        2,
        partial(_generated, "imbalanced", n_informative=8, weights=[0.9], flip_y=0.02),
        "generated",
    ),
}
