"""Trees, forests and boosted trees on subsets of one table, which share its binned features.

Every feature is cut into at most 63 ranges once (:mod:`cdvm.learners.batched.binning`); models are grown and
asked by compiled code (extra ``trees``), one thread a task. A tree cuts halfway between the ranges it saw on
either side, and of cuts that are equally good it takes the one with the widest gap. Missing values are below
all others.

Forests weigh the rows of a tree by Poisson numbers instead of drawing them with replacement, which is the
same but for the total, and a row's weight follows from the model's number, the tree and the row alone: models
on sets that share most rows differ by the rows they do not share.
"""

from __future__ import annotations

from abc import abstractmethod
from math import sqrt
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from cdvm.data.split import Features, Split, Task
from cdvm.errors import InputError
from cdvm.learners.base import LEAVES, Learner, Trainer, class_counts
from cdvm.learners.batched.binning import Bins
from cdvm.learners.batched.compiling import need_numba
from cdvm.learners.batched.linear import fill_absent, winners
from cdvm.sampling import RandomStream, Subsets, draw_words

__all__ = ["BoostingLearner", "ForestLearner", "TreeLearner"]

_AT_ONCE = 16 << 20  # bytes of scores between models and labels
_DEEP = 1 << 30


class _Trees(Learner):
    """What the learners share."""

    min_leaf: int

    def __init__(self, task: Task, **counts: int | None) -> None:
        need_numba(type(self).__name__)
        if task not in ("classification", "regression"):
            raise InputError(f"task={task!r}: use 'classification' or 'regression'")
        for name, value in counts.items():
            if value is not None and (value != int(value) or value < 1):
                raise InputError(f"{name}={value!r}: use a whole number of at least 1")
        self.task = task

    @property
    def enough_rows(self) -> int:
        return LEAVES * self.min_leaf if self.min_leaf > 1 else 0

    def spec(self) -> dict[str, Any]:
        given = {k: v for k, v in vars(self).items() if k != "stochastic"}
        return {"name": self.name, **dict(sorted(given.items()))}

    def _check(self, split: Split) -> None:
        if self.task != split.task:
            raise InputError(f"{type(self).__name__}(task={self.task!r}) does not fit a {split.task} split")


class ForestLearner(_Trees):
    """A random forest: trees on bootstrapped rows, a random choice of features at every split.

    Parameters
    ----------
    n_trees : int
    max_depth : int or None
        None grows until leaves are pure.
    min_leaf : int
        Rows of a leaf, at least.
    max_features : float, int, "sqrt" or None
        Features tried at a split: a fraction, a number, the root of all; None is the root for classes and a
        third for targets.
    bootstrap : bool
        Whether every tree has rows of its own.
    task : {"classification", "regression"}

    Examples
    --------
    >>> split = Split.from_arrays([[0.0], [1.0], [2.0], [3.0]] * 5, list("aabb") * 5, random_state=0)
    >>> ForestLearner().predict(split, Subsets.of([range(16)], 16), np.array([[0.1], [2.9]])).tolist()
    [[0, 1]]
    """

    name = "forest"

    def __init__(
        self,
        n_trees: int = 50,
        *,
        max_depth: int | None = None,
        min_leaf: int = 1,
        max_features: float | Literal["sqrt"] | None = None,
        bootstrap: bool = True,
        task: Task = "classification",
    ) -> None:
        super().__init__(task, n_trees=n_trees, max_depth=max_depth, min_leaf=min_leaf)
        known = max_features in (None, "sqrt") or (not isinstance(max_features, str) and max_features > 0)
        if not known:
            raise InputError(f"max_features={max_features!r}: use a fraction, a number, 'sqrt' or None")
        self.n_trees, self.max_depth, self.min_leaf = n_trees, max_depth, min_leaf
        self.max_features, self.bootstrap = max_features, bool(bootstrap)
        self.stochastic = self.bootstrap or max_features != 1.0

    def bind(self, split: Split, X: Features) -> Trainer:
        self._check(split)
        return _ForestTrainer(split, X, self)

    def tried(self, n_features: int) -> int:
        """How many of the features a split looks at."""
        wanted = self.max_features
        if wanted is None:
            wanted = "sqrt" if self.task == "classification" else 1 / 3
        if wanted == "sqrt":
            return max(1, int(sqrt(n_features)))
        count = float(wanted) if isinstance(wanted, int) or wanted > 1 else float(wanted) * n_features
        return max(1, min(n_features, int(count)))


