import subprocess
import sys
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from cdvm import InputError, StoreError
from cdvm.outcomes.storage import inside, open_storage


@pytest.mark.parametrize("address", ["{}", "file://{}", "memory://{}"])
def test_places_keep_whole_files(address, tmp_path):
    place = open_storage(address.format(tmp_path / "deep" / "place"))
    assert place.names() == []
    with pytest.raises(FileNotFoundError):
        place.read("a")
    place.make()
    place.write("a", b"one")
    place.write("a", b"two")
    place.create("a", b"three")
    place.create("b", b"four")
    place.write("empty", b"")
    assert sorted(place.names()) == ["a", "b", "empty"]
    assert (place.read("a"), place.read("b"), place.read("empty")) == (b"two", b"four", b"")
    place.remove("empty")
    assert place.rename("a", "c")
    assert not place.rename("a", "d")
    assert sorted(place.names()) == ["b", "c"]
    assert 0 < place.modified("b") <= place.modified("c") + 60
    assert place.modified("a") is None


def test_addresses_that_cannot_be_used_are_named(tmp_path):
    with pytest.raises(InputError, match=r"store='nowhere://x' cannot be opened: Protocol not known"):
        open_storage("nowhere://x")
    with pytest.raises(InputError, match="has lost a slash: pass an address as text"):
        open_storage(Path("s3://bucket/runs"))
    (tmp_path / "file").write_text("mine")
    place = open_storage(tmp_path / "file")
    for attempt in (place.names, lambda: place.read("a")):
        with pytest.raises(StoreError, match="is a file: name a directory"):
            attempt()
    with pytest.raises(StoreError, match="cannot be made a directory"):
        open_storage(tmp_path / "file" / "below").make()


