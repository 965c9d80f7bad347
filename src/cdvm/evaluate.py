"""How good is a model trained on a given set of rows?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cdvm.errors import InputError
from cdvm.learners.base import Learner, Trainer
from cdvm.parallel import stream
from cdvm.progress import Progress
from cdvm.split import Features, Split
from cdvm.subsets import Stream, Subsets, draw_words

__all__ = ["evaluate_sets", "random_sets", "score"]


def score(split: Split, y: NDArray[Any], answers: NDArray[Any]) -> NDArray[np.float64]:
    """Accuracy (R² for regression) of each model's answers, shape (n_models, n_rows)."""
    if split.task == "classification":
        return np.asarray((answers == y).mean(axis=1), dtype=np.float64)
    spread = float(((y - y.mean()) ** 2).mean())
    return np.asarray(1.0 - ((answers - y) ** 2).mean(axis=1) / (spread or 1.0), dtype=np.float64)


def evaluate_sets(
    split: Split,
    learner: Learner,
    sets: Sequence[ArrayLike],
    X: Features,
    y: NDArray[Any],
    *,
    repeats: int = 1,
    seed: int = 0,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> NDArray[np.float64]:
    """Train on each set of training rows and score on the rows ``X``, ``y``.

    Returns
    -------
    ndarray of shape (n_sets, repeats)
        Accuracy (R² for regression). A learner without randomness is trained once; its scores repeat.
    """
    trainer = learner.bind(split, X)
    runs = repeats if learner.stochastic else 1
    chunk = trainer.chunk
    pieces = [
        Subsets.of(sets[start : start + chunk], split.n_rows, seed=seed + run, first=start)
        for run in range(runs)
        for start in range(0, len(sets), chunk)
    ]
    scores: list[NDArray[np.float64]] = [np.empty(0)] * len(pieces)
    tasks = [(trainer, piece, y) for piece in pieces]
    with Progress("trainings", len(sets) * runs, enabled=progress) as bar:
        for k, answer in stream(_train_and_score, tasks, n_jobs=n_jobs, prefer=trainer.prefer):
            scores[k] = answer
            bar.advance(len(answer))
    table = np.concatenate(scores).reshape(runs, len(sets)).T
    return np.repeat(table, repeats // runs, axis=1)


def random_sets(n_rows: int, size: int, draws: int, *, seed: int = 0) -> list[NDArray[np.int64]]:
    """``draws`` sets of ``size`` distinct rows, each uniform."""
    if not 1 <= size <= n_rows:
        raise InputError(f"size={size}: use at least 1 row and at most the {n_rows} there are")
    keys = draw_words(seed, Stream.BASELINE, 0, draws, n_rows)
    return [np.sort(np.argsort(row)[:size]) for row in keys]


def _train_and_score(trainer: Trainer, subsets: Subsets, y: NDArray[Any]) -> NDArray[np.float64]:
    return score(trainer.split, y, trainer.predict(subsets))
