"""How good is a model trained on a given set of rows, and how good on as many random ones?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
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

__all__ = [
    "Comparison",
    "compare_with_random",
    "evaluate_sets",
    "judge_sets",
    "random_sets",
    "score",
]

Scores = NDArray[np.float64]
Part = tuple[Features, NDArray[Any]]

_FOLDS = 5


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
    *parts: Part,
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
    note = partial(_score_parts, split, [y for _, y in parts])
    found = _train(split, learner, sets, [X for X, _ in parts], note, repeats, seed, n_jobs, progress)
    return np.repeat(found.transpose(2, 1, 0), repeats // len(found), axis=2)


def judge_sets(
    split: Split,
    learner: Learner,
    sets: Sequence[NDArray[np.int64]],
    *,
    repeats: int = 1,
    seed: int = 0,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> Scores:
    """Train on each set of training rows, and score on the judges: one number a set.

    Where training rows are the judges, a set is scored on those outside it. Sets of one size leave out other
    rows, harder or easier ones, and are made comparable: with r_j the mean outcome on row j of the sets
    without it, a set's score is the mean of all r_j plus the mean, over the rows outside the set, of what it
    gains on r_j. Rows that every set holds do not count, and a set of all judges has the score NaN.
    """
    X, y = split.judges
    if split.judge_rows is None:
        scores = evaluate_sets(
            split, learner, sets, (X, y), repeats=repeats, seed=seed, n_jobs=n_jobs, progress=progress
        )
        return np.asarray(scores[0].mean(axis=1))
    note = partial(_losses, split, y)
    losses = _train(split, learner, sets, [X], note, repeats, seed, n_jobs, progress).mean(axis=0)
    outside = np.array([~np.isin(split.judge_rows, rows) for rows in sets])
    sizes = np.array([len(rows) for rows in sets])
    found = np.empty(len(sets))
    for size in np.unique(sizes):
        alike = sizes == size
        found[alike] = _mean_outside(losses[alike], outside[alike])
    return np.asarray(_as_score(split, y, found))


def _cross_validate(
    split: Split, learner: Learner, *, seed: int, n_jobs: int | None, progress: bool | None
) -> float:
    """Score on training rows of models trained on all rows but a fifth, each row by the model without it."""
    X, y = split.judges
    fold = np.empty(split.n_rows, dtype=np.int64)
    fold[np.random.RandomState(seed).permutation(split.n_rows)] = np.arange(split.n_rows) % _FOLDS
    sets = [np.flatnonzero(fold != k) for k in range(_FOLDS)]
    losses = _train(split, learner, sets, [X], partial(_losses, split, y), 1, seed, n_jobs, progress)[0]
    own = losses[fold[split.judge_rows], np.arange(len(y))]
    return float(_as_score(split, y, own.mean()))


def _train(
    split: Split,
    learner: Learner,
    sets: Sequence[ArrayLike],
    parts: Sequence[Features],
    note: Callable[[list[NDArray[Any]]], Scores],
    repeats: int,
    seed: int,
    n_jobs: int | None,
    progress: bool | None,
) -> Scores:
    """What ``note`` makes of the models' answers for each part: shape (runs, n_sets, numbers noted)."""
    stack = sparse.vstack if sparse.issparse(split.X) else np.concatenate
    trainer = learner.bind(split, stack(parts))
    ends = np.cumsum([X.shape[0] for X in parts])[:-1]
    runs = repeats if learner.stochastic else 1
    pieces = [
        Subsets.of(sets[start : start + trainer.chunk], split.n_rows, seed=seed + run, first=start)
        for run in range(runs)
        for start in range(0, len(sets), trainer.chunk)
    ]
    notes: list[Scores] = [np.empty(0)] * len(pieces)
    tasks = [(trainer, piece, ends, note) for piece in pieces]
    with Progress("trainings", len(sets) * runs, enabled=progress) as bar:
        for k, noted in stream(_train_piece, tasks, n_jobs=n_jobs, prefer=trainer.prefer):
            notes[k] = noted
            bar.advance(len(noted))
    return np.concatenate(notes).reshape(runs, len(sets), -1)


