"""Tables as they are read and written back."""

import numpy as np
import pandas as pd
import pytest
from comparing import written
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cdvm.data.contents import COMPRESSIONS
from cdvm.data.tables import read_table
from cdvm.errors import InputError


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,y\n1,p\n2,n,3\n", "3 columns in line 3 and 2 in its header (separator comma)"),
        (b"a,y\n1,p\n2\n", "1 columns in line 3 and 2"),
        (b"a;b;y\n1;2;p\n2;n\n", "2 columns in line 3 and 3 in its header (separator semicolon)"),
        (b"a,b,a\n1,2,3\n", "more than one column 'a'"),
        ("a,y\n1,2\n".encode("utf-16")[:-1], "no whole UTF-16 text (truncated data): save it as UTF-8"),
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
        ("t.json", "call it .jsonl"),
        ("t.xls", "save it as .xlsx or CSV"),
        ("t.csv.zip", "unpack it first"),
        ("t.parquet.gz", "use .csv"),
        ("t.dat", "use .csv"),
        ("x" * 300 + ".csv", "is not a file"),
    ],
)
def test_other_files_are_refused_with_a_cure(tmp_path, name, cure):
    with pytest.raises(InputError, match=cure):
        read_table(tmp_path / name)


@pytest.mark.parametrize("packed", ["", ".gz", ".zst", ".bz2", ".xz"])
@pytest.mark.parametrize("ending", [".csv", ".tsv", ".txt", ".jsonl", ".ndjson"])
def test_texts_of_any_ending_and_compression_go_back_as_they_stood(tmp_path, ending, packed):
    separator = {".tsv": "\t", ".txt": " "}.get(ending, ",")
    content = separator.join("abc") + "\r\n" + f"01{separator}x{separator}p\r\n2{separator}é{separator}n\r\n"
    if "js" in ending:
        content = '{"a": 1, "b":"x", "c": "p"}\r\n\r\n{"c":"n","b": "\\u00e9", "a":2}\r\n'
    path = tmp_path / f"t{ending}{packed}"
    pack, unpack = COMPRESSIONS[packed][1:] if packed else (bytes, bytes)
    path.write_bytes(pack(content.encode()))
    table = read_table(path)
    assert table.frame.to_dict("list") == {"a": [1, 2], "b": ["x", "é"], "c": ["p", "n"]}
    kept = unpack(written(table, [1], tmp_path / f"o{table.suffix}"))
    lines = content.encode().splitlines(keepends=True)
    assert kept == b"".join([lines[-1]] if "js" in ending else [lines[0], lines[-1]])
    extra = pd.DataFrame({"value": [0.5]})
    table.write_rows(np.array([1]), tmp_path / f"v{table.suffix}", extra)
    assert read_table(tmp_path / f"v{table.suffix}").frame["value"].tolist() == [0.5]


def test_na_is_a_label_among_names_and_missing_among_numbers(tmp_path):
    (tmp_path / "t.csv").write_text("x,y,n\n1,NA,1\nNA,None,NA\n3,ja,2\n4,null,2\n")
    table = read_table(tmp_path / "t.csv")
    assert table.features_and_labels("y", [])[1].tolist() == ["NA", "None", "ja", "null"]
    assert table.features_and_labels("n", [])[1].isna().tolist() == [False, True, False, False]
    (tmp_path / "t.csv").write_text('x,y\n1,NA\n2,""\n3,ja\n')
    labels = read_table(tmp_path / "t.csv").features_and_labels("y", [])[1]
    assert labels.isna().tolist() == [False, True, False]


def test_excel_is_read_and_its_rows_are_written_as_csv(tmp_path):
    pytest.importorskip("openpyxl")
    frame = pd.DataFrame({"a": [1.5, None, 3], "y": ["p", "NA", "n"]})
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    table = read_table(tmp_path / "t.xlsx")
    assert table.suffix == ".csv"
    assert table.frame["a"].dtype == float
    assert table.frame["y"].tolist() == ["p", "NA", "n"]
    assert written(table, [2], tmp_path / "o.csv") == b"a,y\n3.0,n\n"


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


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(content=st.lists(_ANY, max_size=12).map("".join))
@example(content='a,b\n"1"x,2\n')
@example(content='a"b,c\n1,2\n')
@example(content="a\n1\n\n2")
@example(content="\r1;\r1")
@example(content="\x0011111\0\r\x001")  # UTF-16, its last line without an end
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
    lines = [set(text.decode(table.raw.encoding).splitlines()) for text in (every, content.encode())]
    assert lines[0] <= lines[1]
