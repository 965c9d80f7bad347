"""How good is a model trained on a given set of rows?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm.data.split import Features, Split
from cdvm.evaluation.training import Rows, Scores, SetTrainer, check_parts, rows_of

__all__ = ["Part", "as_score", "evaluate_sets", "note_losses", "score", "score_on_parts", "score_sets"]

Part = tuple[Features, NDArray[Any]]


def score(split: Split, y: NDArray[Any], answers: NDArray[Any]) -> Scores:
    """Accuracy (R² for regression) of each model's answers, shape (n_models, n_rows)."""
    if split.task == "classification":
        return np.asarray((answers == y).mean(axis=1), dtype=np.float64)
    spread = float(((y - y.mean()) ** 2).mean())
    return np.asarray(1.0 - ((answers - y) ** 2).mean(axis=1) / (spread or 1.0), dtype=np.float64)


def evaluate_sets(
    split: Split,
    learner: Any,
    sets: Sequence[Any],
    *parts: Part,
    repeats: int = 1,
    seed: int = 0,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> Scores:
    """Train on each set of training rows, and score on one or several parts.

    Parameters
    ----------
    split : Split
        Its features are used as they are.
    learner : str, scikit-learn estimator or Learner
    sets : sequence of Selections, or of positions among the training rows
    *parts : pairs (X, y)
        Rows to score on and their class codes, such as ``split.evaluation``.
    repeats : int
        Fits on each set.
    seed, n_jobs, progress : as elsewhere

    Returns
    -------
    ndarray of shape (n_parts, n_sets, repeats)
        Accuracy (R² for regression). A learner without randomness is trained once; its scores repeat.
    """
    run = SetTrainer(split, learner, repeats, seed, n_jobs, progress)
    check_parts(split, parts)
    note = partial(_score_parts, split, [y for _, y in parts])
    found = run.train(rows_of(split, sets), [X for X, _ in parts], note)
    return np.repeat(found.transpose(2, 1, 0), repeats // len(found), axis=2)


def score_sets(
    split: Split,
    learner: Any,
    sets: Sequence[Any],
    *,
    repeats: int = 1,
    seed: int = 0,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> Scores:
    """Train on each set of training rows, and score on the evaluation rows: one number a set.

    Parameters are those of :func:`evaluate_sets`.

    Where training rows are the evaluation rows, a set is scored on those outside it. Sets of one size leave
    out other rows, harder or easier ones, and are made comparable: with r_j the mean outcome on row j of the
    sets without it, a set's score is the mean of all r_j plus the mean, over the rows outside the set, of
    what it gains on r_j. Rows that every set holds do not count, and a set of all evaluation rows has the
    score NaN.
    """
    run = SetTrainer(split, learner, repeats, seed, n_jobs, progress)
    return next(iter(score_on_parts(run, rows_of(split, sets), {"evaluation": split.evaluation}).values()))


def score_on_parts(run: SetTrainer, sets: list[Rows], parts: dict[str, Part]) -> dict[str, Scores]:
    """A score of each set on each part, from one training on it; the first part are the evaluation rows."""
    split, labels = run.split, [y for _, y in parts.values()]
    own = split.evaluation_rows is not None  # then every row's outcome matters
    note = partial(note_losses, split, labels) if own else partial(_score_parts, split, labels)
    found = run.train(sets, [X for X, _ in parts.values()], note).mean(axis=0)
    if not own:
        return dict(zip(parts, found.T, strict=True))
    evaluation = len(labels[0])
    scores = [_outside_scores(split, labels[0], sets, found[:, :evaluation]), *found[:, evaluation:].T]
    return dict(zip(parts, scores, strict=True))


def _outside_scores(split: Split, y: NDArray[Any], sets: list[Rows], losses: Scores) -> Scores:
    outside = np.array([~np.isin(np.asarray(split.evaluation_rows), rows) for rows in sets]).reshape(
        losses.shape
    )
    sizes = np.array([len(rows) for rows in sets])
    found = np.empty(len(sets))
    for size in np.unique(sizes):
        alike = sizes == size
        found[alike] = _mean_outside(losses[alike], outside[alike])
    return np.asarray(as_score(split, y, found))


def _score_parts(split: Split, labels: list[NDArray[Any]], answers: list[NDArray[Any]]) -> Scores:
    return np.stack([score(split, y, a) for y, a in zip(labels, answers, strict=True)], axis=1)


def note_losses(split: Split, labels: list[NDArray[Any]], answers: list[NDArray[Any]]) -> Scores:
    """Of every model: the loss on every row of the first part, and the scores on the others.

    A loss is 1 where the model is wrong and 0 where it is right, or the squared error.
    """
    wrong = answers[0] != labels[0] if split.task == "classification" else (answers[0] - labels[0]) ** 2
    others = zip(labels[1:], answers[1:], strict=True)
    return np.column_stack([wrong.astype(np.float64), *(score(split, y, a) for y, a in others)])


def _mean_outside(losses: Scores, outside: NDArray[np.bool_]) -> Scores:
    """Mean loss of each set on the rows outside it, see :func:`score_sets`."""
    counted = outside.any(axis=0)
    if not counted.any():
        return np.full(len(losses), np.nan)
    losses, outside = losses[:, counted], outside[:, counted]
    usual = np.where(outside, losses, 0.0).sum(axis=0) / outside.sum(axis=0)
    excess = np.where(outside, losses - usual, 0.0).sum(axis=1) / np.maximum(outside.sum(axis=1), 1)
    return np.asarray(np.where(outside.any(axis=1), usual.mean() + excess, np.nan))


def as_score(split: Split, y: NDArray[Any], loss: Any) -> Any:
    """Accuracy of a fraction of wrong answers, R² of a mean squared error."""
    return 1.0 - loss / (1.0 if split.task == "classification" else float(y.var()) or 1.0)
