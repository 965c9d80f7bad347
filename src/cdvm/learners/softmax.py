"""Many small penalised softmax losses, minimised together.

Each problem is, over coefficients V and intercepts b of K classes (rows of V),

    minimise  Σᵢ wᵢ log Σₖ exp fₖᵢ − Σₖᵢ tₖᵢ fₖᵢ + ½ ‖V‖²,    f = V Z + b.

Primal: Z is the transpose of the rows' features and ‖·‖ Euclid's norm. Dual: V are coefficients of the
rows, Z is their Gram matrix and ‖V‖² = tr V Z Vᵀ; gradients are taken in that metric, so Z is never inverted
and may be singular.

The method is L-BFGS with a preconditioner. Row i's part of the Hessian, wᵢ (diag pᵢ − pᵢpᵢᵀ), is replaced by
a multiple dᵢ of the identity (the mean of its nonzero eigenvalues, doubled for more than two classes). All
classes then share one system I + Z diag(d) Zᵀ, bordered by the intercept, and one inverse serves them all; a
handful serve a whole fit, since L-BFGS learns the rest. With two classes dᵢ is exact and a fresh inverse
gives Newton's step. Problems leave the batch as they converge.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from cdvm.learners.linear import Floats

__all__ = ["Problem", "minimise"]

_PAIRS = 3  # steps L-BFGS remembers
_REFRESH = frozenset([0, 2, 4, 7, 12, 20])  # iterations with a new inverse, and every 20th after them
_ITERATIONS = {4: 100, 8: 1000}  # by bytes a number
_HALVINGS = 30
_ABSENT = -1e30  # logit of a class without rows: its probability is exactly 0
_FLOOR = 1e-6  # least share of its weight a row keeps in the preconditioner, so that it stays regular


class _Point(NamedTuple):
    """Where each problem stands; or, with only the first three fields used, a step."""

    coefficients: Floats  # (n, K, r)
    products: Floats  # coefficients times Z: (n, K, s)
    intercepts: Floats  # (n, K)

    def moved(self, step: _Point, length: Floats) -> _Point:
        t = length[:, None, None]
        return _Point(
            self.coefficients + t * step.coefficients,
            self.products + t * step.products,
            self.intercepts + length[:, None] * step.intercepts,
        )

    @property
    def logits(self) -> Floats:
        return np.asarray(self.products + self.intercepts[:, :, None])


class _Slope(NamedTuple):
    """Gradient in the problem's metric."""

    coefficients: Floats
    intercepts: Floats


class _Pair(NamedTuple):
    """A step and the change of the gradient along it."""

    step: _Point
    metric: Floats
    change: _Slope
    curvature: Floats  # reciprocal of their product; 0 where it is not positive


