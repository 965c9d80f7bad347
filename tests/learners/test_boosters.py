"""Libraries of gradient boosting that follow scikit-learn's conventions, more or less."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from cdvm import CDVM, InputWarning, SklearnLearner, Subsets, record_outcomes
from cdvm.sampling import Design


def test_lightgbm_with_its_defaults_is_noticed_to_learn_nothing(digits):
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed: pip install cdvm[test]")
    learner = SklearnLearner(lightgbm.LGBMClassifier(n_estimators=2))
    with pytest.warns(InputWarning, match=r"6 of 6 models of LGBMClassifier.*min_child_samples=1") as caught:
        outcomes = record_outcomes(digits, learner, Design(digits.n_rows, 0.05), range(6), n_jobs=1)
    assert len(caught) == 1
    assert outcomes.degenerate == 6


def test_lightgbm_learns_from_few_rows_when_told_to_and_is_quiet(digits, capfd):
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed: pip install cdvm[test]")
    learner = SklearnLearner(lightgbm.LGBMClassifier(n_estimators=3, min_child_samples=1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        outcomes = record_outcomes(digits, learner, Design(digits.n_rows, 0.1), range(4), n_jobs=1)
    assert outcomes.degenerate == 0
    assert outcomes.values().mean() > 0.2
    assert capfd.readouterr() == ("", "")
    assert learner.bind(digits, digits.X_val).estimator.n_jobs == 1


def test_xgboost_is_trained_on_subsets_that_lack_classes(digits, capfd):
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed: pip install xgboost")
    learner = SklearnLearner(xgboost.XGBClassifier(n_estimators=3))
    some = np.flatnonzero(np.isin(digits.y, [1, 4, 7]))
    trainer = learner.bind(digits, digits.X_val)
    subsets = Subsets.of([some, some[digits.y[some] > 1]], digits.n_rows)
    answer = trainer.predict(subsets)
    assert [set(a.tolist()) for a in answer] == [{1, 4, 7}, {4, 7}]
    known = np.isin(digits.y_val, [1, 4, 7])
    assert (answer[0] == digits.y_val)[known].mean() > 0.8
    assert (trainer.scores(subsets).argmax(axis=2) == answer).all()
    assert trainer.estimator.n_jobs == 1
    pruner = CDVM(learner.estimator, n_models=6, inclusion=0.05, n_jobs=1, random_state=0)
    assert len(pruner.fit_split(digits).select(20)) == 20
    assert capfd.readouterr() == ("", "")
