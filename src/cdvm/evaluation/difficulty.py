"""What models that did not see a training row say of it, and so how hard it is.

A row's *ease* is its mean margin (score of the true class less the best other, over the model's mean absolute
margin) by models trained on a random half of the other rows: below 0 it is usually wrong, close to 0 it lies
at the boundary. A learner without scores is asked right or wrong, 1 and -1, one for regression the negative
squared error. Its *residual* is the probability of each class less 1 for the true one (prediction less
target, for regression), the gradient of the log loss (squared error) with respect to the model's scores; its
*error* is the length of that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
    "PARTS",
    "Difficulty",
    "difficulty_bins",
    "ease_around",
    "ease_of_rows",
    "ease_without_folds",
    "errors_of_rows",
    "find_difficulty",
    "residuals_of_rows",
]

PARTS = 4
"""Of a set, for its cross-validation."""

Ask = Callable[[Trainer, Subsets], NDArray[np.float64]]

_MODELS = 20
_FOLDS = 4
_OF_A_FOLD = 10
_TOGETHER = 16  # models a task trains, where they are trained together,
_ANSWERS = 2_000_000  # and rows they answer for, about
_MOST_ROWS = 10_000  # of a model: a larger half says the same


@dataclass(frozen=True, eq=False)
class Difficulty:
    """How hard the training rows are, by models that did not see them.

    Attributes
    ----------
    ease : ndarray of shape (n_rows,)
    folds : ndarray of shape (n_rows,)
        The fold that each row is in.
    without : ndarray of shape (n_folds, n_rows)
        Ease by models that saw no row of the fold.
    """

    ease: NDArray[np.float64]
    folds: NDArray[np.int64]
    without: NDArray[np.float64]


def find_difficulty(
    split: Split, learner: Any, *, seed: int = 0, n_jobs: int | None = -1, progress: bool | None = None
) -> Difficulty:
    """Ask models of random halves, of all rows and of those outside each fold."""
    own: dict[str, Any] = {"seed": seed, "n_jobs": n_jobs, "progress": progress}
    folds = np.random.default_rng([seed, 5]).permutation(split.n_rows) % _FOLDS
    trainer = _bound(split, learner)  # what models share is prepared once
    ease = _by_halves(trainer, _margins, **own)
    return Difficulty(ease, folds, _without_folds(trainer, folds, **own))


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
    return _by_halves(_bound(split, learner), _margins, seed, n_jobs, progress)


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
    return _without_folds(_bound(split, learner), folds, seed, n_jobs, progress)


def ease_around(
    trainer: Trainer,
    sets: Sequence[NDArray[np.int64]],
    rng: np.random.Generator,
    *,
    seed: int = 0,
    number: int = 0,
    n_jobs: int | None = -1,
) -> list[NDArray[np.float64]]:
    """Ease by models of each set: cross-validated for its own rows, the mean of these models for others.

    The trainer is to be bound to the training rows; equal numbers give models equal randomness.
    """
    left = [
        rows[part != k]
        for rows in sets
        for part in [rng.permutation(len(rows)) % PARTS]
        for k in range(PARTS)
    ]
    subsets = Subsets.of(left, trainer.split.n_rows, seed=seed, first=number * len(left))
    piece = 1 if trainer.one_by_one else max(1, min(_TOGETHER, _ANSWERS // trainer.split.n_rows))
    said = _gather(trainer, _margins, subsets, piece, n_jobs)
    parts = [slice(k, k + PARTS) for k in range(0, len(left), PARTS)]
    return [_mean_outside(subsets[part], said[part]) for part in parts]


def residuals_of_rows(
    split: Split, learner: Any, *, seed: int = 0, n_jobs: int | None = -1, progress: bool | None = None
) -> NDArray[np.float64]:
    """Mean residual of each training row by models of half of the rows: one number a class, or one.

    >>> split = Split.from_arrays([[0.0], [1.0], [2.0], [3.0]] * 6, list("aabb") * 6, random_state=0)
    >>> residuals_of_rows(split, "logistic", n_jobs=1).shape
    (20, 2)
    """
    return _by_halves(_bound(split, learner), _residuals, seed, n_jobs, progress)


def errors_of_rows(
    split: Split, learner: Any, *, seed: int = 0, n_jobs: int | None = -1, progress: bool | None = None
) -> NDArray[np.float64]:
    """Mean length of each training row's residual by models of half of the rows."""
    return _by_halves(_bound(split, learner), _lengths, seed, n_jobs, progress)


