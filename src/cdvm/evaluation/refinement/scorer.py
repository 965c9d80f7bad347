"""Evaluation rows of a search: the validation rows, and the training rows that a set leaves out.

A model trained on a few rows can be asked about all others. Rows left out carry labels as good as those of
the validation rows and there are usually more of them, so a search that listens to both has far less to
overfit. A row cannot evaluate a model that was trained on it: two sets are compared on the evaluation rows
outside both.

What an evaluation row says of a model is smooth. Its margin (score of the true class less the best other)
over the model's mean absolute margin is *r*, and it says σ(f·r): about how often models of sets like this
one would be right. The less models of random sets agree on *r*, the smaller is *f*, between 16, which is
close to right or wrong, and 4 (:meth:`HeldOutScorer.attune`). A learner that gives no scores is asked right
or wrong, one for regression its squared (or absolute) error. A metric for which classes count the same, or
had best do so in a search (F1, ROC AUC), gives rows weights. What the metric itself says of the answers
decides at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from cdvm._runtime.parallel import blas_threads
from cdvm._runtime.progress import Progress
from cdvm.data.raw import stack_rows
from cdvm.data.split import Split, evaluation_sample
from cdvm.errors import InputError
from cdvm.evaluation.metrics import Metric, make_metric
from cdvm.learners.base import Learner, Trainer
from cdvm.learners.fitting import fit_models
from cdvm.optimize.rounding import class_floors, with_classes
from cdvm.outcomes.kinds import margin_of
from cdvm.sampling import Subsets

__all__ = ["HeldOutScorer", "RowScores", "check_evaluation"]

Rows = NDArray[np.int64]

_STEEPEST = 16.0  # f that is close to right or wrong
# f at least, for classes of one size: a small one favours models equally sure of all rows, so of the frequent
_GENTLEST = 4.0
_SPREADS = 4.0  # f where models of random sets are one apart in r
_TRIALS = 8  # such sets
_HELD_BACK = 10  # one evaluation row in so many is not searched on
_PIECE = 16  # models a task trains, where they are trained together


@dataclass(frozen=True, eq=False)
class RowScores:
    """Scores of several models on every evaluation row, and which count: each (n_models, n_evaluation).

    ``scores`` are smooth; ``right`` is what they stand for: 1 or 0 (the negative squared error, for
    regression), or the mean over several fits.
    """

    scores: NDArray[np.float32]
    right: NDArray[np.float32]
    outside: NDArray[np.bool_]

    def __getitem__(self, k: int) -> RowScores:
        """The ``k``-th model alone."""
        one = slice(k, k + 1)
        return RowScores(self.scores[one], self.right[one], self.outside[one])


class HeldOutScorer:
    """The evaluation rows of one split, at work on the models of one learner.

    Parameters
    ----------
    split : Split
    learner : Learner
    metric : str, scorer or Metric, optional
    evaluation : {"all", "validation"}
        Whether training rows are evaluation rows too.
    seed : int
        Decides the evaluation rows held back and all randomness of the learner.
    n_jobs : int
    """

    def __init__(
        self,
        split: Split,
        learner: Learner,
        *,
        metric: Any = None,
        evaluation: Literal["all", "validation"] = "all",
        seed: int = 0,
        n_jobs: int | None = -1,
    ) -> None:
        self.split, self.stochastic, self.seed = split, learner.stochastic, seed
        rng = np.random.default_rng([seed, 1])
        X, self.y, self.rows = _evaluation(split, evaluation)
        self._trainer = learner.bind(split, X)
        self.batched = self._trainer.prefer == "threads"
        self.metric = make_metric(metric, split)
        self.weights = self.metric.weights(split, self.y).astype(np.float32)
        self.held = _every(_HELD_BACK, self.y, rng)
        self._searched = np.where(self.held, np.float32(0), self.weights)
        self.fits = 0
        self.steepness = _STEEPEST
        self._labels_only = False
        self._n_jobs = n_jobs

    def score_rows(self, sets: Rows, number: int = 0, bar: Progress | None = None) -> RowScores:
        """Train on each set, one a line; equal numbers give models equal randomness.

        That holds place by place: two sets that share a row at the same place of their lines see it at the
        same times, where a learner goes through its rows in random order. ``bar`` counts the sets.
        """
        subsets = self._subsets(sets, number)
        scores = self._scores(subsets, bar)
        self.fits += len(sets)
        right = (scores > 0.5).astype(np.float32) if self._asks_labels else scores
        return RowScores(scores, right, self._outside(subsets))

    def attune(self, size: int) -> None:
        """Find how smoothly to ask about sets of a size, from models of some random ones.

        Not where losses are asked for, which are smooth, nor of votes, which are means of many answers.
        """
        if self.split.task == "regression" or self._asks_losses or self._trainer.link == "fractions":
            return
        rng, y = np.random.default_rng([self.seed, 4]), self.split.y
        floors = class_floors(y, size)
        ranks = (rng.permutation(len(y)) for _ in range(_TRIALS))
        sets = np.stack([with_classes(np.sort(rank[:size]), y, floors, rank) for rank in ranks])
        subsets = self._subsets(sets, 0)
        try:
            margins = self._gather(subsets, _relative_margins, self.y)
        except InputError:  # a learner without scores, or one that cannot be trained at all
            return
        self.fits += len(sets)
        spread = _mean_spread(margins, self._outside(subsets))
        counts = np.bincount(y)
        uneven = np.sqrt(counts.mean() / counts[counts > 0].min())
        self.steepness = min(max(_SPREADS / max(spread, 1e-6), _GENTLEST * uneven), _STEEPEST)

    def _outside(self, subsets: Subsets) -> NDArray[np.bool_]:
        """Which evaluation rows are outside each set."""
        outside = np.ones((len(subsets), len(self.y)), dtype=bool)
        outside[:, len(self.y) - len(self.rows) :] = subsets.members[:, self.rows].toarray() == 0
        return outside

    @property
    def _asks_labels(self) -> bool:
        return self.split.task == "classification" and self.metric.needs == "labels"

    @property
    def _asks_losses(self) -> bool:
        smooth = self.split.task == "regression" or self.metric.needs == "probabilities"
        return smooth and self.metric.losses is not None

    @property
    def level(self) -> float:
        """What a mean of ``right`` is short of the metric that is a mean of losses: R² is 1 less a loss."""
        return 0.0 if self._asks_labels or self.metric.losses is None else self.metric.best

    def compare(self, models: RowScores, other: RowScores) -> NDArray[np.float64]:
        """How much better each model is than another, on rows outside both that are searched on."""
        both = models.outside & other.outside
        difference = np.where(both, models.scores - other.scores, np.float32(0))
        return np.asarray(difference @ self._searched / np.maximum(both @ self._searched, 1e-12))

    def confirm(self, model: RowScores, other: RowScores) -> tuple[float, float]:
        """How much better one model is than another on rows held back, and the standard error."""
        weights = np.where((model.outside & other.outside)[0], self.weights - self._searched, 0)
        total = max(float(weights.sum()), 1e-12)
        difference = (model.scores - other.scores)[0]
        gain = float(weights @ difference) / total
        return gain, float(np.linalg.norm(weights * (difference - gain))) / total

    def plain_gain(self, model: RowScores, other: RowScores) -> float:
        """How much more often one model is right than another, on all evaluation rows outside both."""
        weights = np.where((model.outside & other.outside)[0], self.weights, 0)
        return float(weights @ (model.right - other.right)[0]) / max(float(weights.sum()), 1e-12)

    def score(self, rows: Rows, repeats: int, also_outside: Rows | None = None) -> float:
        """The metric on all evaluation rows outside the set, and outside another where one is named."""
        outside = np.ones(len(self.y), dtype=bool)
        inside = rows if also_outside is None else np.concatenate([rows, also_outside])
        outside[len(self.y) - len(self.rows) :] = ~np.isin(self.rows, inside)
        if not outside.any():
            return float("nan")
        found = []
        for number in range(repeats):
            with blas_threads(1):
                answers = self.metric.ask(self._trainer, self._subsets(rows[None], number))
            self.fits += 1
            found.append(self.metric.score(self.split, self.y[outside], answers[:, outside])[0])
        return float(np.mean(found))

    def _subsets(self, sets: Rows, number: int) -> Subsets:
        count, size = sets.shape
        starts = np.arange(0, count * size + 1, size, dtype=np.int32)
        ones = np.ones(count * size, dtype=np.int32)
        members = sparse.csr_array(
            (ones, sets.astype(np.int32).ravel(), starts), shape=(count, self.split.n_rows)
        )
        return Subsets(members, np.full(count, number, dtype=np.int64), self.seed + number)

    def _scores(self, subsets: Subsets, bar: Progress | None) -> NDArray[np.float32]:
        if self._asks_losses:
            return self._gather(subsets, _losses, self.y, self.metric, bar=bar)
        if self.split.task == "regression":  # a scorer: the squared error shows the way
            return self._gather(subsets, _squared_errors, self.y, bar=bar)
        if not self._labels_only:
            try:
                return self._gather(subsets, _smooth_scores, self.y, self.steepness, bar=bar)
            except InputError:  # a learner without scores, or one that cannot be trained at all
                self._labels_only = True
        return self._gather(subsets, _right_or_wrong, self.y, bar=bar)

    def _gather(
        self, subsets: Subsets, ask: Callable[..., Any], *asked: Any, bar: Progress | None = None
    ) -> NDArray[np.float32]:
        """What evaluation rows say of the models, a line each."""
        piece = 1 if self._trainer.one_by_one else _PIECE
        pieces, found = [subsets[k : k + piece] for k in range(0, len(subsets), piece)], {}
        # BLAS rounds differently with other numbers of threads, also where there is one task
        with blas_threads(1):
            for k, said in fit_models(self._trainer, pieces, ask, *asked, n_jobs=self._n_jobs):
                found[k] = said
                if bar is not None:
                    bar.advance(len(said))
        return np.concatenate([found[k] for k in range(len(pieces))])


def check_evaluation(split: Split, evaluation: str) -> None:
    """Complain about evaluation rows that there are not."""
    if evaluation not in ("all", "validation"):
        raise InputError(f"evaluation={evaluation!r}: use 'all' or 'validation'")
    if evaluation == "validation" and split.evaluation_rows is not None:
        raise InputError(
            "evaluation='validation' needs validation rows, and training rows are evaluated here: use 'all', "
            "pass X_val and y_val, or hold a part out with validation='holdout'"
        )


def _evaluation(split: Split, evaluation: str) -> tuple[Any, NDArray[Any], NDArray[np.int64]]:
    """Features and labels of the evaluation rows, training rows last, and which of these they are."""
    check_evaluation(split, evaluation)
    X, y = split.evaluation
    if split.evaluation_rows is not None:
        return X, y, split.evaluation_rows
    if evaluation == "validation":
        return X, y, np.empty(0, dtype=np.int64)
    rows = evaluation_sample(split.n_rows)
    return stack_rows([X, split.X[rows]]), np.concatenate([y, split.y[rows]]), rows


def _every(step: int, y: NDArray[Any], rng: np.random.Generator) -> NDArray[np.bool_]:
    """One evaluation row in ``step``, drawn evenly from all labels (or all ranges of targets)."""
    order = rng.permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    chosen = np.zeros(len(y), dtype=bool)
    chosen[order[step // 2 :: step]] = True
    return chosen


def _losses(trainer: Trainer, subsets: Subsets, y: NDArray[Any], metric: Metric) -> NDArray[np.float32]:
    losses = metric.row_losses(y, metric.ask(trainer, subsets)) / metric.unit(trainer.split.y)
    return np.asarray(-losses, dtype=np.float32)


def _squared_errors(trainer: Trainer, subsets: Subsets, y: NDArray[Any]) -> NDArray[np.float32]:
    return np.asarray(-((trainer.predict(subsets) - y) ** 2) / (float(y.var()) or 1.0), dtype=np.float32)


def _smooth_scores(
    trainer: Trainer, subsets: Subsets, y: NDArray[Any], steepness: float
) -> NDArray[np.float32]:
    return np.asarray(expit(np.float32(steepness) * _relative_margins(trainer, subsets, y)))


def _relative_margins(trainer: Trainer, subsets: Subsets, y: NDArray[Any]) -> NDArray[np.float32]:
    """Margins over the model's mean absolute one."""
    scores = trainer.scores(subsets)
    if scores.shape[2] == 2 and y.min() >= 0:
        margin = (scores[:, :, 1] - scores[:, :, 0]) * np.where(y == 1, 1, -1).astype(np.float32)
    else:
        margin = margin_of(y, scores)
    scale = np.abs(margin).mean(axis=1, keepdims=True)
    return np.asarray(margin / np.where(scale > 0, scale, 1), dtype=np.float32)


def _right_or_wrong(trainer: Trainer, subsets: Subsets, y: NDArray[Any]) -> NDArray[np.float32]:
    return np.asarray(trainer.predict(subsets) == y, dtype=np.float32)


def _mean_spread(margins: NDArray[np.float32], counted: NDArray[np.bool_]) -> float:
    """The standard deviation of a row's margins among the models that count, mean over rows."""
    n = counted.sum(axis=0)
    mean = np.where(counted, margins, 0).sum(axis=0) / np.maximum(n, 1)
    squares = np.where(counted, (margins - mean) ** 2, 0).sum(axis=0)
    known = n > 1
    return float(np.sqrt(squares[known] / (n[known] - 1)).mean()) if known.any() else 0.0
