"""How models are trained: one module a learner, all behind the protocol of :mod:`cdvm.learners.base`."""

from __future__ import annotations

import warnings
from importlib import import_module
from inspect import isabstract
from typing import Any

from cdvm.errors import InputError, InputWarning, unknown_name
from cdvm.learners.base import Learner, Trainer
from cdvm.learners.sklearn import SklearnLearner

__all__ = [
    "BoostingLearner",
    "ForestLearner",
    "Learner",
    "LogisticLearner",
    "NeighborsLearner",
    "PaperLearner",
    "RandomFeaturesLearner",
    "RidgeLearner",
    "SklearnLearner",
    "TorchLearner",
    "Trainer",
    "TreeLearner",
    "learner_names",
    "make_learner",
]

# Modules are named, not imported: a learner's libraries are loaded when it is used.
_CLASSES = {
    "BoostingLearner": "cdvm.learners.trees",
    "ForestLearner": "cdvm.learners.trees",
    "LogisticLearner": "cdvm.learners.logistic",
    "NeighborsLearner": "cdvm.learners.neighbors",
    "PaperLearner": "cdvm.learners.paper",
    "RandomFeaturesLearner": "cdvm.learners.random_features",
    "RidgeLearner": "cdvm.learners.ridge",
    "TorchLearner": "cdvm.learners.torch",
    "TreeLearner": "cdvm.learners.trees",
}

_NAMED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "paper": ("cdvm.learners.paper", "PaperLearner", {}),
    "logistic": ("cdvm.learners.logistic", "LogisticLearner", {}),
    "ridge": ("cdvm.learners.ridge", "RidgeLearner", {}),
    "ridge_regression": ("cdvm.learners.ridge", "RidgeLearner", {"task": "regression"}),
    "neighbors": ("cdvm.learners.neighbors", "NeighborsLearner", {}),
    "neighbors_regression": ("cdvm.learners.neighbors", "NeighborsLearner", {"task": "regression"}),
    "random_features": ("cdvm.learners.random_features", "RandomFeaturesLearner", {}),
    "random_features_regression": (
        "cdvm.learners.random_features",
        "RandomFeaturesLearner",
        {"task": "regression"},
    ),
    "tree": ("cdvm.learners.trees", "TreeLearner", {}),
    "tree_regression": ("cdvm.learners.trees", "TreeLearner", {"task": "regression"}),
    "forest": ("cdvm.learners.trees", "ForestLearner", {}),
    "forest_regression": ("cdvm.learners.trees", "ForestLearner", {"task": "regression"}),
    "boosting": ("cdvm.learners.trees", "BoostingLearner", {}),
    "boosting_regression": ("cdvm.learners.trees", "BoostingLearner", {"task": "regression"}),
    # scikit-learn's own, one fit a model
    "decision_tree": ("sklearn.tree", "DecisionTreeClassifier", {}),
    "random_forest": ("sklearn.ensemble", "RandomForestClassifier", {}),
    "gradient_boosting": ("sklearn.ensemble", "HistGradientBoostingClassifier", {}),
    "naive_bayes": ("sklearn.naive_bayes", "GaussianNB", {}),
    "svm": ("sklearn.svm", "SVC", {}),
    # the few rows of a subset make one batch, for which a quasi-Newton method converges
    "mlp": (
        "sklearn.neural_network",
        "MLPClassifier",
        {"hidden_layer_sizes": (16,), "solver": "lbfgs", "max_iter": 500},
    ),
}

_FAST = {
    "LogisticRegression": "LogisticLearner",
    "Ridge": "RidgeLearner",
    "RidgeClassifier": "RidgeLearner",
    "KNeighborsClassifier": "NeighborsLearner",
    "KNeighborsRegressor": "NeighborsLearner",
}


def __getattr__(name: str) -> Any:
    if name in _CLASSES:
        return getattr(import_module(_CLASSES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def learner_names() -> list[str]:
    """Names that ``learner=`` understands."""
    return list(_NAMED)


def make_learner(learner: Any) -> Learner:
    """A learner from a name, a scikit-learn estimator or a learner.

    A name is one of :func:`learner_names` or that of a scikit-learn class. An estimator that has a fast
    counterpart with the same answers becomes that; any other is fitted model by model.

    >>> from sklearn.linear_model import LogisticRegression
    >>> make_learner(LogisticRegression(C=0.1)).name
    'logistic'
    >>> make_learner(LogisticRegression(class_weight="balanced")).name
    'sklearn'
    """
    if isinstance(learner, Learner):
        return learner
    if isinstance(learner, str):
        if learner not in _NAMED:
            return SklearnLearner(_by_class_name(learner))
        module, name, options = _NAMED[learner]
        return make_learner(getattr(import_module(module), name)(**options))
    if isinstance(learner, type):
        raise InputError(f"learner={learner.__name__} is a class: pass an instance, {learner.__name__}()")
    if hasattr(learner, "state_dict") and hasattr(learner, "parameters"):
        raise InputError(
            "learner is a PyTorch module: pass cdvm.learners.TorchLearner with a function that makes it"
        )
    if type(learner).__name__ == "Pipeline" and _is_sklearn(learner):
        return _from_pipeline(learner)
    return _fast(learner) or SklearnLearner(learner)


def _by_class_name(name: str) -> Any:
    """A scikit-learn classifier or regressor by the name of its class, with its default parameters."""
    found = _sklearn_class(name) if name.isidentifier() and name[0].isupper() else None
    if found is None:
        raise unknown_name("learner", name, _NAMED)
    try:
        return found()
    except TypeError as error:
        raise InputError(f"learner={name!r} needs arguments: pass an estimator in Python") from error


def _sklearn_class(name: str) -> Any:
    """Where it is exported; ``all_estimators`` would load every module there is, PyTorch with them."""
    import sklearn
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

    for part in sklearn.__all__:
        found = getattr(getattr(sklearn, part), name, None)
        if isinstance(found, type) and issubclass(found, BaseEstimator) and not isabstract(found):
            return found if issubclass(found, (ClassifierMixin, RegressorMixin)) else None
    return None


def _is_sklearn(estimator: Any) -> bool:
    return type(estimator).__module__.startswith("sklearn.")


def _fast(estimator: Any) -> Learner | None:
    """The fast learner with the estimator's answers, or None."""
    name = _FAST.get(type(estimator).__name__)
    if name is None or not _is_sklearn(estimator):
        return None
    found: Learner | None = __getattr__(name).from_sklearn(estimator)
    return found


def _from_pipeline(pipeline: Any) -> Learner:
    last = _fast(pipeline.steps[-1][1])
    if last is None:
        return SklearnLearner(pipeline)
    from cdvm.learners.pipeline import PipelineLearner, dependent_step

    found = dependent_step(pipeline)
    if found is None:
        return PipelineLearner(pipeline, last)
    name, step = found
    kind = type(step).__name__
    learner = SklearnLearner(pipeline)
    learner.note = (
        f"step {name!r} ({kind}) of the pipeline is fitted anew on every subset, so each model is fitted on "
        f"its own. Fit it once and freeze it to train them together: FrozenEstimator({kind}().fit(X)) from "
        "sklearn.frozen"
    )
    warnings.warn(learner.note, InputWarning, stacklevel=3)
    return learner
