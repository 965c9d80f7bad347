"""Tables as a reader sees them, and as files."""

import io

import pandas as pd
import pytest
from benchmark_frames import frame_of, line, run
from rich.console import Console

from cdvm.benchmark.tables.formats import Cell, Report, plain_report
from cdvm.benchmark.tables.write import make_tables, write_tables

SMALL = (
    line("pol", "CDVM5k", 50, 0, 0.74),
    line("pol", "CDVM5k", 50, 1, 0.76),
    line("pol", "Random", 50, 0, 0.66),
    line("pol", "Random", 50, 1, 0.68),
)


def _shown(report, width=100):
    console = Console(width=width, file=io.StringIO())
    console.print(report.rich())
    return console.file.getvalue()


def test_results_stand_beside_the_papers_in_markdown():
    text = make_tables(frame_of(*SMALL))["results"].markdown()
    assert "## pol" in text
    assert "| CDVM5k | **0.750 ± 0.014**<br>0.752 (-0.002) |" in text
    assert "| Random | 0.670 ± 0.014<br>0.668 (+0.002) |" in text


def test_results_in_latex_have_rules_and_a_line_below():
    text = make_tables(frame_of(*SMALL))["results"].latex()
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == 1
    assert r"\multicolumn{2}{c}{\textit{pol}} \\" in text
    assert r"CDVM5k & \textbf{0.750 $\pm$ 0.014} \\" in text
    assert r" & \scriptsize 0.752 (-0.002) \\" in text
    assert r"5 \%" in text


def test_results_on_the_terminal_are_compact():
    text = _shown(make_tables(frame_of(*SMALL))["results"])
    assert ".750±.014" in text
    assert ".752 -.002" in text


def test_a_narrow_terminal_breaks_no_number():
    text = _shown(make_tables(run(("nomao",), 2))["results"], width=80)
    assert text.count("±") == 6 * 11 + 1  # and once in the note


def test_csv_holds_the_numbers():
    text = make_tables(frame_of(*SMALL))["results"].csv()
    table = pd.read_csv(io.StringIO(text))
    found = table[table["method"] == "CDVM5k"].iloc[0]
    assert found["accuracy"] == pytest.approx(0.75)
    assert found["difference"] == pytest.approx(-0.002)


def test_all_rows_are_a_line_of_their_own_and_never_the_best():
    frame = frame_of(*SMALL, line("pol", "All", 1000, 0, 0.99))
    lines = make_tables(frame)["results"].groups["pol"]
    assert [row[0].text for row in lines] == ["CDVM5k", "Random", "All rows"]
    assert not lines[-1][1].best
    assert lines[0][1].best


def test_every_table_of_a_whole_run_is_written(tmp_path):
    tables = write_tables(run(repetitions=2), tmp_path / "tables")
    assert set(tables) == {
        "results",
        "claims",
        "wins",
        "wins_refined",
        "winners",
        "paired",
        "refinement",
        "normalised",
        "runtime",
        "runtime_by_dataset",
        "by_inclusion",
        "by_models",
        "by_exposure",
        "chosen_kappa",
        "chosen_alpha",
        "overlap",
        "overlap_same_seed",
        "spectrum",
        "banzhaf_models",
        "nestedness",
        "out_of_bag_ends",
    }
    for name, report in tables.items():
        for suffix, text in ((".md", report.markdown()), (".csv", report.csv()), (".tex", report.latex())):
            assert (tmp_path / "tables" / (name + suffix)).read_text() == text
        assert report.title in _shown(report)
        assert "nan" not in report.markdown().replace("nanm", "")
        widths = {len(row) for rows in report.groups.values() for row in rows}
        assert widths == {len(report.headings)}


def test_tables_follow_from_the_methods_at_hand():
    frame = frame_of(line("pol", "Random", 50, 0, 0.66), line("pol", "Random", 50, 1, 0.68))
    assert set(make_tables(frame)) == {
        "results",
        "claims",
        "winners",
        "normalised",
        "runtime",
        "runtime_by_dataset",
    }


def test_rows_of_another_split_each_time_are_not_compared_between_repetitions():
    tables = make_tables(run(("pol",), 2, protocol="clean"))
    assert "overlap_same_seed" in tables
    assert not {"overlap", "spectrum"} & set(tables)


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


def test_fewer_repetitions_are_marked_and_never_bold():
    frame = run(("pol",), 4)
    thin = frame["method"].isin(["CDVM+refine", "CDVM5k-p10"]) & (frame["repetition"] > 0)
    tables = make_tables(frame[~thin])
    text = tables["results"].markdown()
    refined = next(line for line in text.splitlines() if line.startswith("| CDVM+refine"))
    assert refined.count("(n = 1)") == 6
    assert "**" not in refined
    assert text.count("**") == 2 * 6  # the best of the others, once a budget
    assert "their number stands behind" in text
    assert "pol, 1 repetition\n" in tables["by_inclusion"].markdown()  # those that all variants have
    assert "**" not in tables["by_inclusion"].markdown()
    assert "pol, 4 repetitions" in tables["by_models"].markdown()
    assert "**" in tables["by_models"].markdown()
    whole = make_tables(frame)["results"].markdown()
    assert "n = " not in whole
    assert "stands behind" not in whole
