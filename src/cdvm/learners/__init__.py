"""How models are trained: one module a learner, all behind the protocol of :mod:`cdvm.learners.base`."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from cdvm.errors import InputError
from cdvm.learners.base import Learner, Trainer
from cdvm.learners.sklearn import SklearnLearner

__all__ = ["Learner", "SklearnLearner", "Trainer", "learner_names", "make_learner"]


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000)


def _ridge() -> Any:
    from sklearn.linear_model import RidgeClassifier

    return RidgeClassifier()


def _ridge_regression() -> Any:
    from sklearn.linear_model import Ridge

    return Ridge()


def _neighbors() -> Any:
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(n_neighbors=1)


def _decision_tree() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier()


def _random_forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier()


def _gradient_boosting() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier()


def _naive_bayes() -> Any:
    from sklearn.naive_bayes import GaussianNB

    return GaussianNB()


def _svm() -> Any:
    from sklearn.svm import SVC

    return SVC()


def _mlp() -> Any:
    from sklearn.neural_network import MLPClassifier

    # the few rows of a subset make one batch, for which a quasi-Newton method converges
    return MLPClassifier(hidden_layer_sizes=(16,), solver="lbfgs", max_iter=500)


def _nearest_center() -> Any:
    from cdvm.datasets.clusters import ClusterLearner

    return ClusterLearner()


_NAMED: dict[str, Callable[[], Any]] = {
    "logistic": _logistic,
    "ridge": _ridge,
    "ridge_regression": _ridge_regression,
    "neighbors": _neighbors,
    "decision_tree": _decision_tree,
    "random_forest": _random_forest,
    "gradient_boosting": _gradient_boosting,
    "naive_bayes": _naive_bayes,
    "svm": _svm,
    "mlp": _mlp,
    "nearest_center": _nearest_center,
}


def learner_names() -> list[str]:
    """Names that ``learner=`` understands."""
    return list(_NAMED)


def make_learner(learner: Any) -> Learner:
    """A learner from a name, a scikit-learn estimator or a learner.

    >>> make_learner("logistic").name
    'sklearn'
    """
    if isinstance(learner, Learner):
        return learner
    if isinstance(learner, str):
        if learner not in _NAMED:
            near = difflib.get_close_matches(learner, _NAMED, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise InputError(f"learner={learner!r} is unknown: {hint}choose from {', '.join(_NAMED)}")
        learner = _NAMED[learner]()
    return learner if isinstance(learner, Learner) else SklearnLearner(learner)
