"""``cdvm prune`` on tables that are not numbers."""

import json

import numpy as np
import pandas as pd
import pytest

from cdvm import CDVM, Preparation

FAST = ["--effort", "low", "--models", "60", "--jobs", "1", "--keep", "20"]


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    rng = np.random.default_rng(1)
    n = 200
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "job": rng.choice(["cook", "smith", "baker"], n),
            "zip": rng.choice([10115, 20095], n),
            "since": pd.date_range("2020-01-01", periods=n, freq="D").strftime("%d.%m.%Y"),
            "key": [f"k{k:05d}" for k in range(n)],
        }
    )
    frame["label"] = np.where((frame["age"] > 45) ^ (frame["job"] == "cook"), "yes", "no")
    frame.loc[rng.random(n) < 0.2, "age"] = np.nan
    frame.loc[rng.random(n) < 0.2, "job"] = "?"
    path = tmp_path_factory.mktemp("tables") / "people.csv"
    frame.to_csv(path, index=False)
    return path


def kept(out):
    selection = pd.read_csv(out / "selection.csv")
    return selection.loc[selection["kept_20rows"] == 1, "row"].tolist()


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ([], {}),
        (
            ["--ignore", "since,key", "--categorical", "zip"],
            {"ignore": ["since", "key"], "categorical": ["zip"]},
        ),
        (["--columns", "age,job", "--text", "job"], {"columns": ["age", "job"], "text": ["job"]}),
    ],
)
def test_both_faces_keep_the_same_rows_and_tell_of_columns(command, people, tmp_path, words, options):
    code, printed, errors = command(
        "prune", people, "--target", "label", *FAST, *words, "--out", tmp_path / "kept"
    )
    assert code == 0, errors
    X = pd.read_csv(people)
    prepare = Preparation(**options) if options else "auto"
    pruner = CDVM(effort="low", n_models=60, prepare=prepare, n_jobs=1, random_state=0)
    pruner.fit(X.drop(columns="label"), X["label"])
    assert kept(tmp_path / "kept") == pruner.select(20).indices.tolist()
    told = json.loads((tmp_path / "kept" / "summary.json").read_text())["columns"]
    assert told == pruner.split_.preparation.report_.to_dict("records")
    assert "what became of each column" in printed
    lines = set(people.read_text().splitlines())
    assert lines.issuperset((tmp_path / "kept" / "kept-20rows.csv").read_text().splitlines())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--columns", "age,jobs"], "--columns 'jobs' is no column: there are 'age'"),
        (["--categorical", "label"], "--categorical 'label' is the label"),
        (["--ignore", "age", "--columns", "age"], "--ignore age is named in columns too"),
        (["--columns", "key", "--ignore", "key"], "--ignore key is named in columns too"),
    ],
)
def test_words_on_columns_that_do_not_fit(command, people, words, message):
    code, _, errors = command("prune", people, "--target", "label", *FAST, *words)
    assert code == 2
    assert message in errors


def test_the_columns_of_a_data_set_are_ready(command):
    code, _, errors = command("prune", "--dataset", "wine", "--columns", "alcohol", *FAST)
    assert code == 2
    assert "--columns is for tables: the features of --dataset wine are ready" in errors


def test_a_table_of_plain_numbers_needs_no_table_of_columns(command, tmp_path, rng):
    frame = pd.DataFrame(rng.normal(size=(80, 2)), columns=["a", "b"]).assign(y=["p", "n"] * 40)
    frame.to_csv(tmp_path / "t.csv", index=False)
    code, printed, errors = command("prune", tmp_path / "t.csv", "--target", "y", *FAST)
    assert code == 0, errors
    assert "what became" not in printed
