"""L-BFGS with a preconditioner, for many problems at once.

Problems leave the batch as they converge. What a problem is, its metric and its preconditioner are its own
business, see :mod:`cdvm.learners.batched.softmax`.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from cdvm.learners.batched.linear import Floats

__all__ = ["Point", "dot", "keep", "minimise"]

_REFRESH = frozenset([0, 3, 8])  # iterations with a new inverse, and every 20th
_ITERATIONS = {4: 300, 8: 1000}  # by bytes a number
_HALVINGS = 30
_GONE = 0.25  # fraction of converged problems at which the batch is made smaller


class Point(NamedTuple):
    """Where each problem stands, or a step."""

    at: Floats  # (n, K, r + 1): V, and the intercept as the last column
    image: Floats  # at times the design: dual (n, K, s + 1), V Z and the intercept; primal (n, K, s), f


class _Pair(NamedTuple):
    """A step and the change of the gradient along it."""

    step: Point
    change: Floats
    curvature: Floats  # reciprocal of their product; 0 where it is not positive


class Losses(Protocol):
    """Many losses of one shape."""

    @property
    def design(self) -> Floats: ...
    @property
    def memory(self) -> int: ...
    def keep(self, which: NDArray[np.bool_]) -> Losses: ...
    def start(self) -> Point: ...
    def loss(self, point: Point) -> tuple[Floats, Floats]: ...
    def slope(self, point: Point, wrong: Floats) -> Floats: ...
    def image(self, at: Floats) -> Floats: ...
    def metric(self, point: Point) -> Floats: ...
    def penalty(self, point: Point) -> Floats: ...
    def inverse(self, wrong: Floats) -> Floats: ...
    def precondition(self, rest: Floats, inverse: Floats) -> Floats: ...


def minimise(
    problem: Losses, tol: float, start: Floats | None = None
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Coefficients (n, K, r) and intercepts (n, K) of the minima, and which problems converged.

    ``start``, of shape (n, K, r + 1), is where the problems begin, if not where they begin by themselves.
    """
    point = problem.start() if start is None else Point(start.copy(), problem.image(start))
    result = point.at.copy()
    converged = np.zeros(len(result), dtype=np.bool_)
    active = np.arange(len(result))
    gone = np.zeros(len(result), dtype=np.bool_)
    value, wrong = problem.loss(point)
    slope = problem.slope(point, wrong)
    pairs: list[_Pair] = []
    for iteration in range(_ITERATIONS[problem.design.itemsize]):
        if iteration in _REFRESH or iteration % 20 == 0:
            inverse = problem.inverse(wrong)
        step = _direction(problem, inverse, slope, pairs)
        small = dot(step.at, problem.metric(step)) <= tol**2 * problem.penalty(point)
        point, value, wrong, step, stuck = _search(problem, point, value, wrong, slope, step, gone)
        leave = (small | stuck) & ~gone
        if leave.any():
            result[active[leave]] = point.at[leave]
            converged[active[leave & small]] = True
            gone |= leave
            if gone.all():
                break
            if gone.mean() > _GONE:
                stay = ~gone
                active, value, wrong, gone = active[stay], value[stay], wrong[stay], gone[stay]
                problem, inverse = problem.keep(stay), inverse[stay]
                point, step, slope = keep(point, stay), keep(step, stay), slope[stay]
                pairs = [keep(pair, stay) for pair in pairs]
        before, slope = slope, problem.slope(point, wrong)
        pairs = [*pairs[1 - problem.memory :], _pair(problem, step, slope - before)]
    else:
        result[active[~gone]] = point.at[~gone]
    return result[:, :, :-1], result[:, :, -1], converged


def _direction(problem: Losses, inverse: Floats, slope: Floats, pairs: list[_Pair]) -> Point:
    """The two loops of L-BFGS around the preconditioner."""
    rest = -slope
    fractions = []
    for pair in reversed(pairs):
        a = pair.curvature * dot(problem.metric(pair.step), rest)
        rest -= a[:, None, None] * pair.change
        fractions.append(a)
    at = problem.precondition(rest, inverse)
    step = Point(at, problem.image(at))
    for pair, a in zip(pairs, reversed(fractions), strict=True):
        b = pair.curvature * dot(pair.change, problem.metric(step))
        length = (a - b)[:, None, None]
        step.at[...] += length * pair.step.at
        step.image[...] += length * pair.step.image
    return step


def _search(
    problem: Losses,
    point: Point,
    value: Floats,
    wrong: Floats,
    slope: Floats,
    step: Point,
    gone: NDArray[np.bool_],
) -> tuple[Point, Floats, Floats, Point, NDArray[np.bool_]]:
    """Halve each problem's step until it lowers its value; stuck are those that no length helps.

    Those ``gone`` may go anywhere.
    """
    enough = 1e-4 * dot(slope, problem.metric(step))
    most = value + 20 * np.finfo(value.dtype).eps * np.abs(value)
    new = Point(point.at + step.at, point.image + step.image)
    new_value, new_wrong = problem.loss(new)
    bad = ~(new_value <= most + enough) & ~gone
    length = 1.0
    for _ in range(_HALVINGS):
        if not bad.any():
            return new, new_value, new_wrong, step, bad
        length /= 2
        for whole in step:
            whole[bad] /= 2
        for whole, old, change in zip(new, point, step, strict=True):
            whole[bad] = old[bad] + change[bad]
        new_value[bad], new_wrong[bad] = problem.keep(bad).loss(keep(new, bad))
        bad &= ~(new_value <= most + length * enough)
    for whole, old in zip((*new, new_value, new_wrong), (*point, value, wrong), strict=True):
        whole[bad] = old[bad]
    return new, new_value, new_wrong, step, bad


def _pair(problem: Losses, step: Point, change: Floats) -> _Pair:
    product = dot(problem.metric(step), change)
    positive = product > 0
    return _Pair(step, change, np.where(positive, 1 / np.where(positive, product, 1), 0))


def keep(items: Any, which: NDArray[np.bool_]) -> Any:
    """The chosen problems of a (nested) tuple of arrays."""
    if isinstance(items, np.ndarray):
        return items[which]
    return type(items)(*(keep(item, which) for item in items))


def dot(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->i", a.reshape(len(a), -1), b.reshape(len(b), -1)))
