import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from cdvm.data.preparation import Preparation
from cdvm.errors import InputError


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
