"""How good is a model trained on a given set of rows?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm.data.split import Features, Split
from cdvm.evaluation.metrics import Metric, make_metric
from cdvm.evaluation.training import Rows, Scores, SetTrainer, check_parts, rows_of

__all__ = ["Part", "evaluate_sets", "note_answers", "score_on_parts", "score_sets", "shaped"]

Part = tuple[Features, NDArray[Any]]


def evaluate_sets(
    split: Split,
    learner: Any,
    sets: Sequence[Any],
    *parts: Part,
    metric: Any = None,
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
    metric : str or scikit-learn scorer, optional
        ``"accuracy"``, the default for classes, ``"balanced_accuracy"``, ``"f1"`` (of the second of two
        classes), ``"f1_macro"``, ``"roc_auc"`` or ``"log_loss"``; ``"r2"``, the default for regression, or
        ``"mae"``; or what :func:`sklearn.metrics.get_scorer` knows. Larger is better: errors are negative.
    repeats : int
        Fits on each set.
    seed, n_jobs, progress : as elsewhere

    Returns
    -------
    ndarray of shape (n_parts, n_sets, repeats)
        Scores. A learner without randomness is trained once; its scores repeat.
    """
    run = SetTrainer(split, learner, repeats, seed, n_jobs, progress)
    check_parts(split, parts)
    made = make_metric(metric, split)
    note = partial(_score_parts, made, split, [y for _, y in parts])
    found = run.train(rows_of(split, sets), [X for X, _ in parts], note, ask=made.ask)
    return np.repeat(found.transpose(2, 1, 0), repeats // len(found), axis=2)


def score_sets(
    split: Split,
    learner: Any,
    sets: Sequence[Any],
    *,
    metric: Any = None,
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
    score NaN. Metrics that are no means over rows (F1, ROC AUC, scorers) are those of the rows outside.
    """
    run = SetTrainer(split, learner, repeats, seed, n_jobs, progress)
    parts = {"evaluation": split.evaluation}
    return score_on_parts(run, rows_of(split, sets), parts, make_metric(metric, split))["evaluation"]


def score_on_parts(
    run: SetTrainer, sets: list[Rows], parts: dict[str, Part], metric: Metric
) -> dict[str, Scores]:
    """A score of each set on each part, from one training on it; the first part are the evaluation rows."""
    split, labels = run.split, [y for _, y in parts.values()]
    own = split.evaluation_rows is not None  # then every row's answer matters
    note = partial(note_answers if own else _score_parts, metric, split, labels)
    found = run.train(sets, [X for X, _ in parts.values()], note, ask=metric.ask)
    if not own:
        return dict(zip(parts, found.mean(axis=0).T, strict=True))
    answers, others = np.split(found, [found.shape[2] - len(parts) + 1], axis=2)
    scores = [_outside_scores(metric, split, labels[0], sets, answers), *others.mean(axis=0).T]
    return dict(zip(parts, scores, strict=True))


def _outside_scores(metric: Metric, split: Split, y: NDArray[Any], sets: list[Rows], flat: Scores) -> Scores:
    """Scores on the evaluation rows outside each set; ``flat`` has the answers of all runs."""
    runs, n = len(flat), len(y)
    outside = np.array([~np.isin(np.asarray(split.evaluation_rows), rows) for rows in sets]).reshape(-1, n)
    answers = shaped(flat.reshape(runs * len(sets), flat.shape[2]), n)
    if metric.whole is not None:
        each = zip(answers, np.tile(outside, (runs, 1)), strict=True)
        found = [metric.score(split, y[o], a[None, o])[0] if o.any() else np.nan for a, o in each]
        return np.asarray(np.reshape(found, (runs, len(sets))).mean(axis=0))
    losses = metric.row_losses(y, answers).reshape(runs, len(sets), n).mean(axis=0)
    sizes = np.array([len(rows) for rows in sets])
    mean = np.empty(len(sets))
    for size in np.unique(sizes):
        alike = sizes == size
        mean[alike] = _mean_outside(losses[alike], outside[alike], metric.weights(split, y))
    return np.asarray(metric.of_loss(y, mean))


def shaped(flat: Scores, n_rows: int) -> Scores:
    """Noted answers, one line a model: (n_models, n_rows), or with a number for each class."""
    return flat if flat.shape[1] == n_rows else flat.reshape(len(flat), n_rows, -1)


def _score_parts(
    metric: Metric, split: Split, labels: list[NDArray[Any]], answers: list[NDArray[Any]]
) -> Scores:
    return np.stack([metric.score(split, y, a) for y, a in zip(labels, answers, strict=True)], axis=1)


def note_answers(
    metric: Metric, split: Split, labels: list[NDArray[Any]], answers: list[NDArray[Any]]
) -> Scores:
    """Of every model: the answers for the first part, and the scores on the others."""
    others = zip(labels[1:], answers[1:], strict=True)
    first = answers[0].reshape(len(answers[0]), int(np.prod(answers[0].shape[1:])))
    return np.column_stack([first.astype(np.float64), *(metric.score(split, y, a) for y, a in others)])


def _mean_outside(losses: Scores, outside: NDArray[np.bool_], weights: Scores) -> Scores:
    """Mean loss of each set on the rows outside it, see :func:`score_sets`."""
    counted = outside.any(axis=0)
    if not counted.any():
        return np.full(len(losses), np.nan)
    losses, outside, weights = losses[:, counted], outside[:, counted], weights[counted]
    usual = np.where(outside, losses, 0.0).sum(axis=0) / outside.sum(axis=0)
    total = outside @ weights
    excess = np.where(outside, losses - usual, 0.0) @ weights / np.where(total > 0, total, 1.0)
    return np.asarray(np.where(total > 0, usual @ weights / weights.sum() + excess, np.nan))
