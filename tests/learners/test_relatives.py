from __future__ import annotations

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier

pytest.importorskip("numba", reason="Numba is not installed: pip install cdvm[trees]")

from cdvm import CDVM
from cdvm.data.split import Split
from cdvm.learners import BoostingLearner, ForestLearner, TreeLearner, make_learner
from cdvm.learners.relatives import akin, proxy_for, stand_in, tree_relative
from cdvm.learners.torch import TorchLearner


class LGBMClassifier:
    """LightGBM's names, without LightGBM."""

    def __init__(self, **params):
        self.params = params

    def get_params(self, deep=True):
        return {"n_estimators": 100, "num_leaves": 31, "max_depth": -1, "reg_lambda": 0.0} | self.params


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (DecisionTreeClassifier(max_depth=3, min_samples_leaf=4), TreeLearner(max_depth=3, min_leaf=4)),
        (DecisionTreeClassifier(min_samples_leaf=0.1), TreeLearner()),
        (RandomForestClassifier(30), ForestLearner(30, max_features="sqrt")),
        (
            RandomForestRegressor(max_features=0.4, min_samples_leaf=2),
            ForestLearner(100, max_features=0.4, min_leaf=2, task="regression"),
        ),
        (RandomForestClassifier(max_features=None), ForestLearner(100, max_features=1.0)),
        (ExtraTreesClassifier(10), ForestLearner(10, max_features="sqrt", bootstrap=False)),
        (
            HistGradientBoostingClassifier(max_iter=70, l2_regularization=2.0),
            BoostingLearner(70, learning_rate=0.1, max_leaves=31, min_leaf=20, l2=2.0),
        ),
        (
            GradientBoostingRegressor(max_depth=2),
            BoostingLearner(100, learning_rate=0.1, max_depth=2, max_leaves=4, min_leaf=1, task="regression"),
        ),
        (
            LGBMClassifier(num_leaves=7, learning_rate=0.05, min_child_samples=8),
            BoostingLearner(100, learning_rate=0.05, max_leaves=7, min_leaf=8, l2=0.0),
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_settings_are_taken_over(estimator, expected):
    assert tree_relative(estimator).spec() == expected.spec()


def test_changes_win_and_others_have_no_relative():
    assert tree_relative(RandomForestClassifier(500), n_trees=20).n_trees == 20
    assert tree_relative(LogisticRegression()) is None


@pytest.mark.parametrize(
    ("estimator", "proxy"),
    [
        (RandomForestClassifier(200, min_samples_leaf=3), ForestLearner(50, min_leaf=3, max_features="sqrt")),
        (BaggingClassifier(), ForestLearner()),
        (GridSearchCV(DecisionTreeClassifier(max_depth=3), {}), TreeLearner(max_depth=3)),
        (
            HistGradientBoostingClassifier(),
            BoostingLearner(50, learning_rate=0.2, min_leaf=20, l2=0.0, max_leaves=8),
        ),
    ],
)
def test_a_smaller_tree_learner_stands_for_trees(estimator, proxy):
    assert proxy_for(make_learner(estimator)).spec() == proxy.spec()


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (MLPClassifier(), "random_features"),
        (MLPRegressor(), "random_features_regression"),
        (SVC(), "random_features"),
        (SVR(), "random_features_regression"),
        (SVC(kernel="linear"), "logistic"),
        (LinearSVC(), "logistic"),
        (TransformedTargetRegressor(Ridge()), "ridge_regression"),
        (TransformedTargetRegressor(SVR()), "random_features_regression"),
        (QuadraticDiscriminantAnalysis(), "forest"),  # few rows are not enough for it
    ],
)
def test_a_relative_of_its_kind_stands_for_an_estimator(estimator, name):
    assert proxy_for(make_learner(estimator)).spec() == make_learner(name).spec()


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_modules_that_are_trained_one_by_one_have_a_relative_and_stacked_ones_need_none(task):
    nn = pytest.importorskip("torch").nn
    X = np.random.default_rng(0).normal(size=(40, 4))
    split = Split.from_arrays(X, X[:, 0] if task == "regression" else X[:, 0] > 0, task=task, random_state=0)
    width = split.n_classes or 1
    stacked = TorchLearner(lambda: nn.Linear(4, width), epochs=2, task=task)
    assert stand_in("auto", stacked, split) == (stacked, split)
    alone = TorchLearner(lambda: nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, width)), epochs=2, task=task)
    name = "random_features" + "_regression" * (task == "regression")
    assert stand_in("auto", alone, split).learner.spec() == make_learner(name).spec()
    assert stand_in(None, alone, split) == (alone, split)


@pytest.mark.parametrize(
    ("learner", "rows"),
    [
        (BoostingLearner(min_leaf=20), 160),
        (ForestLearner(), 0),
        (HistGradientBoostingClassifier(), 160),
        (RandomForestClassifier(min_samples_leaf=3), 24),
        (RandomForestClassifier(min_samples_leaf=0.1), 0),
        ("logistic", 0),
    ],
)
def test_leaves_of_a_least_size_ask_for_subsets_that_fill_some(learner, rows):
    assert make_learner(learner).enough_rows == rows


def test_subset_models_of_boosting_learn_something_on_a_small_table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    pruner = CDVM(HistGradientBoostingClassifier(), n_models=50, effort="low", n_jobs=1, random_state=0)
    pruner.fit(X, X[:, 0] + X[:, 1] > 0)
    assert pruner.outcomes_.design.inclusion == pytest.approx(160 / 600)
    assert pruner.outcomes_.degenerate == 0
    assert CDVM("boosting", n_models=4, inclusion=0.03).fit(X, X[:, 0] > 0).outcomes_.design.inclusion == 0.03


@pytest.mark.parametrize(
    ("estimator", "proxy", "expected"),
    [
        (RandomForestClassifier(), "auto", True),
        (HistGradientBoostingClassifier(), "forest", True),
        (HistGradientBoostingClassifier(), "logistic", False),
        (LogisticRegression(), "auto", True),
        (GridSearchCV(LogisticRegression(), {"C": [1, 2]}), "ridge", True),
        (LogisticRegression(), "forest", False),
        (SVC(kernel="linear"), "auto", True),
        (SVC(), "auto", False),
        (SVC(), "logistic", False),
        (MLPClassifier(), "auto", False),
        (BaggingClassifier(), "auto", False),  # a forest stands for it
        (KNeighborsClassifier(), "auto", True),
        (KNeighborsClassifier(), "forest", False),
        (GaussianNB(), "auto", True),  # itself
        ("ridge", "auto", True),
        ("ridge", "logistic", True),
        ("ridge", "forest", False),
        ("boosting", "forest", True),
    ],
)
def test_some_proxies_are_of_the_same_kind(estimator, proxy, expected):
    learner = make_learner(estimator)
    assert akin(learner, proxy_for(learner) if proxy == "auto" else make_learner(proxy)) is expected
