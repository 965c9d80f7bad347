"""The command line's words for numbers of rows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from cdvm.errors import InputError

__all__ = [
    "CURVE_WORDS",
    "SMALLEST",
    "parse_amount",
    "parse_budgets",
    "parse_keep",
    "parse_limits",
    "parse_part",
    "parse_spending",
    "parse_test",
]

SMALLEST = "smallest"  # the name of a budget that is to be found
CURVE_WORDS = "1%,2%,5%,10%,20%,30%,50%,80%"  # budgets of a curve where none are named


def parse_keep(word: str) -> tuple[str, float]:
    """A name fit for a file, and the budget: a fraction (float) or a number of rows (int).

    >>> parse_keep("5%"), parse_keep("0.05"), parse_keep("120")
    (('5pct', 0.05), ('5pct', 0.05), ('120rows', 120))
    """
    amount = parse_amount("--keep", word)
    return (f"{amount}rows" if isinstance(amount, int) else f"{100 * amount:.10g}pct"), amount


def parse_budgets(words: list[str]) -> dict[str, float]:
    """Budgets by name, from words and from lists of them with commas.

    >>> parse_budgets(["5%,10%", "120"])
    {'5pct': 0.05, '10pct': 0.1, '120rows': 120}
    """
    found: dict[str, float] = {}
    for word in words:
        parts = dict(map(parse_keep, word.split(",")))
        if len({type(amount) for amount in parts.values()}) > 1:
            raise InputError(
                f"--keep {word!r} mixes fractions and numbers of rows: write 2.5%, or --keep twice"
            )
        found |= parts
    return found


def parse_amount(flag: str, word: str) -> float:
    """A fraction (float) such as 5% or 0.05, or a number of rows (int) such as 120.

    >>> parse_amount("--fraction", "2.5%"), parse_amount("--fraction", "40")
    (0.025, 40)
    """
    text = word.strip()
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    number = re.fullmatch(r"([+-]?\d*\.?\d+(?:[eE]-?\d+)?)\s*(%?)", text)
    if number is None:
        raise InputError(
            f"{flag} {word!r}: use a fraction such as 5% or 0.05, or a number of rows such as 120"
        )
    return float(number[1]) / (100 if number[2] else 1)


def parse_limits(flag: str, words: list[str] | None) -> Any:
    """A number of rows or a fraction for all groups, or by group.

    >>> parse_limits("--at-least", ["20"]), parse_limits("--at-least", ["north=3", "south=10%"])
    (20, {'north': 3, 'south': 0.1})
    """
    if not words:
        return None
    named = [word.rpartition("=") for part in words for word in part.split(",")]
    if all(not sign for _, sign, _ in named):
        if len(named) > 1:
            raise InputError(f"{flag} {','.join(words)}: use one number for all groups, or GROUP=NUMBER")
        return parse_amount(flag, named[0][2])
    if not all(sign for _, sign, _ in named):
        raise InputError(f"{flag} {','.join(words)} mixes groups and numbers for all: use GROUP=NUMBER")
    return {group: parse_amount(flag, number) for group, _, number in named}


def parse_part(flag: str, word: str) -> float | None:
    """A part of something, such as 1% or 0.01; None for nothing.

    >>> parse_part("--within", "1%"), parse_part("--within", "0.02"), parse_part("--within", "")
    (0.01, 0.02, None)
    """
    if not word:
        return None
    number = re.fullmatch(r"(\d*\.?\d+)\s*(%?)", word.strip())
    if number is None:
        raise InputError(f"{flag} {word!r}: use a number such as 1% or 0.01")
    return float(number[1]) / (100 if number[2] else 1)


def parse_spending(
    spend: list[float] | None, keep: list[str] | None, cost: str, *, searched: str = "", curve: bool = False
) -> dict[str, float]:
    """Budgets by name: rows to keep, what they may cost, or one that ``searched`` is to find."""
    if searched:
        for flag, given in {"--keep": keep, "--spend": spend}.items():
            if given:
                raise InputError(f"{searched} finds how many rows to keep: leave out {flag}")
        return {SMALLEST: 1.0}
    if not cost and not spend:
        return parse_budgets(keep or [CURVE_WORDS if curve else "10%"])
    if curve:
        raise InputError("--curve is over numbers of rows: leave out --cost and --spend")
    if keep:
        raise InputError("--keep counts rows, and --cost prices them: use --spend in its place")
    if not cost or not spend:
        raise InputError("--cost names what a row costs and --spend how much to spend: use both")
    return {f"spend{amount:g}": float(amount) for amount in spend}


def parse_test(word: str) -> Path | float | None:
    """Rows to report on: a fraction such as 20% or 0.2, a table, or None for nothing.

    >>> parse_test("20%"), parse_test("")
    (0.2, None)
    """
    number = re.fullmatch(r"(\d*\.?\d+)\s*(%?)", word.strip())
    if number is None:
        return Path(word) if word else None
    fraction = float(number[1]) / (100 if number[2] else 1)
    if not 0 < fraction < 1:
        raise InputError(f"--test {word!r}: use a fraction between 0 and 1 such as 20%, or a table")
    return fraction