@dataclass(frozen=True, eq=False)
class Problem:
    """Data of several problems; arrays have one leading entry a problem."""

    design: Floats  # dual: Gram matrices (n, s, s); primal: features (n, s, r)
    targets: Floats  # (n, K, s)
    weights: Floats  # (n, 1, s)
    others: Floats  # (n, K, s): 0 at the row's class, else 1
    absent: Floats  # (n, K, 1)
    spread: Floats  # (n, 1): d over the trace of a row's Hessian
    dual: bool
    intercept: bool

    @classmethod
    def of(
        cls,
        design: Floats,
        targets: Floats,
        weights: Floats,
        present: NDArray[np.bool_],
        *,
        dual: bool,
        intercept: bool,
        dtype: DTypeLike,
    ) -> Problem:
        """Problems over the ``present`` classes (n, K), computed in ``dtype``."""
        classes = present.sum(axis=1)
        spread = np.where(classes == 2, 1.0, 2.0 / np.maximum(classes - 1, 1))
        absent = np.where(present, 0.0, _ABSENT)
        return cls(
            design=np.ascontiguousarray(design, dtype=dtype),
            targets=targets.astype(dtype),
            weights=weights.astype(dtype),
            others=(targets == 0).astype(dtype),
            absent=absent[:, :, None].astype(dtype),
            spread=spread[:, None].astype(dtype),
            dual=dual,
            intercept=intercept,
        )

    def keep(self, which: NDArray[np.bool_]) -> Problem:
        names = ("design", "targets", "weights", "others", "absent", "spread")
        return replace(self, **{name: getattr(self, name)[which] for name in names})

    def origin(self) -> _Point:
        n, K, s = self.targets.shape
        r = s if self.dual else self.design.shape[2]
        dtype = self.design.dtype
        return _Point(np.zeros((n, K, r), dtype), np.zeros((n, K, s), dtype), np.zeros((n, K), dtype))

    def loss(self, point: _Point) -> tuple[Floats, Floats]:
        """Value of each problem, and the probabilities (n, K, s) of the classes that are not the row's.

        One minus the probability of the row's own class is their sum: as a difference it would lose all
        digits on rows that are well classified, and those are most.
        """
        low = point.logits
        low += self.absent
        low -= low.max(axis=1, keepdims=True)
        wrong = np.exp(low)
        total = wrong.sum(axis=1, keepdims=True)
        value = _dot(self.weights, np.log(total)) - _dot(self.targets, low)
        wrong *= self.others
        wrong /= total
        return value + 0.5 * _dot(point.coefficients, self.metric(point)), wrong

    def slope(self, point: _Point, wrong: Floats) -> _Slope:
        residual = self.targets * wrong.sum(axis=1, keepdims=True)
        residual -= self.weights * wrong
        back = residual if self.dual else residual @ self.design
        borders = residual.sum(axis=2) if self.intercept else np.zeros_like(point.intercepts)
        return _Slope(point.coefficients - back, -borders)

    def metric(self, point: _Point) -> Floats:
        return point.products if self.dual else point.coefficients

    def inverse(self, wrong: Floats) -> Floats:
        """Inverse of the preconditioner's bordered system, shape (n, r + 1, r + 1)."""
        sum_wrong = wrong.sum(axis=1)
        trace = sum_wrong * (2 - sum_wrong) - np.square(wrong).sum(axis=1)
        d = self.weights[:, 0] * np.maximum(self.spread * trace, _FLOOR)
        n, _, r = self.design.shape
        system = np.zeros((n, r + 1, r + 1), dtype=self.design.dtype)
        scaled = d[:, None, :] * (self.design if self.dual else self.design.transpose(0, 2, 1))
        system[:, :r, :r] = scaled if self.dual else scaled @ self.design
        system[:, np.arange(r), np.arange(r)] += 1
        if not self.intercept:
            system[:, r, r] = 1
        elif self.dual:  # transposed, as it is multiplied from the right
            system[:, r, :r] = d
            system[:, :r, r] = 1
        else:
            system[:, r, :r] = system[:, :r, r] = scaled.sum(axis=2)
            system[:, r, r] = d.sum(axis=1)
        return np.linalg.inv(system)

    def solve(self, inverse: Floats, slope: _Slope) -> _Point:
        """The preconditioner's answer to a gradient."""
        border = slope.intercepts
        if self.dual and self.intercept:
            border = slope.coefficients.sum(axis=2) - border
        solution = np.concatenate([slope.coefficients, border[:, :, None]], axis=2) @ inverse
        coefficients = solution[:, :, :-1]
        design = self.design if self.dual else self.design.transpose(0, 2, 1)
        return _Point(np.ascontiguousarray(coefficients), coefficients @ design, solution[:, :, -1].copy())


