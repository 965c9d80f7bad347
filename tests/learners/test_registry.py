from __future__ import annotations

import subprocess
import sys

import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.utils import all_estimators

from cdvm import learners
from cdvm.errors import InputError
from cdvm.learners import SklearnLearner, _sklearn_class, learner_names, make_learner


@pytest.mark.parametrize("name", learner_names())
def test_every_name_makes_a_learner_of_its_task(name):
    learner = make_learner(name)
    assert learner.task == ("regression" if name.endswith("_regression") else "classification")
    assert learner.spec()["name"] == learner.name


@pytest.mark.parametrize(
    ("estimator", "name", "settings"),
    [
        (LogisticRegression(C=0.3, fit_intercept=False), "logistic", {"C": 0.3, "fit_intercept": False}),
        (RidgeClassifier(alpha=2.0), "ridge", {"alpha": 2.0, "task": "classification"}),
        (Ridge(alpha=3.0), "ridge", {"alpha": 3.0, "task": "regression"}),
        (KNeighborsClassifier(7), "neighbors", {"n_neighbors": 7, "task": "classification"}),
        (
            KNeighborsRegressor(3, weights="distance"),
            "neighbors",
            {"weights": "distance", "task": "regression"},
        ),
    ],
)
def test_estimators_with_a_fast_counterpart_use_it(estimator, name, settings):
    learner = make_learner(estimator)
    assert learner.name == name
    assert {key: getattr(learner, key) for key in settings} == settings


class Tweaked(LogisticRegression):
    pass


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(class_weight="balanced"),
        LogisticRegression(l1_ratio=1.0, solver="saga"),
        RidgeClassifier(class_weight="balanced"),
        Ridge(positive=True),
        KNeighborsClassifier(metric="cosine", weights=lambda d: 1 / (1 + d)),
        Tweaked(),
        GaussianNB(),
        RandomForestClassifier(),
    ],
    ids=lambda e: type(e).__name__,
)
def test_anything_else_is_fitted_by_scikit_learn(estimator):
    learner = make_learner(estimator)
    assert isinstance(learner, SklearnLearner)
    assert learner.estimator is estimator
    assert learner.note is None


def test_a_learner_is_left_as_it_is():
    learner = make_learner("paper")
    assert make_learner(learner) is learner


def test_mistakes_are_named():
    with pytest.raises(InputError, match="did you mean 'logistic'"):
        make_learner("logistics")
    with pytest.raises(InputError, match=r"pass an instance, GaussianNB\(\)"):
        make_learner(GaussianNB)
    with pytest.raises(InputError, match=r"has no fit\(\)"):
        make_learner(3)
    with pytest.raises(AttributeError, match="NoLearner"):
        _ = learners.NoLearner


def test_every_classifier_and_regressor_of_scikit_learn_has_its_name():
    wanted = dict(all_estimators(type_filter=["classifier", "regressor"]))
    for name in {*dict(all_estimators()), "BaseEstimator", "ClassifierMixin", "Pipelines"}:
        assert _sklearn_class(name) is wanted.get(name)
    assert type(make_learner("LinearDiscriminantAnalysis").estimator).__name__ == "LinearDiscriminantAnalysis"
    with pytest.raises(InputError, match="learner='StackingClassifier' needs arguments: pass an estimator"):
        make_learner("StackingClassifier")
    with pytest.raises(InputError, match="learner='KMeans'"):
        make_learner("KMeans")


def test_a_module_is_pointed_to_the_torch_learner():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install cdvm[torch]")
    with pytest.raises(InputError, match="TorchLearner"):
        make_learner(torch.nn.Linear(3, 2))


def test_heavy_libraries_are_not_imported_before_they_are_used():
    code = (
        "import sys; from cdvm.learners import TorchLearner, make_learner; make_learner('paper');"
        "print([m for m in ('torch', 'sklearn.linear_model', 'sklearn.ensemble') if m in sys.modules]);"
        "make_learner('LinearDiscriminantAnalysis'); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "False"]
