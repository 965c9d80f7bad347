"""What a parameter may be, as a table: a line for each, and one way to say no."""

from __future__ import annotations

import os
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from cdvm.errors import InputError

__all__ = [
    "N_JOBS",
    "OUTCOME",
    "PLACE",
    "PROGRESS",
    "RANDOM_STATE",
    "SEED",
    "Rule",
    "check",
    "is_whole",
    "number",
    "one_of",
    "refuse_unused",
    "whole",
]


@dataclass(frozen=True)
class Rule:
    """Values a parameter may have: a test, and the words that follow "use"."""

    fits: Callable[[Any], bool]
    words: str

    def __or__(self, other: Rule) -> Rule:
        return Rule(lambda value: self.fits(value) or other.fits(value), f"{self.words}, or {other.words}")


def one_of(*values: Any) -> Rule:
    """One of a few values; 1 is not True."""
    *most, last = map(repr, values)
    words = f"{', '.join(most)} or {last}" if most else last
    return Rule(lambda given: any(type(given) is type(v) and given == v for v in values), words)


def whole(least: int, most: int | None = None, *, example: int | None = None) -> Rule:
    """A whole number in a range."""
    words = f"a whole number of at least {least}" if most is None else f"a whole number, {least} to {most}"

    def fits(value: Any) -> bool:
        return is_whole(value) and least <= value and (most is None or value <= most)

    return Rule(fits, words + (f", e.g. {example}" if example is not None else ""))


def number(fits: Callable[[float], bool], words: str) -> Rule:
    """A finite number of some kind."""

    def test(value: Any) -> bool:
        real = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
        return real and bool(np.isfinite(value)) and fits(float(value))

    return Rule(test, words)


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number; True is none."""
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


N_JOBS = Rule(
    lambda value: value is None or (is_whole(value) and value != 0),
    "a number of workers such as 2, or -1 for every core",
)
PROGRESS = one_of(None, True, False)
PLACE = one_of(None) | Rule(lambda value: isinstance(value, str | os.PathLike), "a path or an address")
OUTCOME = Rule(
    lambda value: value is None or isinstance(value, str) or callable(value), "None, a name or a function"
)
SEED = whole(0, 2**32 - 1)
RANDOM_STATE = Rule(
    lambda value: value is None or isinstance(value, np.random.RandomState) or SEED.fits(value),
    f"None, a numpy.random.RandomState or {SEED.words}",
)


def check(rules: Mapping[str, Rule], given: Mapping[str, Any]) -> None:
    """Refuse the first value that its rule does not allow; parameters without a rule pass.

    >>> check({"n_jobs": N_JOBS}, {"n_jobs": "a"})
    Traceback (most recent call last):
    cdvm.errors.InputError: n_jobs='a': use a number of workers such as 2, or -1 for every core
    """
    for name, value in given.items():
        if name in rules and not rules[name].fits(value):
            raise InputError(f"{name}={reprlib.repr(value)}: use {rules[name].words}")


def refuse_unused(given: Mapping[str, Any], defaults: Mapping[str, Any], where: str) -> None:
    """Refuse parameters that were set but would be ignored.

    >>> refuse_unused({"alpha": 0.3}, {"alpha": 0.5}, "tune='grid'")
    Traceback (most recent call last):
    cdvm.errors.InputError: alpha=0.3 has no effect with tune='grid': leave it out
    """
    for name, value in given.items():
        if value is not defaults[name] and value != defaults[name]:
            raise InputError(f"{name}={reprlib.repr(value)} has no effect with {where}: leave it out")
