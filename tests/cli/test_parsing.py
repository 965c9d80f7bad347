"""The command line's words for numbers of rows."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdvm import InputError
from cdvm.cli.parsing import (
    CURVE_WORDS,
    SMALLEST,
    parse_amount,
    parse_budgets,
    parse_keep,
    parse_limits,
    parse_part,
    parse_spending,
    parse_test,
)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 9999))
def test_fractions_and_percentages_are_one_budget_of_one_name(basis_points):
    fraction = basis_points / 10_000
    for word in (f"{fraction:.4f}", f"{100 * fraction:.2f}%", f" {100 * fraction:.2f} %"):
        name, amount = parse_keep(word)
        assert name == f"{100 * fraction:.10g}pct"
        assert amount == pytest.approx(fraction, rel=1e-12)
    assert parse_keep(str(basis_points)) == (f"{basis_points}rows", basis_points)


@pytest.mark.parametrize(
    ("word", "amount"), [("1.0", 1.0), ("1", 1), ("-3", -3), ("5e-3", 0.005), (".5%", 0.005)]
)
def test_whole_numbers_are_rows_and_others_fractions(word, amount):
    found = parse_amount("--keep", word)
    assert (found, type(found)) == (amount, type(amount))


@pytest.mark.parametrize("word", ["", "ten", "5%%", "1,5", "5 %5", "nan", "0x5"])
def test_what_is_no_amount_is_named_with_its_flag(word):
    with pytest.raises(InputError, match=r"^--fraction .*: use a fraction such as 5% or 0\.05"):
        parse_amount("--fraction", word)


def test_budgets_come_in_lists_with_commas_or_words_of_their_own():
    assert parse_budgets(["5%,10%", "120"]) == {"5pct": 0.05, "10pct": 0.1, "120rows": 120}
    assert parse_budgets(["5%", "0.05"]) == {"5pct": 0.05}
    with pytest.raises(InputError, match=r"mixes fractions and numbers of rows: write 2\.5%"):
        parse_budgets(["2,5%"])


def test_limits_are_for_all_groups_or_by_group():
    assert parse_limits("--at-least", None) is None
    assert parse_limits("--at-least", ["20"]) == 20
    assert parse_limits("--at-least", ["a=b=3,c=10%", "d=0.5"]) == {"a=b": 3, "c": 0.1, "d": 0.5}
    with pytest.raises(InputError, match="--at-least 1,2: use one number for all groups"):
        parse_limits("--at-least", ["1", "2"])
    with pytest.raises(InputError, match="--at-least a=1,2 mixes groups and numbers for all"):
        parse_limits("--at-least", ["a=1", "2"])


def test_parts_and_test_rows():
    assert [parse_part("--within", word) for word in ("1%", "0.02", "2", "")] == [0.01, 0.02, 2.0, None]
    with pytest.raises(InputError, match="--within '-1': use a number such as 1%"):
        parse_part("--within", "-1")
    assert [parse_test(word) for word in ("20%", "0.2", "", "t.csv")] == [0.2, 0.2, None, Path("t.csv")]
    for word in ("0", "1", "100%", "120"):
        with pytest.raises(InputError, match="use a fraction between 0 and 1 such as 20%, or a table"):
            parse_test(word)


def test_a_budget_counts_rows_or_prices_them_or_is_searched_for():
    assert parse_spending(None, None, "") == {"10pct": 0.1}
    assert parse_spending(None, ["3"], "") == {"3rows": 3}
    assert parse_spending(None, None, "", curve=True) == parse_budgets([CURVE_WORDS])
    assert parse_spending([30, 2.5], None, "price") == {"spend30": 30.0, "spend2.5": 2.5}
    assert parse_spending(None, None, "price", searched="--within") == {SMALLEST: 1.0}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"spend": [3.0], "keep": None, "cost": ""}, "use both"),
        ({"spend": None, "keep": None, "cost": "price"}, "use both"),
        ({"spend": [3.0], "keep": ["3"], "cost": "price"}, "use --spend in its place"),
        ({"spend": [3.0], "keep": None, "cost": "price", "curve": True}, "leave out --cost and --spend"),
        (
            {"spend": None, "keep": ["3"], "cost": "", "searched": "--within"},
            "--within finds .* leave out --keep",
        ),
        (
            {"spend": [3.0], "keep": None, "cost": "x", "searched": "--score"},
            "--score finds .* leave out --spend",
        ),
    ],
)
def test_budgets_that_contradict_each_other_are_refused(given, words):
    with pytest.raises(InputError, match=words):
        parse_spending(**given)
