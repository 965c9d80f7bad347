import io

import pandas as pd
from rich.console import Console

from cdvm import Preparation
from cdvm.report.columns import columns_table, told_columns


def shown(columns):
    console = Console(width=120, file=io.StringIO())
    console.print(columns_table(columns))
    return console.file.getvalue()


def test_every_column_is_told_with_what_became_of_it():
    frame = pd.DataFrame({"key": range(30), "a": [None, 2.5, 3.0] * 10, "job": list("xyz") * 10})
    preparation = Preparation().fit(frame)
    told = told_columns(preparation)
    assert [line["column"] for line in told] == ["key", "a", "job"]
    assert [line["features"] for line in told] == preparation.report_["features"].tolist()
    lines = [" ".join(line.split()) for line in shown(told).splitlines()]
    assert "key ignored 30 numbers the rows: no two values are alike" in lines
    assert "a number 10 2 2 as it is; missing: median and a mark" in lines
    assert "job category 3 3 one-hot, 3 levels" in lines
    assert told_columns(None) == []


def test_of_many_columns_the_first_are_shown():
    frame = pd.DataFrame({f"c{k}": [1.5, 2.5, k] for k in range(45)})
    text = shown(told_columns(Preparation().fit(frame)))
    assert " c39 " in text
    assert " c40 " not in text
    assert "and 5 more, see summary.json" in text
