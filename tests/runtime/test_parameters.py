"""What a parameter may be."""

from pathlib import Path

import numpy as np
import pytest

from cdvm import InputError
from cdvm._runtime.parameters import (
    N_JOBS,
    OUTCOME,
    PLACE,
    PROGRESS,
    RANDOM_STATE,
    SEED,
    check,
    number,
    one_of,
    refuse_unused,
    whole,
)


@pytest.mark.parametrize(
    ("rule", "fitting", "others"),
    [
        (one_of("a", 1, None), ["a", 1, None], ["b", True, 1.0, np.int64(1), []]),
        (whole(2), [2, np.int8(2), 10**30], [1, 2.0, True, np.bool_(True), "2", None, np.nan]),
        (whole(2, 3), [2, 3], [1, 4]),
        (
            number(lambda x: x > 0, ""),
            [1, 0.5, np.float32(2)],
            [0, True, np.bool_(True), np.inf, np.nan, "1"],
        ),
        (one_of(None) | whole(1), [None, 1], [0, "None"]),
        (N_JOBS, [None, 1, -1], [0, 1.5, "1", True]),
        (PROGRESS, [None, True, False], [1, "x"]),
        (PLACE, [None, "runs", Path("runs")], [5, b"runs"]),
        (OUTCOME, [None, "margin", max], [5]),
        (SEED, [0, 2**32 - 1], [-1, 2**32, None]),
        (RANDOM_STATE, [None, 0, np.random.RandomState(0)], [-1, "0", np.random.default_rng(0)]),
    ],
)
def test_rules_tell_what_fits(rule, fitting, others):
    assert [value for value in fitting if not rule.fits(value)] == []
    assert [value for value in others if rule.fits(value)] == []


def test_the_words_of_a_rule_name_what_can_be_used():
    assert one_of("a").words == "'a'"
    assert one_of("a", 1, None).words == "'a', 1 or None"
    assert whole(2).words == "a whole number of at least 2"
    assert whole(2, 3, example=3).words == "a whole number, 2 to 3, e.g. 3"
    assert (one_of(None) | whole(1)).words == "None, or a whole number of at least 1"


def test_the_first_value_that_does_not_fit_is_named():
    rules = {"a": whole(1), "b": whole(1)}
    check(rules, {"a": 1, "c": "anything"})
    with pytest.raises(InputError, match=r"^b='[^\n]{,40}': use a whole number of at least 1$"):
        check(rules, {"a": 1, "b": "x" * 1000, "c": 0})


def test_what_would_have_no_effect_is_refused_unless_it_is_the_default():
    defaults = {"alpha": 0.5, "seed": None, "limit": float("nan")}
    refuse_unused(defaults, defaults, "here")
    with pytest.raises(InputError, match=r"^alpha=0\.3 has no effect with here: leave it out$"):
        refuse_unused({"seed": None, "alpha": 0.3}, defaults, "here")
