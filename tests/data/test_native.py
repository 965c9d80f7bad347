"""Tables that boosted trees read: categories of pandas' type, and missing values left missing."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from cdvm.data.native import NativePreparation
from cdvm.data.preparation import Preparation


@pytest.fixture
def train():
    return pd.DataFrame(
        {
            "age": [31.0, None, 44, 58, 60, 23],
            "job": ["cook", "smith", "cook", None, "smith", "baker"],
            "since": ["2020-01-01", "2020-07-01", "2021-01-01", None, "2022-03-04", "2022-03-05"],
        }
    )


def test_numbers_and_dates_are_those_of_the_preparation_but_for_what_is_missing(train):
    native = NativePreparation().fit(train).transform(train).table
    plain = Preparation().fit(train).set_output(transform="pandas").transform(train)
    numbers = native.drop(columns="job")
    assert set(numbers) <= set(plain)
    for name in numbers:
        gone = train[name.split()[0]].isna()
        assert numbers[name].isna().tolist() == gone.tolist()
        np.testing.assert_array_equal(numbers[name][~gone], plain[name][~gone])


def test_new_and_missing_levels_are_one_and_codes_stay_those_of_the_training_rows(train):
    fitted = NativePreparation().fit(train)
    new = train.assign(job=["smith", "farmer", "?", "baker", None, " cook"])
    jobs = fitted.transform(new).table["job"]
    assert jobs.tolist() == ["smith", "<other>", "<other>", "baker", "<other>", "cook"]
    assert jobs.dtype == fitted.transform(train).table["job"].dtype
    model = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=2)
    model.fit(fitted.transform(train).table, [0, 1] * 3).predict(fitted.transform(new).table)


def test_marks_that_libraries_refuse_are_taken_out_of_names():
    frame = pd.DataFrame({"a[0]": [1, 2, 3], "a<0>": [3, 1, 2], 'b "c": d,e': list("xyx")})
    names = NativePreparation().fit(frame).transform(frame).table.columns
    assert len(set(names)) == 3
    assert not names.str.contains(r'[\[\]<>{}",:]').any()


def test_levels_may_be_called_what_the_rest_is_called():
    frame = pd.DataFrame({"c": ["<other>", "a", "b", None] * 50})
    levels = NativePreparation().fit(frame).transform(frame).table["c"]
    assert levels.cat.categories.is_unique
    assert (levels.astype(object)[frame["c"] == "<other>"] == "<other>").all()
    assert (levels.astype(object)[frame["c"].isna()] == "<<other>>").all()
