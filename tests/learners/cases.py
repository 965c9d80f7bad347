"""Splits and scikit-learn's answers, for the tests that compare batched learners with it."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
from sklearn import datasets
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from cdvm.data.split import Split
from cdvm.sampling import Design, Subsets

N_TRAIN, N_ANSWERS = 120, 100


@cache
def split_of(name: str, task: str = "classification") -> Split:
    """A small split: training rows, and validation rows to answer for."""
    if name == "synthetic":
        X, y = datasets.make_classification(
            400, 60, n_informative=8, n_classes=4, class_sep=1.5, random_state=0
        )
    elif name == "regression":
        X, y = datasets.make_regression(400, 40, noise=5.0, random_state=0)
    else:
        X, y = getattr(datasets, f"load_{name.removesuffix('_raw')}")(return_X_y=True)
    if not name.endswith("_raw"):
        X = StandardScaler().fit_transform(X)
    order = np.random.default_rng(0).permutation(len(y))
    a, b = order[:N_TRAIN], order[N_TRAIN : N_TRAIN + N_ANSWERS]
    return Split.from_arrays(X[a], y[a], X[b], y[b], task=task)


def draw(n_models: int, inclusion: float = 0.2, kind: str = "bernoulli", seed: int = 1) -> Subsets:
    return Design(N_TRAIN, inclusion, kind=kind, seed=seed).take(range(n_models))


def peer_labels(estimator, split: Split, subsets: Subsets, X=None) -> np.ndarray:
    """Predictions of one scikit-learn fit a subset."""
    X = split.X_val if X is None else X
    return np.stack([model.predict(X) for model in _fits(estimator, split, subsets)])


def peer_scores(estimator, split: Split, subsets: Subsets) -> np.ndarray:
    """Decision values per class, NaN for classes a model never saw."""
    scores = np.full((len(subsets), split.X_val.shape[0], split.n_classes), np.nan)
    for k, model in enumerate(_fits(estimator, split, subsets)):
        values = model.decision_function(split.X_val)
        scores[k][:, model.classes_] = values if values.ndim == 2 else np.column_stack([-values, values])
    return scores


def score_gap(scores: np.ndarray, peer: np.ndarray) -> float:
    """Largest difference over the classes present, up to a shift common to all classes of a row."""
    ours = np.where(np.isnan(peer), np.nan, scores)
    shifted = ours - np.nanmean(ours, axis=2, keepdims=True)
    return float(np.nanmax(np.abs(shifted - (peer - np.nanmean(peer, axis=2, keepdims=True)))))


def _fits(estimator, split: Split, subsets: Subsets):
    for k in range(len(subsets)):
        rows = subsets.rows(k)
        with warnings.catch_warnings(), threadpool_limits(1):  # threads only slow down fits this small
            warnings.simplefilter("ignore")
            yield clone(estimator).fit(split.X[rows], split.y[rows])
