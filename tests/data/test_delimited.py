"""Tables as they are read and written back."""

import gzip
import io
import warnings

import pytest
from comparing import written
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cdvm.data.tables import read_table


@pytest.mark.parametrize("separator", [";", "\t", "|", ","])
@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_the_separator_is_found_and_kept(tmp_path, separator, ending):
    path = tmp_path / f"t{ending}"
    text = f"a{separator}text{separator}y\n1.5{separator}x, y; z{separator}p\n2{separator}q{separator}n\n"
    if separator in ",;":
        text = text.replace("x, y; z", '"x, y; z"')
    path.write_text(text)
    table = read_table(path)
    assert table.frame["a"].tolist() == [1.5, 2]
    assert table.frame["text"].tolist() == ["x, y; z", "q"]
    assert written(table, [0, 1], tmp_path / f"out{ending}") == path.read_bytes()


def test_decimal_commas_are_understood(tmp_path):
    (tmp_path / "t.csv").write_text("a;b;y\n1,5;2;p\n-0,25;3;n\n")
    assert read_table(tmp_path / "t.csv").frame["a"].tolist() == [1.5, -0.25]
    (tmp_path / "t.csv").write_text("a;b;y\n1,5;2.5;p\n-0,25;3;n\n")
    assert read_table(tmp_path / "t.csv").frame["a"].tolist() == ["1,5", "-0,25"]  # 1.5 is a number there


def test_rows_go_back_byte_for_byte(tmp_path):
    content = '\ufeffid,"a ""b""",y\r\n007,"two\r\nlines",p\r\n\r\n"008",1e3,n'.encode()
    (tmp_path / "t.csv").write_bytes(content)
    table = read_table(tmp_path / "t.csv")
    assert list(table.frame.columns) == ["id", 'a "b"', "y"]
    kept = written(table, [1], tmp_path / "o.csv")
    assert kept == '\ufeffid,"a ""b""",y\r\n"008",1e3,n\r\n'.encode()
    (tmp_path / "t.tsv.gz").write_bytes(gzip.compress(content.replace(b",", b"\t")))
    again = read_table(tmp_path / "t.tsv.gz")
    assert gzip.decompress(written(again, [0], tmp_path / "o.tsv.gz")).count(b"\t") == 4


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "latin-1"])
def test_encodings_are_found_out_and_kept(tmp_path, encoding):
    word = "naïve\x81" if encoding == "latin-1" else "naïve"
    content = f"a,text,y\r\n1,{word},p\r\n2,ja,n\r\n".encode(encoding)
    (tmp_path / "t.csv").write_bytes(content)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        table = read_table(tmp_path / "t.csv")
    assert [str(w.message).count("not UTF-8 (line 2)") for w in told] == [1] * (
        encoding in ("cp1252", "latin-1")
    )
    assert list(table.frame.columns) == ["a", "text", "y"]
    assert table.frame["text"].tolist() == [word, "ja"]
    assert written(table, [0, 1], tmp_path / "o.csv") == content


_CELL = st.text(st.sampled_from("ab1.,;|\t \"'\n\ré\u2028\x0b-"), max_size=6)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    data=st.data(),
    width=st.integers(2, 4),
    separator=st.sampled_from(",;\t|"),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_what_csv_writers_write_is_read_as_it_was(tmp_path_factory, data, width, separator, end):
    import csv

    rows = data.draw(st.lists(st.lists(_CELL, min_size=width, max_size=width), min_size=1, max_size=6))
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=separator, lineterminator=end, quoting=csv.QUOTE_ALL)
    names = [f"c{k}" for k in range(width)]
    writer.writerows([names, *rows])
    path = tmp_path_factory.mktemp("fuzz") / ("t.tsv" if separator == "\t" else "t.csv")
    path.write_bytes(buffer.getvalue().encode())
    table = read_table(path)
    assert list(table.frame.columns) == names
    assert len(table.frame) == len(rows)
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=4))
    kept = written(table, chosen, path.with_name("o" + path.suffix))
    cells = list(csv.reader(io.StringIO(kept.decode(), newline=""), delimiter=separator))
    assert cells == [names, *(rows[k] for k in chosen)]
