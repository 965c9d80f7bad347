import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from cdvm.data.kinds import find_kind
from cdvm.data.preparation import Preparation
from cdvm.data.texts import WordVectors
from cdvm.errors import InputError

SPORT = ["the team won the final match", "a late goal decided the game", "the coach praised his players"]
TRADE = ["fractions fell on the stock market", "the bank raised interest rates", "profits rose as sales grew"]


def texts(count, seed=0, length=1):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, count)
    return [" ".join(rng.choice([SPORT, TRADE][k], length)) + f" {j}" for j, k in enumerate(y)], y


class Lengths:
    """A model with ``encode``, as sentence-transformers' have it."""

    def encode(self, sentences):
        return np.array([[len(s), s.count("e")] for s in sentences], dtype=np.float32)


@pytest.mark.parametrize(("length", "unit"), [(1, "letters"), (15, "words")])
def test_a_list_of_texts_becomes_vectors_a_model_learns_from(length, unit):
    (X, y), (X_new, y_new) = texts(120, length=length), texts(60, seed=1, length=length)
    preparation = Preparation().fit(X)
    model = LogisticRegression().fit(preparation.transform(X), y)
    assert model.score(preparation.transform(X_new), y_new) > 0.95
    assert preparation.columns_[0].kind == "text"
    assert f"TF-IDF of {unit} and SVD" in preparation.columns_[0].encoding


def test_texts_weigh_as_four_numbers_and_missing_ones_are_zero():
    X, _ = texts(80)
    frame = pd.DataFrame({"t": [*X, None, "?"]})
    found = Preparation().fit(frame).transform(frame)
    assert found.var(axis=0).sum() == pytest.approx(4)
    assert not found[-2:].any()


def test_repeated_texts_count_as_often_as_they_stand_there():
    X, _ = texts(30)
    frame = pd.DataFrame({"t": X * 2 + X[:5]})
    found = Preparation(text=["t"]).fit(frame).transform(frame)
    np.testing.assert_array_equal(found[:30], found[30:60])
    assert found.var(axis=0).sum() == pytest.approx(4)


@pytest.mark.parametrize(
    "odd", [["!", "??!", "...!"], ["a", "b", "a"], ["同じ言葉の文章", "別の言葉", "文章"], ["a b", "a b c"]]
)
def test_odd_texts_are_finite(odd):
    preparation = Preparation().fit(odd)
    found = preparation.transform([*odd, "", "something else entirely"])
    assert found.shape[1] == preparation.n_features_out_ > 0
    assert np.isfinite(found).all()


def test_a_series_may_have_another_name_later():
    X, _ = texts(40)
    preparation = Preparation().fit(pd.Series(X, name="review"))
    np.testing.assert_array_equal(preparation.transform(X[:3]), preparation.transform(pd.Series(X[:3])))


def test_texts_beside_numbers():
    X, _ = texts(60)
    report = (
        Preparation()
        .fit(pd.DataFrame({"t": [x + " again and again" for x in X], "n": np.arange(60) % 7}))
        .report_
    )
    assert report["kind"].tolist() == ["text", "number"]


def test_a_model_with_encode_is_used_and_named():
    frame = pd.DataFrame({"t": ["one", "three", None, "seventeen"]})
    preparation = Preparation(text=["t"], text_model=Lengths()).fit(frame)
    found = preparation.transform(frame)
    raw = np.array([[3, 1], [5, 2], [0, 0], [9, 4]])
    np.testing.assert_allclose(found, raw / np.sqrt(raw.var(axis=0).sum() / 4))
    assert preparation.columns_[0].encoding == "sentence model Lengths, 2 dimensions"


def test_a_model_that_gives_no_vectors_is_refused():
    class Wrong:
        def encode(self, sentences):
            return np.full((len(sentences), 2), np.nan)

    with pytest.raises(InputError, match="must give one vector of finite numbers a text"):
        Preparation(text_model=Wrong()).fit(["a", "b"])


def test_a_model_without_texts_is_refused():
    with pytest.raises(InputError, match=r"text_model=.* there is no text column"):
        Preparation(text_model=Lengths()).fit(pd.DataFrame({"a": [1, 2, 4]}))


def test_a_model_by_name_needs_its_library(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    with pytest.raises(InputError, match=r"text_model='mini' needs sentence-transformers.*cdvm\[texts\]"):
        Preparation(text_model="mini").fit(["a", "b"])


def test_a_model_that_is_not_here_is_refused_not_downloaded():
    pytest.importorskip("sentence_transformers")
    with pytest.raises(InputError, match="is not on this machine"):
        Preparation(text_model="no-such-model-anywhere").fit(["a", "b"])


def test_fitted_texts_can_be_pickled():
    X, _ = texts(40)
    preparation = Preparation().fit(X)
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(preparation)).transform(X), preparation.transform(X)
    )


def test_singular_vectors_are_those_of_all_rows():
    """Distinct texts weighted by their rows have the same right singular vectors as the rows themselves."""
    series = pd.Series([SPORT[0]] * 9 + [TRADE[0]] * 5 + SPORT + TRADE)
    vectors = WordVectors.fit(series, find_kind(series, "text"), dimensions=2)
    rows = vectors.tfidf.transform(series).toarray()
    expected = np.linalg.svd(rows)[2][:2]
    found = vectors.svd.components_
    np.testing.assert_allclose(found.T @ found, expected.T @ expected, atol=1e-6)
