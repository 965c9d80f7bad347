"""Evaluation rows that no set can hold: synthetic ones, labelled by models of all rows.

The training rows outside a set say less of it the larger it is. They are fewer, and easier where the set
holds the hard ones: on those left everybody is right. And their labels take part in what is called hard, so
that sets chosen by difficulty lean towards them. A synthetic row has none of that. Each of its columns is
that of a training row or of one of its nearest neighbours, by the toss of a coin, so that any column keeps
its values, strings and missing ones included; its label is what boosted trees and a forest say together, both
trained on all rows (the forest alone, where columns and classes are many). What a set is worth is then how
well its model agrees with them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from cdvm._runtime.progress import Progress
from cdvm.data.raw import RawColumns, stack_rows
from cdvm.data.split import Features, Split
from cdvm.learners.relatives import as_numbers

__all__ = ["with_synthetic_rows"]

_MOST = 4000  # synthetic rows; as many as training rows where these are fewer
_AMONG = 20_000  # rows that a neighbour is looked for among
_NEIGHBORS = 5
_TAUGHT = 20_000  # rows that the labels are learnt from
_TREES = 100
_WIDE = 1000  # columns times trees a round, above which boosting would take minutes


def with_synthetic_rows(
    split: Split, *, seed: int = 0, n_jobs: int | None = None, progress: bool | None = None
) -> Split | None:
    """The same training rows with synthetic ones among (or in the place of) the validation rows.

    None for regression, for sparse features, and where there are too few rows to learn a label from.

    Parameters
    ----------
    split : Split
        Of numbers or of columns as they came.
    seed : int
    n_jobs : int, optional
        Cores for the models that label them; the answer is the same.
    progress : bool, optional
    """
    if split.task == "regression" or sparse.issparse(split.X):
        return None
    numbers, rng = as_numbers(replace(split, X_val=None, y_val=None)), np.random.default_rng([seed, 5])
    if sparse.issparse(numbers.X) or split.n_rows <= _NEIGHBORS:
        return None
    first, second = _parents(np.asarray(numbers.X), rng)
    X = _crossed(split.X, first, second, rng)
    shown = as_numbers(replace(split, X_val=X, y_val=split.y[first]))
    y = _labels(numbers, shown.X_val, rng, n_jobs, progress)
    if split.X_val is not None and split.y_val is not None:
        X, y = stack_rows([split.X_val, X]), np.concatenate([split.y_val, y])
    return replace(split, X_val=X, y_val=y, evaluation_rows=None)


def _parents(X: NDArray[np.float64], rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Training rows, no one twice, and for each one of its nearest."""
    from sklearn.neighbors import NearestNeighbors

    first = rng.permutation(len(X))[:_MOST]
    among = np.sort(rng.permutation(len(X))[:_AMONG])
    k = min(_NEIGHBORS + 1, len(among))
    near = among[NearestNeighbors(n_neighbors=k).fit(X[among]).kneighbors(X[first], return_distance=False)]
    # the row itself, or the farthest where it is not among them
    other = np.argsort(near == first[:, None], axis=1, kind="stable")[:, : k - 1]
    chosen = other[np.arange(len(first)), rng.integers(0, k - 1, len(first))]
    return first, near[np.arange(len(first)), chosen]


def _crossed(X: Features, first: Any, second: Any, rng: np.random.Generator) -> Features:
    """Rows with each column of the one parent or of the other."""
    mask = rng.random((len(first), X.shape[1])) < 0.5
    if not isinstance(X, RawColumns):
        return np.where(mask, X[first], X[second])
    table = X.table
    if not hasattr(table, "iloc"):
        return RawColumns(np.where(mask, table[first], table[second]))
    here, there = (table.iloc[rows].reset_index(drop=True) for rows in (first, second))
    return RawColumns(here.where(mask, there).astype(table.dtypes.to_dict()))


def _labels(
    split: Split, X: Any, rng: np.random.Generator, n_jobs: int | None, progress: bool | None
) -> NDArray[np.int64]:
    """What models of all rows call the given ones."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

    rows = np.sort(rng.permutation(split.n_rows)[:_TAUGHT])
    seed, said = int(rng.integers(2**31)), np.zeros((len(X), split.n_classes))
    jobs = effective_n_jobs(n_jobs)
    teachers: list[Any] = [RandomForestClassifier(_TREES, random_state=seed, n_jobs=jobs)]
    if X.shape[1] * (1 if split.n_classes == 2 else split.n_classes) <= _WIDE:
        boosting = HistGradientBoostingClassifier(max_iter=_TREES, early_stopping=False, random_state=seed)
        teachers.append(boosting)
    # one thread for boosting: several wait for each other where cores are busy
    with (
        threadpool_limits(1, user_api="openmp"),
        Progress("synthetic rows", len(teachers), enabled=progress) as bar,
    ):
        for teacher in teachers:
            teacher.fit(split.X[rows], split.y[rows])
            said[:, teacher.classes_] += teacher.predict_proba(X)
            bar.advance()
    return np.asarray(said.argmax(axis=1))
