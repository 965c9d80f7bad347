"""Tables with strings, dates, texts and missing values, through the estimator."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from cdvm import CDVM, InputError, Preparation, Split, compare_with_random
from cdvm.data.raw import RawColumns


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    n = 240
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n),
            "job": rng.choice(["cook", "smith", "baker"], n),
            "member": rng.random(n) < 0.5,
            "since": pd.date_range("2020-01-01", periods=n, freq="D"),
            "key": [f"k{k:05d}" for k in range(n)],
        },
        index=np.arange(n) + 1000,
    )
    y = np.where((frame["age"] > 40) ^ (frame["job"] == "cook"), "yes", "no")
    frame.loc[rng.random(n) < 0.2, "age"] = np.nan
    frame.loc[rng.random(n) < 0.2, "job"] = None
    return frame, y


def pruner(learner, **settings):
    settings = {"n_models": 30, "inclusion": 0.15, "n_jobs": 1, "random_state": 0, **settings}
    return CDVM(learner, **settings)


def by_name():
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = ColumnTransformer(
        [("numbers", numbers, ["age"]), ("names", OneHotEncoder(handle_unknown="ignore"), ["job"])]
    )
    return make_pipeline(columns, LogisticRegression())


def booster(library):
    if library == "lightgbm":
        return pytest.importorskip(library).LGBMClassifier(n_estimators=4, min_child_samples=3)
    if library == "xgboost":
        return pytest.importorskip(library).XGBClassifier(n_estimators=4)
    if library == "catboost":
        return pytest.importorskip(library).CatBoostClassifier(iterations=4)
    return HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=3)


def test_columns_reach_a_pipeline_by_name_as_they_are(people):
    X, y = people
    fitted = pruner(by_name(), refine=50).fit(X, y)
    pd.testing.assert_frame_equal(fitted.split_.X.table, X)
    keep = fitted.select(20)
    assert len(keep) == 20
    assert keep.take(X).index.tolist() == (keep.indices + 1000).tolist()
    compared = compare_with_random(fitted.split_, fitted.learner_, [keep], draws=2, n_jobs=1)
    assert compared[0]["outside"].kept > 0.5


@pytest.mark.parametrize("library", ["sklearn", "lightgbm", "xgboost", "catboost"])
def test_boosters_read_categories_and_missing_values(people, library):
    X, y = people
    X = X.rename(columns={"age": "age [years]"})  # a name that LightGBM and XGBoost refuse
    fitted = pruner(booster(library), n_models=12).fit(X, y)
    table = fitted.split_.X.table
    assert str(table["job"].dtype) == "category"
    assert table.filter(like="age").isna().sum().tolist() == [X["age [years]"].isna().sum()]
    assert "key" not in table
    assert fitted.outcomes_.degenerate < 12
    assert len(fitted.select(10)) == 10


def test_a_pipeline_may_read_arrays_with_strings_or_nan(people):
    X, y = people
    encoder = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    assert len(pruner(encoder).fit(X[["job", "member"]].to_numpy(), y).select(9)) == 9
    imputer = make_pipeline(SimpleImputer(), LogisticRegression())
    assert len(pruner(imputer).fit(X[["age"]].to_numpy(), y).select(9)) == 9
    histogram = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=3)
    assert len(pruner(histogram).fit(X[["age"]].to_numpy(), y).select(9)) == 9
    with pytest.raises(InputError, match="contains NaN in row"):
        pruner(LogisticRegression()).fit(X[["age"]].to_numpy(), y)


@pytest.mark.parametrize("learner", ["logistic", RandomForestClassifier(3), LogisticRegression()])
def test_other_learners_get_numbers(people, learner):
    X, y = people
    split = pruner(learner).fit(X, y).split_
    assert isinstance(split.X, np.ndarray)
    assert np.isfinite(split.X).all()
    assert split.scaled == isinstance(learner, str)
    kinds = dict(split.preparation.report_[["column", "kind"]].itertuples(index=False))
    assert kinds == {
        "age": "number",
        "job": "category",
        "member": "boolean",
        "since": "date",
        "key": "ignored",
    }


def test_a_preparation_is_fitted_on_training_rows_alone(people):
    X, y = people
    fitted = pruner("logistic", validation="holdout").fit(X, y)
    train = X.iloc[fitted.split_.rows]
    again = Preparation(scale=True).fit(train)
    np.testing.assert_array_equal(fitted.split_.X, again.transform(train))
    held = np.setdiff1d(np.arange(len(X)), fitted.split_.rows)
    np.testing.assert_array_equal(fitted.split_.X_val, again.transform(X.iloc[held]))
    own = pruner("logistic").fit(X[:200], y[:200], X[200:].drop(columns="key"), y[200:])
    expected = Preparation(scale=True).fit(X[:200]).transform(X[200:])
    np.testing.assert_array_equal(own.split_.X_val, expected)
    with pytest.raises(InputError, match="X_val lacks columns of X: 'job'"):
        pruner("logistic").fit(X[:200], y[:200], X[200:].drop(columns="job"), y[200:])


def test_a_preparation_of_ones_own_says_what_columns_are(people):
    X, y = people
    own = Preparation(columns=["age", "member"], categorical=["member"])
    split = pruner(LogisticRegression(), prepare=own).fit(X, y).split_
    assert split.preparation.needed_ == ["age", "member"]
    assert not split.scaled
    assert pruner("logistic", prepare=own).fit(X, y).split_.scaled
    assert not hasattr(own, "columns_")  # it is copied, not fitted


def test_words_on_preparation(people):
    X, y = people
    with pytest.raises(InputError, match="columns that are not numbers: 'job', 'since', 'key'"):
        pruner("logistic", prepare=False).fit(X, y)
    assert isinstance(pruner(by_name(), prepare=False).fit(X, y).split_.X, RawColumns)
    with pytest.raises(InputError, match="scale=True has no effect on columns that go to a pipeline"):
        pruner(by_name(), scale=True).fit(X, y)
    with pytest.raises(InputError, match="prepare='yes': use 'auto', True or False, or a"):
        pruner("logistic", prepare="yes").fit(X, y)
    scaler = make_pipeline(StandardScaler(), LogisticRegression())
    with pytest.raises(InputError, match="prepare=True would make numbers of the columns first"):
        pruner(scaler).fit(X, y)
    assert len(pruner(scaler, prepare=True).fit(X, y).select(5)) == 5
    with pytest.raises(InputError, match="prepare=True has no effect with a split"):
        pruner("logistic", prepare=True).fit_split(Split.from_arrays(np.eye(20), [0, 1] * 10))


def test_what_needs_numbers_says_so_of_raw_columns(people):
    X, y = people
    split = Split.from_arrays(X, y, prepare="columns", random_state=0)
    with pytest.raises(InputError, match="needs features that are numbers"):
        CDVM("logistic", n_models=10).fit_split(split)
    with pytest.raises(InputError, match="needs features that are numbers"):
        CDVM(LogisticRegression(), n_models=10).fit_split(split)


def test_the_fingerprint_of_raw_columns_follows_names_types_and_values(people):
    X, y = people
    tables = [
        X,
        X.rename(columns={"job": "work"}),
        X.assign(member=X["member"].astype(int)),
        X.assign(age=0.5),
    ]
    tables.append(X.assign(job=[["a"]] * len(X)))
    prints = [Split.from_arrays(t, y, prepare="columns", random_state=0).fingerprint() for t in tables]
    assert len(set(prints)) == len(prints)
    assert prints[0] == Split.from_arrays(X.copy(), y, prepare="columns", random_state=0).fingerprint()


@pytest.mark.parametrize("kind", [list, np.array, pd.Series])
def test_texts_in_texts_out(kind):
    words = {"sport": "the team won the match at home", "money": "the bank raised its rate again"}
    y = ["sport", "money"] * 40
    texts = kind([f"{words[label]} on day {k}" for k, label in enumerate(y)])
    fitted = pruner("logistic").fit(texts, y)
    assert fitted.split_.preparation.columns_[0].kind == "text"
    kept = fitted.select(6).take(texts)
    assert all("on day" in text for text in kept)
    own = pruner("logistic", prepare=Preparation()).fit(texts, y)
    np.testing.assert_array_equal(own.split_.X, fitted.split_.X)


def test_arrays_and_sparse_matrices_stay_as_they_are(rng):
    X, y = rng.normal(size=(40, 3)), [0, 1] * 20
    for given in (X, sparse.csr_array(X)):
        split = pruner(LogisticRegression()).fit(given, y).split_
        assert split.preparation is None
        np.testing.assert_array_equal(split.X.toarray() if sparse.issparse(split.X) else split.X, X)