def _train_piece(
    trainer: Trainer, subsets: Subsets, ends: NDArray[Any], note: Callable[[list[NDArray[Any]]], Scores]
) -> Scores:
    return note(np.split(trainer.predict(subsets), ends, axis=1))


def _score_parts(split: Split, labels: list[NDArray[Any]], answers: list[NDArray[Any]]) -> Scores:
    return np.stack([score(split, y, a) for y, a in zip(labels, answers, strict=True)], axis=1)


def _losses(split: Split, y: NDArray[Any], answers: list[NDArray[Any]]) -> Scores:
    """Of every model on every row: 1 where it is wrong and 0 where right, or the squared error."""
    wrong = answers[0] != y if split.task == "classification" else (answers[0] - y) ** 2
    return np.asarray(wrong, dtype=np.float64)


def _mean_outside(losses: Scores, outside: NDArray[np.bool_]) -> Scores:
    """Mean loss of each set on the rows outside it, see :func:`judge_sets`."""
    judged = outside.any(axis=0)
    if not judged.any():
        return np.full(len(losses), np.nan)
    losses, outside = losses[:, judged], outside[:, judged]
    usual = np.where(outside, losses, 0.0).sum(axis=0) / outside.sum(axis=0)
    excess = np.where(outside, losses - usual, 0.0).sum(axis=1) / np.maximum(outside.sum(axis=1), 1)
    return np.asarray(np.where(outside.any(axis=1), usual.mean() + excess, np.nan))


def _as_score(split: Split, y: NDArray[Any], loss: Any) -> Any:
    """Accuracy of a share of wrong answers, R² of a mean squared error."""
    return 1.0 - loss / (1.0 if split.task == "classification" else float(y.var()) or 1.0)


def random_sets(n_rows: int, size: int, draws: int, *, seed: int = 0) -> list[NDArray[np.int64]]:
    """``draws`` sets of ``size`` distinct rows, each uniform."""
    if not 1 <= size <= n_rows:
        raise InputError(f"size={size}: use at least 1 row and at most the {n_rows} there are")
    keys = draw_words(seed, Stream.BASELINE, 0, draws, n_rows)
    return [np.sort(np.argsort(row)[:size]) for row in keys]


@dataclass(frozen=True)
class Comparison:
    """Scores on one part: of a set, of as many random rows, of all rows.

    Parts are validation and test rows, or the training rows outside each set (see :func:`judge_sets`); there,
    all rows are scored by cross-validation.
    """

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
    """Compare each set with random sets of its size and with all rows.

    The scores are on the parts there are: ``"validation"`` or else ``"outside"``, and ``"test"``.
    """
    options: dict[str, Any] = {"seed": seed, "n_jobs": n_jobs, "progress": progress}
    trained: list[NDArray[np.int64]] = [np.arange(split.n_rows)]
    for rows in sets:
        trained += [rows, *random_sets(split.n_rows, len(rows), draws, seed=seed)]
    parts: dict[str, Part] = {} if split.judge_rows is not None else {"validation": split.validation}
    if split.X_test is not None and split.y_test is not None:
        parts["test"] = (split.X_test, split.y_test)
    lines: dict[str, Scores] = {}
    if split.judge_rows is not None:
        outside = judge_sets(split, learner, trained[1:], repeats=repeats, **options)
        whole = _cross_validate(split, learner, **options)
        lines["outside"] = np.append(whole, np.where(np.isnan(outside), whole, outside))
    if parts:
        scores = evaluate_sets(split, learner, trained, *parts.values(), repeats=repeats, **options)
        lines |= zip(parts, scores.mean(axis=2), strict=True)
    return [
        {
            part: Comparison(
                kept=float(line[1 + k * (draws + 1)]),
                random=float((drawn := line[2 + k * (draws + 1) : 1 + (k + 1) * (draws + 1)]).mean()),
                random_deviation=float(drawn.std(ddof=1)) if draws > 1 else 0.0,
                everything=float(line[0]),
            )
            for part, line in lines.items()
        }
        for k in range(len(sets))
    ]
