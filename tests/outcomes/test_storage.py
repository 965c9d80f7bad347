import subprocess
import sys
from pathlib import Path

import pytest

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
    place.create("b", b"")
    assert sorted(place.names()) == ["a", "b"]
    assert (place.read("a"), place.read("b")) == (b"two", b"")
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
