"""Files are written whole or not at all, and arrays come back as they were."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from cdvm._runtime.files import (
    digest_of,
    load_arrays,
    machine_name,
    part_of,
    save_arrays,
    sweep_parts,
    write_whole,
)
from cdvm.errors import InputError, StoreError


def test_parts_of_dead_writers_are_swept_and_those_of_the_living_stay(tmp_path):
    """A writer is killed while its file is half written; another is at work on one of its own."""
    code = """
import os, signal, sys
from pathlib import Path
from cdvm._runtime.files import write_whole
os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL) if sys.argv[2] == "die" else input()
write_whole(Path(sys.argv[1], "file"), b"half")
"""
    words = [sys.executable, "-c", code, str(tmp_path)]
    assert subprocess.run([*words, "die"], check=False).returncode == -9
    alive = subprocess.Popen([*words, "wait"], stdin=subprocess.PIPE)
    while len(list(tmp_path.glob(".*.part"))) < 2:
        time.sleep(0.01)
        assert alive.poll() is None
    dead = next(p for p in tmp_path.glob(".*.part") if f"-{alive.pid}-" not in p.name)
    elsewhere = [tmp_path / f".0badc0de-1-{'0' * 31}{k}.part" for k in range(2)]
    mine = tmp_path / ".notes.part"
    for path in (*elsewhere, mine):
        path.write_text("")
    two_days_ago = time.time() - 2 * 86400
    os.utime(elsewhere[0], (two_days_ago, two_days_ago))
    os.utime(mine, (two_days_ago, two_days_ago))
    sweep_parts(tmp_path)
    assert not dead.exists()
    assert [path.exists() for path in elsewhere] == [False, True]
    assert mine.exists()
    alive.communicate(b"\n")
    assert (tmp_path / "file").read_bytes() == b"half"


def test_a_file_is_replaced_only_where_that_is_meant_and_leaves_no_part(tmp_path):
    target = tmp_path / "file"
    write_whole(target, b"first", replace=False)
    write_whole(target, b"second", replace=False)
    assert target.read_bytes() == b"first"
    write_whole(target, b"third")
    assert target.read_bytes() == b"third"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [("n" * 300, "File name too long"), ("a\0b", "embedded null"), ("no/file", "No such file")],
)
def test_a_place_that_cannot_be_written_is_named_with_a_cure(tmp_path, name, reason):
    with pytest.raises(StoreError, match=f"{reason}.*name another place"):
        write_whole(tmp_path / name, b"")


def test_names_of_parts_are_told_from_others(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(os, "fsync", lambda _: seen.extend(os.listdir(tmp_path)))
    write_whole(tmp_path / "file", b"")
    assert [part_of(name) for name in (*seen, "file", "a.part", ".file")] == [True, False, False, False]
    assert machine_name() in seen[0]


@settings(max_examples=25, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from("abc"),
        arrays(st.sampled_from([np.int64, np.float32, np.uint8, "U3"]), array_shapes(min_side=0, max_side=4)),
    ),
    st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3) | st.none(), max_size=3),
)
def test_arrays_and_values_come_back_as_they_were(tmp_path_factory, content, meta):
    meta = {f"x{name}": value for name, value in meta.items()}
    path = save_arrays(tmp_path_factory.mktemp("arrays") / "file", "thing", meta, content)
    assert path.name == "file.npz"
    found, back = load_arrays(path, "thing", lambda meta, arrays: (meta, arrays))
    assert found == meta
    assert back.keys() == content.keys()
    for name, array in content.items():
        assert back[name].dtype == array.dtype
        np.testing.assert_array_equal(back[name], array)


def test_a_file_of_another_kind_or_that_is_damaged_or_makes_no_sense_is_refused(tmp_path):
    path = save_arrays(tmp_path / "a", "thing", {"n": 3}, {"x": np.arange(3)})
    with pytest.raises(StoreError, match="is no other file of this version"):
        load_arrays(path, "other", dict)

    def refuse(meta, arrays):
        raise InputError("three is too few")

    with pytest.raises(StoreError, match=r"holds no valid thing .*three is too few"):
        load_arrays(path, "thing", refuse)
    with np.load(path) as file:
        np.savez(path, meta=file["meta"], x=file["x"].view(">i8"))
    with pytest.raises(StoreError, match="does not match its checksum"):
        load_arrays(path, "thing", dict)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(StoreError, match="is not a whole thing file"):
        load_arrays(path, "thing", dict)


def test_a_digest_does_not_mind_the_order_of_keys():
    assert digest_of({"a": 1, "b": [1, 2]}) == digest_of({"b": [1, 2], "a": 1})
    assert digest_of({"a": 1, "b": [1, 2]}) != digest_of({"a": 1, "b": [2, 1]})
