"""Fast learners that resemble an estimator: not the same models, but the same kind and settings."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from cdvm.data.encoders import unused
from cdvm.data.native import OTHER
from cdvm.data.preparation import Preparation
from cdvm.data.raw import RawColumns
from cdvm.data.split import Split
from cdvm.errors import InputError, InputWarning
from cdvm.learners import make_learner
from cdvm.learners.base import Learner
from cdvm.learners.logistic import LogisticLearner
from cdvm.learners.neighbors import NeighborsLearner
from cdvm.learners.ridge import RidgeLearner
from cdvm.learners.sklearn import SklearnLearner
from cdvm.learners.torch import TorchLearner
from cdvm.learners.trees import BoostingLearner, ForestLearner, TreeLearner
from cdvm.sampling import Subsets

__all__ = ["StandIn", "akin", "as_numbers", "proxy_for", "stand_in", "tree_relative"]

# what our settings are called elsewhere: scikit-learn, LightGBM, XGBoost, CatBoost
_ELSEWHERE = {
    "n_trees": ("n_estimators", "max_iter", "iterations", "num_trees"),
    "learning_rate": ("learning_rate", "eta"),
    "max_leaves": ("max_leaf_nodes", "num_leaves", "max_leaves"),
    "max_depth": ("max_depth", "depth"),
    "min_leaf": ("min_samples_leaf", "min_child_samples", "min_data_in_leaf"),
    "l2": ("l2_regularization", "reg_lambda", "l2_leaf_reg"),
    "bootstrap": ("bootstrap",),
}
_OF_A_TREE = ("max_depth", "min_leaf")
_KINDS: dict[str, tuple[type[Any], tuple[str, ...]]] = {
    "DecisionTree": (TreeLearner, _OF_A_TREE),
    "ExtraTree": (ForestLearner, (*_OF_A_TREE, "n_trees", "bootstrap")),
    "RandomForest": (ForestLearner, (*_OF_A_TREE, "n_trees", "bootstrap")),
    "HistGradientBoosting": (BoostingLearner, tuple(_ELSEWHERE)[:-1]),
    "GradientBoosting": (BoostingLearner, tuple(_ELSEWHERE)[:-1]),
    "LGBM": (BoostingLearner, tuple(_ELSEWHERE)[:-1]),
    "XGB": (BoostingLearner, tuple(_ELSEWHERE)[:-1]),
    "CatBoost": (BoostingLearner, tuple(_ELSEWHERE)[:-1]),
}

_TREES = 50  # as many rounds or trees tell sets apart as well as hundreds, in a fraction of the time
_LEAVES = 8
_TRIED = 200  # rows of the one fit that shows whether a learner can be used
# of other kinds, by the beginning of their names
_QUICK = ("GaussianNB", "BernoulliNB", "MultinomialNB", "ComplementNB", "CategoricalNB", "LinearDiscriminant",
          "NearestCentroid", "Dummy")  # fmt: skip
_LINEAR = ("Logistic", "Ridge", "SGD", "Perceptron", "PassiveAggressive", "Linear", "Lasso", "Elastic",
           "Lars", "Bayesian", "Huber")  # fmt: skip
_CURVED = ("MLP", "SVC", "SVR", "NuSVC", "NuSVR", "GaussianProcess", "KernelRidge")  # networks and kernels
_OF_A_KIND: dict[str, tuple[type[Any], ...]] = {
    "linear": (LogisticLearner, RidgeLearner),
    "neighbors": (NeighborsLearner,),
    "trees": (TreeLearner, ForestLearner, BoostingLearner),
}

_AROUND = (
    "SearchCV",
    "Calibrated",
    "Threshold",
    "OneVsRest",
    "OneVsOne",
)  # another estimator, under its name


def proxy_for(learner: Learner) -> Learner:
    """A learner that trains thousands of models in the time of an estimator's hundred, or the learner itself.

    Trees stand for trees and what is built of them, linear models for linear ones, linear models of random
    features for networks and kernels, neighbours for neighbours, a forest for all else. Learners that train
    many models at once and estimators that take no time need none; PyTorch modules that would be trained one
    by one do, see :func:`stand_in`.

    >>> from sklearn.neural_network import MLPClassifier
    >>> proxy_for(make_learner(MLPClassifier())).name
    'random_features'
    >>> quick = make_learner("logistic")
    >>> proxy_for(quick) is quick
    True
    """
    if not isinstance(learner, SklearnLearner):
        return learner
    estimator = _innermost(learner.estimator)
    name = type(estimator).__name__
    if name.startswith(_QUICK):
        return learner
    ending, kind = _ending(learner), _kind(estimator)
    linear = "ridge" + ending if ending else "logistic"
    if kind == "neighbors":
        return make_learner("neighbors" + ending)
    if kind in ("linear", "curved"):
        return make_learner(linear if kind == "linear" else "random_features" + ending)
    if find_spec("numba") is None:
        warnings.warn(
            f"linear models stand for {name} where thousands are trained: pip install cdvm[trees] for trees, "
            "which are closer to it",
            InputWarning,
            stacklevel=3,
        )
        return make_learner(linear)
    return _small_relative(estimator) or ForestLearner(task=learner.task)


def akin(learner: Learner, proxy: Learner) -> bool:
    """Whether a proxy's models are of the learner's kind: they then find the same rows hard, as a rule.

    >>> from sklearn.neural_network import MLPClassifier
    >>> from sklearn.svm import LinearSVC
    >>> [akin(learner, proxy_for(learner)) for learner in map(make_learner, (LinearSVC(), MLPClassifier()))]
    [True, False]
    """
    if proxy is learner:
        return True
    if isinstance(learner, SklearnLearner):
        return isinstance(proxy, _OF_A_KIND.get(_kind(_innermost(learner.estimator)), ()))
    return any(isinstance(learner, kind) and isinstance(proxy, kind) for kind in _OF_A_KIND.values())


def _kind(estimator: Any) -> str:
    """Of an estimator that learns: linear, curved (networks and kernels), neighbors, trees or other."""
    name = type(estimator).__name__
    if name.startswith("KNeighbors"):
        return "neighbors"
    if name.startswith((*_LINEAR, *_CURVED)):
        straight = name.startswith(_LINEAR) or getattr(estimator, "kernel", None) == "linear"
        return "linear" if straight else "curved"
    return "other" if tree_relative(estimator) is None else "trees"


def _ending(learner: Learner) -> str:
    """Of the name of a learner for the same task."""
    return "_regression" if learner.task == "regression" else ""


class StandIn(NamedTuple):
    """The learner that thousands of models are trained with, and the rows as it sees them."""

    learner: Learner
    split: Split


def stand_in(proxy: Any, learner: Learner, split: Split) -> StandIn:
    """What ``proxy`` means for a learner: ``"auto"``, itself (None), or the one given.

    The learner itself sees the rows as they are, another gets numbers, standardised, the missing ones at
    their mean.
    """
    if proxy is None:
        return StandIn(learner, split)
    auto = isinstance(proxy, str) and proxy == "auto"
    found = proxy_for(learner) if auto else make_learner(proxy)
    if auto and isinstance(learner, TorchLearner) and not learner.bind(split, split.X[:1]).stacked:
        found = make_learner("random_features" + _ending(learner))
    if found is learner:
        return StandIn(learner, split)
    if found.task != learner.task:
        raise InputError(f"proxy={found.title!r} is for {found.task} and learner for {learner.task}")
    _try_once(learner, split)
    return StandIn(found, as_numbers(split))


def _try_once(learner: Learner, split: Split) -> None:
    """Let a learner that cannot be used on these rows say so now, not when it is to decide."""
    rows = np.unique(np.linspace(0, split.n_rows - 1, min(split.n_rows, _TRIED)).astype(np.int64))
    learner.predict(split, Subsets.of([rows], split.n_rows), split.X[rows[:2]])


def as_numbers(split: Split) -> Split:
    """The same rows with features that any model can read: standardised, missing ones at their mean."""
    parts = {"X": split.X, "X_val": split.X_val, "X_test": split.X_test}
    given = {name: part for name, part in parts.items() if part is not None}
    if isinstance(split.X, RawColumns):
        preparation = Preparation(scale=True).fit(_known_levels(split.X.table))
        step: Any = partial(_prepared, preparation)
        made: dict[str, Any] = {name: step(part) for name, part in given.items()}
        return replace(split, scaled=True, preparation=preparation, way=(*split.way, step), **made)
    split = split.standardized()
    if sparse.issparse(split.X):
        return split
    split = replace(split, way=(*split.way, np.nan_to_num))
    made = {name: np.nan_to_num(getattr(split, name), nan=0.0) for name in given}
    return replace(split, **made) if any(np.isnan(part).any() for part in given.values()) else split


def _prepared(preparation: Preparation, rows: RawColumns) -> Any:
    return preparation.transform(_known_levels(rows.table))


def _known_levels(table: Any) -> Any:
    """The table with what is no level of its own missing, as a preparation reads it."""
    if not hasattr(table, "iloc"):
        return table
    levels = {c: list(getattr(getattr(table[c], "cat", None), "categories", ())) for c in table}
    rest = {c: words[-1] for c, words in levels.items() if words and words[-1] == unused(OTHER, words[:-1])}
    return table.assign(**{c: table[c].cat.remove_categories([word]) for c, word in rest.items()})


def _small_relative(estimator: Any) -> Learner | None:
    """The tree learner like the estimator, with fewer and smaller trees."""
    found: Any = tree_relative(estimator)
    if isinstance(found, BoostingLearner):
        rate = min(1.0, max(found.learning_rate, min(0.2, found.learning_rate * found.n_trees / _TREES)))
        changes = {"learning_rate": rate, "max_leaves": min(found.max_leaves, _LEAVES)}
        return tree_relative(estimator, n_trees=min(found.n_trees, _TREES), **changes)
    if type(found) is ForestLearner:
        return tree_relative(estimator, n_trees=min(found.n_trees, _TREES))
    return None if found is None else tree_relative(estimator)


def _innermost(estimator: Any) -> Any:
    """The estimator that learns, behind pipelines, searches, calibration and changed targets."""
    while True:
        if hasattr(estimator, "steps") and len(estimator.steps):
            estimator = estimator.steps[-1][1]
        elif any(word in type(estimator).__name__ for word in _AROUND):
            estimator = estimator.estimator
        elif getattr(estimator, "regressor", None) is not None:
            estimator = estimator.regressor
        else:
            return estimator


def tree_relative(estimator: Any, **changes: Any) -> Learner | None:
    """A tree learner like the estimator, or None for an estimator of another kind.

    Parameters
    ----------
    estimator : object with ``get_params``
        A decision tree, a forest or boosted trees of scikit-learn, LightGBM, XGBoost or CatBoost.
    **changes
        Settings of the learner that win over the estimator's, e.g. fewer trees.

    Examples
    --------
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> found = tree_relative(GradientBoostingClassifier(max_depth=2), n_trees=20)
    >>> found.n_trees, found.learning_rate, found.max_depth, found.max_leaves
    (20, 0.1, 2, 4)
    """
    kind = next((k for k in _KINDS if type(estimator).__name__.startswith(k)), None)
    if kind is None or not hasattr(estimator, "get_params"):
        return None
    make, settings = _KINDS[kind]
    given = estimator.get_params()
    options: dict[str, Any] = {
        "task": "regression" if type(estimator).__name__.endswith("Regressor") else "classification"
    }
    for ours in settings:
        value = next((given[name] for name in _ELSEWHERE[ours] if given.get(name) is not None), None)
        if _usable(ours, value):
            options[ours] = value
    if make is BoostingLearner:
        depth = options.get("max_depth")
        options["max_leaves"] = min(256, options.get("max_leaves") or (2**depth if depth else 31))
    elif make is ForestLearner:
        tried = given.get("max_features")
        options["max_features"] = "sqrt" if isinstance(tried, str) else 1.0 if tried is None else tried
    found: Learner = make(**{**options, **changes})
    return found


def _usable(name: str, value: Any) -> bool:
    """Whether a setting says something: LightGBM's depth of -1 and shares of rows do not."""
    if name == "bootstrap":
        return value is not None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return (
        value >= 0
        if name == "l2"
        else value > 0
        if name == "learning_rate"
        else value >= 1 and value == int(value)
    )
