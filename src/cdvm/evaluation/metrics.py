"""What "good" means: the metrics by which sets of rows are compared, one word for each.

Larger is always better: mean absolute error and log loss have a minus sign, as scikit-learn's scorers do.
Some are means over rows of a loss, perhaps with weights; these can be made comparable between sets that are
scored on other rows. The rest (F1, ROC AUC, any scorer) is computed from all answers at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer, get_scorer_names, roc_auc_score

from cdvm._runtime.parameters import Rule
from cdvm.data.split import Split, Task
from cdvm.errors import InputError, unknown_name
from cdvm.learners import Trainer
from cdvm.sampling import Subsets

__all__ = ["METRIC", "METRICS", "Metric", "balanced_weights", "make_metric", "metric_names"]

Floats = NDArray[np.float64]
Answers = NDArray[Any]
Needs = Literal["labels", "scores", "probabilities"]

_SMALLEST = float(np.finfo(np.float32).eps)  # probability that a log is taken of


@dataclass(frozen=True, eq=False)
class Metric:
    """A metric for one task.

    Attributes
    ----------
    name : str
    task : {"classification", "regression"} or None
        None for both.
    whole : callable or None
        ``whole(split, y, answers)``: a number for each model, where it is not the mean of losses.
    losses : callable or None
        ``losses(y, answers)``: the loss of each model on each row, where the metric is a mean of them.
    needs : {"labels", "scores", "probabilities"}
        What models are asked for.
    balanced : bool
        Whether classes count the same; for other than means, whether a search had best let them.
    unit : callable
        ``unit(y)``: what a mean loss is divided by; the score is ``best`` less that.
    best : float
    """

    name: str
    task: Task | None = "classification"
    whole: Callable[[Split, NDArray[Any], Answers], Floats] | None = None
    losses: Callable[[NDArray[Any], Answers], Floats] | None = None
    needs: Needs = "labels"
    balanced: bool = False
    unit: Callable[[NDArray[Any]], float] = lambda y: 1.0
    best: float = 0.0

    @property
    def title(self) -> str:
        """What to call it in a table."""
        return {"r2": "R2", "mae": "negative mae", "log_loss": "negative log loss"}.get(
            self.name, self.name.replace("_", " ")
        )

    @property
    def of_rows(self) -> str:
        """What rows are compared by where sets leave out other rows: the metric itself, if it is a mean.

        >>> METRICS["log_loss"].of_rows, METRICS["f1"].of_rows
        ('negative log loss', 'balanced accuracy')
        """
        if self.losses is not None:
            return self.title
        return "balanced accuracy" if self.balanced else "accuracy or squared error"

    def score(self, split: Split, y: NDArray[Any], answers: Answers) -> Floats:
        """One number a model, from answers of shape (n_models, n_rows) or (n_models, n_rows, n_classes)."""
        if self.whole is not None:
            return self.whole(split, y, answers)
        weights = self.weights(split, y)
        return np.asarray(self.of_loss(y, self.row_losses(y, answers) @ weights / weights.sum()))

    def row_losses(self, y: NDArray[Any], answers: Answers) -> Floats:
        """The loss of each model on each row; only for a mean of losses."""
        assert self.losses is not None
        return np.asarray(self.losses(y, answers), dtype=np.float64)

    def of_loss(self, y: NDArray[Any], loss: Any) -> Any:
        """The score that a mean loss on rows with labels ``y`` stands for."""
        return self.best - loss / self.unit(y)

    def weights(self, split: Split, y: NDArray[Any]) -> Floats:
        """How much each row counts; 1 on average."""
        return balanced_weights(split, y) if self.balanced else np.ones(len(y))

    def ask(self, trainer: Trainer, subsets: Subsets) -> Answers:
        """The models' answers of the kind that is needed."""
        if self.needs == "labels":
            return trainer.predict(subsets)
        return trainer.scores(subsets) if self.needs == "scores" else trainer.probabilities(subsets)


def balanced_weights(split: Split, y: NDArray[Any]) -> Floats:
    """Weights with which every class in ``y`` counts the same; a label never seen in training is -1."""
    counts = np.bincount(y + 1, minlength=split.n_classes + 1)
    return np.asarray(len(y) / (np.count_nonzero(counts) * counts[y + 1]), dtype=np.float64)


def _wrong(y: NDArray[Any], answers: Answers) -> Floats:
    return np.asarray(answers != y, dtype=np.float64)


def _log_losses(y: NDArray[Any], answers: Answers) -> Floats:
    own = np.take_along_axis(
        answers, np.broadcast_to(np.maximum(y, 0)[:, None], (*answers.shape[:2], 1)), axis=2
    )
    return np.asarray(-np.log(np.clip(np.where(y >= 0, own[..., 0], 0.0), _SMALLEST, 1.0)))


def _f1(split: Split, y: NDArray[Any], answers: Answers) -> Floats:
    if split.n_classes != 2:
        raise InputError(f"metric='f1' is for two classes, and there are {split.n_classes}: use 'f1_macro'")
    return _f1_of(1, y, answers)[0]


def _f1_macro(split: Split, y: NDArray[Any], answers: Answers) -> Floats:
    found = [_f1_of(code, y, answers) for code in range(split.n_classes)]
    scores, counted = (np.stack(part) for part in zip(*found, strict=True))
    return np.asarray(scores.sum(axis=0) / np.maximum(counted.sum(axis=0), 1))