def minimise(problem: Problem, tol: float) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Coefficients (n, K, r) and intercepts (n, K) of the minima, and which problems converged."""
    point = problem.origin()
    coefficients, intercepts = point.coefficients.copy(), point.intercepts.copy()
    converged = np.zeros(len(coefficients), dtype=np.bool_)
    active = np.arange(len(coefficients))
    value, wrong = problem.loss(point)
    slope = problem.slope(point, wrong)
    pairs: list[_Pair] = []
    for iteration in range(_ITERATIONS[problem.design.itemsize]):
        if iteration in _REFRESH or iteration % 20 == 0:
            inverse = problem.inverse(wrong)
        step = _direction(problem, inverse, slope, pairs)
        ready = _is_small(problem, point, step, tol)
        point, value, wrong, step, stuck = _search(problem, point, value, wrong, slope, step)
        leave = ready | stuck
        if leave.any():
            out = active[leave]
            coefficients[out], intercepts[out] = point.coefficients[leave], point.intercepts[leave]
            converged[active[ready]] = True
            stay = ~leave
            active, value, wrong = active[stay], value[stay], wrong[stay]
            if not active.size:
                break
            problem, inverse = problem.keep(stay), inverse[stay]
            point, step, slope = _keep(point, stay), _keep(step, stay), _keep(slope, stay)
            pairs = [_keep(pair, stay) for pair in pairs]
        before, slope = slope, problem.slope(point, wrong)
        pairs = [*pairs[1 - _PAIRS :], _pair(problem, step, before, slope)]
    else:
        coefficients[active], intercepts[active] = point.coefficients, point.intercepts
    return coefficients, intercepts, converged


def _direction(problem: Problem, inverse: Floats, slope: _Slope, pairs: list[_Pair]) -> _Point:
    """The two loops of L-BFGS around the preconditioner."""
    rest = slope
    shares = []
    for pair in reversed(pairs):
        a = pair.curvature * (
            _dot(pair.metric, rest.coefficients) + _dot(pair.step.intercepts, rest.intercepts)
        )
        rest = _Slope(
            rest.coefficients - a[:, None, None] * pair.change.coefficients,
            rest.intercepts - a[:, None] * pair.change.intercepts,
        )
        shares.append(a)
    step = problem.solve(inverse, rest)
    for pair, a in zip(pairs, reversed(shares), strict=True):
        b = _dot(pair.change.coefficients, problem.metric(step))
        b = pair.curvature * (b + _dot(pair.change.intercepts, step.intercepts))
        step = step.moved(pair.step, a - b)
    return _Point(-step.coefficients, -step.products, -step.intercepts)


def _is_small(problem: Problem, point: _Point, step: _Point, tol: float) -> NDArray[np.bool_]:
    logits = np.abs(step.logits).max(axis=(1, 2)) <= tol * (1 + np.abs(point.products).max(axis=(1, 2)))
    size = _dot(step.coefficients, problem.metric(step))
    return np.asarray(logits & (size <= tol**2 * _dot(point.coefficients, problem.metric(point))))


def _search(
    problem: Problem, point: _Point, value: Floats, wrong: Floats, slope: _Slope, step: _Point
) -> tuple[_Point, Floats, Floats, _Point, NDArray[np.bool_]]:
    """Halve each problem's step until it lowers its value; stuck are those that no length helps."""
    descent = _dot(slope.coefficients, problem.metric(step)) + _dot(slope.intercepts, step.intercepts)
    slack = 20 * np.finfo(value.dtype).eps * np.abs(value)
    length = np.ones_like(value)
    new = point.moved(step, length)
    new_value, new_wrong = problem.loss(new)
    bad = ~(new_value <= value + 1e-4 * descent + slack)
    for _ in range(_HALVINGS):
        if not bad.any():
            break
        length[bad] /= 2
        some = problem.keep(bad)
        trial = _keep(point, bad).moved(_keep(step, bad), length[bad])
        trial_value, trial_wrong = some.loss(trial)
        for whole, part in zip((*new, new_value, new_wrong), (*trial, trial_value, trial_wrong), strict=True):
            whole[bad] = part
        bad[bad] = ~(trial_value <= (value + 1e-4 * length * descent + slack)[bad])
    if bad.any():
        for whole, old in zip((*new, new_value, new_wrong), (*point, value, wrong), strict=True):
            whole[bad] = old[bad]
    if (length < 1).any():
        t = length[:, None, None]
        step = _Point(t * step.coefficients, t * step.products, length[:, None] * step.intercepts)
    return new, new_value, new_wrong, step, bad


def _pair(problem: Problem, step: _Point, before: _Slope, after: _Slope) -> _Pair:
    change = _Slope(after.coefficients - before.coefficients, after.intercepts - before.intercepts)
    metric = problem.metric(step)
    product = _dot(metric, change.coefficients) + _dot(step.intercepts, change.intercepts)
    positive = product > 0
    return _Pair(step, metric, change, np.where(positive, 1 / np.where(positive, product, 1), 0))


def _keep(items: Any, which: NDArray[np.bool_]) -> Any:
    """The chosen problems of a (nested) tuple of arrays."""
    if isinstance(items, np.ndarray):
        return items[which]
    return type(items)(*(_keep(item, which) for item in items))


def _dot(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->i", a.reshape(len(a), -1), b.reshape(len(b), -1)))
