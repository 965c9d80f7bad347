"""What picks rows without valuing each: one module a method, all behind :func:`select_rows`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from cdvm.data.split import Split
from cdvm.errors import InputError, unknown_name
from cdvm.selectors.base import Positions
from cdvm.selectors.coretab import coretab
from cdvm.selectors.coverage_centric import coverage_centric
from cdvm.selectors.craig import craig
from cdvm.selectors.el2n import el2n
from cdvm.selectors.facility_location import facility_location
from cdvm.selectors.forgetting import forgetting
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
    "margin",
    "moderate",
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
    known = selector_options(method)
    wrong = [name for name in options if name not in known]
    if wrong:
        raise InputError(f"{method} has no option {wrong[0]!r}: it has {', '.join(known)}")
    return _NAMED[method](split, budget, **options)
