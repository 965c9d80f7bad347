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

Problems that use a large part of one table are cheaper on the table as a whole, the rows they leave out at
weight 0 (:class:`SharedProblem`): one matrix serves all of them, and they start from its optimum.
With few features another gives all their systems, from the outer products of the rows. With many,
the inverse at the table's optimum is the preconditioner of all, for its size; L-BFGS remembers more instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import DTypeLike, NDArray

from cdvm.learners.batched.lbfgs import Point, dot, minimise
from cdvm.learners.batched.linear import Floats

__all__ = ["OWN_SYSTEMS", "Problem", "SharedProblem", "Table"]

OWN_SYSTEMS = 128
"""Features from which on problems over one table share a preconditioner."""

_PAIRS = 2  # steps L-BFGS remembers; more save no iterations where each problem has its own inverse
_PAIRS_COMMON = 10  # where all share one, they do
_ABSENT = -1e30  # logit of a class without rows: its probability is exactly 0
_FLOOR = 1e-6  # least fraction of its weight a row keeps in the preconditioner, so that it stays regular


@dataclass(frozen=True, eq=False)
class Problem:
    """Data of several problems; arrays have one leading entry a problem."""

    design: Floats  # from coefficients and intercept to image, (n, r + 1, s + 1) or (n, r + 1, s)
    targets: Floats  # (n, K, s)
    weights: Floats  # (n, 1, s)
    others: Floats  # (n, K, s): 0 at the row's class, else 1
    absent: Floats  # (n, K, 1)
    spread: Floats  # (n, 1): d over the trace of a row's Hessian
    dual: bool
    intercept: bool

    @property
    def memory(self) -> int:
        """Steps that L-BFGS remembers."""
        return _PAIRS

    @classmethod
    def of(
        cls,
        rows: Floats,
        targets: Floats,
        weights: Floats,
        present: NDArray[np.bool_],
        *,
        dual: bool,
        intercept: bool,
        dtype: DTypeLike,
    ) -> Problem:
        """Problems over the ``present`` classes (n, K), computed in ``dtype``.

        ``rows`` are Gram matrices (n, s, s) if ``dual``, else features (n, s, r).
        """
        n, s, r = rows.shape
        design = np.zeros((n, r + 1, s + dual), dtype=dtype)
        design[:, :r, :s] = rows if dual else rows.transpose(0, 2, 1)
        design[:, r, s if dual else slice(None)] = intercept
        classes = present.sum(axis=1)
        spread = np.where(classes == 2, 1.0, 2.0 / np.maximum(classes - 1, 1))
        absent = np.where(present, 0.0, _ABSENT)
        return cls(
            design=design,
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

    def start(self) -> Point:
        n, K, _ = self.targets.shape
        _, r, s = self.design.shape
        return Point(np.zeros((n, K, r), self.design.dtype), np.zeros((n, K, s), self.design.dtype))

    def image(self, at: Floats) -> Floats:
        """Coefficients and intercepts times the design."""
        return np.asarray(at @ self.design)

    def pull(self, residual: Floats) -> Floats:
        """Residuals (n, K, s) times the design's transpose."""
        return np.asarray(residual @ self.design.transpose(0, 2, 1))

    def precondition(self, rest: Floats, inverse: Floats) -> Floats:
        return np.asarray(rest @ inverse)

    def logits(self, point: Point) -> Floats:
        image = point.image
        return np.asarray(image[:, :, :-1] + image[:, :, -1:] if self.dual else image)

    def metric(self, point: Point) -> Floats:
        """What the product of a point with a gradient is taken with."""
        return point.image if self.dual else point.at

    def penalty(self, point: Point) -> Floats:
        """‖V‖², without the intercept."""
        free = point.at[:, :, -1]
        return np.asarray(dot(point.at, self.metric(point)) - dot(free, free))

    def loss(self, point: Point) -> tuple[Floats, Floats]:
        """Value of each problem, and the probabilities (n, K, s) of the classes that are not the row's.

        One minus the probability of the row's own class is their sum: as a difference it would lose all
        digits on rows that are well classified, and those are most.
        """
        low = self.logits(point) + self.absent
        low -= low.max(axis=1, keepdims=True)
        wrong = np.exp(low)
        total = wrong.sum(axis=1, keepdims=True)
        value = dot(self.weights, np.log(total)) - dot(self.targets, low)
        wrong *= self.others
        wrong /= total
        return value + 0.5 * self.penalty(point), wrong

    def slope(self, point: Point, wrong: Floats) -> Floats:
        """Gradient in the problem's metric, shape (n, K, r + 1)."""
        residual = self.targets * wrong.sum(axis=1, keepdims=True)
        residual -= self.weights * wrong
        if not self.dual:
            slope = -self.pull(residual)
            slope[:, :, :-1] += point.at[:, :, :-1]
            return slope
        slope = np.zeros_like(point.at)
        np.subtract(point.at[:, :, :-1], residual, out=slope[:, :, :-1])
        if self.intercept:
            slope[:, :, -1] = -np.matmul(residual, np.ones(residual.shape[2], dtype=residual.dtype))
        return slope

    def curvature(self, wrong: Floats) -> Floats:
        """The multiple dᵢ of the identity that stands for each row's Hessian, shape (n, s)."""
        sum_wrong = wrong.sum(axis=1)
        trace = sum_wrong * (2 - sum_wrong) - np.square(wrong).sum(axis=1)
        return np.asarray(self.weights[:, 0] * np.maximum(self.spread * trace, _FLOOR))

    def inverse(self, wrong: Floats) -> Floats:
        """Matrices (n, r + 1, r + 1) that a gradient is multiplied with to give the preconditioned step."""
        d = self.curvature(wrong)
        r = self.design.shape[1] - 1
        diagonal = np.arange(r)
        if not self.dual:
            system = (self.design * d[:, None, :]) @ self.design.transpose(0, 2, 1)
            system[:, diagonal, diagonal] += 1
            if not self.intercept:
                system[:, r, r] = 1
            return np.linalg.inv(system)
        # Unknowns a, β with a + d∘(Za + β) = q and Σa = Σq − q₀: the second line is Σ of the first less the
        # intercept's own. Written transposed, and with the right side's Σq − q₀ folded into the inverse.
        system = np.array(self.design)
        system[:, :r, :r] *= d[:, None, :]
        system[:, diagonal, diagonal] += 1
        system[:, r, r] = not self.intercept
        if not self.intercept:
            return np.linalg.inv(system)
        system[:, r, :r] = d
        system[:, :r, r] = 1
        inverse = np.linalg.inv(system)
        inverse[:, :r] += inverse[:, r:]
        inverse[:, r] *= -1
        return inverse


@dataclass(frozen=True, eq=False)
class Table:
    """What problems over one table share."""

    design: Floats  # (1, r + 1, s)
    optimum: Floats  # (K, r + 1): coefficients and intercepts on all rows
    wrong: float  # mean probability it gives to wrong classes
    system: Floats  # (r + 1, r + 1): the Hessian there, less the penalty's
    outer: Floats | None  # (s, (r + 1)(r + 2) / 2): upper triangle of each row's outer product with itself

    @classmethod
    def of(cls, problem: Problem, dtype: DTypeLike) -> Table:
        """From the problem of all rows: primal, alone and in double precision."""
        coefficients, intercepts, _ = minimise(problem, 1e-6)
        at = np.concatenate([coefficients, intercepts[:, :, None]], axis=2)
        _, wrong = problem.loss(Point(at, problem.image(at)))
        d = problem.curvature(wrong)
        system = (problem.design[0] * d) @ problem.design[0].T
        design = problem.design.astype(dtype)
        outer = None
        if at.shape[1] == 2 and len(system) <= OWN_SYSTEMS:
            i, j = np.triu_indices(len(system))
            outer = np.ascontiguousarray((design[0, i] * design[0, j]).T)
        return cls(design, at[0].astype(dtype), float(wrong.sum(axis=1).mean()), system, outer)

    def inverse(self, fraction: float, intercept: bool) -> Floats:
        """Of the system of a problem with this fraction of the table's weight, as far as it tells."""
        system = fraction * self.system
        diagonal = np.arange(len(system) - intercept)
        system[diagonal, diagonal] += 1
        return np.asarray(np.linalg.inv(system), dtype=self.design.dtype)


@dataclass(frozen=True, eq=False)
class SharedProblem(Problem):
    """Problems over one table, all its rows in each; see :class:`Problem`. ``design`` has no copies.

    Where ``common`` is given, it is everybody's preconditioner.
    """

    table: Table
    common: Floats | None = None

    @property
    def memory(self) -> int:
        return _PAIRS if self.common is None else _PAIRS_COMMON

    def keep(self, which: NDArray[np.bool_]) -> SharedProblem:
        names = ("targets", "weights", "others", "absent", "spread")
        return replace(self, **{name: getattr(self, name)[which] for name in names})

    def start(self) -> Point:
        at = np.where(self.absent < 0, 0, self.table.optimum)
        return Point(at, self.image(at))

    def image(self, at: Floats) -> Floats:
        return _times(at, self.design[0])

    def pull(self, residual: Floats) -> Floats:
        return _times(residual, self.design[0].T)

    def precondition(self, rest: Floats, inverse: Floats) -> Floats:
        return super().precondition(rest, inverse) if self.common is None else _times(rest, self.common)

    def inverse(self, wrong: Floats) -> Floats:
        if self.common is not None:
            return np.empty((len(wrong), 0), dtype=wrong.dtype)
        assert self.table.outer is not None
        d = self.curvature(wrong)
        width = self.design.shape[1]
        i, j = np.triu_indices(width)
        system = np.empty((len(d), width, width), dtype=d.dtype)
        system[:, i, j] = system[:, j, i] = np.matmul(d[:, None, :], self.table.outer)[:, 0]
        diagonal = np.arange(width - self.intercept)
        system[:, diagonal, diagonal] += 1
        return np.linalg.inv(system)


def _times(stack: Floats, matrix: Floats) -> Floats:
    """A stack (n, K, a) times one matrix (a, b), problem by problem.

    As a single product it would be up to twice as fast, and the last digits of a problem would depend on its
    neighbours.
    """
    return np.asarray(np.matmul(stack, matrix))