def test_fsspec_is_not_needed_for_a_directory(tmp_path):
    code = f"""
import sys
sys.modules["fsspec"] = None  # importing it fails
from cdvm.errors import InputError
from cdvm.outcomes.storage import inside, open_storage
open_storage({str(tmp_path)!r}).write("a", b"one")
try:
    open_storage("memory://x")
except InputError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "needs fsspec: pip install 'cdvm[remote]'" in done.stdout
    assert (tmp_path / "a").read_bytes() == b"one"


def test_directories_within_an_address():
    assert inside("s3://bucket/runs/", "one") == "s3://bucket/runs/one"
    assert inside("s3://bucket/runs", "one") == "s3://bucket/runs/one"
    assert inside("runs/", "one") == Path("runs/one")
    assert inside("s3://bucket/X", "one") == "s3://bucket/X/one"


def test_names_and_addresses_may_end_in_any_letter():
    place, other = open_storage("memory://letters/runX/"), open_storage("memory://letters/run")
    place.write("fileX", b"one")
    assert (place.names(), other.names()) == (["fileX"], [])
    assert place.read("fileX") == b"one"


@pytest.mark.parametrize("address", ["{}", "file://{}", "memory://{}"])
def test_a_file_can_be_removed_and_need_not_be_there(address, tmp_path):
    place = open_storage(address.format(tmp_path / "removed"))
    place.make()
    place.write("a", b"one")
    place.write("b", b"two")
    for _ in range(2):
        place.remove("a")
        assert place.names() == ["b"]
    place.sweep()
    assert place.names() == ["b"]


def test_an_address_of_a_file_system_is_the_directory_itself(tmp_path):
    place = open_storage(f"file://{tmp_path}/a%20b")
    assert place.address == tmp_path / "a b"
    place.make()
    place.write("x", b"one")
    assert (tmp_path / "a b" / "x").read_bytes() == b"one"
    assert type(place) is type(open_storage(tmp_path))


def test_what_a_directory_will_not_let_us_read_is_named(tmp_path):
    place = open_storage(tmp_path)
    (tmp_path / "d").mkdir()
    with pytest.raises(StoreError, match=f"{tmp_path}/d is a directory where a file should be: move it away"):
        place.read("d")
    with pytest.raises(StoreError, match=r"cannot be read \(embedded null byte\): name another place"):
        place.read("a\0b")
    with pytest.raises(StoreError, match=r"cannot be read \(File name too long\)"):
        place.read("a" * 300)
    assert place.modified("a" * 300) is None
    assert not place.rename("a" * 300, "b")


@pytest.mark.parametrize("address", [5, "", None])
def test_what_is_no_address_is_refused(address):
    with pytest.raises(InputError, match="use a directory, or an address such as 's3://bucket/runs'"):
        open_storage(address)


class Gone(MemoryFileSystem):
    """A server that does not answer, or that has no such bucket."""

    error: Exception = ConnectionError("no answer")

    def _fail(self, *_, **__):
        raise self.error

    ls = cat_file = pipe_file = exists = makedirs = rm_file = mv = modified = _fail


@pytest.mark.parametrize(
    ("doing", "word"),
    [
        (lambda place: place.names(), "read"),
        (lambda place: place.read("a"), "read"),
        (lambda place: place.write("a", b""), "written"),
        (lambda place: place.create("a", b""), "written"),
        (lambda place: place.make(), "written"),
        (lambda place: place.remove("a"), "changed"),
    ],
)
def test_a_server_that_does_not_answer_is_named_with_the_cure(doing, word):
    place = open_storage("memory://bucket/runs")
    place._system = Gone()
    words = (
        rf"memory://bucket/runs cannot be {word} \(ConnectionError: no answer\): nothing that was finished"
    )
    with pytest.raises(StoreError, match=words):
        doing(place)
    assert not place.rename("a", "b")
    assert place.modified("a") is None


def test_a_bucket_that_is_not_there_is_named(monkeypatch):
    place = open_storage("memory://bucket/runs")
    place._system = Gone()
    monkeypatch.setattr(Gone, "error", FileNotFoundError("bucket"))
    for doing in (lambda: place.write("a", b""), place.make):
        with pytest.raises(StoreError, match=r"memory://bucket/runs: there is no 'bucket': create it"):
            doing()
    assert place.names() == []
    with pytest.raises(FileNotFoundError):
        place.read("a")


class Racing(MemoryFileSystem):
    """Another writer is faster than we are, and some servers know no way to refuse the second."""

    exclusive = True

    def exists(self, path, **kwargs):
        return False  # it was not there when we looked

    def pipe_file(self, path, value, mode="overwrite", **kwargs):
        if mode == "create" and not self.exclusive:
            raise TypeError("mode")
        if mode == "create" and path in self.store:
            raise FileExistsError(path)
        return super().pipe_file(path, value, **kwargs)


@pytest.mark.parametrize(("exclusive", "left"), [(True, b"first"), (False, b"second")])
def test_a_file_that_comes_between_looking_and_writing(exclusive, left, monkeypatch):
    place = open_storage(f"memory://racing/{exclusive}")
    place._system = Racing()
    monkeypatch.setattr(Racing, "exclusive", exclusive)
    place.create("a", b"first")
    assert place.read("a") == b"first"
    place.create("a", b"second")
    assert place.read("a") == left
    assert place.names() == ["a"]


def test_a_file_that_is_there_is_left_by_looking_alone(monkeypatch):
    place = open_storage("memory://looked/at")
    place.write("a", b"first")
    asked = []
    real = place._system.exists
    monkeypatch.setattr(place._system, "exists", lambda path: asked.append(path) or real(path))
    monkeypatch.setattr(place._system, "pipe_file", lambda *_, **__: pytest.fail("was written"))
    place.create("a", b"second")
    assert asked == ["/looked/at/a"]
    assert place.read("a") == b"first"


@pytest.mark.parametrize("address", ["memory://bucket/a", "simplecache::memory://bucket/b"])
def test_directories_are_made_and_buckets_are_not(address, monkeypatch):
    place = open_storage(address)
    made = []
    monkeypatch.setattr(place._system, "makedirs", lambda path, exist_ok: made.append((path, exist_ok)))
    place.make()
    assert made == [(place._root, True)]
    monkeypatch.setattr("cdvm.outcomes.storage._BUCKETS", frozenset(["memory"]))
    place.make()
    assert len(made) == 1


def test_the_last_of_several_schemes_says_whether_there_is_a_bucket(monkeypatch):
    place = open_storage("memory://bucket/a")
    monkeypatch.setattr(place._system, "makedirs", lambda *_, **__: pytest.fail("was made"))
    place.address = "zip://inner::s3://bucket/a.zip"
    place.make()
