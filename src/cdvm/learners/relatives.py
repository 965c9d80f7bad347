"""The fast tree learner that resembles an estimator: not the same models, but the same kind and settings."""

from __future__ import annotations

from typing import Any

from cdvm.learners.base import Learner
from cdvm.learners.trees import BoostingLearner, ForestLearner, TreeLearner

__all__ = ["tree_relative"]

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
