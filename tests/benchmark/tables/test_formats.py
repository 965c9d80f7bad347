"""Tables as a reader sees them."""

import io

import pandas as pd
import pytest
from benchmark_frames import FEW, frame_of, run, shown

from cdvm.benchmark.tables.formats import Cell, Report, plain_report
from cdvm.benchmark.tables.write import make_tables


def test_results_stand_beside_the_papers_in_markdown():
    text = make_tables(frame_of(*FEW))["results"].markdown()
    assert "## pol" in text
    assert "| CDVM5k | **0.750 ± 0.014**<br>0.752 (-0.002) |" in text
    assert "| Random | 0.670 ± 0.014<br>0.668 (+0.002) |" in text


def test_results_in_latex_have_rules_and_a_line_below():
    text = make_tables(frame_of(*FEW))["results"].latex()
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == 1
    assert r"\multicolumn{2}{c}{\textit{pol}} \\" in text
    assert r"CDVM5k & \textbf{0.750 $\pm$ 0.014} \\" in text
    assert r" & \scriptsize 0.752 (-0.002) \\" in text
    assert r"5 \%" in text


def test_results_on_the_terminal_are_compact():
    text = shown(make_tables(frame_of(*FEW))["results"])
    assert ".750±.014" in text
    assert ".752 -.002" in text


def test_a_narrow_terminal_breaks_no_number():
    text = shown(make_tables(run(("nomao",), 2))["results"], width=80)
    assert text.count("±") == 6 * 11 + 1  # and once in the note


def test_csv_holds_the_numbers():
    text = make_tables(frame_of(*FEW))["results"].csv()
    table = pd.read_csv(io.StringIO(text))
    found = table[table["method"] == "CDVM5k"].iloc[0]
    assert found["accuracy"] == pytest.approx(0.75)
    assert found["difference"] == pytest.approx(-0.002)


def test_letters_that_latex_and_markdown_read_are_escaped():
    report = Report("x", "5 % of a_b & c", pd.DataFrame({"a": [1]}), ["a"], {"": [[Cell("1|2 {#}")]]})
    assert r"5 \% of a\_b \& c" in report.latex()
    assert r"1|2 \{\#\}" in report.latex()
    assert r"1\|2 {#}" in report.markdown()


def test_plain_reports_format_columns():
    data = pd.DataFrame({"who": ["a", "b"], "x": [0.12345, float("nan")], "yes": [True, False]})
    text = plain_report("t", "T", data, {"x": ".2f"}).markdown()
    assert "| a | 0.12 | yes |" in text
    assert "| b |  | no |" in text
