"""What CDVM is compared with, as a way to choose rows: any valuation or selector, by name."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Literal

from cdvm._runtime.parameters import N_JOBS, PROGRESS, SEED, check, one_of
from cdvm.data.split import Split
from cdvm.errors import InputError, unknown_name
from cdvm.optimize.program import resolve_budget
from cdvm.selection import Selection
from cdvm.selectors import (
    learn_of_rows,
    learnt_by,
    refuse_unknown_options,
    select_rows,
    selector_names,
    selector_options,
)
from cdvm.selectors.base import RULES as OPTIONS
from cdvm.valuation import valuation_names, value_rows

__all__ = ["baseline_names", "select_with"]

_ANYWHERE = {"n_jobs": N_JOBS, "progress": PROGRESS}  # a method without use for them may be given these
_RULES = {
    "remove": one_of("low", "high"),
    "seed": SEED,
    "per_class": one_of(None, True, False),
    **OPTIONS,
    **_ANYWHERE,
}


def baseline_names() -> list[str]:
    """Names :func:`select_with` knows: valuations, whose highest values are kept, and selectors."""
    return [*valuation_names(), *selector_names()]


def select_with(
    split: Split,
    learner: Any,
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
    learner : str, scikit-learn estimator or Learner
    method : str
        One of :func:`baseline_names`.
    budgets : sequence of int or float
    remove : {"low", "high"}
        Whether rows of low or of high value go first; selectors have no values and take ``"low"`` only.
    seed : int
    **options
        Those of the method, e.g. ``n_models``; ``n_jobs`` and ``progress`` may be given to any.

    Examples
    --------
    >>> split = Split.from_arrays([[0.0], [1.0]] * 10, ["no", "yes"] * 10, random_state=0)
    >>> [len(s) for s in select_with(split, "ridge", "banzhaf", [2, 4], n_models=50)]
    [2, 4]
    """
    check(_RULES, {"remove": remove, "seed": seed, **options})
    budgets = list(budgets)
    for budget in budgets:
        resolve_budget(budget, split.n_rows)
    started = time.perf_counter()
    if method in valuation_names():
        values = value_rows(split, learner, method, seed=seed, **options)
        kept = [values.top(budget, remove=remove) for budget in budgets]
    elif method in selector_names():
        if remove == "high":
            raise InputError(f"remove='high' needs values, and {method} has none: use a valuation method")
        own = {"learner": learner, "random_state": seed}
        known = selector_options(method)
        given = {name: value for name, value in options.items() if name in known or name not in _ANYWHERE}
        given |= {name: value for name, value in own.items() if name in known}
        refuse_unknown_options(method, given)
        left = [what for what in learnt_by(method) if what not in given]
        given |= {what: learn_of_rows(split, what, **own, **options) for what in left}  # once for all budgets
        kept = [select_rows(split, method, budget, **given) for budget in budgets]
    else:
        raise unknown_name("method", method, ["cdvm", *baseline_names()])
    seconds = (time.perf_counter() - started) / max(len(budgets), 1)
    return [Selection.of_rows(split, rows, method=method, seconds=seconds) for rows in kept]
