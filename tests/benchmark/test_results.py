"""A results directory under two runs at once, killed runs and damaged files."""

import json
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from benchmark_frames import TINY
from typer.testing import CliRunner

from cdvm.benchmark.protocol import get_protocol
from cdvm.benchmark.results import Results
from cdvm.cli.main import app
from cdvm.errors import InputError, InputWarning, StoreError

CLEAN = get_protocol("clean")


def rows(method, repetition):
    rng = np.random.default_rng(repetition)
    return [
        {"dataset": "wine", "method": method, "budget": b, "repetition": repetition, "draw": 0}
        | {"accuracy": float(rng.random()), "kept": rng.integers(0, 99, b).astype(np.int32)}
        for b in (50, 100)
    ]


@pytest.fixture
def results(tmp_path):
    made = Results.create(tmp_path / "r", CLEAN)
    for repetition in range(3):
        made.write(("wine", "Random", repetition), rows("Random", repetition))
    return made


def test_a_second_run_is_refused_while_the_first_writes(results):
    script = (
        "import sys; from cdvm.benchmark.results import Results\n"
        "with Results.open(sys.argv[1]).writing(): print('in')"
    )
    with results.writing():
        done = subprocess.run(
            [sys.executable, "-c", script, str(results.path)], capture_output=True, text=True, check=False
        )
        assert done.stdout == ""
        assert "is being written by another run: wait for it" in done.stderr
        assert len(results.frame) == 6  # reading is free
    done = subprocess.run([sys.executable, "-c", script, str(results.path)], capture_output=True, check=True)
    assert done.stdout.strip() == b"in"


def test_a_second_run_on_the_command_line_is_one_line(results):
    words = ["benchmark", "run", "--protocol", "clean", "--datasets", "wine", "--methods", "Random"]
    with results.writing():
        found = CliRunner().invoke(app, [*words, "--out", str(results.path), "--jobs", "1"])
    assert found.exit_code == 2
    assert f"error: --out {results.path} is being written by another run" in found.output


def test_parts_may_vanish_while_they_are_read(results, monkeypatch):
    whole = results.frame
    parts = list(results._parts())

    def stale(self):
        yield from parts

    monkeypatch.setattr(Results, "_parts", stale)
    join = Results._joined
    results._replace_whole(_bytes(whole))
    for _, file in parts[:2]:
        file.unlink()
    pd.testing.assert_frame_equal(join(results), whole)


def _bytes(frame):
    from cdvm.benchmark.results import _parquet

    return _parquet(frame)


@pytest.mark.parametrize("joined", [True, False], ids=["table", "parts"])
def test_no_flipped_byte_is_read_as_results(results, joined):
    expected = results.frame
    if joined:
        results.join()
    file = next(results.path.rglob("*.parquet"))
    content = file.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.choice(len(content), 60, replace=False):
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(rng.integers(8))
        file.write_bytes(bytes(damaged))
        with pytest.raises(StoreError, match=r"is damaged.*(restore it from a copy|computes it again)"):
            _ = Results.open(results.path).frame
    for cut in (0, 4, len(content) - 1):
        file.write_bytes(content[:cut])
        with pytest.raises(StoreError):
            _ = Results.open(results.path).frame
    file.write_bytes(content)
    pd.testing.assert_frame_equal(results.frame, expected)


def test_a_table_without_a_checksum_is_read_and_damage_in_it_is_one_line(results):
    expected = results.frame
    results.join()
    (results.path / "results.parquet.sha256").unlink()
    pd.testing.assert_frame_equal(results.frame, expected)
    (results.path / "results.parquet").write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(StoreError, match=r"is no whole table .*: restore it from a copy, or delete it"):
        _ = results.frame


def test_damaged_parts_are_set_aside_and_computed_again(results):
    file = sorted((results.path / "parts").iterdir())[1]
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.warns(InputWarning, match="is damaged: it was set aside"), results.writing():
        assert results.done() == {("wine", "Random", 0), ("wine", "Random", 2)}
    assert file.with_name(f"{file.name}.damaged").exists()


@pytest.mark.parametrize("name", ["protocol.json", "results.parquet", "results.parquet.sha256"])
def test_a_directory_where_a_file_should_be_is_one_line(results, name):
    results.join()
    (results.path / name).unlink()
    (results.path / name).mkdir()
    with pytest.raises(InputError, match=rf"{name} cannot be read \(.*Is a directory.*\): .*restore it"):
        _ = Results.open(results.path).frame