class TreeLearner(ForestLearner):
    """One decision tree on all features: the same for the same rows.

    Parameters
    ----------
    max_depth : int or None
        None grows until leaves are pure.
    min_leaf : int
        Rows of a leaf, at least.
    task : {"classification", "regression"}
    """

    name = "tree"

    def __init__(
        self, *, max_depth: int | None = None, min_leaf: int = 1, task: Task = "classification"
    ) -> None:
        super().__init__(
            1, max_depth=max_depth, min_leaf=min_leaf, max_features=1.0, bootstrap=False, task=task
        )


class BoostingLearner(_Trees):
    """Gradient boosting on histograms: log loss for classes, squared error for targets.

    Parameters
    ----------
    n_trees : int
        Rounds; with more than two classes every round has a tree for each.
    learning_rate : float
    max_leaves : int
        Leaves of a tree, 256 at most. Trees grow at the leaf with the most to gain.
    max_depth : int or None
    min_leaf : int
        Rows of a leaf, at least.
    l2 : float
        Penalty of the leaves' answers.
    task : {"classification", "regression"}

    Models are the same for the same rows.
    """

    name = "boosting"

    def __init__(
        self,
        n_trees: int = 50,
        *,
        learning_rate: float = 0.2,
        max_leaves: int = 8,
        max_depth: int | None = None,
        min_leaf: int = 5,
        l2: float = 0.1,
        task: Task = "classification",
    ) -> None:
        super().__init__(task, n_trees=n_trees, max_leaves=max_leaves, max_depth=max_depth, min_leaf=min_leaf)
        if not 2 <= max_leaves <= 256:
            raise InputError(f"max_leaves={max_leaves!r}: use 2 to 256")
        if not 0 < learning_rate <= 1:
            raise InputError(f"learning_rate={learning_rate!r}: use more than 0 and at most 1")
        if not 0 <= l2 < np.inf:
            raise InputError(f"l2={l2!r}: use 0 or more")
        self.n_trees, self.learning_rate, self.l2 = n_trees, float(learning_rate), float(l2)
        self.max_leaves, self.max_depth, self.min_leaf = max_leaves, max_depth, min_leaf

    def bind(self, split: Split, X: Features) -> Trainer:
        self._check(split)
        return _BoostingTrainer(split, X, self)


