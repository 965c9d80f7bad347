"""The protocol every learner follows.

A :class:`Learner` is a recipe. Bound to a split and to the rows to answer for, it becomes a
:class:`Trainer`, which holds what all models share (distances, Gram matrices) and answers for many training
sets at once: ``learner.bind(split, X).predict(subsets)`` has one row a model and one column a row of ``X``.

Training sets no model can learn from still get an answer: one class only, that class; no row at all, the
most frequent class (the mean, for regression).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from cdvm._runtime.parallel import Prefer
from cdvm.data.raw import RawColumns
from cdvm.data.split import Features, Split, Task
from cdvm.errors import InputError
from cdvm.sampling import Subsets

__all__ = ["LEAVES", "Learner", "Reads", "Trainer", "class_counts", "constant_models", "degenerate"]

LEAVES = 8
"""A tree of fewer hardly tells rows apart: leaves that subset models should be able to have."""

Reads = Literal["numbers", "missing", "categories", "columns"]


class Learner(ABC):
    """A way to train a model on a subset of the training rows."""

    name: ClassVar[str]
    task: Task = "classification"
    stochastic: bool = False  # whether two fits on the same rows may differ

    @property
    def reads(self) -> Reads:
        """What features it can be given: finite numbers; also NaN; also categories; or any columns."""
        return "numbers"

    @property
    def title(self) -> str:
        """What to call it in a message."""
        return self.name

    @property
    def enough_rows(self) -> int:
        """Rows below which a model hardly learns anything, as far as the settings tell."""
        return 0

    @property
    def thrift(self) -> str:
        """Settings with which it learns from fewer rows, as one would write them, if there are any."""
        return ""

    @abstractmethod
    def bind(self, split: Split, X: Features) -> Trainer:
        """Prepare to train on rows of ``split`` and to answer for the rows ``X``."""

    def bind_for(self, split: Split, X: Features, rows: int) -> Trainer:
        """The same for models that have so many training rows together: few may share less."""
        return self.bind(split, X)

    @abstractmethod
    def spec(self) -> dict[str, Any]:
        """All that decides the learner's answers, as plain values for a manifest."""

    def predict(self, split: Split, subsets: Subsets, X: Features) -> NDArray[Any]:
        """Predictions of one model per subset on the rows ``X``; see :meth:`Trainer.predict`."""
        return self.bind_for(split, X, int(subsets.sizes.sum())).predict(subsets)


class Trainer(ABC):
    """A learner at work on one split, answering for the rows ``X``."""

    prefer: ClassVar[Prefer] = "threads"
    reads_columns: ClassVar[bool] = False
    halves: ClassVar[bool] = True  # whether two classes seen have scores -f and f, also of more classes
    link: ClassVar[Literal["softmax", "logistic", "fractions"] | None] = None  # from scores to probabilities
    chunk: ClassVar[int] = 500  # models a task trains: enough to batch, few enough to lose little

    def __init__(self, split: Split, X: Features) -> None:
        if isinstance(X, RawColumns) and not self.reads_columns:
            np.asarray(X)  # says what is wrong
        self.split = split
        self.X = X

    @property
    def one_by_one(self) -> bool:
        """Whether models gain nothing by being trained in one task."""
        return self.prefer == "processes"

    @abstractmethod
    def _labels(self, subsets: Subsets) -> NDArray[Any]:
        """Predictions for training sets with at least two classes (one row, for regression)."""

    @abstractmethod
    def _scores(self, subsets: Subsets) -> NDArray[np.floating[Any]]:
        """Scores for training sets with at least two classes."""

    def predict(self, subsets: Subsets) -> NDArray[Any]:
        """Class codes (targets, for regression) of shape (n_models, n_rows)."""
        fixed = degenerate(self.split, subsets)
        if fixed is None:
            return self._labels(subsets)
        constant, free = fixed
        dtype = np.float64 if self.split.task == "regression" else np.int32
        answer = np.empty((len(subsets), self.X.shape[0]), dtype=dtype)
        answer[:] = constant[:, None]
        if free.any():
            answer[free] = self._labels(subsets[free])
        return answer

    def scores(self, subsets: Subsets) -> NDArray[np.floating[Any]]:
        """One score per class, larger is likelier: shape (n_models, n_rows, n_classes)."""
        return self._where_possible(subsets, self._scores)

    def _where_possible(
        self, subsets: Subsets, ask: Callable[[Subsets], NDArray[np.floating[Any]]]
    ) -> NDArray[np.floating[Any]]:
        """One number a class, asked of models that can be trained; 1 for the only answer of the others."""
        fixed = degenerate(self.split, subsets)
        if fixed is None:
            return ask(subsets)
        constant, free = fixed
        one_hot = np.eye(self.split.n_classes, dtype=np.float32)[constant.astype(np.int64)]
        answer = np.empty((len(subsets), self.X.shape[0], self.split.n_classes), dtype=np.float32)
        answer[:] = one_hot[:, None, :]
        if free.any():
            answer[free] = ask(subsets[free])
        return answer

    def probabilities(self, subsets: Subsets) -> NDArray[np.floating[Any]]:
        """One probability per class: shape (n_models, n_rows, n_classes)."""
        if self.link is None:
            raise InputError(
                f"{type(self).__name__.strip('_').removesuffix('Trainer').lower()} models give no "
                "probabilities: use another metric, or another learner"
            )
        return self._where_possible(subsets, self._from_scores)

    def _from_scores(self, subsets: Subsets) -> NDArray[np.floating[Any]]:
        scores = self._scores(subsets)
        if self.link == "fractions":
            return scores
        if self.link == "logistic":  # a class never seen is impossible; two have scores -f and f
            present = class_counts(self.split, subsets) > 0
            two = (
                present.sum(axis=1) == 2 if self.halves else np.full(len(present), self.split.n_classes == 2)
            )
            scores = np.where(present[:, None, :], scores / (1 + two[:, None, None]), -np.inf)
        return np.asarray(softmax(scores, axis=2))


def class_counts(split: Split, subsets: Subsets) -> NDArray[np.int64]:
    """Rows of each class in each training set, shape (n_models, n_classes)."""
    one_hot = np.eye(split.n_classes, dtype=np.int64)[split.y]
    return np.asarray(subsets.members @ one_hot, dtype=np.int64)


def degenerate(split: Split, subsets: Subsets) -> tuple[NDArray[Any], NDArray[np.bool_]] | None:
    """Constant answer of every training set that allows no model, and a mask of those that do.

    None when every set allows a model.
    """
    if split.task == "regression":
        free = subsets.sizes > 0
        return None if free.all() else (np.full(len(subsets), split.y.mean()), free)
    counts = class_counts(split, subsets)
    free = (counts > 0).sum(axis=1) > 1
    if free.all():
        return None
    constant = counts.argmax(axis=1)
    constant[counts.sum(axis=1) == 0] = np.bincount(split.y, minlength=split.n_classes).argmax()
    return constant, free


def constant_models(trainer: Trainer, subsets: Subsets, answer: NDArray[Any]) -> NDArray[np.bool_]:
    """Which models had to give every row the same answer, or did: they learnt nothing."""
    known = degenerate(trainer.split, subsets)
    had_to = np.zeros(len(subsets), dtype=bool) if known is None else ~known[1]
    if answer.shape[1] < 2:
        return had_to
    return np.asarray(had_to | (answer == answer[:, :1]).reshape(len(answer), -1).all(axis=1))
