import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from cdvm import datasets
from cdvm.cli.main import app
from cdvm.datasets import dataset_names, download, images
from cdvm.datasets.base import Dataset, Recipe

FAST = ["--learner", "naive_bayes", "--models", "60", "--jobs", "1", "--keep", "20"]


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")

    def run_(*words, code=0):
        done = CliRunner().invoke(app, list(map(str, words)))
        assert done.exit_code == code, done.output
        return done.output

    return run_


def lines(output):
    """The table's cells by name."""
    rows = [line.split() for line in output.splitlines()]
    return {row[0]: row[1:] for row in rows if row and row[0] in dataset_names()}


def test_the_list_names_all_and_what_is_to_be_done(run, cache):
    table = lines(run("datasets"))
    assert list(table) == dataset_names()
    assert table["wine"] == ["178", "13", "3", "scikit-learn", "bundled"]
    assert table["adult"] == ["48,842", "108", "2", "UCI", "to", "download"]
    assert table["imdb"][-4:] == ["to", "download", "and", "embed"]
    assert not cache.exists()


@pytest.mark.data
def test_the_list_says_what_is_in_the_data_home(run, real):
    output = run("datasets")
    table = lines(output)
    assert "CDVM_DATA_HOME" in table["adult"]
    assert all(
        table[name][-1] == "CDVM_DATA_HOME" for name in dataset_names() if table[name][-1] != "bundled"
    )
    assert table["bbc"][:3] == ["2,225", "384", "5"]
    assert f"CDVM_DATA_HOME: {real}" in output


def test_the_list_reads_no_data(run, home, monkeypatch):
    np.savez(home / "bbc_embeddings.npz", X=np.ones((4, 3), np.float16), y=np.arange(4))
    monkeypatch.setattr(np, "load", lambda *_, **__: pytest.fail("loaded"))
    monkeypatch.setattr(pd, "read_csv", lambda *_, **__: pytest.fail("loaded"))
    monkeypatch.setattr(download, "_download", lambda *_, **__: pytest.fail("asked the network"))
    assert lines(run("datasets"))["bbc"][:2] == ["4", "3"]


def test_help_has_an_example(run):
    assert "Example: CDVM_DATA_HOME=~/data cdvm datasets" in run("datasets", "--help")


def test_mistakes_are_one_line(run, cache, monkeypatch, tmp_path):
    assert run("prune", "--dataset", "adlt", code=2).startswith(
        "error: --dataset adlt is unknown: did you mean 'adult'"
    )
    monkeypatch.setenv("CDVM_DATA_HOME", str(tmp_path / "nowhere"))
    assert "is not a directory" in run("datasets", code=2)


def test_prune_takes_a_data_set_with_test_rows_only(run, home, monkeypatch, rng):
    def load():
        y = np.array(["a", "b"] * 50)
        X = rng.normal(size=(100, 3)) + (y == "b")[:, None]
        return Dataset("fashion_mnist", X, y, ("u", "v", "w"), X_test=X[:40], y_test=y[:40])

    recipe = Recipe(images._describe_fashion, load, exact=False)
    monkeypatch.setitem(datasets._RECIPES, "fashion_mnist", recipe)
    words = ("prune", "--dataset", "fashion_mnist", *FAST)
    report = run(*words, "--effort", "low")
    assert "All 100 rows were candidates. There were 40 others to report on." in " ".join(report.split())
    held = " ".join(run(*words, "--method", "shapley").split())
    assert "All 100 rows were candidates. There were 20 others to choose with and 20 to report on." in held


@pytest.mark.data
def test_prune_takes_the_new_names(run, real, tmp_path):
    run("prune", "--dataset", "bbc", *FAST, "--effort", "low", "--out", tmp_path / "out")
    kept = pd.read_csv(tmp_path / "out" / "kept-20rows.csv")
    assert kept.shape == (20, 385)
    assert set(kept["target"]) <= {"business", "entertainment", "sport", "tech", "politics"}
