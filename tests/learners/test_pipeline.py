from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

from cdvm.data.split import Split
from cdvm.errors import InputError, InputWarning
from cdvm.learners import SklearnLearner, make_learner
from cdvm.learners.pipeline import PipelineLearner
from cdvm.sampling import Design


@pytest.fixture(scope="module")
def digits() -> Split:
    X, y = load_digits(return_X_y=True)
    return Split.from_arrays(X[:600], y[:600], validation_size=0.3, random_state=0)


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
