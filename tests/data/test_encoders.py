from datetime import date

import numpy as np
import pandas as pd
import pytest

from cdvm.data.preparation import Preparation
from cdvm.errors import InputWarning


def features(preparation, frame):
    return pd.DataFrame(preparation.transform(frame), columns=preparation.get_feature_names_out())


def test_numbers_are_filled_with_the_median_of_the_training_rows_and_marked():
    frame = pd.DataFrame({"a": [1.0, None, 3.0, 8.0], "b": [1, 2, 3, 5]})
    preparation = Preparation().fit(frame)
    expected = pd.DataFrame({"a": [1.0, 3, 3, 8], "a missing": [0.0, 1, 0, 0], "b": [1.0, 2, 3, 5]})
    pd.testing.assert_frame_equal(features(preparation, frame), expected, check_column_type=False)
    new = features(preparation, pd.DataFrame({"b": [None, "7"], "a": ["?", np.inf], "extra": 0}))
    assert new.to_numpy().tolist() == [[3, 1, 2.5], [3, 1, 7]]


def test_scaling_standardises_numbers_and_leaves_levels_and_marks_alone():
    frame = pd.DataFrame({"a": [1.0, None, 3.0, 8.0] * 5, "c": list("xyzz") * 5, "d": [True, False] * 10})
    found = features(Preparation(scale=True).fit(frame), frame)
    filled = np.array([1, 3, 3, 8] * 5)
    np.testing.assert_allclose(found["a"], (filled - filled.mean()) / filled.std())
    assert set(found.columns) == {"a", "a missing", "c=x", "c=y", "c=z", "d"}
    assert np.isin(found.drop(columns="a"), [0, 1]).all()


def test_levels_get_a_feature_each_and_rare_new_and_missing_ones_share():
    frame = pd.DataFrame({"c": ["x", "y", "x", "y ", "once", "?", "twice", "twice"], "n": range(8)})
    preparation = Preparation(categorical=["c"], ignore=["n"]).fit(frame)
    names = ["c=twice", "c=x", "c=y", "c=<other>", "c=<missing>"]
    assert preparation.get_feature_names_out().tolist() == names
    new = preparation.transform(pd.DataFrame({"c": ["twice", "x", " y", "once", "never", None]}))
    np.testing.assert_array_equal(new, np.eye(5)[[0, 1, 2, 3, 3, 4]])


def test_a_new_level_where_none_is_rare_has_no_feature():
    preparation = Preparation().fit(pd.DataFrame({"c": list("xxyyzz")}))
    np.testing.assert_array_equal(
        preparation.transform(pd.DataFrame({"c": ["w", None, "z"]})), [[0] * 3, [0] * 3, [0, 0, 1]]
    )


@pytest.mark.parametrize(
    ("values", "name", "expected"),
    [
        (["x", "y", "x", "x", "y"], "c=y", [0, 1, 0, 0, 1]),
        (["x", None, "x", "x", "?"], "c=<missing>", [0, 1, 0, 0, 1]),
        (["x", "y", "x", "x", "z"], "c=<other>", [0, 1, 0, 0, 1]),
    ],
)
def test_two_levels_are_one_feature(values, name, expected):
    frame = pd.DataFrame({"c": values})
    preparation = Preparation().fit(frame)
    assert preparation.get_feature_names_out().tolist() == [name]
    assert preparation.transform(frame).ravel().tolist() == expected


def test_dates_are_years_and_points_on_circles():
    days = ["2020-01-01", "2020-07-01", "2021-01-01", "2024-02-29", None]
    found = features(Preparation().fit(pd.DataFrame({"d": days})), pd.DataFrame({"d": days}))
    assert [n.removeprefix("d ") for n in found] == [
        "years", "season sin", "season cos", "weekday sin", "weekday cos", "missing",
    ]  # fmt: skip
    np.testing.assert_allclose(found["d years"][:4], [2020, 2020.5, 2021, 2024.16], atol=0.01)
    np.testing.assert_allclose(found["d season cos"][:3], [1, -1, 1], atol=0.01)
    weekday = [date.fromisoformat(day).weekday() for day in days[:4]]
    np.testing.assert_allclose(
        found["d weekday sin"][:4], np.sin(2 * np.pi * np.array(weekday) / 7), atol=1e-6
    )
    assert found["d missing"].tolist() == [0, 0, 0, 0, 1]


def test_hours_are_told_where_they_differ():
    times = pd.DataFrame({"d": pd.to_datetime(["2020-01-01 00:00", "2020-01-01 06:00", "2020-01-01 12:00"])})
    found = features(Preparation().fit(times), times)
    np.testing.assert_allclose(found["d hour sin"], [0, 1, 0], atol=1e-6)
    assert not any("weekday" in name for name in found)


def test_durations_are_seconds_and_booleans_0_and_1():
    frame = pd.DataFrame({"t": pd.to_timedelta(["1h", "2h"]), "b": [True, False], "w": ["yes", "no"]})
    np.testing.assert_array_equal(Preparation().fit(frame).transform(frame), [[3600, 1, 1], [7200, 0, 0]])


def test_a_word_in_a_column_of_numbers_is_missing_with_a_warning():
    preparation = Preparation().fit(pd.DataFrame({"a": [1, 2, 6]}))
    with pytest.warns(InputWarning, match="column 'a' held a number in training, but row 1 has 'many'"):
        found = preparation.transform(pd.DataFrame({"a": ["4", "many", "?"]}))
    assert found.ravel().tolist() == [4, 2, 2]


@pytest.mark.skipif(
    pd.__version__ < "3", reason="nanoseconds of pandas 2 end in 2262: later dates are missing"
)
def test_midnight_is_one_hour_however_distant_the_day():
    frame = pd.DataFrame({"d": ["2020-01-01", "9999-12-31", "0004-03-05", "8765-04-03"]})
    assert not any("hour" in name for name in Preparation().fit(frame).get_feature_names_out())


def test_numbers_far_beyond_the_training_rows_stay_finite():
    frame = pd.DataFrame({"a": [0.0, 1e-300, 2e-300]})
    assert np.isfinite(
        Preparation(scale=True).fit(frame).transform(pd.DataFrame({"a": [1e300, -1e300]}))
    ).all()


def test_levels_may_be_called_what_the_rest_is_called():
    rng = np.random.default_rng(0)
    words = np.array(["<other>", "<missing>", "a", "b", None], dtype=object)
    frame = pd.DataFrame({"c": rng.choice(words, 200)})
    frame.loc[0, "c"] = "once"
    made = features(Preparation().fit(frame), frame)
    rest = ["<<other>>", "<<missing>>"]
    assert set(made.columns) == {f"c={word}" for word in ["<other>", "<missing>", "a", "b", *rest]}
    for word in ("<other>", "<missing>", "a", "b"):
        assert (made[f"c={word}"] == (frame["c"] == word)).all()
    assert (made["c=<<missing>>"] == frame["c"].isna()).all()
    assert made["c=<<other>>"].tolist() == [1.0] + [0.0] * 199
