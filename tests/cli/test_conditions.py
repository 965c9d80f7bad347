import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from typer.testing import CliRunner

from cdvm import CDVM
from cdvm.cli.main import app

FAST = ["--learner", "ridge", "--models", "200", "--jobs", "1"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    X, y = load_wine(return_X_y=True, as_frame=True)
    frame = X.assign(
        label=y,
        source=np.where(np.arange(178) < 5, "gold", "web"),
        region=np.array(["north", "south", "west"])[np.arange(178) % 3],
        price=1.0 + np.arange(178) % 4,
        batch=np.arange(178) // 2,
    )
    path = tmp_path_factory.mktemp("wine") / "wine.csv"
    frame.to_csv(path, index=False)
    return path, frame


def run(table, out, *words, code=0):
    given = ["prune", str(table[0]), "--target", "label", "--ignore", "source,region,price,batch"]
    done = CliRunner().invoke(app, [*given, *FAST, "--out", str(out), *map(str, words)])
    assert done.exit_code == code, done.output + done.stderr
    return done.stderr if code else pd.read_csv(next(out.glob("kept-*.csv")))


def test_rows_by_condition_and_limits_of_groups(table, tmp_path):
    limits = ["--groups", "region", "--at-least", "north=5", "--at-least", "west=2", "--at-most", "7"]
    kept = run(table, tmp_path / "a", "--keep", 15, "--keep-if", "source == 'gold'", *limits)
    counts = kept["region"].value_counts()
    assert len(kept) == 15
    assert (kept["source"] == "gold").sum() == 5
    assert counts["north"] >= 5
    assert counts.max() <= 7
    dropped = run(table, tmp_path / "b", "--keep", 15, "--drop-if", "price > 2 or source == 'gold'")
    assert dropped["price"].max() <= 2
    assert not (dropped["source"] == "gold").any()


def test_spending_and_rows_that_go_together(table, tmp_path):
    kept = run(table, tmp_path / "a", "--cost", "price", "--spend", 30)
    assert kept["price"].sum() <= 30
    assert json.loads((tmp_path / "a" / "summary.json").read_text())["budgets"].keys() == {"spend30"}
    whole = run(table, tmp_path / "b", "--keep", 21, "--together", "batch")
    assert (whole["batch"].value_counts() == 2).all()


def test_a_metric_with_conditions_decides_as_in_python_and_with_costs_is_for_the_report(table, tmp_path):
    limits = ["--groups", "region", "--at-most", 5, "--metric", "balanced_accuracy"]
    run(table, tmp_path / "a", "--keep", 15, *limits)
    frame = table[1]
    X, y = frame.drop(columns=["label", "source", "region", "price", "batch"]), frame["label"]
    settings = {"n_models": 200, "random_state": 0, "n_jobs": 1, "progress": False}
    pruner = CDVM("ridge", metric="balanced_accuracy", **settings).fit(X, y)
    keep = pruner.select(15, groups=frame["region"], at_most=5)
    written = pd.read_csv(tmp_path / "a" / "selection.csv")
    assert keep.leaderboard is not None
    assert written.loc[written["kept_15rows"] == 1, "row"].tolist() == keep.indices.tolist()
    spent = run(table, tmp_path / "b", "--cost", "price", "--spend", 30, "--metric", "balanced_accuracy")
    assert spent.equals(run(table, tmp_path / "c", "--cost", "price", "--spend", 30))
    assert "balanced" in (tmp_path / "b" / "summary.json").read_text()


def test_python_keeps_the_same_rows(table, tmp_path):
    run(table, tmp_path / "a", "--keep", 15, "--groups", "region", "--at-most", 5)
    written = pd.read_csv(tmp_path / "a" / "selection.csv")
    frame = table[1]
    X, y = frame.drop(columns=["label", "source", "region", "price", "batch"]), frame["label"]
    pruner = CDVM("ridge", n_models=200, random_state=0, n_jobs=1, progress=False).fit(X, y)
    keep = pruner.select(15, groups=frame["region"], at_most=5)
    assert written.loc[written["kept_15rows"] == 1, "row"].tolist() == keep.indices.tolist()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--keep-if", "sauce == 'gold'"], "--keep-if"),
        (["--keep-if", "price"], "is not true or false for every row"),
        (["--groups", "county", "--at-least", "1"], "--groups county is no column of the table"),
        (["--at-least", "3"], "name them with --groups"),
        (["--groups", "region", "--at-least", "east=3"], "--at-least names group 'east'"),
        (["--groups", "region", "--at-least", "3,4"], "use one number for all groups"),
        (["--groups", "region", "--at-least", "north=3,4"], "mixes groups and numbers"),
        (["--cost", "price"], "use both"),
        (["--spend", "30"], "use both"),
        (["--cost", "source", "--spend", "30"], "row 0 has 'gold'; use a column of numbers"),
        (["--cost", "price", "--spend", "30", "--keep", "5"], "use --spend in its place"),
        (["--keep-if", "price > 1", "--method", "banzhaf"], "--method banzhaf knows no conditions"),
        (["--keep", "5", "--keep-if", "price > 1"], "cannot be met"),
    ],
)
def test_what_cannot_be_is_one_line(table, tmp_path, words, told):
    errors = run(table, tmp_path / "out", *words, code=2)
    assert told in errors
    assert len(errors.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_limits_that_bind_are_told_with_their_price(table, tmp_path):
    given = ["prune", str(table[0]), "--target", "label", "--ignore", "source,region,price,batch", *FAST]
    more = ["--keep", "15", "--groups", "region", "--at-least", "north=12", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, [*given, *more])
    assert done.exit_code == 0, done.stderr
    (limit,) = json.loads((tmp_path / "out" / "summary.json").read_text())["budgets"]["15rows"]["limits"]
    assert (limit["group"], limit["limit"], limit["rows"]) == ("north", "at_least", 12)
    assert limit["price"] > 0
    assert "at least 12 of 'north': one fewer would add" in " ".join(done.output.split())
