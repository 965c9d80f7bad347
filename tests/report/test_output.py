"""Where commands write: nothing of the user's is lost, and files come whole or not at all."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cdvm.errors import InputError
from cdvm.report.output import check_directory, together

PRUNE = [
    "--target",
    "label",
    "--effort",
    "low",
    "--learner",
    "naive_bayes",
    "--models",
    "60",
    "--jobs",
    "1",
    "--keep",
    "8",
]
VALUE = ["--target", "label", "--method", "knn_shapley"]


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    frame = pd.DataFrame({"a": y + rng.standard_normal(40), "b": rng.standard_normal(40), "label": y})
    frame.to_csv(tmp_path / "train.csv", index=False)
    return tmp_path / "train.csv"


@pytest.fixture
def refused(command):
    """The one line of a command that is refused."""

    def call(*words):
        code, output, errors = command(*words)
        assert (code, output) == (2, ""), errors
        assert errors.count("\n") == 1
        assert errors.startswith("error: ")
        return errors

    return call


def test_values_never_overwrite_the_table_by_whatever_path(refused, table, tmp_path, monkeypatch):
    before = table.read_bytes()
    (tmp_path / "link.csv").symlink_to(table)
    (tmp_path / "hard.csv").hardlink_to(table)
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    for out in (table, tmp_path / "link.csv", tmp_path / "hard.csv", "../train.csv"):
        for force in ([], ["--force"]):
            said = refused("value", table, *VALUE, "--out", out, *force)
            assert "which is read: name another place" in said
    other = tmp_path / "val.csv"
    other.write_bytes(before)
    words = ["--validation", other, "--out", other, "--force"]
    assert f"overwrite {other}" in refused("value", table, *VALUE, *words)
    assert table.read_bytes() == other.read_bytes() == before


def test_values_replace_a_file_only_by_force(command, refused, table, tmp_path):
    out = tmp_path / "mine.csv"
    out.write_text("mine")
    assert "is there already" in refused("value", table, *VALUE, "--out", out)
    (tmp_path / "dangling.csv").symlink_to(tmp_path / "nowhere.csv")
    assert "is there already" in refused("value", table, *VALUE, "--out", tmp_path / "dangling.csv")
    assert out.read_text() == "mine"
    assert command("value", table, *VALUE, "--out", out, "--force")[0] == 0
    assert "value" in pd.read_csv(out)


def test_kept_rows_never_overwrite_an_input(refused, table, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    mine = out / "kept-8rows.csv"
    mine.write_bytes(table.read_bytes())
    test = out / "selection.csv"
    test.write_bytes(table.read_bytes())
    said = refused("prune", mine, *PRUNE, "--out", out, "--force")
    assert f"overwrite {mine}" in said
    assert f"overwrite {test}" in refused("prune", table, *PRUNE, "--test", test, "--out", out, "--force")
    assert mine.read_bytes() == test.read_bytes() == table.read_bytes()


@pytest.mark.parametrize("where", ["file/below", "x" * 300, "new/" + "x" * 300, "/proc/here"])
def test_a_place_that_cannot_be_written_is_refused_before_any_work(
    refused, table, tmp_path, where, monkeypatch
):
    monkeypatch.setattr("cdvm.pruner.request.choose_rows", None)  # work would fail
    (tmp_path / "file").write_text("mine")
    for command, words in {"prune": PRUNE, "value": VALUE}.items():
        suffix = ".csv" if command == "value" else ""
        assert "--out" in refused(command, table, *words, "--out", tmp_path / (where + suffix))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "train.csv"]
    assert (tmp_path / "file").read_text() == "mine"


def test_a_directory_where_a_file_should_be(refused, table, tmp_path):
    (tmp_path / "dir.csv").mkdir()
    said = refused("value", table, *VALUE, "--out", tmp_path / "dir.csv", "--force")
    assert "is a directory: name a file" in said


def stage(out, then):
    with together(out) as staging:
        (staging / "a").write_text("half")
        then()


@pytest.mark.parametrize("there", [False, True], ids=["new", "empty"])
def test_files_appear_together_or_not_at_all(tmp_path, there):
    out = tmp_path / "deep" / "out"
    if there:
        out.mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ZeroDivisionError):
        stage(out, lambda: 1 / 0)
    assert sorted(tmp_path.rglob("*")) == before
    with together(out) as staging:
        (staging / "a").write_text("1")
        (staging / "b").write_text("2")
        assert not there or list(out.iterdir()) == [staging]
    assert {p.name: p.read_text() for p in out.iterdir()} == {"a": "1", "b": "2"}


def test_a_full_disk_leaves_nothing_and_is_one_line(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(InputError, match=r"No space left on device.*make room .* run the same command again"):
        stage(out, lambda: Path("/dev/full").write_text("x" * 10_000))
    assert list(tmp_path.iterdir()) == []


_SCRIPT = """
import os, signal, sys
from pathlib import Path
from cdvm.report import output
from cdvm.report.output import together
out, when = Path(sys.argv[1]), sys.argv[2]
replace = os.replace
def killed(a, b):
    replace(a, b)
    os.kill(os.getpid(), signal.SIGKILL)
