"""How good is a model trained on a given set of rows, and how good on as many random ones?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from cdvm.errors import InputError
from cdvm.learners.base import Learner, Trainer
from cdvm.parallel import stream
from cdvm.progress import Progress
from cdvm.split import Features, Split
from cdvm.subsets import Stream, Subsets, draw_words

__all__ = ["Comparison", "compare_with_random", "evaluate_sets", "random_sets", "score"]

Scores = NDArray[np.float64]


def score(split: Split, y: NDArray[Any], answers: NDArray[Any]) -> Scores:
    """Accuracy (R² for regression) of each model's answers, shape (n_models, n_rows)."""
    if split.task == "classification":
        return np.asarray((answers == y).mean(axis=1), dtype=np.float64)
    spread = float(((y - y.mean()) ** 2).mean())
    return np.asarray(1.0 - ((answers - y) ** 2).mean(axis=1) / (spread or 1.0), dtype=np.float64)


def evaluate_sets(
    split: Split,
    learner: Learner,
    sets: Sequence[ArrayLike],
    *parts: tuple[Features, NDArray[Any]],
    repeats: int = 1,
    seed: int = 0,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> Scores:
    """Train on each set of training rows, and score on one or several parts ``(X, y)``.

    Returns
    -------
    ndarray of shape (n_parts, n_sets, repeats)
        Accuracy (R² for regression). A learner without randomness is trained once; its scores repeat.
    """
    stack = sparse.vstack if sparse.issparse(split.X) else np.concatenate
    trainer = learner.bind(split, stack([X for X, _ in parts]))
    ends = np.cumsum([len(y) for _, y in parts])
    runs = repeats if learner.stochastic else 1
    pieces = [
        Subsets.of(sets[start : start + trainer.chunk], split.n_rows, seed=seed + run, first=start)
        for run in range(runs)
        for start in range(0, len(sets), trainer.chunk)
    ]
    scores: list[Scores] = [np.empty(0)] * len(pieces)
    tasks = [(trainer, piece, [y for _, y in parts], ends) for piece in pieces]
    with Progress("trainings", len(sets) * runs, enabled=progress) as bar:
        for k, answer in stream(_train_and_score, tasks, n_jobs=n_jobs, prefer=trainer.prefer):
            scores[k] = answer
            bar.advance(answer.shape[1])
    table = np.concatenate(scores, axis=1).reshape(len(parts), runs, len(sets)).transpose(0, 2, 1)
    return np.repeat(table, repeats // runs, axis=2)


def _train_and_score(trainer: Trainer, subsets: Subsets, labels: list[Any], ends: NDArray[Any]) -> Scores:
    answers = np.split(trainer.predict(subsets), ends[:-1], axis=1)
    return np.stack([score(trainer.split, y, a) for y, a in zip(labels, answers, strict=True)])


def random_sets(n_rows: int, size: int, draws: int, *, seed: int = 0) -> list[NDArray[np.int64]]:
    """``draws`` sets of ``size`` distinct rows, each uniform."""
    if not 1 <= size <= n_rows:
        raise InputError(f"size={size}: use at least 1 row and at most the {n_rows} there are")
    keys = draw_words(seed, Stream.BASELINE, 0, draws, n_rows)
    return [np.sort(np.argsort(row)[:size]) for row in keys]


@dataclass(frozen=True)
class Comparison:
    """Scores on one part (validation or test rows): of a set, of as many random rows, of all rows."""

    kept: float
    random: float
    random_deviation: float
    everything: float


def compare_with_random(
    split: Split,
    learner: Learner,
    sets: Sequence[NDArray[np.int64]],
    *,
    draws: int = 20,
    repeats: int = 1,
    seed: int = 0,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> list[dict[str, Comparison]]:
    """Compare each set with random sets of its size and with all rows, on validation and test rows."""
    parts = {"validation": (split.X_val, split.y_val)}
    if split.X_test is not None and split.y_test is not None:
        parts["test"] = (split.X_test, split.y_test)
    trained: list[NDArray[np.int64]] = [np.arange(split.n_rows)]
    for rows in sets:
        trained += [rows, *random_sets(split.n_rows, len(rows), draws, seed=seed)]
    scores = evaluate_sets(
        split,
        learner,
        trained,
        *parts.values(),
        repeats=repeats,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
    ).mean(axis=2)
    return [
        {
            part: Comparison(
                kept=float(line[1 + k * (draws + 1)]),
                random=float((drawn := line[2 + k * (draws + 1) : 1 + (k + 1) * (draws + 1)]).mean()),
                random_deviation=float(drawn.std(ddof=1)) if draws > 1 else 0.0,
                everything=float(line[0]),
            )
            for part, line in zip(parts, scores, strict=True)
        }
        for k in range(len(sets))
    ]
