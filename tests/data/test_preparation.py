import pickle
import warnings
from datetime import date

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from cdvm.data.native import NativePreparation
from cdvm.data.preparation import Preparation
from cdvm.errors import InputError, InputWarning


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


def test_many_levels_are_told_by_their_spelling():
    roles, towns = ["cook", "teacher", "driver", "nurse"], [f"{a}{b}burg" for a in "bdfhk" for b in "aeiou"]
    frame = pd.DataFrame({"job": [f"{r} {t}" for r in roles for t in towns] * 2})
    preparation = Preparation().fit(frame)
    assert preparation.columns_[0].levels == 100
    assert preparation.n_features_out_ == 30
    near, far, new = preparation.transform(
        pd.DataFrame({"job": ["cook baburg", "nurse kuburg", "cook bxburg"]})
    )
    assert np.linalg.norm(new - near) < np.linalg.norm(new - far)


def test_many_levels_in_many_columns_are_sparse():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"c{k}": rng.choice([f"v{j}" for j in range(12)], 300) for k in range(30)})
    preparation = Preparation().fit(frame)
    found, new = preparation.transform(frame), preparation.transform(frame.iloc[:1])
    assert sparse.issparse(found)
    assert sparse.issparse(new)
    assert found.shape == (300, 360)
    dense = pd.get_dummies(frame)[[n.replace("=", "_") for n in preparation.get_feature_names_out()]]
    np.testing.assert_array_equal(found.toarray(), dense)


def test_the_report_says_what_became_of_each_column():
    frame = pd.DataFrame(
        {"id": range(30), "a": [None, 2.0, 3.0] * 10, "c": list("xyz") * 10, "y": list("ab") * 15}
    )
    report = Preparation(target="y").fit(frame).report_.set_index("column")
    assert report["kind"].tolist() == ["ignored", "number", "category", "ignored"]
    assert report["features"].tolist() == [0, 2, 3, 0]
    assert report["missing"].tolist() == [0, 10, 0, 0]
    assert report.loc["a", "encoding"] == "as it is; missing: median and a mark"
    assert report.loc["c", "encoding"] == "one-hot, 3 levels"
    assert report.loc["id", "reason"] == "numbers the rows: no two values are alike"
    assert report.loc["y", "reason"] == "the target"


def test_a_lacking_column_is_refused_by_name():
    preparation = Preparation().fit(pd.DataFrame({"a": [1, 2, 4], "b": [1, 5, 3]}))
    with pytest.raises(InputError, match="X lacks the column 'b'"):
        preparation.transform(pd.DataFrame({"a": [1]}))


def test_nothing_to_learn_from_is_refused():
    with pytest.raises(InputError, match=r"no column to learn from: 'a' constant: always 1; 'b' no values"):
        Preparation().fit(pd.DataFrame({"a": [1, 1], "b": [None, None]}))
    with pytest.raises(InputError, match="X has no rows"):
        Preparation().fit(pd.DataFrame({"a": []}))


def test_a_word_in_a_column_of_numbers_is_missing_with_a_warning():
    preparation = Preparation().fit(pd.DataFrame({"a": [1, 2, 6]}))
    with pytest.warns(InputWarning, match="column 'a' held a number in training, but row 1 has 'many'"):
        found = preparation.transform(pd.DataFrame({"a": ["4", "many", "?"]}))
    assert found.ravel().tolist() == [4, 2, 2]


def test_no_rows_give_no_features():
    frame = pd.DataFrame({"a": [1, 2, 6], "c": list("xyz"), "d": ["2020-01-01"] * 2 + ["2020-02-02"]})
    preparation = Preparation(text=["c"]).fit(frame)
    assert preparation.transform(frame.iloc[:0]).shape == (0, preparation.n_features_out_)


def test_it_is_a_scikit_learn_transformer():
    frame = pd.DataFrame({"a": [1, 2, 6], "c": list("xyy")})
    preparation = clone(Preparation(scale=True, categorical=["c"]))
    found = preparation.set_output(transform="pandas").fit_transform(frame)
    assert found.columns.tolist() == ["a", "c=<other>"]


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(
        ["?", "NA", " a", "a ", "b", "1", "2.5", "01", "2020-01-01", "31/12/2020", "yes", "1,000"]
    ),
    st.dates(),
    st.datetimes(),
    st.timedeltas(),
    st.decimals(allow_nan=False),
    st.binary(max_size=4),
    st.lists(st.integers(), max_size=2),
)
KINDS = [
    st.floats(),
    st.integers(-5, 5),
    st.sampled_from(["a", "b", " ?", None, "c"]),
    st.datetimes(),
    st.text(max_size=40),
    VALUES,
]


@st.composite
def tables(draw):
    rows = draw(st.integers(2, 12))
    columns = {}
    for k in range(draw(st.integers(1, 4))):
        values = draw(st.lists(draw(st.sampled_from(KINDS)), min_size=2 * rows, max_size=2 * rows))
        columns[f"c{k}"] = pd.Series(values, dtype=object)
    columns["n"] = pd.Series(np.arange(2 * rows) % 3, dtype=float)
    frame = pd.DataFrame(columns)
    frame = frame.infer_objects() if draw(st.booleans()) else frame
    return frame.iloc[:rows], frame.iloc[rows:]


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(tables(), st.booleans())
def test_any_table_gives_finite_features_and_is_left_untouched(parts, scale):
    train, new = parts
    before = train.copy(deep=True), new.copy(deep=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        preparation = Preparation(scale=scale).fit(train)
        found, other = preparation.transform(train), preparation.transform(new)
        again = Preparation(scale=scale).fit(train).transform(train)
        copy = pickle.loads(pickle.dumps(preparation)).transform(new)
        alone = np.vstack([preparation.transform(new.iloc[[k]]) for k in range(len(new))])
    assert found.dtype == np.float64
    assert np.isfinite(found).all()
    assert np.isfinite(other).all()
    assert found.shape == (len(train), preparation.n_features_out_)
    assert other.shape == (len(new), preparation.n_features_out_)
    assert len(preparation.get_feature_names_out()) == preparation.n_features_out_
    np.testing.assert_array_equal(found, again)
    np.testing.assert_array_equal(other, copy)
    np.testing.assert_allclose(alone, other, rtol=1e-9, atol=1e-9)
    pd.testing.assert_frame_equal(train, before[0])
    pd.testing.assert_frame_equal(new, before[1])


def test_features_of_training_rows_do_not_depend_on_other_rows():
    """Rows that are only transformed leave no trace, whatever levels, words and extremes they hold."""
    rng = np.random.default_rng(0)
    train = pd.DataFrame(
        {
            "a": rng.normal(size=60),
            "c": rng.choice(list("xyz"), 60),
            "t": [f"some words on topic {k % 7} and {k}" for k in range(60)],
        }
    )
    preparation = Preparation(scale=True, text=["t"]).fit(train)
    before = preparation.transform(train)
    preparation.transform(pd.DataFrame({"a": [1e9, None], "c": ["new", None], "t": ["other words", ""]}))
    np.testing.assert_array_equal(preparation.transform(train), before)
    together = pd.concat(
        [train, pd.DataFrame({"a": [1e9], "c": ["new"], "t": ["unheard"]})], ignore_index=True
    )
    np.testing.assert_allclose(preparation.transform(together)[:60], before, rtol=1e-9, atol=1e-12)


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
    native = NativePreparation().fit(frame).transform(frame).table["c"]
    assert native.cat.categories.is_unique
    assert (native.astype(object)[frame["c"] == "<other>"] == "<other>").all()
