"""How good are sets of several sizes? A curve over budgets by rows that had no part in choosing.

The rows are divided into folds. For each fold everything is done anew on the others: models, T, the choice
for every budget. Models trained on the kept rows, on as many random rows and on all rows of the other folds
are then asked about the fold. So every row tells, once, what a set chosen without it loses against all rows.
Where there are validation rows, they are divided instead, and every training row can be kept each time.

Two things are then unsure. The rows asked are a sample; and what the folds tell is the mean of several sets,
while one will be used. How much sets differ is seen where the models of two folds answer for the same rows,
those outside both sets: half the mean square of the difference between their scores, less what that would be
were both equally good and the rows a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cdvm._runtime.progress import Progress
from cdvm.data.raw import stack_rows
from cdvm.data.split import Split, evaluation_sample
from cdvm.errors import InputError
from cdvm.evaluation.comparison import affordable_sets, random_sets
from cdvm.evaluation.curve import Curve, CurvePoint
from cdvm.evaluation.metrics import Metric
from cdvm.evaluation.scoring import note_answers, shaped
from cdvm.evaluation.training import SetTrainer
from cdvm.learners import Learner
from cdvm.optimize.program import resolve_budget

__all__ = ["CrossFit", "Fold", "Held", "cross_fit"]

Vector = NDArray[np.float64]
Rows = NDArray[np.int64]

_RESAMPLES = 200  # of the rows asked, for metrics that are no means
_FEWER = 20  # for each two sets
_ENOUGH = 0.25  # of the rows asked are outside two sets that are compared; larger sets differ little


class Held(NamedTuple):
    """A split without a fold, where its rows are among all, and the fold.

    ``asked`` are the places of the fold among the rows that are divided, ``others`` those of the rest.
    """

    split: Split
    inside: Rows
    X: Any
    y: NDArray[Any]
    asked: Rows
    others: Rows


@dataclass(frozen=True, eq=False)
class Fold:
    """A way to choose rows, fitted without a fold, and the answers for the fold of models on all rows."""

    choose: Callable[[float], Rows]
    trainer: SetTrainer
    held: Held
    metric: Metric
    all_rows: Vector

    def answers(self, sets: list[Rows]) -> Vector:
        """Losses of a model on each set on every row of the fold, or its answers: one line a set."""
        return answers_of(self.trainer, sets, self.held.X, self.held.y, self.metric)

    def everywhere(self, chosen: Rows) -> tuple[Vector, Rows, Vector]:
        """The same of one set; and for all rows outside it, of the fold or not: which, and what is said."""
        held, split = self.held, self.held.split
        X, y = (split.X, split.y) if split.X_val is None else split.validation
        found = answers_of(
            self.trainer, [chosen], stack_rows([held.X, X]), np.concatenate([held.y, y]), self.metric
        )
        places, outside = np.concatenate([held.asked, held.others]), np.ones(len(held.y) + len(y), dtype=bool)
        if split.X_val is None:
            outside[len(held.y) + chosen] = False
        return found[:, : len(held.y)], places[outside], found[0, outside]


def answers_of(trainer: SetTrainer, sets: list[Rows], X: Any, y: NDArray[Any], metric: Metric) -> Vector:
    """Losses on every row, or answers where the metric is no mean of losses."""
    note = partial(note_answers, metric, trainer.split, [y])
    found = trainer.train(sets, [X], note, ask=metric.ask, once=metric.losses is None)
    if metric.losses is None:
        return shaped(found[0], len(y))
    losses = [metric.row_losses(y, shaped(run, len(y))) for run in found]
    return np.asarray(np.mean(losses, axis=0))


class CrossFit:
    """Ways to choose fitted on all folds but one, and what sets of theirs are good for."""

    def __init__(self, folds: list[Fold], draws: int, seed: int, costs: Vector | None = None) -> None:
        self.folds, self._draws, self._seed, self._costs = folds, draws, seed, costs
        self.metric = folds[0].metric

    def point(self, fraction: float) -> CurvePoint:
        """The point of the curve for a fraction of the rows, or of what they cost."""
        found, outside = [], []
        for fold in self.folds:
            budget, random = self._beside(fold.held, float(fraction))
            own, *elsewhere = fold.everywhere(fold.choose(budget))
            found.append(np.concatenate([own, fold.answers(random), fold.all_rows[None]]))
            outside.append(elsewhere)
        means, errors, loss_error = (self._of_losses if self.metric.losses else self._of_answers)(found)
        return CurvePoint(
            fraction=float(fraction),
            score=float(means[0]),
            random=float(means[1]),
            all_rows=float(means[2]),
            loss=float(means[2] - means[0]),
            score_error=float(errors[0]),
            random_error=float(errors[1]),
            all_rows_error=float(errors[2]),
            loss_error=loss_error,
            set_error=self._between_sets(outside),
            n_rows=sum(len(fold.held.y) for fold in self.folds),
            n_sets=len(self.folds),
        )

    def _beside(self, held: Held, fraction: float) -> tuple[float, list[Rows]]:
        """The budget without a fold, and random sets for it."""
        own: dict[str, int] = {"draws": self._draws, "seed": self._seed}
        if self._costs is None:
            size = resolve_budget(fraction, held.split.n_rows)
            return size, random_sets(held.split.n_rows, size, **own)
        costs = self._costs[held.inside]
        spend = fraction * float(costs.sum())
        return spend, affordable_sets(costs, spend, **own)

    def _between_sets(self, outside: list[Any]) -> float:
        """Standard deviation of the score from set to set, by two at a time on the rows outside both."""
        order = np.concatenate([fold.held.asked for fold in self.folds])
        y = np.concatenate([fold.held.y for fold in self.folds])[np.argsort(order)]
        squares = []
        for (some, a), (other, b) in combinations(outside, 2):
            both, i, j = np.intersect1d(some, other, assume_unique=True, return_indices=True)
            if len(both) >= _ENOUGH * len(y):
                apart, variance = self._difference(y[both], np.stack([a[i], b[j]]))
                squares.append(apart**2 - variance)
        known = np.array(squares)[np.isfinite(squares)]
        return float(np.sqrt(max(float(known.mean()) / 2, 0.0))) if len(known) else 0.0

    def _difference(self, y: NDArray[Any], pair: Vector) -> tuple[float, float]:
        """How much better the first of two models is on some rows, and the variance that rows give it."""
        split, metric = self.folds[0].held.split, self.metric
        if metric.losses is not None:
            apart = (pair[1] - pair[0]) * metric.weights(split, y) / metric.unit(y)
            return float(apart.mean()), float(apart.var(ddof=1)) / len(y)
        rng, drawn = np.random.default_rng(self._seed), []
        for number in range(1 + _FEWER):
            rows = rng.integers(len(y), size=len(y)) if number else np.arange(len(y))
            score = metric.score(split, y[rows], pair[:, rows])
            drawn.append(score[0] - score[1])
        return float(drawn[0]), float(np.nanvar(drawn[1:], ddof=1))

    def _of_losses(self, found: list[Vector]) -> tuple[Vector, Vector, float]:
        """Scores of kept, random and all rows, their errors and that of the loss, from losses by row.

        The difference between two scores is a mean over rows, most of which are 0 where two models agree.
        Its error takes two more rows that differ by as much as rows can, one each way (Bonett and Price's
        interval for paired proportions): without, none that differ would mean none that could.
        """
        y, split = np.concatenate([fold.held.y for fold in self.folds]), self.folds[0].held.split
        losses = np.concatenate(found, axis=1)
        own, chance, full = losses[0], losses[1:-1].mean(axis=0), losses[-1]
        share = self.metric.weights(split, y) / self.metric.unit(y)
        each = np.stack([own, chance, full]) * share
        errors = each.std(axis=1, ddof=1) / np.sqrt(len(y))
        apart = each[0] - each[2]
        most = share.max() if self.metric.needs == "labels" and split.task == "classification" else 0.0
        extreme = max(float(most), float(np.abs(apart).max()))
        more = np.concatenate([apart, [extreme, -extreme]])
        return (
            np.asarray(self.metric.best - each.mean(axis=1)),
            errors,
            float(more.std(ddof=1) / np.sqrt(len(more))),
        )

    def _of_answers(self, found: list[Vector]) -> tuple[Vector, Vector, float]:
        """The same for a metric of all answers at once: means over folds, errors by resampling their rows."""
        rng, resampled = np.random.default_rng(self._seed), []
        for number in range(1 + _RESAMPLES):
            scores = []
            for fold, answers in zip(self.folds, found, strict=True):
                y = fold.held.y
                rows = rng.integers(len(y), size=len(y)) if number else np.arange(len(y))
                score = self.metric.score(fold.held.split, y[rows], answers[:, rows])
                scores.append([score[0], score[1:-1].mean(), score[-1]])
            resampled.append(np.nanmean(scores, axis=0))
        drawn = np.array(resampled[1:])
        apart = float((drawn[:, 2] - drawn[:, 0]).std(ddof=1))
        return np.asarray(resampled[0]), drawn.std(axis=0, ddof=1), apart

    def curve(self, fractions: Iterable[float], *, progress: bool | None = None) -> Curve:
        """Points for several fractions."""
        wanted = sorted({float(f) for f in fractions}, reverse=True)
        with Progress("budgets", len(wanted), enabled=progress) as bar:
            points = []
            for fraction in wanted:
                points.append(self.point(fraction))
                bar.advance()
        return Curve(tuple(points), self.metric.title)


def cross_fit(
    split: Split,
    learner: Learner,
    metric: Metric,
    fit: Callable[[Held], Callable[[float], Rows]],
    *,
    costs: Vector | None = None,
    folds: int = 5,
    draws: int = 5,
    seed: int = 0,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> CrossFit:
    """Fit on all folds but one, for each of them; ``fit`` gives a function from a budget to rows.

    That is a number of rows, or what may be spent where rows have ``costs``.
    """
    asked = split.n_rows if split.X_val is None else len(split.evaluation[1])
    if not 2 <= folds <= asked // 4:
        raise InputError(f"folds={folds!r}: use at least 2, and no more than a quarter of {asked} rows")
    found = []
    with Progress("folds", folds, enabled=progress) as bar:
        for held in _folds(split, folds, seed):
            trainer = SetTrainer(held.split, learner, 1, seed, n_jobs, False)
            whole = answers_of(trainer, [np.arange(held.split.n_rows)], held.X, held.y, metric)[0]
            found.append(Fold(fit(held), trainer, held, metric, whole))
            bar.advance()
    return CrossFit(found, draws, seed, costs)


def _folds(split: Split, folds: int, seed: int) -> Iterator[Held]:
    """Splits without a fold, each of which has its part of every class."""
    X, y = (split.X, split.y) if split.X_val is None else split.validation
    order = np.random.default_rng([seed, 7]).permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    fold = np.empty(len(y), dtype=np.int64)
    fold[order] = np.arange(len(y)) % folds
    for k in range(folds):
        inside, outside = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        if split.X_val is None:
            yield Held(_without(split, inside), inside, X[outside], y[outside], outside, inside)
        else:
            inner = replace(split, X_val=X[inside], y_val=y[inside], X_test=None, y_test=None)
            yield Held(inner, np.arange(split.n_rows), X[outside], y[outside], outside, inside)


def _without(split: Split, inside: Rows) -> Split:
    """Some of the training rows, evaluated out of bag."""
    return replace(
        split,
        X=split.X[inside],
        y=split.y[inside],
        X_val=None,
        y_val=None,
        rows=np.arange(len(inside)),
        n_table=len(inside),
        index=None,
        X_test=None,
        y_test=None,
        evaluation_rows=evaluation_sample(len(inside)),
    )
