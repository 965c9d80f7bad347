"""Tables as they are read and written back."""

import gzip
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cdvm.data.tables import read_table
from cdvm.errors import InputError


def written(table, rows, path):
    table.write_rows(np.asarray(rows, dtype=np.int64), path)
    return path.read_bytes()


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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,y\n1,p\n2,n,3\n", "3 columns in line 3 and 2 in its header (separator comma)"),
        (b"a,y\n1,p\n2\n", "1 columns in line 3 and 2"),
        (b"a;b;y\n1;2;p\n2;n\n", "2 columns in line 3 and 3 in its header (separator semicolon)"),
        (b"a,b,a\n1,2,3\n", "more than one column 'a'"),
        (b"a,y\n1,\xe9\n", "is not UTF-8 (byte 0xe9 in line 2): save it as UTF-8"),
        ("a,y\n1,2\n".encode("utf-16"), "save it as UTF-8"),
        (b"a,y\n1,\0\n", "NUL bytes"),
        (b"\n \n", "is empty"),
        (b"a,y\n\n", "has no rows"),
        (b'a,y\n1,"p\n2,n\n', "a quote that opens in line 2 is never closed"),
    ],
)
def test_what_cannot_be_read_is_one_line(tmp_path, content, message):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_table(tmp_path / "t.csv")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "cure"),
    [
        ("t.txt", "give it the ending .csv"),
        ("t.jsonl", "lines=True"),
        ("t.xlsx", "save it as CSV"),
        ("t.dat", "use .csv"),
        ("x" * 300 + ".csv", "is not a file"),
    ],
)
def test_other_files_are_refused_with_a_cure(tmp_path, name, cure):
    with pytest.raises(InputError, match=cure):
        read_table(tmp_path / name)


def test_a_broken_gzip_file_is_one_line(tmp_path):
    whole = gzip.compress(b"a,y\n1,2\n")
    for content in (b"a,y\n1,2\n", whole[:-3], whole[:12] + b"xx" + whole[14:]):
        (tmp_path / "t.csv.gz").write_bytes(content)
        with pytest.raises(InputError, match="no whole gzip file"):
            read_table(tmp_path / "t.csv.gz")


def test_duplicate_columns_of_a_parquet_file(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="more than one column 'a'"):
        read_table(tmp_path / "t.parquet")


def attempt(path):
    try:
        return read_table(path), ""
    except InputError as error:
        return None, str(error)


_ANY = st.text(st.sampled_from("ab1.,;|\t \"'\n\r\0é\u2028\x0b\ufeff-"), max_size=6)
_CELL = st.text(st.sampled_from("ab1.,;|\t \"'\n\ré\u2028\x0b-"), max_size=6)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(content=st.lists(_ANY, max_size=12).map("".join))
@example(content='a,b\n"1"x,2\n')
@example(content='a"b,c\n1,2\n')
@example(content="a\n1\n\n2")
@example(content="\r1;\r1")
def test_any_text_is_read_and_written_back_or_refused_in_one_line(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("fuzz") / "t.csv"
    path.write_bytes(content.encode())
    table, refusal = attempt(path)
    assert "\n" not in refusal
    if refusal:
        return
    every = written(table, range(len(table.frame)), path.with_name("o.csv"))
    path.write_bytes(every)
    again = read_table(path)
    pd.testing.assert_frame_equal(again.frame, table.frame)
    assert written(again, range(len(again.frame)), path.with_name("o.csv")) == every
    assert set(every.splitlines()) <= set(content.encode().splitlines())


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
