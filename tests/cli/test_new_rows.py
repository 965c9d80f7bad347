"""Rows that came since the table, from the command line as in Python."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from typer.testing import CliRunner

from cdvm import CDVM
from cdvm.cli.main import app

SETTINGS = {"n_models": 300, "inclusion": 0.1, "random_state": 0, "n_jobs": 1, "progress": False}
FAST = ["--learner", "ridge", "--models", "300", "--inclusion", "0.1", "--jobs", "1"]


@pytest.fixture
def frame():
    X, y = load_wine(return_X_y=True, as_frame=True)
    mixed = X.sample(frac=1, random_state=0)
    return mixed.assign(
        kind=np.where(mixed["hue"] > 1, "a", "b"), label=y[mixed.index].map(lambda k: "xyz"[k])
    ).reset_index(drop=True)


def run(*words, code=0):
    done = CliRunner().invoke(app, ["prune", *map(str, words), "--target", "label", *FAST])
    assert done.exit_code == code, done.output + done.stderr
    return done.stderr


def test_the_rows_are_those_of_update_and_only_new_models_are_trained(frame, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parts = {"table": frame[:120], "june": frame[120:150], "july": frame[150:]}
    for name, part in parts.items():
        part.to_csv(f"{name}.csv", index=False, lineterminator="\r\n")
    run("table.csv", "--keep", 10, "--store", "store")
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "store").iterdir() if p.is_file()}
    assert before
    new = ["--new-rows", "june.csv", "--new-rows", "july.csv", "--out", "kept"]
    run("table.csv", "--keep", 12, "--store", "store", *new)
    assert {p: p.stat().st_mtime_ns for p in before} == before
    assert sorted(p.name for p in (tmp_path / "store").iterdir() if p.is_dir()) == ["change-1", "change-2"]
    pruner = CDVM("ridge", **SETTINGS)
    for part, learn in zip(parts.values(), (pruner.fit, pruner.update, pruner.update), strict=True):
        learn(part.drop(columns="label"), part["label"])
    keep = pruner.select(12)
    chosen = pd.read_csv("kept/selection.csv")
    assert chosen.loc[chosen["kept_12rows"] == 1, "row"].tolist() == keep.indices.tolist()
    assert (keep.indices >= 120).any()
    text = (tmp_path / "kept" / "kept-12rows.csv").read_bytes()
    lines = b"".join((tmp_path / f"{name}.csv").read_bytes().partition(b"\r\n")[2] for name in parts)
    stood = lines.splitlines(keepends=True)
    assert text.splitlines(keepends=True)[1:] == [stood[k] for k in keep.indices]
    told = json.loads((tmp_path / "kept" / "summary.json").read_text())
    assert (told["rows"], told["candidates"]) == (178, 178)


def test_a_class_that_came_later_is_kept_and_conditions_are_on_all_rows(frame, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    late = frame["label"] == "y"
    frame[~late].to_parquet("table.parquet", index=False)
    frame[late][frame.columns[::-1]].to_csv("later.csv", index=False)  # another order, another format
    words = ["--store", "store", "--new-rows", "later.csv", "--keep-if", "label == 'y' and hue > 1.3"]
    told = run("table.parquet", "--keep", 20, *words, "--out", "kept")
    words = "the target of --new-rows has labels that the column of --target had not: 'y'"
    assert words in " ".join(told.split())
    kept = pd.read_parquet("kept/kept-20rows.parquet")
    assert list(kept.columns) == list(frame.columns)
    wanted = frame[late & (frame["hue"] > 1.3)]
    assert len(wanted) > 0
    assert wanted["alcohol"].isin(kept.loc[kept["label"] == "y", "alcohol"]).all()
    assert set(kept["label"]) == {"x", "y", "z"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--new-rows", "june.csv"], "--new-rows needs --store, where the models of the table are"),
        (["--new-rows", "june.csv", "--store", "s", "--method", "random"], "--new-rows needs --method cdvm"),
        (["--new-rows", "no.csv", "--store", "s"], "no.csv is not a file"),
        (["--new-rows", "june.csv", "--store", "s", "--keep", "500"], "--keep 500"),
        (["--new-rows", "less.csv", "--store", "s"], "less.csv has no column 'hue'"),
        (["--new-rows", "more.csv", "--store", "s"], "more.csv has a further column 'price'"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_trained(frame, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    frame[:120].to_csv("table.csv", index=False)
    frame[120:].to_csv("june.csv", index=False)
    frame[120:].drop(columns="hue").to_csv("less.csv", index=False)
    frame[120:].assign(price=1).to_csv("more.csv", index=False)
    assert message in " ".join(run("table.csv", "--keep", 10, *words, code=2).replace("│", " ").split())
    assert not (tmp_path / "s").exists()