class _TreesTrainer(Trainer):
    chunk: ClassVar[int] = 100
    middle: ClassVar[float]  # the answer between two classes

    def __init__(self, split: Split, X: Features) -> None:
        super().__init__(split, X)
        bins = Bins(split.X)
        self._sizes, self._codes = bins.sizes, bins.codes(split.X)
        self._columns = np.ascontiguousarray(bins.codes(X).T)
        # targets of size 1 around 0 are safe in single precision
        self._mean = float(split.y.mean()) if split.task == "regression" else 0.0
        self._scale = (float(split.y.std()) or 1.0) if split.task == "regression" else 1.0
        self._targets = (split.y - self._mean) / self._scale if split.task == "regression" else split.y
        self._width = split.n_classes if split.n_classes > 2 else 1

    @property
    def one_by_one(self) -> bool:
        return True

    @abstractmethod
    def _answers(self, subsets: Subsets) -> NDArray[np.float32]:
        """What the models say: of shape (n_models, n_outputs, n_answers)."""

    def _winners(self, answers: NDArray[np.float32]) -> NDArray[Any]:
        return winners(answers)

    def _labels(self, subsets: Subsets) -> NDArray[Any]:
        regression = self.split.task == "regression"
        shape = (len(subsets), self._columns.shape[1])
        labels = np.empty(shape, dtype=np.float64 if regression else np.int32)
        at_once = max(1, _AT_ONCE // (4 * self._width * shape[1]))
        for start in range(0, len(subsets), at_once):
            piece = slice(start, start + at_once)
            answers = self._answers(subsets[piece])
            if regression:
                labels[piece] = self._mean + self._scale * answers[:, 0].astype(np.float64)
            else:
                labels[piece] = answers[:, 0] > self.middle if self._width == 1 else self._winners(answers)
        return labels

    def _scores(self, subsets: Subsets) -> NDArray[np.floating[Any]]:
        if self.split.task == "regression":
            raise InputError("trees for regression give no class scores: use outcome='correct'")
        answers = self._answers(subsets)
        if self._width == 1:
            one = answers[:, 0]
            return np.stack([2 * np.float32(self.middle) - one, one], axis=2)
        return np.ascontiguousarray(answers.transpose(0, 2, 1))


class _ForestTrainer(_TreesTrainer):
    link = "fractions"
    middle: ClassVar[float] = 0.5

    def __init__(self, split: Split, X: Features, learner: ForestLearner) -> None:
        super().__init__(split, X)
        self.learner = learner
        self._tried = learner.tried(split.X.shape[1])
        self._float_targets = self._targets.astype(np.float64)

    def _answers(self, subsets: Subsets) -> NDArray[np.float32]:
        from cdvm.learners.batched.forest_kernel import CLASSES, TARGETS, TWO_CLASSES, grow_forest
        from cdvm.learners.batched.tree_answers import add_scalars, add_vectors

        learner, width, m = self.learner, self._width, self._columns.shape[1]
        answers = np.zeros((len(subsets), m, width), dtype=np.float32)
        outputs = np.zeros(learner.n_trees, dtype=np.int64)
        classes = CLASSES if width > 1 else TWO_CLASSES
        kind = TARGETS if self.split.task == "regression" else classes
        for k, (rows, copies) in enumerate(_training_sets(subsets)):
            trees = _blank(learner.n_trees, learner.n_trees * len(rows), width)
            grow_forest(
                np.ascontiguousarray(self._codes[rows].T),
                kind,
                self._float_targets[rows],
                copies,
                rows,
                draw_words(subsets.seed, RandomStream.ESTIMATOR, int(subsets.models[k]), 1, 1)[0, 0],
                self._tried,
                learner.min_leaf,
                learner.max_depth or _DEEP,
                learner.bootstrap,
                *trees,
            )
            if width == 1:
                add_scalars(self._columns, *trees, outputs, answers[k].T)
            else:
                add_vectors(self._columns, *trees, answers[k])
        answers /= learner.n_trees
        return answers.transpose(0, 2, 1)

    def _winners(self, answers: NDArray[np.float32]) -> NDArray[Any]:
        return np.asarray(answers.argmax(axis=1))  # classes are next to each other in memory


class _BoostingTrainer(_TreesTrainer):
    link = "logistic"
    halves = False
    middle: ClassVar[float] = 0.0

    def __init__(self, split: Split, X: Features, learner: BoostingLearner) -> None:
        super().__init__(split, X)
        self.learner = learner
        self._float_targets = self._targets.astype(np.float32)

    def _answers(self, subsets: Subsets) -> NDArray[np.float32]:
        from cdvm.learners.batched.boosting_kernel import BINARY, SOFTMAX, SQUARED, grow_boosting
        from cdvm.learners.batched.tree_answers import add_scalars

        learner, width = self.learner, self._width
        loss = SQUARED if self.split.task == "regression" else BINARY if width == 1 else SOFTMAX
        bases, n_trees = self._bases(subsets), learner.n_trees * width
        answers = np.repeat(bases[:, :, None], self._columns.shape[1], axis=2)
        for k, (rows, copies) in enumerate(_training_sets(subsets)):
            trees, outputs = _blank(n_trees, n_trees * learner.max_leaves, 1), np.empty(n_trees, np.int64)
            grown = grow_boosting(
                self._codes[rows],
                self._sizes,
                self._float_targets[rows],
                copies.astype(np.float32),
                bases[k],
                loss,
                learner.n_trees,
                np.float32(learner.learning_rate),
                np.float32(learner.l2 + 1e-6),
                np.int32(learner.min_leaf),
                learner.max_depth or _DEEP,
                *trees,
                outputs,
            )
            add_scalars(self._columns, *trees, outputs[:grown], answers[k])
        if loss == SOFTMAX:
            fill_absent(answers, bases > -np.inf)
        return answers

    def _bases(self, subsets: Subsets) -> NDArray[np.float32]:
        """The answer without a tree: the mean, the log odds, the log fractions."""
        if self.split.task == "regression":
            means = np.asarray(subsets.members @ self._targets) / subsets.sizes
            return means[:, None].astype(np.float32)
        with np.errstate(divide="ignore"):
            logs = np.log(class_counts(self.split, subsets) / subsets.sizes[:, None])
        return np.asarray(logs if self._width > 1 else logs[:, 1:] - logs[:, :1], dtype=np.float32)


def _training_sets(subsets: Subsets) -> Any:
    """Rows of each training set in their order in the table, and how often each occurs."""
    members = subsets.members if subsets.members.has_sorted_indices else subsets.members.sorted_indices()
    for k in range(len(subsets)):
        part = slice(*members.indptr[k : k + 2])
        yield members.indices[part].astype(np.int32), members.data[part].astype(np.int32)


def _blank(n_trees: int, most: int, width: int) -> tuple[NDArray[Any], ...]:
    """Room for trees: where each starts, its splits, the answers of its leaves."""
    kinds = (np.int32, np.int32, np.uint8)
    splits = [np.empty(most, dtype=kind) for kind in kinds]
    return np.empty(n_trees + 1, dtype=np.int64), *splits, np.empty((most, width), dtype=np.float32)