def test_a_part_that_is_no_file_is_set_aside(results):
    directory, link, _ = sorted((results.path / "parts").iterdir())
    directory.unlink()
    directory.mkdir()
    link.unlink()
    link.symlink_to("nowhere")
    with pytest.warns(InputWarning, match="is damaged: it was set aside"), results.writing():
        assert results.done() == {("wine", "Random", 2)}


def test_a_part_under_the_name_of_another_is_found(results):
    first, second, _ = sorted((results.path / "parts").iterdir())
    first.write_bytes(second.read_bytes())
    with pytest.raises(StoreError, match="is damaged"):
        _ = results.frame


def test_a_run_killed_while_the_table_is_replaced_leaves_one_that_is_allowed(results, monkeypatch):
    results.join()
    before = results.frame
    results.write(("wine", "All", 0), rows("All", 0))
    for stop_at in (1, 2, 3):
        calls = []

        def stopping(target, content, stop_at=stop_at, calls=calls):
            calls.append(target)
            if len(calls) == stop_at:
                raise KeyboardInterrupt
            target.write_bytes(content)

        with monkeypatch.context() as patch:
            patch.setattr("cdvm.benchmark.results.write_whole", stopping)
            with pytest.raises(KeyboardInterrupt):
                results.join()
        assert len(results.frame) == len(before) + 2
    results.join()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(results.frame) == len(before) + 2
    digests = (results.path / "results.parquet.sha256").read_text().splitlines()
    assert len(digests) == 1


def test_what_a_killed_writer_left_is_cleared_away(results):
    script = (
        "import os, sys; from pathlib import Path; from cdvm._runtime.files import machine_name\n"
        "Path(sys.argv[1], f'.{machine_name()}-{os.getpid()}-{\"0\" * 32}.part').write_text('half')"
    )
    subprocess.run([sys.executable, "-c", script, str(results.path / "parts")], check=True)
    assert list((results.path / "parts").glob(".*.part"))
    with results.writing():
        assert not list((results.path / "parts").glob(".*.part"))


def test_a_protocol_that_is_not_ours_is_left_alone(tmp_path):
    (tmp_path / "protocol.json").write_text(json.dumps({"mine": 1}))
    with pytest.raises(InputError, match="name another directory"):
        Results.create(tmp_path, CLEAN)
    assert json.loads((tmp_path / "protocol.json").read_text()) == {"mine": 1}


def test_tables_and_figures_replace_files_in_a_named_directory_only_by_force(results, tmp_path):
    pytest.importorskip("matplotlib")
    out = tmp_path / "mine"
    out.mkdir()
    for command, name in (("table", "results.md"), ("figures", "main_results.png")):
        (out / name).write_text("mine")
        words = ["benchmark", command, str(results.path), "--out", str(out)]
        found = CliRunner().invoke(app, words)
        assert found.exit_code == 2
        assert f"holds {name} already" in found.output
        assert (out / name).read_text() == "mine"
        assert (
            "add --out"
            in CliRunner().invoke(app, ["benchmark", command, str(results.path), "--force"]).output
        )


def test_directory_without_results(tmp_path):
    with pytest.raises(InputError, match="cdvm benchmark run"):
        Results.open(tmp_path)
    (tmp_path / "other.parquet").write_bytes(b"x")
    with pytest.raises(InputError, match="name another"):
        Results.create(tmp_path, TINY)
    (tmp_path / "protocol.json").write_text("{")
    with pytest.raises(InputError, match="cannot be read"):
        Results.open(tmp_path)


def test_run_under_way_can_be_read(tmp_path):
    results = Results.create(tmp_path / "r", TINY)
    with pytest.raises(InputError, match="no finished repetition"):
        _ = results.frame
    results.write(("wine", "CDVM5k@5", 0), [{"dataset": "wine", "method": "CDVM5k@5", **_KEY}])
    assert results.done() == {("wine", "CDVM5k@5", 0)}
    assert len(results.frame) == 1
    results.join()
    results.join()
    assert results.done() == {("wine", "CDVM5k@5", 0)}


_KEY = {"budget": 8, "repetition": 0, "draw": 0, "kept": [1, 2]}