def _f1_of(code: int, y: NDArray[Any], answers: Answers) -> tuple[Floats, NDArray[np.bool_]]:
    """F1 of one class, and whether it occurs among labels or answers."""
    said, true = answers == code, y == code
    occur = said.sum(axis=1) + true.sum()
    return 2 * (said & true).sum(axis=1) / np.maximum(occur, 1), occur > 0


def _roc_auc(split: Split, y: NDArray[Any], answers: Answers) -> Floats:
    """The mean over classes, each against the rest; of two classes they are the same."""
    codes = [code for code in range(split.n_classes) if 0 < (y == code).sum() < len(y)]
    if not codes:
        return np.full(len(answers), np.nan)
    if split.n_classes == 2:
        answers, codes = answers - answers[..., ::-1], codes[-1:]
    found = [[roc_auc_score(y == code, one[:, code]) for code in codes] for one in answers]
    return np.asarray(np.mean(found, axis=1), dtype=np.float64)


METRICS = {
    metric.name: metric
    for metric in (
        Metric("accuracy", losses=_wrong, best=1.0),
        Metric("balanced_accuracy", losses=_wrong, best=1.0, balanced=True),
        Metric("f1", whole=_f1, balanced=True),
        Metric("f1_macro", whole=_f1_macro, balanced=True),
        Metric("roc_auc", whole=_roc_auc, needs="scores", balanced=True),
        Metric("log_loss", losses=_log_losses, needs="probabilities"),
        Metric(
            "r2",
            "regression",
            losses=lambda y, answers: (answers - y) ** 2,
            unit=lambda y: float(y.var()) or 1.0,
            best=1.0,
        ),
        Metric("mae", "regression", losses=lambda y, answers: np.abs(answers - y)),
    )
}


METRIC = Rule(
    lambda given: given is None or isinstance(given, str) or callable(given),
    f"one of {', '.join(METRICS)}, or a scikit-learn scorer",
)


def metric_names(task: Task | None = None) -> list[str]:
    """Words that ``metric=`` understands, besides the names of scikit-learn's scorers."""
    return [name for name, metric in METRICS.items() if task in (None, metric.task)]


def make_metric(metric: Any, split: Split | None = None) -> Metric:
    """A metric from a word or a scikit-learn scorer, checked against the task of a split.

    >>> make_metric("f1_macro").name, make_metric("neg_brier_score").needs
    ('f1_macro', 'probabilities')
    """
    if metric is None:
        return METRICS["r2" if split is not None and split.task == "regression" else "accuracy"]
    found = metric if isinstance(metric, Metric) else _find(metric)
    if split is None:
        return found
    if found.task not in (None, split.task):
        fitting = " or ".join(map(repr, metric_names(split.task)))
        raise InputError(f"metric={found.name!r} does not fit a {split.task} task: use {fitting}")
    if found.name == "roc_auc" and split.n_classes > 2:  # scores of classes compare within a row only
        return Metric("roc_auc", whole=_roc_auc, needs="probabilities", balanced=True)
    if found.name == "f1":
        _f1(split, np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.int64))
    return found


def _find(metric: Any) -> Metric:
    if isinstance(metric, str):
        if metric in METRICS:
            return METRICS[metric]
        if metric not in get_scorer_names():
            raise unknown_name("metric", metric, METRICS)
        return _of_scorer(get_scorer(metric), metric)
    if not callable(metric) or isinstance(metric, type):
        raise InputError(f"metric={metric!r}: use one of {', '.join(METRICS)}, or a scikit-learn scorer")
    return _of_scorer(metric, getattr(metric, "__name__", None) or " ".join(repr(metric).split()))


def _of_scorer(scorer: Any, name: str) -> Metric:
    """A scorer is shown an estimator that has answered already."""
    response = getattr(scorer, "_response_method", "predict")
    asked = [response] if isinstance(response, str) else list(response)
    needs: Needs = "labels"
    if "decision_function" in asked:
        needs = "scores"
    elif "predict_proba" in asked:
        needs = "probabilities"

    def whole(split: Split, y: NDArray[Any], answers: Answers) -> Floats:
        known = y >= 0 if split.task == "classification" else np.ones(len(y), dtype=bool)
        labels = split.labels(y[known])
        rows = np.arange(len(labels))[:, None]
        try:
            found = [float(scorer(_answered(split, one[known], needs), rows, labels)) for one in answers]
        except ValueError as error:  # labels or answers of a kind it does not know
            raise InputError(
                f"metric={name!r} cannot be used here ({_first_line(error)}): use another"
            ) from error
        return np.array(found)

    return Metric(name, None, whole=whole, needs=needs)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")


def _answered(split: Split, answers: Answers, needs: Needs) -> Any:
    if split.task == "regression":
        return _AnsweredRegressor(answers)
    return _AnsweredClassifier(split, answers, needs)


class _AnsweredRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    def __init__(self, answers: Answers) -> None:
        self.answers = answers

    def predict(self, rows: Any) -> Any:
        return self.answers


class _AnsweredClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    def __init__(self, split: Split, answers: Answers, needs: Needs) -> None:
        self.split, self.answers, self.needs = split, answers, needs
        self.classes_ = split.classes

    def predict(self, rows: Any) -> Any:
        codes = self.answers if self.needs == "labels" else self.answers.argmax(axis=1)
        return self.split.labels(codes.astype(np.int64))  # answers that were noted are floats

    def decision_function(self, rows: Any) -> Any:
        two = self.split.n_classes == 2
        return self.answers[:, 1] - self.answers[:, 0] if two else self.answers

    def predict_proba(self, rows: Any) -> Any:
        return self.answers
