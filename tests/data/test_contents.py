"""The text of a file, and the way back to its bytes."""

import gzip

import pytest

from cdvm.data.contents import COMPRESSIONS, read_contents, write_contents
from cdvm.data.tables import read_table
from cdvm.errors import InputError, InputWarning


def test_a_broken_gzip_file_is_one_line(tmp_path):
    whole = gzip.compress(b"a,y\n1,2\n")
    for content in (b"a,y\n1,2\n", whole[:-3], whole[:12] + b"xx" + whole[14:]):
        (tmp_path / "t.csv.gz").write_bytes(content)
        with pytest.raises(InputError, match="no whole gzip file"):
            read_table(tmp_path / "t.csv.gz")


@pytest.mark.parametrize("ending", ["", ".gz", ".zst", ".bz2", ".xz"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_every_encoding_is_read_as_utf8_and_written_back_as_it_came(tmp_path, encoding, ending):
    path = tmp_path / f"t.csv{ending}"
    raw = "naïve,y\n1,€\n".encode(encoding)
    path.write_bytes(COMPRESSIONS[ending].pack(raw) if ending else raw)
    contents = read_contents(path)
    assert contents.text.decode("utf-8-sig") == "naïve,y\n1,€\n"
    write_contents(tmp_path / f"o.csv{ending}", contents)
    assert (tmp_path / f"o.csv{ending}").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("raw", "text", "name"),
    [(b"a,y\n1,2\n3,\x80\n", "€", "Windows-1252"), (b"a,y\n1,2\n3,\x81\n", "\x81", "Latin-1")],
)
def test_western_letters_are_read_with_a_warning_that_names_the_line(tmp_path, raw, text, name):
    (tmp_path / "t.csv").write_bytes(raw)
    with pytest.warns(InputWarning, match=rf"is not UTF-8 \(line 3\) and was read as {name}"):
        contents = read_contents(tmp_path / "t.csv")
    assert contents.text.decode() == f"a,y\n1,2\n3,{text}\n"
    write_contents(tmp_path / "o.csv", contents)
    assert (tmp_path / "o.csv").read_bytes() == raw