def _bound(split: Split, learner: Any) -> Trainer:
    """Ready to answer for all training rows."""
    return make_learner(learner).bind(split, split.X)


def _by_halves(
    trainer: Trainer, ask: Ask, seed: int, n_jobs: int | None, progress: bool | None
) -> NDArray[np.float64]:
    subsets = _halves(trainer.split.n_rows, _MODELS, seed)
    return _mean_outside(subsets, _ask_models(trainer, ask, subsets, n_jobs, progress))


def _without_folds(
    trainer: Trainer, folds: NDArray[np.int64], seed: int, n_jobs: int | None, progress: bool | None
) -> NDArray[np.float64]:
    count, n = int(folds.max()) + 1, trainer.split.n_rows
    drawn = _halves(n, count * _OF_A_FOLD, seed)
    left = [(rows := drawn.rows(k))[folds[rows] != k // _OF_A_FOLD] for k in range(len(drawn))]
    subsets = Subsets.of(left, n, seed=seed)
    said = _ask_models(trainer, _margins, subsets, n_jobs, progress)
    parts = [slice(k, k + _OF_A_FOLD) for k in range(0, len(drawn), _OF_A_FOLD)]
    return np.stack([_mean_outside(subsets[part], said[part]) for part in parts])


def _halves(n_rows: int, n_models: int, seed: int) -> Subsets:
    return Design(n_rows, min(0.5, _MOST_ROWS / n_rows), seed=seed).take(range(n_models))


def _ask_models(
    trainer: Trainer, ask: Ask, subsets: Subsets, n_jobs: int | None, progress: bool | None
) -> NDArray[np.float64]:
    """What each model says of all training rows, a line a model."""
    with Progress("difficulty", len(subsets), enabled=progress) as bar:
        return _gather(trainer, ask, subsets, 1, n_jobs, bar)


def _gather(
    trainer: Trainer, ask: Ask, subsets: Subsets, piece: int, n_jobs: int | None, bar: Progress | None = None
) -> NDArray[np.float64]:
    """Ask the models, ``piece`` of them a task."""
    pieces = [subsets[k : k + piece] for k in range(0, len(subsets), piece)]
    found = [np.empty(0)] * len(pieces)  # added up in one order, whichever ends first
    with blas_threads(1):
        for k, said in fit_models(trainer, pieces, ask, n_jobs=n_jobs):
            found[k] = said
            if bar is not None:
                bar.advance(len(said))
    return np.concatenate(found)


def _mean_outside(subsets: Subsets, found: NDArray[np.float64]) -> NDArray[np.float64]:
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


def _margins(trainer: Trainer, subsets: Subsets) -> NDArray[np.float64]:
    y = trainer.split.y
    if trainer.split.task == "regression":
        return np.asarray(-((trainer.predict(subsets) - y) ** 2), dtype=np.float64)
    try:
        margins = margin_of(y, trainer.scores(subsets)).astype(np.float64)
    except InputError:  # no scores
        return np.where(trainer.predict(subsets) == y, 1.0, -1.0)
    scale = np.abs(margins).mean(axis=1, keepdims=True)
    return np.asarray(margins / np.where(scale > 0, scale, 1.0))


def _residuals(trainer: Trainer, subsets: Subsets) -> NDArray[np.float64]:
    y = trainer.split.y
    if trainer.split.task == "regression":
        return np.asarray(trainer.predict(subsets) - y, dtype=np.float64)[:, :, None]
    return np.asarray(trainer.probabilities(subsets) - np.eye(trainer.split.n_classes)[y])


def _lengths(trainer: Trainer, subsets: Subsets) -> NDArray[np.float64]:
    return np.asarray(np.linalg.norm(_residuals(trainer, subsets), axis=2))
