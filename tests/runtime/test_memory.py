import mmap

import pytest

from cdvm import InputError
from cdvm._runtime.memory import bytes_text, parse_bytes, resident


@pytest.mark.parametrize(
    ("given", "size"),
    [(None, None), (5, 5), (2e9, 2_000_000_000), ("4GB", 4_000_000_000), ("512 MiB", 1 << 29), ("7", 7),
     ("1.5k", 1500), ("2tib", 2 << 40), ("0.5 gb", 500_000_000)],
)  # fmt: skip
def test_sizes_are_read(given, size):
    assert parse_bytes(given) == size


@pytest.mark.parametrize("given", [0, -1, "", "GB", "4 XB", "much", True, float("inf"), float("nan"), [4]])
def test_what_is_no_size_is_named(given):
    with pytest.raises(InputError, match="memory_limit="):
        parse_bytes(given)


def test_sizes_are_written():
    assert [bytes_text(s) for s in (12, 1234, 15_000, 2.5e6, 4e9, 7e12)] == [
        "12 B", "1.2 kB", "15 kB", "2.5 MB", "4.0 GB", "7.0 TB",
    ]  # fmt: skip


def test_resident_memory_grows_with_what_is_written():
    size = 64 << 20
    before = resident()
    with mmap.mmap(-1, size) as fresh:  # what an array takes may have been this process's before
        fresh.write(b"1" * size)
        assert resident() - before > 0.9 * size
