"""What CDVM is compared with, as a way to choose rows: any valuation or selector, by name."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Literal

from cdvm.errors import InputError, unknown_name
from cdvm.learners import Learner
from cdvm.program import resolve_budget
from cdvm.selection import Selection
from cdvm.selectors import select_rows, selector_names, selector_options
from cdvm.split import Split
from cdvm.valuation import valuation_names, valuation_options, value_rows

__all__ = ["baseline_names", "select_with"]


def baseline_names() -> list[str]:
    """Names :func:`select_with` knows: valuations, whose highest values are kept, and selectors."""
    return [*valuation_names(), *selector_names()]


def select_with(
    split: Split,
    learner: Learner,
    method: str,
    budgets: Sequence[float],
    *,
    remove: Literal["low", "high"] = "low",
    seed: int = 0,
    **options: Any,
) -> list[Selection]:
    """The rows another method keeps, for each budget.

    Parameters
    ----------
    split : Split
    learner : Learner
    method : str
        One of :func:`baseline_names`.
    budgets : sequence of int or float
    remove : {"low", "high"}
        Whether rows of low or of high value go first; selectors have no values and take ``"low"`` only.
    seed : int
    **options
        Passed on to the method where it knows them, e.g. ``n_models``, ``n_jobs``, ``progress``.

    Examples
    --------
    >>> from cdvm.learners import make_learner
    >>> split = Split.from_arrays([[0.0], [1.0]] * 10, ["no", "yes"] * 10, random_state=0)
    >>> [len(s) for s in select_with(split, make_learner("ridge"), "banzhaf", [2, 4], n_models=50)]
    [2, 4]
    """
    if remove not in ("low", "high"):
        raise InputError(f"remove={remove!r}: use 'low' or 'high'")
    for budget in budgets:
        resolve_budget(budget, split.n_rows)
    started = time.perf_counter()
    if method in valuation_names():
        known = {name: value for name, value in options.items() if name in valuation_options(method)}
        values = value_rows(split, learner, method, seed=seed, **known)
        kept = [values.top(budget, remove=remove) for budget in budgets]
    elif method in selector_names():
        if remove == "high":
            raise InputError(f"remove='high' needs values, and {method} has none: use a valuation method")
        options |= {"learner": learner, "random_state": seed}
        known = {name: value for name, value in options.items() if name in selector_options(method)}
        kept = [select_rows(split, method, budget, **known) for budget in budgets]
    else:
        raise unknown_name("method", method, ["cdvm", *baseline_names()])
    seconds = (time.perf_counter() - started) / len(budgets)
    return [Selection.of_rows(split, rows, method=method, seconds=seconds) for rows in kept]
