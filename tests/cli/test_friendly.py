"""What the command line says when something goes wrong, and while it works."""

import glob
import os
import signal
import subprocess
import sys
import time
import warnings
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cdvm.learners import learner_names
from cdvm.valuation import valuation_names

WINE = ["--effort", "low", "--dataset", "wine", "--learner", "naive_bayes", "--models", "60", "--jobs", "1"]


def test_help_names_learners_and_methods(command):
    for words in (["prune"], ["value"], ["outcomes", "run"]):
        _, output, _ = command(*words, "--help", columns=300)
        text = " ".join(output.split())
        assert all(name in text for name in learner_names())
        if words != ["outcomes", "run"]:
            assert all(name in text for name in valuation_names())
    assert "facility_location" in " ".join(command("prune", "--help", columns=300)[1].split())


def test_an_unexpected_error_is_one_line_with_a_way_to_the_traceback(command, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("first line\nsecond line")

    monkeypatch.setattr("cdvm.datasets.source.load_source", broken)
    code, output, errors = command("prune", *WINE)
    assert (code, output) == (1, "")
    assert errors.startswith("error: unexpected RuntimeError: first line (set CDVM_DEBUG=1")
    assert errors.count("\n") == 1
    monkeypatch.setenv("CDVM_DEBUG", "1")
    with pytest.raises(RuntimeError, match="second line"):
        command("prune", *WINE)


def test_too_little_memory_is_one_line(command, monkeypatch):
    def broken(*_, **__):
        raise MemoryError("5 TB")

    monkeypatch.setattr("cdvm.datasets.source.load_source", broken)
    code, _, errors = command("prune", *WINE)
    assert code == 1
    assert errors.startswith("error: not enough memory (5 TB): use fewer --jobs")


def test_warnings_of_other_libraries_do_not_leak(command, monkeypatch):
    from sklearn.exceptions import ConvergenceWarning

    from cdvm.errors import InputWarning
    from cdvm.pruner import request

    chosen = request.choose_rows

    def noisy(*args):
        for _ in range(3):
            warnings.warn("lbfgs failed to converge", ConvergenceWarning, stacklevel=1)
            warnings.warn("n_models=3 is few", InputWarning, stacklevel=1)
            warnings.warn("numpy will change", FutureWarning, stacklevel=1)
            np.log(np.zeros(1))
        return chosen(*args)

    monkeypatch.setattr(request, "choose_rows", noisy)
    code, _, errors = command("prune", *WINE)
    assert code == 0
    assert errors.splitlines() == [
        "warning: --models 3 is few",
        "warning: scikit-learn stopped 3 fits before they had converged",
    ]


def test_an_interrupt_while_modules_load_is_one_line(tmp_path):
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt")  # the first that is loaded
    done = subprocess.run(
        [sys.executable, "-m", "cdvm", "datasets"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 130
    assert done.stderr == "interrupted: nothing had begun; run the same command again\n"


def test_warnings_in_worker_processes_do_not_leak(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((60, 3)), columns=list("abc")).assign(y=np.arange(60) % 2)
    frame.to_csv(tmp_path / "t.csv", index=False)
    words = [
        "prune",
        "t.csv",
        "--target",
        "y",
        "--learner",
        "LinearDiscriminantAnalysis",
        "--models",
        "60",
        "--effort",
        "low",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "cdvm", *words, "--inclusion", "0.1", "--jobs", "2"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert [line for line in done.stderr.splitlines() if not line.startswith("warning: ")] == []


def _end_session(process):
    """Whatever a test that failed has left running."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _children(pid):
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_workers_and_leaves_no_shared_memory(tmp_path, request, number, code):
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("the signal is ignored where tests run, as nohup does")
    rng = np.random.default_rng(0)
    n = 4000  # enough that joblib shares the table's memory
    frame = pd.DataFrame(rng.standard_normal((n, 60)).round(3)).assign(y=np.arange(n) % 2).rename(columns=str)
    frame.to_parquet(tmp_path / "t.parquet")
    words = ["prune", "t.parquet", "--target", "y", "--learner", "decision_tree", "--models", "100000"]
    words += ["--proxy", "none"]  # processes of scikit-learn, not threads
    before = set(glob.glob("/dev/shm/*"))
    process = subprocess.Popen(
        [sys.executable, "-m", "cdvm", *words, "--jobs", "2", "--store", "store"],
        cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    request.addfinalizer(partial(_end_session, process))
    deadline = time.monotonic() + 300
    while not list((tmp_path / "store").glob("0*.npy")):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    workers = _children(process.pid)
    assert len(workers) >= 2
    process.send_signal(number)
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == code
    assert stderr.strip() == (
        "interrupted: finished models are in the store; run the same command again to go on"
    )
    deadline = time.monotonic() + 60
    while any(os.path.exists(f"/proc/{worker}") for worker in workers):
        assert time.monotonic() < deadline, "workers are still there"
        time.sleep(0.05)
    mine = [path for path in set(glob.glob("/dev/shm/*")) - before if f"_{process.pid}_" in path]
    assert mine == []
