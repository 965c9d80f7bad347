"""Stores that are deleted, taken over, damaged or forged."""

import json
import os
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from io import BytesIO
from shutil import rmtree

import numpy as np
import pytest
from comparing import equal
from sklearn.naive_bayes import GaussianNB

from cdvm import Design, InputError, InputWarning, Outcomes, SklearnLearner, StoreError, record_outcomes
from cdvm._runtime.files import machine_name
from cdvm.outcomes.store import Chunk, Store, _checksum, refuse_other

NONE = np.empty(0, dtype=np.int64)


def declared(seed, evaluation=8):
    return {"design": Design(20, 0.5, seed=seed).describe(), "n_evaluation": evaluation, "outcome": "correct"}


def chunk(first, value):
    return Chunk(first, first + 4, NONE, np.full((4, 1), value, dtype=np.uint8))


@pytest.fixture
def memory():
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    yield system
    system.rm("/contested", recursive=True)


def test_a_run_whose_store_was_begun_anew_stops_and_leaves_nothing_behind(tmp_path):
    path = tmp_path / "s"
    old = Store(path, declared(1))
    old.write(chunk(0, 1))
    stale = next(path.glob("0*.npy")).read_bytes(), next(path.glob("0*.npy")).name
    rmtree(path)
    with pytest.raises(StoreError, match=r"was deleted while this run wrote to it: run again"):
        old.write(chunk(4, 1))
    new = Store(path, declared(2))
    new.write(chunk(0, 2))
    with pytest.raises(StoreError, match=r"taken over by another run .*design\.seed is 2 there and 1 here"):
        old.write(chunk(4, 1))
    (path / stale[1]).write_bytes(stale[0])  # one that slipped in between two looks
    (path / "00000004-00000008-0-{}-{}.npy".format(*stale[1][:-4].split("-")[-2:])).write_bytes(stale[0])
    with pytest.warns(InputWarning, match=r"holds 2 files of another run"):
        assert (Outcomes.load(path).data == 2).all()
    assert new.ranges() == [(0, 4)]
    assert new.foreign() == sorted(new.foreign())
    assert len(new.foreign()) == 2


def test_a_file_under_the_name_of_other_models_is_damaged(tmp_path):
    store = Store(tmp_path / "s", declared(1))
    store.write(chunk(0, 1))
    file = next(store.path.glob("0*.npy"))
    file.rename(file.with_name(file.name.replace("00000000-00000004", "00000004-00000008")))
    with pytest.warns(InputWarning, match="models 4 to 8 count as not done"):
        assert list(store.read()) == []


def test_a_store_begun_anew_for_the_same_run_takes_what_the_old_one_still_writes(tmp_path):
    old = Store(tmp_path / "s", declared(1))
    rmtree(tmp_path / "s")
    new = Store(tmp_path / "s", declared(1))
    old.write(chunk(0, 1))
    assert new.ranges() == [(0, 4)]


def test_a_manifest_written_in_another_layout_is_the_same(tmp_path):
    store = Store(tmp_path, declared(1))
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps(dict(reversed(manifest.items()))))
    store.write(chunk(0, 1))
    assert Store(tmp_path, declared(1)).ranges() == [(0, 4)]


def test_differences_are_named_where_one_side_has_no_parts():
    with pytest.raises(StoreError, match=r"learner is 'ridge' there and \{'name': 'ridge'\} here"):
        refuse_other("s", {"learner": "ridge"}, {"learner": {"name": "ridge"}})
    with pytest.raises(StoreError, match=r"learner is \{'name': 'ridge'\} there and None here"):
        refuse_other("s", {"learner": {"name": "ridge"}}, {})


@pytest.mark.parametrize("exclusive", [True, False])
def test_of_two_seeds_that_start_one_remote_store_one_at_most_gets_through(memory, monkeypatch, exclusive):
    """Every look and every write takes a while; half the time the server knows no exclusive writes."""
    kind = type(memory)
    exists, pipe = kind.exists, kind.pipe_file

    def slow_exists(self, path, **kwargs):
        answer = exists(self, path, **kwargs)
        time.sleep(0.01)
        return answer

    def slow_pipe(self, path, value, mode="overwrite", **kwargs):
        time.sleep(float(np.random.default_rng(len(path) + value[-3]).uniform(0, 0.01)))
        return pipe(self, path, value, mode=mode if exclusive else "overwrite", **kwargs)

    monkeypatch.setattr(kind, "exists", slow_exists)
    monkeypatch.setattr(kind, "pipe_file", slow_pipe)

    def run(address, seed):
        try:
            store = Store(address, declared(seed))
            for first in range(0, 12, 4):
                store.write(chunk(first, seed))
        except StoreError as error:
            return str(error)
        return None

    with ThreadPoolExecutor(2) as pool:
        for trial in range(10):
            address = f"memory://contested/{trial}"
            said = list(pool.map(run, [address] * 2, [1, 2]))
            assert said.count(None) == 1, said
            assert any("another run" in str(line) for line in said)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", InputWarning)
                kept = Outcomes.load(address)
            assert (kept.data == said.index(None) + 1).all()
            assert kept.n_models == 12


