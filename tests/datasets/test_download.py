import hashlib
import json
import socket
import sys
from pathlib import Path

import pytest

from cdvm import InputError
from cdvm.datasets import download
from cdvm.datasets.download import Remote, cache_dir, data_home, fetch, fetch_openml, find, place, reading

CONTENT = bytes(range(256)) * 1000


def everything_in(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_a_download_ends_in_the_cache_whole(server, cache):
    digest = server.add("/a.bin", CONTENT)
    path = fetch(Remote("family/a.bin", server.url("/a.bin"), digest), instead="a.bin")
    assert path == cache / "family" / "a.bin" == find("family/a.bin")
    assert path.read_bytes() == CONTENT
    assert everything_in(cache) == ["family/a.bin"]


def test_an_md5_digest_serves_too(server, cache):
    server.add("/b.bin", CONTENT)
    digest = f"md5:{hashlib.md5(CONTENT).hexdigest()}"
    assert fetch(Remote("b.bin", server.url("/b.bin"), digest), instead="b.bin").read_bytes() == CONTENT


def test_a_checksum_that_differs_names_both_and_sets_the_file_aside(server, cache):
    digest = server.add("/a.bin", CONTENT)
    wrong = "sha256:" + "0" * 64
    with pytest.raises(InputError, match="set aside") as raised:
        fetch(Remote("a.bin", server.url("/a.bin"), wrong), instead="a.bin.gz")
    assert digest in str(raised.value)
    assert wrong in str(raised.value)
    assert everything_in(cache) == ["a.bin.rejected"]
    assert find("a.bin") is None


def test_an_interrupted_transfer_leaves_no_half_file(server, cache):
    digest = server.add("/a.bin", CONTENT)
    server.cut.add("/a.bin")
    with pytest.raises(InputError, match=r"cannot be downloaded .*128000 bytes read, 128000 more expected"):
        fetch(Remote("a.bin", server.url("/a.bin"), digest), instead="a.bin")
    assert everything_in(cache) == []


def test_ctrl_c_leaves_no_half_file(server, cache, monkeypatch):
    digest = server.add("/a.bin", CONTENT)
    monkeypatch.setattr(download.Progress, "advance", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        fetch(Remote("a.bin", server.url("/a.bin"), digest), instead="a.bin")
    assert everything_in(cache) == []


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_without_network_the_error_says_both_ways(cache):
    url = f"http://127.0.0.1:{closed_port()}/a.bin"
    with pytest.raises(InputError) as raised:
        fetch(Remote("a.bin", url, "sha256:"), instead="a.bin.gz")
    message = str(raised.value)
    assert url in message
    assert "put a.bin.gz into a directory and name it with the variable CDVM_DATA_HOME" in message
    assert "connect to the network" in message
    assert everything_in(cache) == []


@pytest.mark.parametrize("where", ["server", "folder", "nonsense"])
def test_a_missing_remote_file(server, cache, where):
    url = {"server": server.url("/none"), "folder": "file:///none", "nonsense": "nowhere"}[where]
    with pytest.raises(InputError, match="cannot be downloaded"):
        fetch(Remote("none", url, "sha256:"), instead="none")
    assert everything_in(cache) == []


def test_a_cache_that_cannot_be_written(server, cache, monkeypatch, tmp_path):
    digest = server.add("/a.bin", CONTENT)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CDVM_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match=r"cannot be written .* CDVM_CACHE"):
        fetch(Remote("a.bin", server.url("/a.bin"), digest), instead="a.bin")


def test_openml_says_where_and_with_which_digest(server, cache, monkeypatch):
    server.add("/pol.arff", CONTENT)
    description = {"url": server.url("/pol.arff"), "md5_checksum": hashlib.md5(CONTENT).hexdigest()}
    server.add("/json/7", json.dumps({"data_set_description": description}).encode())
    server.add("/json/8", b'{"error": "unknown"}')
    monkeypatch.setattr(download, "_OPENML", server.url("/json/{}"))
    assert fetch_openml(7, "pol.arff", instead="pol.csv.gz").read_bytes() == CONTENT
    for number in (8, 9):
        with pytest.raises(InputError, match=r"cannot be downloaded .* put pol.csv.gz"):
            fetch_openml(number, "pol.arff", instead="pol.csv.gz")


def test_ready_files_come_before_cached_ones(home, cache):
    cache.mkdir()
    (cache / "a.csv").write_text("cached")
    assert find("a.csv") == cache / "a.csv"
    assert place("a.csv") == "cached"
    (home / "a.csv").write_text("ready")
    (cache / "b.csv").write_text("cached")
    assert find("a.csv") == home / "a.csv"
    assert (place("a.csv"), place("a.csv", "b.csv"), place("a.csv", "c.csv")) == (
        "CDVM_DATA_HOME",
        "cached",
        None,
    )
    (home / "a.csv.gz").write_text("packed")
    assert find("a.csv") == home / "a.csv.gz"


def test_a_data_home_that_is_no_directory_is_named(monkeypatch, cache, tmp_path):
    assert data_home() is None
    monkeypatch.setenv("CDVM_DATA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match=r"CDVM_DATA_HOME='.*nowhere' is not a directory"):
        find("a")


def test_the_cache_is_the_users_own_unless_named(monkeypatch, tmp_path):
    monkeypatch.setenv("CDVM_CACHE", str(tmp_path / "named"))
    assert cache_dir() == tmp_path / "named"
    monkeypatch.delenv("CDVM_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    if sys.platform == "linux":
        assert cache_dir() == tmp_path / "xdg" / "cdvm"
    assert cache_dir().name == "cdvm" or sys.platform == "win32"


def test_reading_names_the_broken_file():
    with (
        pytest.raises(InputError, match=r"some\.csv cannot be read \(EOFError: ended\)"),
        reading(Path("some.csv")),
    ):
        raise EOFError("ended")
    with pytest.raises(InputError, match=r"^mine$"), reading(Path("some.csv")):
        raise InputError("mine")
