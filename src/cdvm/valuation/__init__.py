"""What a row is worth: one module a method, each a function from a split and a learner to :class:`Values`."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any, get_args

from cdvm._runtime.parameters import (
    N_JOBS,
    OUTCOME,
    PLACE,
    PROGRESS,
    SEED,
    Rule,
    check,
    number,
    one_of,
    whole,
)
from cdvm.errors import InputError, unknown_name
from cdvm.sampling import DesignKind
from cdvm.valuation.banzhaf import banzhaf_from_outcomes
from cdvm.valuation.base import Game, LearnerLike, Players, Utility, Values, utilities
from cdvm.valuation.noise import NoiseReport, detection_report, flip_labels, flip_split, p_values, suspects
from cdvm.valuation.out_of_bag import record_bootstrap
from cdvm.valuation.stopping import RankStability, StandardError, StoppingRule

__all__ = [
    "Game",
    "NoiseReport",
    "RankStability",
    "StandardError",
    "StoppingRule",
    "Utility",
    "Values",
    "banzhaf_from_outcomes",
    "detection_report",
    "flip_labels",
    "flip_split",
    "needs_validation",
    "p_values",
    "record_bootstrap",
    "suspects",
    "utilities",
    "valuation_method",
    "valuation_names",
    "valuation_options",
    "value_rows",
]

_MODULES = {
    "random": "random",
    "leave_one_out": "leave_one_out",
    "shapley": "shapley",
    "beta_shapley": "shapley",
    "banzhaf": "banzhaf",
    "out_of_bag": "out_of_bag",
    "memorization": "out_of_bag",
    "knn_shapley": "knn_shapley",
    "influence": "influence",
}
_NEED_VALIDATION = {"leave_one_out", "shapley", "beta_shapley", "knn_shapley", "influence"}
_POSITIVE = number(lambda value: value > 0, "a positive number")
_RULES = {
    "n_models": one_of(None) | whole(1),
    "inclusion": number(lambda p: 0 < p <= 1, "a probability between 0 and 1, e.g. 0.5"),
    "design": one_of(*get_args(DesignKind)),
    "exact": one_of(None, True, False),
    "outcome": OUTCOME,
    "stop": one_of(None)
    | Rule(lambda rule: isinstance(rule, StoppingRule), "a rule such as cdvm.valuation.StandardError(0.01)"),
    "store": PLACE,
    "tolerance": number(lambda value: value >= 0, "a number of at least 0, e.g. 0.01"),
    "damping": number(lambda value: value >= 0, "a number of at least 0, e.g. 0.01"),
    "max_iterations": whole(1, example=500),
    "alpha": _POSITIVE,
    "beta": _POSITIVE,
    "k": whole(1, example=5),
    "seed": SEED,
    "n_jobs": N_JOBS,
    "progress": PROGRESS,
}
_ANYWHERE = {"seed", "n_jobs", "progress"}  # options that a method without use for them may be given


def valuation_names() -> list[str]:
    """Names that :func:`value_rows` understands."""
    return list(_MODULES)


def needs_validation(name: str) -> bool:
    """Whether a method needs rows that no model is trained on; others take training rows out of bag.

    >>> needs_validation("shapley"), needs_validation("banzhaf")
    (True, False)
    """
    return name in _NEED_VALIDATION


def valuation_method(name: str) -> Callable[..., Values]:
    """The function behind a name.

    >>> valuation_method("shapley").__module__
    'cdvm.valuation.shapley'
    """
    if name not in _MODULES:
        raise unknown_name("method", name, _MODULES)
    function: Callable[..., Values] = getattr(import_module(f"cdvm.valuation.{_MODULES[name]}"), name)
    return function


def valuation_options(name: str) -> list[str]:
    """Keyword arguments that a method understands.

    >>> valuation_options("knn_shapley")
    ['k', 'progress']
    """
    parameters = inspect.signature(valuation_method(name)).parameters.values()
    return [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]


def value_rows(split: Players, learner: LearnerLike, method: str, **options: Any) -> Values:
    """Values of the training rows by the method of that name.

    Examples
    --------
    >>> value_rows(2, lambda sets: sets.sizes.astype(float), "shapley").values
    array([1., 1.])
    """
    function, known = valuation_method(method), valuation_options(method)
    unknown = [name for name in options if name not in known and name not in _ANYWHERE]
    if unknown:
        raise InputError(f"{method} has no option {unknown[0]!r}: it has {', '.join(known)}")
    check(_RULES, options)
    started = time.perf_counter()
    values = function(split, learner, **{name: value for name, value in options.items() if name in known})
    values.meta.setdefault("seconds", time.perf_counter() - started)
    return values
