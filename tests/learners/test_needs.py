"""How a table comes in for a learner."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from cdvm import InputError, Preparation
from cdvm.data.native import NativePreparation
from cdvm.learners import make_learner
from cdvm.learners.needs import prepare_for, reads_missing

TABLE = pd.DataFrame({"a": [1.0, None], "job": ["cook", "smith"]})
NUMBERS, TEXTS, OBJECTS = np.eye(2), ["good", "bad"], np.array([["x", 1], ["y", 2]], dtype=object)
PIPELINE = make_pipeline(SimpleImputer(), LogisticRegression())
BOOSTER = HistGradientBoostingClassifier()


def told(learner, X, **options):
    return prepare_for(learner, make_learner(learner), X, **options)


@pytest.mark.parametrize(
    ("learner", "X", "expected"),
    [
        ("logistic", TABLE, "Preparation(scale=True)"),
        (LogisticRegression(), TABLE, "Preparation()"),
        (BOOSTER, TABLE, "NativePreparation()"),
        (PIPELINE, TABLE, "'columns'"),
        ("logistic", NUMBERS, "None"),
        (LogisticRegression(), sparse.csr_array(NUMBERS), "None"),
        (BOOSTER, NUMBERS, "'missing'"),
        (PIPELINE, NUMBERS, "'missing'"),
        (PIPELINE, OBJECTS, "'columns'"),
        ("logistic", TEXTS, "Preparation(scale=True)"),
        (BOOSTER, np.array(TEXTS), "Preparation()"),
        (PIPELINE, pd.Series(TEXTS), "Preparation()"),
        (LogisticRegression(), [], "None"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*is fitted anew on every subset")
def test_tables_texts_and_arrays_come_in_as_the_learner_reads_them(learner, X, expected):
    assert repr(told(learner, X)) == expected


def test_words_on_preparation_and_scale_go_before_what_the_learner_reads():
    assert told("logistic", TABLE, prepare=False) is None
    assert told(BOOSTER, TABLE, prepare=False) == "columns"
    assert repr(told(LogisticRegression(), NUMBERS, prepare=True)) == "Preparation()"
    assert repr(told("logistic", TABLE, scale=False)) == "Preparation()"
    assert not isinstance(told(BOOSTER, TABLE, scale=True), NativePreparation)
    own = Preparation(ignore=["a"])
    assert repr(told("logistic", TABLE, prepare=own)) == "Preparation(ignore=['a'], scale=True)"
    assert repr(told("logistic", TABLE, prepare=own, scale=False)) == repr(own)
    assert told(BOOSTER, TABLE, prepare=own) is not own


@pytest.mark.filterwarnings("ignore:.*is fitted anew on every subset")
def test_scaling_what_goes_to_a_pipeline_is_refused():
    with pytest.raises(InputError, match="put a StandardScaler into it"):
        told(PIPELINE, TABLE, scale=True)


def test_estimators_that_take_nan_are_known():
    assert [reads_missing(x) for x in (BOOSTER, PIPELINE, LogisticRegression(), "boosting")] == [
        True, True, False, False,
    ]  # fmt: skip
