"""What ``cdvm prune`` shows."""

from pathlib import Path

import pytest
from pages import plain_report

from cdvm.report.terminal import print_summary


@pytest.fixture
def printed(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")

    def call(**changes):
        told = plain_report(**changes)
        print_summary(told, None)
        return " ".join(capsys.readouterr().out.split())

    return call


def test_the_report_explains_the_gap_and_the_way_to_other_rows(printed):
    said = printed()
    assert "Gap: what the set lacks, at most, to the largest objective" in said
    assert "it says nothing about accuracy" in said
    assert "--test 20% reports on rows it has not" in said
    assert "--test" not in printed(test_rows=20)


@pytest.mark.parametrize(
    ("optimism", "words"),
    [
        (0.02, "saw up to 0.020 less of the gain"),
        (-0.0001, "saw all of the gain"),
        (-0.3, "saw all of the gain"),
        (None, "by up to 300 fits."),
    ],
)
def test_a_refined_report_says_so(printed, optimism, words):
    said = printed(optimism=optimism, fits=300)
    assert "trained on cdvm's rows, refined" in said
    assert words in said
    assert "-0.0" not in said
    assert "Gap" not in said


def test_scores_stand_beside_those_of_random_and_of_all_rows(printed):
    said = printed(kept=0.912, random=0.834, random_std=0.056, all_rows=0.978)
    assert "t.csv: accuracy of ridge trained on cdvm's rows" in said
    assert "10.0% 10 0.912 0.834±0.056 1.00% 1.00" in said
    assert "all 100 0.978" in said
    assert "All 100 rows were candidates." in said
    held = printed(rows=130, validation_rows=20, test_rows=10, evaluation="validation rows")
    assert "Of 130 rows, 20 were held out to choose with and 10 to report on" in held
    assert "rows were kept from the other 100, which fractions refer to" in held


def test_ways_columns_and_the_curve_are_told(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    report = plain_report() | {"ways_compared_by": "accuracy", "curve_metric": "accuracy"}
    (line,) = report["budgets"].values()
    way = {"name": "herding", "score": 0.8, "standard_error": 0.01, "fits": 3, "seconds": 1.0, "kept": True}
    line |= {"leaderboard": [way], "agreement": 0.87, "objective": 2.0}
    point = {"fraction": 0.1, "score": 0.8, "random": 0.7, "all_rows": 0.9, "loss": 0.1}
    point |= {"score_error": 0.01, "random_error": 0.02, "all_rows_error": 0.03, "loss_error": 0.04}
    report["curve"] = [point]
    report["smallest"] = {"rows": 10, "fraction": 0.1, "told": "ten rows are enough"}
    report["columns"] = [
        {"column": "job", "kind": "category", "missing": 1, "levels": 3, "features": 3,
         "encoding": "one-hot", "reason": ""},
    ]  # fmt: skip
    print_summary(report, Path("kept"), Path("page.html"))
    said = " ".join(capsys.readouterr().out.split())
    assert "job category 1 3 3 one-hot" in said
    assert "10.0% herding 0.800±0.010 3 1.0" in said
    assert "10.0% 0.800±0.010 0.700±0.020 0.900±0.030 0.1000±0.0400" in said
    assert "correlate by 0.87 or more" in said
    assert "Ten rows are enough." in said
    assert "Written to kept: kept rows, selection.csv, summary.json, curve.csv." in said
    assert "All of this and more is in page.html." in said


@pytest.mark.parametrize(("objective", "words"), [(2.0, "10%, objective 2: "), (None, "10%: ")])
def test_limits_that_bind_are_told_of_rows_exchanged_since_too(capsys, monkeypatch, objective, words):
    monkeypatch.setenv("COLUMNS", "200")
    report = plain_report()
    (line,) = report["budgets"].values()
    limit = {"group": "north", "limit": "at_least", "rows": 5, "price": 0.25}
    report["budgets"] = {"10%": line | {"objective": objective, "limits": [limit]}}
    print_summary(report, None)
    said = " ".join(capsys.readouterr().out.split())
    assert f"Limits that bind ({words}at least 5 of 'north': one fewer would add 0.25)." in said
