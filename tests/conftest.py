import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import StandardScaler

from cdvm import CDVM, Split
from cdvm.cli import main


@pytest.fixture(scope="session")
def data_home() -> Path:
    """The directory of the real data sets; tests that need it say so when it is not there."""
    home = os.environ.get("CDVM_DATA_HOME")
    if not home or not Path(home).is_dir():
        pytest.skip("CDVM_DATA_HOME does not name a directory with the real data sets")
    return Path(home)


@pytest.fixture(scope="session")
def digits() -> Split:
    X, y = load_digits(return_X_y=True)
    return Split.from_arrays(X[:400] / 16, y[:400], random_state=0)


@pytest.fixture(scope="session")
def wine() -> Split:
    X, y = load_wine(return_X_y=True)
    return Split.from_arrays(StandardScaler().fit_transform(X), y, random_state=0)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def command(monkeypatch, capsys):
    """Run the command line in this process: exit code, output and errors."""

    def call(*words, columns=100):
        monkeypatch.setattr(sys, "argv", ["cdvm", *map(str, words)])
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr("warnings.showwarning", warnings.showwarning)
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped, warnings.catch_warnings():
            main()
        done = capsys.readouterr()
        return stopped.value.code or 0, done.out, done.err

    return call


@pytest.fixture(scope="module")
def table():
    X, y = load_wine(return_X_y=True, as_frame=True)
    X.index = [f"bottle {i}" for i in range(len(X))]
    return X, y.map({0: "red", 1: "white", 2: "rose"})


@pytest.fixture(scope="module")
def pruner(table):
    return CDVM("naive_bayes", effort="low", n_models=300, n_jobs=1, random_state=0).fit(*table)


@pytest.fixture
def cache(monkeypatch, tmp_path) -> Path:
    """An empty cache, and no ready files."""
    monkeypatch.delenv("CDVM_DATA_HOME", raising=False)
    monkeypatch.setenv("CDVM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def home(monkeypatch, cache, tmp_path) -> Path:
    """An empty directory of ready files, and an empty cache."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("CDVM_DATA_HOME", str(folder))
    return folder


@pytest.fixture
def real(monkeypatch, data_home, tmp_path) -> Path:
    """The real files, and an empty cache."""
    monkeypatch.setenv("CDVM_CACHE", str(tmp_path / "cache"))
    return data_home
