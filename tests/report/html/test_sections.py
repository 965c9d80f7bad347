"""Parts of a page."""

import pytest
from pages import NASTY, plain_report, read

from cdvm.report.html.breakdown import Breakdown
from cdvm.report.html.looking import Finding, Findings
from cdvm.report.html.sections import column_section, look_section, map_section, settings_section, shares


@pytest.mark.parametrize(
    ("measure", "part", "told"),
    [
        ("right", "held-out rows", "Right: fraction of labels answered right on the held-out rows."),
        (
            "mean absolute error",
            "rows outside each set",
            "Mean absolute error: mean absolute error on the rows outside each set, all rows by five-fold "
            "cross-validation.",
        ),
    ],
)
def test_a_class_that_no_row_is_kept_of_is_marked(measure, part, told):
    found = Breakdown("class", part, measure, ["a", NASTY], [90, 10], [[5, 0]], [0.9, None], [[0.8, 0.0]])
    shown = read(shares(found, ["5 rows"]))
    assert shown.texts("td") == ["90", "5", "0.900", "0.800", "10", "0", "–", "0.000"]
    assert shown.texts("b", **{"class": "gone"}) == ["0"]
    assert shown.texts("th", scope="row") == ["a", NASTY]
    assert shown.texts("p") == [told]


def test_rows_to_look_at_can_be_gone_to_and_filtered():
    lines = [
        Finding(7, "label suspect", "a", "b", 0.00123, None, (True, False), ""),
        Finding(9, "duplicate", "a", None, None, 3, (False, False), ""),
    ]
    shown = read(look_section(Findings(["Two."], lines, None), ["5 %", "10 %"]))
    assert [a["data-row"] for name, a, _ in shown.found if name == "button" and "data-row" in a] == ["7", "9"]
    assert shown.texts("td")[:7] == ["label suspect", "a", "b", "0.0012", "", "yes", "no"]
    assert shown.texts("td")[7:] == ["duplicate", "a", "", "", "3", "no", "no"]
    assert shown.texts("option") == ["any finding", "label suspect", "duplicate"]
    assert shown.texts("output") == ["2 rows"]
    assert "Holds" not in shown.texts("th", scope="col")
    assert read(look_section(Findings(["None."], [], None), [])).texts("p") == ["None.", "Nothing was found."]


def test_columns_are_told_and_of_very_many_the_first():
    line = {"column": NASTY, "kind": "number", "missing": 0, "levels": 3, "features": 1}
    line |= {"encoding": "as it is", "reason": "odd"}
    shown = read(column_section([line] * 501, 9))
    assert shown.texts("td")[:5] == ["number", "", "3", "1", "as it is; odd"]
    assert shown.texts("th", scope="row") == [NASTY] * 500
    assert shown.texts("p", **{"class": "note"}) == ["And 1 more."]
    assert read(column_section([], 1234)).texts("p") == [
        "The 1,234 features came ready and were used as they are."
    ]


def test_the_map_says_how_many_rows_are_drawn_and_has_a_budget_to_begin_with():
    plane = {"row": [1, 2], "n": 2, "variance": 0.756, "budgets": ["10 %", "20 %"], "classes": [NASTY]}
    shown = read(map_section(plane))
    assert "Every row is drawn." in shown.texts("p")[0]
    assert "76% of their variance" in shown.texts("p")[0]
    radios = [a for name, a, _ in shown.found if name == "input" and a["type"] == "radio"]
    assert [(a["value"], "checked" in a) for a in radios] == [("0", True), ("1", False)]
    assert shown.texts("option") == ["all", NASTY]
    assert "2 of 1,000 rows are drawn" in read(map_section({**plane, "n": 1000})).texts("p")[0]
    assert read(map_section({**plane, "classes": []})).texts("option") == []


def test_settings_are_what_it_takes_to_do_it_again():
    report = plain_report(fits=300, optimism=0.01) | {"inclusion": 0.05, "proxy": None}
    (line,) = report["budgets"].values()
    line |= {"alpha": 0.5, "kappa": None}
    shown = read(settings_section(report, "cdvm prune t.csv --keep '<5%'"))
    assert "cdvm prune t.csv --keep '<5%'" in shown.texts("code")
    assert "rows in a subset" in shown.texts("dt")
    assert "proxy" not in shown.texts("dt")
    assert "budgets" not in shown.texts("dt")
    assert shown.texts("th", scope="row") == ["10.0%"]
    assert shown.texts("td") == ["10", "0.5", "–", "1.00%", "300", "0.010", "1.0"]
