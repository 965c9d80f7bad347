from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

from cdvm import learners
from cdvm.data.split import Split
from cdvm.errors import InputError, InputWarning
from cdvm.learners import SklearnLearner, learner_names, make_learner
from cdvm.learners.pipeline import PipelineLearner
from cdvm.sampling import Design


@pytest.fixture(scope="module")
def digits() -> Split:
    X, y = load_digits(return_X_y=True)
    return Split.from_arrays(X[:600], y[:600], validation_size=0.3, random_state=0)


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


def agreement(estimator, split, subsets) -> float:
    fast = make_learner(estimator).predict(split, subsets, split.X_val)
    plain = SklearnLearner(estimator).predict(split, subsets, split.X_val)
    assert len(np.unique(plain)) > 3
    return float((fast == plain).mean())


@pytest.mark.parametrize(
    "steps",
    [
        (Normalizer(),),
        (FunctionTransformer(lambda X: np.sqrt(X + 1)), "passthrough", Normalizer()),
        ("frozen",),
    ],
    ids=["normalizer", "functions", "frozen"],
)
def test_pipelines_that_do_not_depend_on_the_subset_are_fast(digits, steps):
    steps = [FrozenEstimator(StandardScaler().fit(digits.X)) if s == "frozen" else s for s in steps]
    pipeline = make_pipeline(*steps, LogisticRegression(max_iter=2000, tol=1e-6))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner = make_learner(pipeline)
    assert isinstance(learner, PipelineLearner)
    assert learner.last.name == "logistic"
    subsets = Design(digits.n_rows, 0.1, seed=1).take(range(12))
    assert agreement(pipeline, digits, subsets) >= 0.999


def test_preprocessing_fitted_on_the_subset_is_kept_and_named(digits):
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    with pytest.warns(InputWarning, match=r"'standardscaler' \(StandardScaler\).*FrozenEstimator") as caught:
        learner = make_learner(pipeline)
    assert caught[0].filename == __file__
    assert isinstance(learner, SklearnLearner)
    assert "standardscaler" in learner.note
    with pytest.raises(InputError, match="standardscaler"):
        PipelineLearner(pipeline, make_learner("logistic"))


def test_a_pipeline_without_a_fast_last_step_says_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert isinstance(make_learner(make_pipeline(StandardScaler(), GaussianNB())), SklearnLearner)


def test_a_function_that_looks_at_all_rows_is_fitted_per_subset(digits):
    pipeline = make_pipeline(
        FunctionTransformer(lambda X: X - 3 * X.mean(axis=0)), RidgeClassifier(fit_intercept=False)
    )
    subsets = Design(digits.n_rows, 0.1, seed=2).take(range(4))
    assert agreement(pipeline, digits, subsets) == 1


def test_spec_of_a_pipeline_knows_what_its_steps_learnt(digits):
    def spec(rows):
        frozen = FrozenEstimator(StandardScaler().fit(digits.X[:rows]))
        return make_learner(make_pipeline(frozen, Ridge())).spec()

    assert spec(100) == spec(100)
    assert spec(100) != spec(101)
    twice = [make_learner(make_pipeline(FunctionTransformer(lambda X: X), Ridge())).spec() for _ in range(2)]
    assert twice[0] == twice[1]


def test_mistakes_are_named():
    with pytest.raises(InputError, match="did you mean 'logistic'"):
        make_learner("logistics")
    with pytest.raises(InputError, match=r"pass an instance, GaussianNB\(\)"):
        make_learner(GaussianNB)
    with pytest.raises(InputError, match=r"has no fit\(\)"):
        make_learner(3)
    with pytest.raises(AttributeError, match="NoLearner"):
        _ = learners.NoLearner


def test_a_module_is_pointed_to_the_torch_learner():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install cdvm[torch]")
    with pytest.raises(InputError, match="TorchLearner"):
        make_learner(torch.nn.Linear(3, 2))


def test_heavy_libraries_are_not_imported_before_they_are_used():
    code = (
        "import sys; from cdvm.learners import TorchLearner, make_learner; make_learner('paper');"
        "print([m for m in ('torch', 'sklearn.linear_model', 'sklearn.ensemble') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