def forged(store, first, stop, arrays, *, count=0, tail=b"", allow_pickle=False):
    """A file of a store's own run with a right checksum and whatever content."""
    buffer = BytesIO()
    for array in arrays:
        np.save(buffer, array, allow_pickle=allow_pickle)
    content = buffer.getvalue() + tail
    label = f"{first:08d}-{stop:08d}-{count}-{store.run}"
    store.storage.write(f"{label}-{_checksum(label, content)}.npy", content)


HUGE = (
    b"\x93NUMPY\x01\x00v\x00"
    + b"{'descr': '|u1', 'fortran_order': False, 'shape': (4, 999999999999), }".ljust(117)
    + b"\n"
)


@pytest.mark.parametrize(
    ("arrays", "options"),
    [
        ([np.zeros((3, 1), np.uint8), NONE], {}),
        ([np.zeros((4, 1, 1), np.uint8), NONE], {}),
        ([np.zeros((4, 1), np.float64), NONE], {}),
        ([np.full((4, 8), np.nan, np.float32), NONE], {}),
        ([np.zeros((4, 1), np.uint8)], {}),
        ([np.zeros((4, 1), np.uint8), NONE], {"tail": b"more"}),
        ([np.zeros((4, 1), np.uint8), np.array([9])], {"count": 1}),
        ([np.zeros((4, 1), np.uint8), np.array([1])], {"count": 2}),
        ([np.array([[print]] * 4, dtype=object), NONE], {"allow_pickle": True}),
        ([], {"tail": HUGE}),
        ([], {"tail": HUGE.replace(b"\x01\x00v\x00", b"\x03\x00v\x00\x00\x00")}),
        ([], {"tail": b"\x80\x04."}),
        ([], {}),
    ],
)
def test_forged_chunks_count_as_damaged(tmp_path, arrays, options):
    store = Store(tmp_path / "s", declared(1))
    store.write(chunk(0, 1))
    forged(store, 4, 8, arrays, **options)
    with pytest.warns(InputWarning, match="is damaged: it was set aside, and models 4 to 8"):
        assert Outcomes.load(tmp_path / "s").models.tolist() == [0, 1, 2, 3]
    assert len(store.set_aside()) == 1


def test_a_store_without_a_finished_model_says_what_to_do(tmp_path):
    Store(tmp_path / "store", declared(1))
    with pytest.raises(StoreError, match="holds no outcomes yet: let its run go on, or run it again"):
        Outcomes.load(tmp_path / "store")


def test_chunks_for_other_evaluation_rows_are_refused(tmp_path):
    store = Store(tmp_path / "s", declared(1))
    forged(store, 0, 4, [np.zeros((4, 2), np.uint8), NONE])
    with pytest.raises(StoreError, match="models 0 to 4 that do not fit its 8 evaluation rows"):
        Outcomes.load(tmp_path / "s")


def test_directories_rights_and_names_that_are_in_the_way(tmp_path):
    store = Store(tmp_path / "s", declared(1))
    store.write(chunk(0, 1))
    file = next(store.path.glob("0*.npy"))
    content = file.read_bytes()
    file.unlink()
    file.mkdir()
    with pytest.warns(InputWarning, match="it was set aside, and models 0 to 4"):
        assert list(store.read()) == []
    (tmp_path / "t" / "manifest.json").mkdir(parents=True)
    with pytest.raises(StoreError, match=r"manifest\.json is a directory where a file should be: move it"):
        Store(tmp_path / "t", declared(1))
    for name, reason in [("n" * 300, "File name too long"), ("a\0b", "embedded null")]:
        with pytest.raises(StoreError, match=f"{reason}.*: name another place"):
            Store(tmp_path / name, declared(1))
    for odd in (5, None, "", b"runs"):
        with pytest.raises(InputError, match=r"store=.*: use a directory, or an address such as"):
            Store(odd, declared(1))
    file.with_name("secret").write_bytes(content)
    store.path.chmod(0)
    euid = os.geteuid()
    os.seteuid(65534 if euid == 0 else euid)
    try:
        with pytest.raises(StoreError, match="may not be read: allow it, or name another place"):
            Store(tmp_path / "s")
        with pytest.raises(StoreError, match="may not be read: allow it, or name another place"):
            store.files()
    finally:
        os.seteuid(euid)
        store.path.chmod(0o700)


