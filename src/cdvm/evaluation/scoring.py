"""How good is a model trained on a given set of rows, and how good on as many random ones?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm._runtime.parameters import check, is_whole
from cdvm.data.split import Features, Split
from cdvm.errors import InputError
from cdvm.evaluation.training import RULES, Rows, Scores, SetTrainer, check_parts, rows_of
from cdvm.sampling import RandomStream, draw_words

__all__ = [
    "Comparison",
    "compare_with_random",
    "evaluate_sets",
    "random_sets",
    "score",
    "score_sets",
]

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
    return next(iter(_scored(run, rows_of(split, sets), {"evaluation": split.evaluation}).values()))


def _scored(run: SetTrainer, sets: list[Rows], parts: dict[str, Part]) -> dict[str, Scores]:
    """A score of each set on each part, from one training on it; the first part are the evaluation rows."""
    split, labels = run.split, [y for _, y in parts.values()]
    own = split.evaluation_rows is not None  # then every row's outcome matters
    note = partial(_note_losses, split, labels) if own else partial(_score_parts, split, labels)
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
    return np.asarray(_as_score(split, y, found))


def _cross_validate(run: SetTrainer) -> float:
    """Score on training rows of models trained on all rows but a fifth, each row by the model without it."""
    split = run.split
    X, y = split.evaluation
    fold = np.empty(split.n_rows, dtype=np.int64)
    fold[np.random.RandomState(run.seed).permutation(split.n_rows)] = np.arange(split.n_rows) % _FOLDS
    sets = [np.flatnonzero(fold != k) for k in range(_FOLDS)]
    losses = run.train(sets, [X], partial(_note_losses, split, [y]), once=True)[0]
    own = losses[fold[split.evaluation_rows], np.arange(len(y))]
    return float(_as_score(split, y, own.mean()))


def _score_parts(split: Split, labels: list[NDArray[Any]], answers: list[NDArray[Any]]) -> Scores:
    return np.stack([score(split, y, a) for y, a in zip(labels, answers, strict=True)], axis=1)


def _note_losses(split: Split, labels: list[NDArray[Any]], answers: list[NDArray[Any]]) -> Scores:
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


def _as_score(split: Split, y: NDArray[Any], loss: Any) -> Any:
    """Accuracy of a fraction of wrong answers, R² of a mean squared error."""
    return 1.0 - loss / (1.0 if split.task == "classification" else float(y.var()) or 1.0)


def random_sets(n_rows: int, size: int, draws: int, *, seed: int = 0) -> list[NDArray[np.int64]]:
    """``draws`` sets of ``size`` distinct rows, each uniform."""
    check(RULES, {"n_rows": n_rows, "draws": draws, "seed": seed})
    if not is_whole(size) or not 1 <= size <= n_rows:
        raise InputError(f"size={size}: use at least 1 row and at most the {n_rows} there are")
    keys = draw_words(seed, RandomStream.BASELINE, 0, draws, n_rows)
    return [np.sort(np.argsort(row)[:size]) for row in keys]


@dataclass(frozen=True)
class Comparison:
    """Scores on one part: of a set, of as many random rows, of all rows.

    Parts are validation and test rows, or the training rows outside each set (see :func:`score_sets`); there,
    all rows are scored by cross-validation.

    Attributes
    ----------
    kept : float
        Score of the set.
    random, random_std : float
        Mean and standard deviation of the scores of random sets.
    standard_error : float
        Of that mean, and so of the difference between the set and the usual random set: what drawing more
        random sets would change. That the rows scored on are a sample themselves is not in it.
    everything : float
        Score of all rows.
    """

    kept: float
    random: float
    random_std: float
    all_rows: float
    standard_error: float = 0.0

    @property
    def above_random(self) -> bool:
        """Whether the set is above random sets by more than two standard errors."""
        return self.kept - self.random > 2 * self.standard_error


def compare_with_random(
    split: Split,
    learner: Any,
    sets: Sequence[Any],
    *,
    draws: int = 20,
    repeats: int = 1,
    seed: int = 0,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> list[dict[str, Comparison]]:
    """Compare each set with ``draws`` random sets of its size and with all rows.

    Other parameters are those of :func:`evaluate_sets`. The scores are on the parts there are:
    ``"validation"`` or else ``"outside"``, and ``"test"``.
    """
    run = SetTrainer(split, learner, repeats, seed, n_jobs, progress, draws=draws)
    compared = rows_of(split, sets)
    if not compared:
        return []
    trained: list[Rows] = []
    for rows in compared:
        trained += [rows, *random_sets(split.n_rows, len(rows), draws, seed=seed)]
    own = split.evaluation_rows is not None
    parts = {"outside" if own else "validation": split.evaluation}
    if split.X_test is not None and split.y_test is not None:
        parts["test"] = (split.X_test, split.y_test)
    if not own or "test" in parts:
        trained.append(np.arange(split.n_rows))
    lines = _scored(run, trained, parts)
    all_rows = {part: float(line[-1]) for part, line in lines.items()}
    if own:
        all_rows["outside"] = whole = _cross_validate(run)
        outside = np.where(np.isnan(lines["outside"]), whole, lines["outside"])
        lines["outside"] = np.minimum(outside, 1.0)  # what makes sets comparable may lift the best above 1
    starts = range(0, (draws + 1) * len(compared), draws + 1)
    return [
        {
            part: _comparison(line[k], line[k + 1 : k + 1 + draws], all_rows[part])
            for part, line in lines.items()
        }
        for k in starts
    ]


def _comparison(kept: float, drawn: Scores, all_rows: float) -> Comparison:
    deviation = float(drawn.std(ddof=1)) if len(drawn) > 1 else 0.0
    return Comparison(
        kept=float(kept),
        random=float(drawn.mean()),
        random_std=deviation,
        all_rows=all_rows,
        standard_error=deviation / len(drawn) ** 0.5,
    )