if when == "moving":
    output.os.replace = killed
with together(out) as staging:
    (staging / "a").write_text("1")
    (staging / "b").write_text("2")
    if when == "writing":
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("there", [False, True], ids=["new", "empty"])
@pytest.mark.parametrize("when", ["writing", "moving"])
def test_what_a_killed_run_leaves_is_taken_back(tmp_path, when, there):
    out = tmp_path / "out"
    if there:
        out.mkdir()
    (tmp_path / ".out.cdvm-mine.part").mkdir()  # not the name of any run
    done = subprocess.run([sys.executable, "-c", _SCRIPT, str(out), when], check=False)
    if when == "moving" and not there:
        assert done.returncode == 0  # a new directory moves at once
        assert {p.name for p in out.iterdir()} == {"a", "b"}
        return
    assert done.returncode == -signal.SIGKILL
    left = [p for p in tmp_path.rglob("*") if p.name.endswith(".part") and "mine" not in p.name]
    assert len(left) == 1
    assert (out / "a").exists() == (when == "moving")
    check_directory(out, force=False)
    assert not left[0].exists()
    assert not out.exists() or list(out.iterdir()) == []
    assert (tmp_path / ".out.cdvm-mine.part").exists()


def test_the_staging_directory_of_a_run_under_way_is_left_alone(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    sleeper = subprocess.Popen(
        [sys.executable, "-c", _SCRIPT.replace('when == "writing"', "input()"), str(out), "-"],
        stdin=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 60
        while not list(out.glob(".*.part/b")):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        with pytest.raises(InputError, match="not empty"):
            check_directory(out, force=False)
        assert list(out.glob(".*.part/b"))
    finally:
        sleeper.communicate("\n", timeout=60)
    assert sleeper.returncode == 0
    assert {p.name for p in out.iterdir()} == {"a", "b"}


def test_a_run_into_an_old_directory_keeps_what_else_is_there(command, table, tmp_path):
    out = tmp_path / "out"
    assert command("prune", table, *PRUNE, "--out", out)[0] == 0
    (out / "mine.txt").write_text("mine")
    assert command("prune", table, *PRUNE, "--out", out, "--force", "--seed", 5)[0] == 0
    assert json.loads((out / "summary.json").read_text())["seed"] == 5
    assert (out / "mine.txt").read_text() == "mine"
    assert not [p for p in out.iterdir() if p.name.startswith(".")]
    assert os.listdir(tmp_path).count("out") == 1


def test_a_directory_that_is_there_but_takes_no_files_is_refused():
    with pytest.raises(InputError, match="cannot be written"):
        check_directory(Path("/proc/self"), force=True)
