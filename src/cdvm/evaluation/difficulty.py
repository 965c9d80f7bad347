"""How hard every training row is for models that did not see it.

A row's *ease* is its mean margin (score of the true class less the best other, over the model's mean absolute
margin) by models trained on a random half of the other rows: below 0 it is usually wrong, close to 0 it lies
at the boundary. A learner without scores is asked right or wrong, 1 and -1, one for regression the negative
squared error.
"""

from __future__ import annotations

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

__all__ = ["difficulty_bins", "ease_of_rows"]

_MODELS = 20
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
    n = split.n_rows
    trainer = make_learner(learner).bind(split, split.X)
    design = Design(n, min(0.5, _MOST_ROWS / n), seed=seed)
    subsets = design.take(range(_MODELS))
    parts = [subsets[k : k + 1] for k in range(_MODELS)]
    found = [np.empty(0)] * _MODELS  # added up in one order, whichever ends first
    with blas_threads(1), Progress("difficulty", _MODELS, enabled=progress) as bar:
        for k, margin in fit_models(trainer, parts, _margin, n_jobs=n_jobs):
            found[k] = margin
            bar.advance()
    total, count = np.zeros(n), np.zeros(n)
    for part, margin in zip(parts, found, strict=True):
        outside = part.members.toarray()[0] == 0
        total[outside] += margin[outside]
        count[outside] += 1
    seen = count > 0
    ease = np.full(n, total.sum() / max(count.sum(), 1))
    ease[seen] = total[seen] / count[seen]
    return ease


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
