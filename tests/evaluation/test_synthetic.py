"""Synthetic evaluation rows: made of two neighbours, labelled by models of all rows."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_moons
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from cdvm import Split
from cdvm.data.raw import RawColumns
from cdvm.evaluation import synthetic
from cdvm.evaluation.synthetic import with_synthetic_rows


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(400, noise=0.15, random_state=0)
    return Split.from_arrays(X, y, validation="out_of_bag", random_state=0)


def test_every_column_is_that_of_one_of_two_neighbours(moons):
    found = with_synthetic_rows(moons, seed=0)
    X = np.asarray(moons.X)
    assert found.X_val.shape == X.shape
    assert found.evaluation_rows is None
    scaled = X / X.std(axis=0)
    distances = np.linalg.norm(scaled[:, None] - scaled[None], axis=2)
    near = np.argsort(distances, axis=1)[:, :6]
    of_one = 0
    for row in found.X_val:
        first, second = (np.flatnonzero(X[:, k] == row[k]) for k in (0, 1))
        assert len(first) == len(second) == 1
        of_one += first[0] == second[0]
        assert first[0] in near[second[0]] or second[0] in near[first[0]]
    assert 150 < of_one < 250  # half of the coins fall alike, twice


def test_the_other_parent_is_one_of_the_five_nearest_and_never_the_row_itself(moons, monkeypatch):
    X = np.asarray(moons.X)
    ranks = np.argsort(np.argsort(np.linalg.norm(X[:, None] - X[None], axis=2), axis=1), axis=1)
    first, second = synthetic._parents(X, np.random.default_rng(0))
    assert sorted(first) == list(range(400))
    counts = np.bincount(ranks[first, second], minlength=6)
    assert len(counts) == 6
    assert counts[0] == 0
    assert (counts[1:] > 50).all()  # of 80 each on average
    monkeypatch.setattr(synthetic, "_AMONG", 3)
    first, second = synthetic._parents(X, np.random.default_rng(0))
    assert len(np.unique(second)) == 3
    assert (first != second).all()


def test_labels_are_those_of_both_models_together():
    X, y = make_moons(400, noise=0.5, random_state=0)
    moons = Split.from_arrays(X, y, validation="out_of_bag", random_state=0)
    found = with_synthetic_rows(moons, seed=3)
    rng = np.random.default_rng([3, 5])
    rng.permutation(400), rng.permutation(400), rng.integers(0, 5, 400), rng.random((400, 2))
    rng.permutation(400)
    seed = int(rng.integers(2**31))
    numbers = moons.standardized()
    scale = np.asarray(moons.X).std(axis=0)
    Z = (found.X_val - np.asarray(moons.X).mean(axis=0)) / scale
    each = [
        model.fit(numbers.X, numbers.y).predict_proba(Z)
        for model in (
            HistGradientBoostingClassifier(early_stopping=False, random_state=seed),
            RandomForestClassifier(random_state=seed),
        )
    ]
    said = each[0] + each[1]
    apart = each[0].argmax(axis=1) != each[1].argmax(axis=1)
    assert apart.sum() > 10  # neither of them alone
    sure = np.abs(said[:, 0] - said[:, 1]) > 1e-6
    assert (found.y_val == said.argmax(axis=1))[sure].all()
    assert sure.mean() > 0.9


def test_the_seed_alone_decides(moons):
    one, two, other = (
        with_synthetic_rows(moons, seed=seed, n_jobs=jobs) for seed, jobs in ((1, 1), (1, 2), (2, 1))
    )
    assert (one.X_val == two.X_val).all()
    assert (one.y_val == two.y_val).all()
    assert (one.X_val != other.X_val).any()


def test_given_validation_rows_come_first():
    X, y = make_moons(300, noise=0.15, random_state=0)
    split = Split.from_arrays(X[:200], y[:200], X[200:], y[200:])
    found = with_synthetic_rows(split)
    assert len(found.y_val) == 100 + 200
    assert (found.X_val[:100] == X[200:]).all()
    assert (found.y_val[:100] == y[200:]).all()
    assert (found.X == split.X).all()


def test_columns_keep_their_types_and_values():
    rng = np.random.default_rng(0)
    n = 120
    table = pd.DataFrame(
        {
            "number": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "count": rng.integers(0, 9, n),
            "word": rng.choice(["a", "b", None], n),
            "kind": pd.Categorical(rng.choice(["x", "y"], n), categories=["x", "y", "z"]),
            "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 99, n), "D"),
            "flag": rng.random(n) < 0.5,
        },
        index=np.arange(n) + 1000,
    )
    y = (table["count"] > 4).to_numpy().astype(int)
    whole = Split.from_arrays(np.zeros((n, 1)), y, validation="out_of_bag", random_state=0)
    object.__setattr__(whole, "X", RawColumns(table))
    found = with_synthetic_rows(whole).X_val.table
    assert found.dtypes.to_dict() == table.dtypes.to_dict()
    for name in table:
        assert set(found[name].dropna()) <= set(table[name].dropna())
    assert 0 < found["number"].isna().sum() < n
    assert found["kind"].cat.categories.tolist() == ["x", "y", "z"]
    y_val = with_synthetic_rows(whole).y_val
    assert (y_val == (found["count"] > 4)).mean() > 0.95


def test_arrays_of_objects_are_crossed_too():
    rng = np.random.default_rng(0)
    table = np.empty((100, 3), dtype=object)
    table[:, 0], table[:, 1] = rng.normal(size=100), rng.normal(size=100)
    table[:, 2] = rng.choice(["a", "b", "c"], 100)
    y = (table[:, 2] == "a").astype(int)
    split = Split.from_arrays(np.zeros((100, 1)), y, validation="out_of_bag", random_state=0)
    object.__setattr__(split, "X", RawColumns(table))
    found = with_synthetic_rows(split)
    crossed = found.X_val.table
    assert crossed.shape == (100, 3)
    assert set(crossed[:, 0]) <= set(table[:, 0])
    partner = dict(table[:, :2])
    assert 30 < sum(partner[one] != other for one, other in crossed[:, :2]) < 70
    assert (found.y_val == (crossed[:, 2] == "a")).mean() > 0.95


def test_not_for_targets_sparse_features_and_a_handful_of_rows(moons):
    X, y = np.asarray(moons.X), moons.y
    assert with_synthetic_rows(Split.from_arrays(X, X[:, 0], task="regression")) is None
    assert with_synthetic_rows(Split.from_arrays(sparse.csr_array(X), y)) is None
    few = Split.from_arrays(X[:5], [0, 1, 0, 1, 0], validation="out_of_bag")
    assert with_synthetic_rows(few) is None


def test_of_a_large_table_some(moons, monkeypatch):
    monkeypatch.setattr(synthetic, "_MOST", 50)
    monkeypatch.setattr(synthetic, "_AMONG", 100)
    monkeypatch.setattr(synthetic, "_TAUGHT", 200)
    found = with_synthetic_rows(moons)
    assert len(found.y_val) == 50
    assert set(found.y_val) == {0, 1}


def test_a_class_that_no_model_has_learnt_keeps_its_code(moons, monkeypatch):
    """Of three classes the last may be missing among the rows that labels are learnt from."""
    monkeypatch.setattr(synthetic, "_TAUGHT", 30)
    X = np.concatenate([np.asarray(moons.X), [[9.0, 9.0]]])
    y = np.concatenate([moons.y, [2]])
    found = with_synthetic_rows(Split.from_arrays(X, y, validation="out_of_bag"), seed=1)
    assert set(found.y_val) <= {0, 1, 2}
    assert len(found.y_val) == 401


@pytest.mark.parametrize(("columns", "classes", "boosted"), [(20, 2, True), (21, 2, False), (7, 3, False)])
def test_wide_tables_with_many_classes_are_labelled_by_a_forest_alone(monkeypatch, columns, classes, boosted):
    monkeypatch.setattr(synthetic, "_WIDE", 20)
    fitted = []
    fit = HistGradientBoostingClassifier.fit
    monkeypatch.setattr(
        HistGradientBoostingClassifier, "fit", lambda self, *rows: fitted.append(1) or fit(self, *rows)
    )
    rng = np.random.default_rng(0)
    y = np.arange(90) % classes
    X = rng.normal(size=(90, columns)) + 5 * y[:, None]
    found = with_synthetic_rows(Split.from_arrays(X, y, validation="out_of_bag"))
    assert bool(fitted) == boosted
    assert len(np.unique(found.y_val)) == classes