def test_opening_a_store_clears_away_what_a_dead_writer_left(tmp_path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    (tmp_path / f".{machine_name()}-{dead.pid}-{'0' * 32}.part").write_text("")
    Store(tmp_path, declared(1))
    assert [p.name for p in tmp_path.iterdir()] == ["manifest.json"]


def test_outcome_functions_of_one_name_are_told_apart(wine, tmp_path):
    learner, design = SklearnLearner(GaussianNB()), Design(wine.n_rows, 0.1)

    def run(function):
        return record_outcomes(
            wine, learner, design, range(4), outcome=function, n_jobs=1, store=tmp_path / "s"
        )

    first = run(lambda y, s: s[..., 0])
    assert equal(run(lambda y, s: s[..., 0]), first)
    with pytest.raises(StoreError, match="outcome is"):
        run(lambda y, s: s[..., 1])


def test_arguments_that_no_run_can_use_are_named(wine):
    learner, design = SklearnLearner(GaussianNB()), Design(wine.n_rows, 0.1)
    by_name = record_outcomes(wine, "naive_bayes", design, range(4), n_jobs=1)
    assert equal(by_name, record_outcomes(wine, learner, design, range(4), n_jobs=1))

    def fails(y, scores):
        raise KeyError("mine")

    cases = [
        ({"n_jobs": "a"}, r"n_jobs='a': use a number of workers"),
        ({"n_jobs": 0}, r"n_jobs=0: use a number of workers"),
        ({"n_jobs": 1.5}, r"n_jobs=1.5"),
        ({"n_jobs": True}, r"n_jobs=True"),
        ({"store": 5}, r"store=5: use a directory"),
        ({"learner": "naive_bays"}, "did you mean 'naive_bayes'"),
        ({"learner": None}, "learner"),
        ({"models": range(5, 5)}, r"models=range\(5, 5\): use a range of at least one model"),
        ({"models": range(-3, 5)}, r"models=range\(-3, 5\)"),
        ({"models": range(0, 9, 2)}, r"models=range\(0, 9, 2\)"),
        ({"models": 5}, "models=5: use a range"),
        ({"design": replace(design, n_rows=7)}, "design has 7 rows and split 142"),
        ({"outcome": fails}, r"outcome failed \(KeyError: 'mine'\): it gets \(36,\) targets and answers"),
        ({"outcome": lambda y, s: [[1], [1, 2]]}, "outcome failed"),
        ({"outcome": lambda y, s: "text"}, "outcome failed"),
        ({"outcome": 5}, "outcome=5 does not fit"),
        ({"outcome": "corect"}, "outcome='corect' does not fit"),
    ]
    for arguments, message in cases:
        given = {
            "split": wine,
            "learner": learner,
            "design": design,
            "models": range(4),
            "n_jobs": 1,
        } | arguments
        with pytest.raises(InputError, match=message):
            record_outcomes(**given)


def test_a_store_given_to_another_run_keeps_nothing_of_the_one_before(tmp_path):
    from cdvm.outcomes.store import empty_store

    old, new = ({"design": {"n_rows": 9, "seed": seed}} for seed in (1, 2))
    store = Store(tmp_path, old)
    some = np.empty(0, dtype=np.int64)
    for first in (0, 2):
        store.write(Chunk(first, first + 2, some, np.zeros((2, 1), dtype=np.uint8)))
    store.request(0, 9)
    (tmp_path / store.files()[1].name).rename(tmp_path / (store.files()[1].name + ".damaged"))
    (tmp_path / "notes.txt").write_text("mine")
    empty_store(tmp_path, new)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["manifest.json", "notes.txt"]
    again = Store(tmp_path, new)
    assert again.manifest == new
    assert (again.files(), again.foreign(), again.requested(), again.set_aside()) == ([], [], [], [])
    with pytest.raises(StoreError, match=r"design\.seed is 2 there and 1 here"):
        Store(tmp_path, old)


def test_a_manifest_that_cannot_be_read_is_named(tmp_path):
    Store(tmp_path, {"design": {}})
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(StoreError, match=f"{tmp_path}/manifest.json cannot be read"):
        Store(tmp_path)
    (tmp_path / "manifest.json").write_text('{"format": 1}')
    with pytest.raises(StoreError, match=r"manifest.json has format 1; this version reads format 2"):
        Store(tmp_path)
