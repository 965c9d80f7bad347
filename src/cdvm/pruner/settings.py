"""Parameters of the estimator: their rules, and which of them exclude each other."""

from __future__ import annotations

from typing import Any, get_args

from cdvm._runtime.memory import parse_bytes
from cdvm._runtime.parameters import (
    N_JOBS,
    OUTCOME,
    PLACE,
    PROGRESS,
    RANDOM_STATE,
    Rule,
    check,
    number,
    one_of,
    refuse_unused,
    whole,
)
from cdvm.data.scaling import SCALE
from cdvm.errors import InputError
from cdvm.evaluation.metrics import METRIC
from cdvm.evaluation.refinement.refine import check_options
from cdvm.learners.needs import PREPARE
from cdvm.optimize.program import check_alpha, check_kappa
from cdvm.optimize.solvers.dispatch import Method
from cdvm.pruner.portfolio import Effort
from cdvm.sampling import N_MODELS, DesignKind

__all__ = ["CHOOSING", "GRID_ALPHAS", "GRID_KAPPAS", "RULES", "check_settings", "effort_of", "refine_options"]

GRID_ALPHAS = (0.0, 0.3, 0.6, 1.0)
GRID_KAPPAS = (0.2, 0.5, 0.8, 1.2, 1.6)

_FRACTION = number(lambda fraction: 0 < fraction <= 1, "a fraction between 0 and 1")
RULES = {
    "n_models": whole(2, example=N_MODELS),
    "inclusion": number(lambda p: 0 < p <= 1, "a probability between 0 and 1") | one_of("auto"),
    "budget": whole(1) | _FRACTION,
    "tune": one_of(None, "grid"),
    "design": one_of(*get_args(DesignKind)),
    "outcome": OUTCOME,
    "solver": one_of(*get_args(Method)),
    "rounding": one_of("swap", "top"),
    "validation": one_of("auto", "out_of_bag", "holdout"),
    "refine": one_of(True, False)
    | whole(1)
    | Rule(lambda given: isinstance(given, dict), "a dict of options of cdvm.refine"),
    "effort": one_of(None, *get_args(Effort)),
    "seconds": number(lambda seconds: seconds > 0, "a positive number") | one_of(None),
    "validation_size": number(lambda fraction: 0 < fraction < 1, "a fraction between 0 and 1, e.g. 0.2"),
    "attribution": one_of("models", "similarity", "mixture"),
    "prepare": PREPARE,
    "metric": METRIC,
    "scale": SCALE,
    "store": PLACE,
    "n_jobs": N_JOBS,
    "random_state": RANDOM_STATE,
    "progress": PROGRESS,
}
_TRAINING = ("n_models", "inclusion", "design", "outcome", "store")  # what only subset models need
# what a selection depends on besides what was fitted
_PROGRAM = ("alpha", "kappa", "tune", "rounding", "refine")  # which say how rows are to be chosen
CHOOSING = ("budget", "metric", "alpha", "kappa", "tune", "solver", "rounding", "refine", "effort", "seconds")


def check_settings(given: dict[str, Any], defaults: dict[str, Any]) -> None:
    """Complain about values that cannot be used, and about those that others leave without effect."""
    check(RULES, given)
    check_alpha(given["alpha"])
    check_kappa(given["kappa"])
    parse_bytes(given["memory_limit"])
    check_options(refine_options(given["refine"]))
    effort = effort_of(given, defaults)
    if effort == "low":
        why = (
            "effort='low'" if given["effort"] else f"{_first_set(given, defaults)}, which means effort='low'"
        )
        refuse_unused({"seconds": given["seconds"]}, defaults, f"{why}, which does not search")
        if given["metric"] is not None and given["tune"] is None and given["refine"] is False:
            raise InputError(
                f"metric={given['metric']!r} compares sets, and one is chosen: add tune='grid' or refine=True"
            )
    else:
        unused = {name: given[name] for name in ("tune", "refine")}
        refuse_unused(unused, defaults, f"effort={effort!r}, which tunes and refines by itself")
    if given["tune"] == "grid":
        unused = {name: given[name] for name in ("alpha", "kappa")}
        refuse_unused(unused, defaults, "tune='grid', which chooses it")
    if given["attribution"] == "similarity":
        unused = {name: given[name] for name in _TRAINING}
        refuse_unused(unused, defaults, "attribution='similarity', which trains no models")


def effort_of(given: dict[str, Any], defaults: dict[str, Any]) -> Effort:
    """The effort asked for: medium, or low where the program's settings or ``refine`` say how to choose."""
    if given["effort"] is not None:
        effort: Effort = given["effort"]
        return effort
    return "low" if _first_set(given, defaults) else "medium"


def _first_set(given: dict[str, Any], defaults: dict[str, Any]) -> str:
    """The first setting of the program that is not its default, as one would write it; or nothing."""
    return next((f"{name}={given[name]!r}" for name in _PROGRAM if given[name] != defaults[name]), "")


def refine_options(refine: bool | int | dict[str, Any]) -> dict[str, Any]:
    """The options of :func:`cdvm.refine` that the parameter ``refine`` stands for."""
    if isinstance(refine, dict):
        return refine
    return {} if isinstance(refine, bool) else {"fits": refine}
