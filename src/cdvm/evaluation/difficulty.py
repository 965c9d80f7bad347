"""What models that did not see a training row say of it, and so how hard it is.

A row's *ease* is its mean margin (score of the true class less the best other, over the model's mean absolute
margin) by models trained on a random half of the other rows: below 0 it is usually wrong, close to 0 it lies
at the boundary. A learner without scores is asked right or wrong, 1 and -1, one for regression the negative
squared error. Its *residual* is the probability of each class less 1 for the true one (prediction less
target, for regression), the gradient of the log loss (squared error) with respect to the model's scores; its
*error* is the length of that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm._runtime.parallel import blas_threads
from cdvm._runtime.progress import Progress
from cdvm.data.split import Split
from cdvm.errors import InputError
from cdvm.learners import Trainer, make_learner
from cdvm.learners.fitting import fit_models
from cdvm.outcomes.kinds import margin_of
from cdvm.sampling import Design, Subsets

__all__ = [
    "difficulty_bins",
    "ease_of_rows",
    "ease_without_folds",
    "errors_of_rows",
    "residuals_of_rows",
]

Ask = Callable[[Trainer, Subsets], NDArray[np.float64]]

_MODELS = 20
_OF_A_FOLD = 10
_MOST_ROWS = 10_000  # of a model: a larger half says the same


def ease_of_rows(
    split: Split, learner: Any, *, seed: int = 0, n_jobs: int | None = -1, progress: bool | None = None
) -> NDArray[np.float64]:
    """Mean margin of each training row by models of half of the rows that did not see it.

    Examples
    --------
    >>> split = Split.from_arrays([[0.0], [1.0], [2.0], [3.0]] * 6, list("aabb") * 6, random_state=0)
    >>> ease = ease_of_rows(split, "logistic", n_jobs=1)
    >>> bool(ease[split.X[:, 0] == 0].mean() > ease[split.X[:, 0] == 1].mean() > 0)
    True
    """
    return _by_halves(split, learner, _margin, seed, n_jobs, progress)


def ease_without_folds(
    split: Split,
    learner: Any,
    folds: NDArray[np.int64],
    *,
    seed: int = 0,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> NDArray[np.float64]:
    """Ease as it would be if a fold of the rows were not known: a line a fold, by models without its rows.

    >>> split = Split.from_arrays([[0.0], [1.0], [2.0], [3.0]] * 6, list("aabb") * 6, random_state=0)
    >>> ease_without_folds(split, "logistic", np.arange(20) % 4, n_jobs=1).shape
    (4, 20)
    """
    count = int(folds.max()) + 1
    drawn = _halves(split.n_rows, count * _OF_A_FOLD, seed)
    left = [(rows := drawn.rows(k))[folds[rows] != k // _OF_A_FOLD] for k in range(len(drawn))]
    subsets = Subsets.of(left, split.n_rows, seed=seed)
    said = _ask_models(split, learner, _margin, subsets, n_jobs, progress)
    parts = [slice(k, k + _OF_A_FOLD) for k in range(0, len(drawn), _OF_A_FOLD)]
    return np.stack([_mean_outside(subsets[part], said[part]) for part in parts])


def residuals_of_rows(
    split: Split, learner: Any, *, seed: int = 0, n_jobs: int | None = -1, progress: bool | None = None
) -> NDArray[np.float64]:
    """Mean residual of each training row by models of half of the rows: one number a class, or one.

    >>> split = Split.from_arrays([[0.0], [1.0], [2.0], [3.0]] * 6, list("aabb") * 6, random_state=0)
    >>> residuals_of_rows(split, "logistic", n_jobs=1).shape
    (20, 2)
    """
    return _by_halves(split, learner, _residual, seed, n_jobs, progress)


def errors_of_rows(
    split: Split, learner: Any, *, seed: int = 0, n_jobs: int | None = -1, progress: bool | None = None
) -> NDArray[np.float64]:
    """Mean length of each training row's residual by models of half of the rows."""
    return _by_halves(split, learner, _length, seed, n_jobs, progress)


def _by_halves(
    split: Split, learner: Any, ask: Ask, seed: int, n_jobs: int | None, progress: bool | None
) -> NDArray[np.float64]:
    subsets = _halves(split.n_rows, _MODELS, seed)
    return _mean_outside(subsets, _ask_models(split, learner, ask, subsets, n_jobs, progress))


def _halves(n_rows: int, n_models: int, seed: int) -> Subsets:
    return Design(n_rows, min(0.5, _MOST_ROWS / n_rows), seed=seed).take(range(n_models))


def _ask_models(
    split: Split, learner: Any, ask: Ask, subsets: Subsets, n_jobs: int | None, progress: bool | None
) -> list[NDArray[np.float64]]:
    """What each model says of all training rows."""
    trainer = make_learner(learner).bind(split, split.X)
    parts = [subsets[k : k + 1] for k in range(len(subsets))]
    found = [np.empty(0)] * len(parts)  # added up in one order, whichever ends first
    with blas_threads(1), Progress("difficulty", len(parts), enabled=progress) as bar:
        for k, said in fit_models(trainer, parts, ask, n_jobs=n_jobs):
            found[k] = said
            bar.advance()
    return found


def _mean_outside(subsets: Subsets, found: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Mean of what each model says of the rows it did not see; rows that all saw get the mean of all."""
    n = subsets.members.shape[1]
    total, count = np.zeros(found[0].shape), np.zeros(n)
    for k, said in enumerate(found):
        outside = subsets.members[k : k + 1].toarray()[0] == 0
        total[outside] += said[outside]
        count[outside] += 1
    seen = count > 0
    mean = np.empty_like(total)
    mean[:] = total.sum(axis=0) / max(count.sum(), 1)
    mean[seen] = (total[seen].T / count[seen]).T
    return mean


def difficulty_bins(ease: NDArray[np.float64], bins: int, *, task: str) -> NDArray[np.int64]:
    """Bins of rows alike in difficulty, hardest first; rows usually wrong are a bin of their own.

    >>> difficulty_bins(np.array([-1.0, 0.1, 0.2, 0.8, 0.9]), 3, task="classification")
    array([0, 1, 1, 2, 2])
    """
    wrong = ease < 0 if task == "classification" else np.zeros(len(ease), dtype=bool)
    found = np.zeros(len(ease), dtype=np.int64)
    order = np.argsort(ease[~wrong], kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    parts = bins - 1 if task == "classification" else bins
    found[~wrong] = bins - parts + rank * parts // max(len(order), 1)
    return found


def _margin(trainer: Trainer, subsets: Subsets) -> NDArray[np.float64]:
    y = trainer.split.y
    if trainer.split.task == "regression":
        return np.asarray(-((trainer.predict(subsets)[0] - y) ** 2), dtype=np.float64)
    try:
        margin = margin_of(y, trainer.scores(subsets))[0].astype(np.float64)
    except InputError:  # no scores
        return np.where(trainer.predict(subsets)[0] == y, 1.0, -1.0)
    return np.asarray(margin / (np.abs(margin).mean() or 1.0))


def _residual(trainer: Trainer, subsets: Subsets) -> NDArray[np.float64]:
    y = trainer.split.y
    if trainer.split.task == "regression":
        return np.asarray(trainer.predict(subsets)[0] - y, dtype=np.float64)[:, None]
    return np.asarray(trainer.probabilities(subsets)[0] - np.eye(trainer.split.n_classes)[y])


def _length(trainer: Trainer, subsets: Subsets) -> NDArray[np.float64]:
    return np.asarray(np.linalg.norm(_residual(trainer, subsets), axis=1))
