"""A table in a file, or a data set by name, as a run works on it."""

import numpy as np
import pandas as pd
import pytest

from cdvm import InputError
from cdvm.datasets.source import load_source, parse_names

USUAL = {
    "dataset": "",
    "validation": "holdout",
    "own_validation": True,
    "test": None,
    "uses": {},
    "learner": "ridge",
    "scale": None,
    "seed": 0,
}


@pytest.fixture
def table(tmp_path, rng):
    frame = pd.DataFrame(
        {"a": rng.normal(size=50), "b": [1.5, 1.5, 2.5, 1.5, 1.5] * 10, "y": ["p", "q"] * 25}
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def load(path=None, target="y", **options):
    return load_source(path, target, **{**USUAL, **options})


def test_rows_to_choose_with_and_to_report_on_are_held_out(table):
    source = load(table)
    assert source.split.n_rows == 30
    assert (len(source.split.y_val), len(source.split.y_test)) == (10, 10)
    assert (source.name, source.learner_name, source.scaled, source.files) == (
        str(table), "ridge", True, [table],
    )  # fmt: skip
    np.testing.assert_allclose(source.split.X.mean(axis=0), 0, atol=1e-12)
    assert load(table, reporting=False).split.X_test is None
    assert load(table, test=0.4, scale=False).split.X_test.shape == (20, 2)
    assert not load(table, scale=False).scaled


def test_tables_of_their_own_are_validation_and_test_rows(table, tmp_path):
    frame = pd.read_csv(table)
    frame[["y", "b", "a"]][:9].to_csv(tmp_path / "v.csv", index=False)
    frame[20:31].to_csv(tmp_path / "s.csv", index=False)
    source = load(table, validation=str(tmp_path / "v.csv"), test=tmp_path / "s.csv", scale=False)
    assert source.split.n_rows == 50
    np.testing.assert_array_equal(source.split.X_val, frame[["a", "b"]][:9])
    np.testing.assert_array_equal(source.split.X_test, frame[["a", "b"]][20:31])
    assert source.files == [table, tmp_path / "v.csv", tmp_path / "s.csv"]
    with pytest.raises(InputError, match=r"test=0\.2 holds rows out where no table is given"):
        load(table, validation=str(tmp_path / "v.csv"), test=0.2)


def test_out_of_bag_no_row_is_held_out(table):
    split = load(table, validation="out_of_bag").split
    assert split.n_rows == len(split.evaluation_rows) == 50
    assert split.X_test is None


def test_columns_are_used_as_the_user_says(table):
    split = load(table, uses={"ignore": ["a"], "categorical": ["b"]}).split
    assert split.preparation.get_feature_names_out().tolist() == ["b=2.5"]
    with pytest.raises(InputError, match="categorical= is for tables"):
        load(dataset="wine", target="target", uses={"categorical": ["ash"]})


def test_a_data_set_brings_its_rows_learner_and_scale():
    source = load(dataset="clusters", target="target", learner="")
    assert (source.split.n_rows, source.name, source.files, source.scaled) == (8, "clusters", [], False)
    assert source.learner_name == source.learner.name
    assert len(source.split.y_val) + len(source.split.y_test) > 100
    assert load(dataset="wine", target="target", uses={"ignore": ["ash"]}).split.X.shape[1] == 12
    with pytest.raises(InputError, match="the label of dataset='wine' is 'target'"):
        load(dataset="wine", target="colour")


def test_either_a_table_or_a_data_set_is_named(table):
    for options in ({}, {"path": table, "dataset": "wine"}):
        with pytest.raises(InputError, match="name one table, or a data set"):
            load(**options)


def test_names_are_split_at_commas_unless_a_column_has_one():
    assert parse_names(["a,b", "c, d", "a"], ["a,b", "c", "d", "a"]) == ["a,b", "c", "d", "a"]
    assert parse_names(["a,a", "a"], ["a"]) == ["a"]
    assert parse_names(None, ["a"]) == []
