"""What picks rows without valuing each: one module a method, all behind :func:`select_rows`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from numpy.typing import NDArray

from cdvm.data.split import Split
from cdvm.errors import InputError, unknown_name
from cdvm.evaluation.difficulty import ease_of_rows, errors_of_rows, residuals_of_rows
from cdvm.sampling import seed_of
from cdvm.selectors.base import Positions
from cdvm.selectors.coretab import coretab, regions_of_rows
from cdvm.selectors.coverage_centric import coverage_centric
from cdvm.selectors.craig import craig
from cdvm.selectors.el2n import el2n
from cdvm.selectors.facility_location import facility_location
from cdvm.selectors.forgetting import forgetting, times_forgotten
from cdvm.selectors.glister import glister
from cdvm.selectors.hardest_right import hardest_right
from cdvm.selectors.herding import herding
from cdvm.selectors.influence_pruning import InfluenceProgram, Removal, influence_pruning
from cdvm.selectors.k_center import k_center
from cdvm.selectors.margin import margin
from cdvm.selectors.moderate import moderate
from cdvm.selectors.stratified import stratified

__all__ = [
    "InfluenceProgram",
    "Removal",
    "coretab",
    "coverage_centric",
    "craig",
    "el2n",
    "facility_location",
    "forgetting",
    "glister",
    "hardest_right",
    "herding",
    "influence_pruning",
    "k_center",
    "learn_of_rows",
    "learnt_by",
    "margin",
    "moderate",
    "refuse_unknown_options",
    "select_rows",
    "selector_names",
    "selector_options",
    "stratified",
]

_NAMED: dict[str, Callable[..., Positions]] = {
    "stratified": stratified,
    "k_center": k_center,
    "herding": herding,
    "facility_location": facility_location,
    "influence_pruning": influence_pruning,
    "moderate": moderate,
    "hardest_right": hardest_right,
    "coverage_centric": coverage_centric,
    "margin": margin,
    "el2n": el2n,
    "forgetting": forgetting,
    "craig": craig,
    "glister": glister,
    "coretab": coretab,
}
_LEARNT: dict[str, Callable[..., NDArray[Any]]] = {  # of the rows, whatever the budget
    "ease": ease_of_rows,
    "errors": errors_of_rows,
    "residuals": residuals_of_rows,
    "regions": regions_of_rows,
    "forgotten": times_forgotten,
}


def selector_names() -> list[str]:
    """Names :func:`select_rows` knows."""
    return list(_NAMED)


def selector_options(method: str) -> list[str]:
    """Keyword arguments that a selector understands.

    >>> selector_options("herding")
    ['per_class', 'random_state']
    """
    if method not in _NAMED:
        raise unknown_name("method", method, _NAMED)
    return [name for name in inspect.signature(_NAMED[method]).parameters if name not in ("split", "budget")]


def refuse_unknown_options(method: str, options: Iterable[str]) -> None:
    """InputError where one of the names is no option of the selector."""
    known = selector_options(method)
    if wrong := [name for name in options if name not in known]:
        raise InputError(f"{method} has no option {wrong[0]!r}: it has {', '.join(known)}")


def learnt_by(method: str) -> list[str]:
    """What a selector learns of the rows before it looks at the budget; options of it, too.

    >>> learnt_by("margin"), learnt_by("herding")
    (['ease'], [])
    """
    return [name for name in selector_options(method) if name in _LEARNT]


def learn_of_rows(split: Split, what: str, *, random_state: Any = None, **options: Any) -> NDArray[Any]:
    """What selectors learn of the rows, to be given to :func:`select_rows` with budget after budget.

    Of ``options``, such as ``learner`` and ``n_jobs``, each takes those it has.

    >>> split = Split.from_arrays([[0.0], [1.0], [2.0], [3.0]] * 6, list("aabb") * 6, random_state=0)
    >>> ease = learn_of_rows(split, "ease", learner="logistic", random_state=0)
    >>> rows = [select_rows(split, "margin", n, ease=ease, random_state=0) for n in (2, 4, 6)]
    """
    if what not in _LEARNT:
        raise unknown_name("what", what, _LEARNT)
    known = inspect.signature(_LEARNT[what]).parameters
    own = {name: value for name, value in options.items() if name in known}
    return _LEARNT[what](split, seed=seed_of(random_state), **own)


def select_rows(split: Split, method: str, budget: float, **options: Any) -> Positions:
    """Sorted positions, among the training rows, of the rows a selector keeps.

    Parameters
    ----------
    split : Split
    method : str
        One of :func:`selector_names`.
    budget : int or float
        Rows to keep, as a count or as a fraction; exactly as many are kept.
    **options
        Passed on: ``per_class``, ``random_state``, and what the method has of its own.

    Examples
    --------
    >>> split = Split.from_arrays([[0.0], [0.1], [5.0], [9.0]], list("aabb"), [[0.0], [9.0]], ["a", "b"])
    >>> select_rows(split, "k_center", 2, per_class=False)
    array([0, 2])
    """
    refuse_unknown_options(method, options)
    return _NAMED[method](split, budget, **options)
