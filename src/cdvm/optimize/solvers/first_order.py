"""The relaxed program by a restarted primal-dual method, on products with T and Tᵀ alone.

The program is a saddle point between weights and multipliers::

    max over w ∈ W   min over 0 ≤ λ ≤ 1 − alpha     wᵀ(alpha·T1 − Tλ) + kappa·Σλ,     W = {0 ≤ w ≤ 1, Σw = S}

One step of the primal-dual hybrid gradient method [1]_ costs one product each with T and Tᵀ::

    w⁺ = project_W(w + τ(alpha·T1 − Tλ)),      λ⁺ = clip(λ + σD(Tᵀ(2w⁺ − w) − kappa), 0, 1 − alpha)

- D holds one step length an evaluation row: the columns of T differ by orders of magnitude (an evaluation
  row that every model gets right has none), and their norms can be estimated from products with random
  signs.
- Weights always sum to S, so only T less its column means counts in ``τσ‖T D^½‖² = 1``.
- Steps are reflected and drawn back to the last restart with weight 1/(k + 1) (Halpern) [2]_; a restart comes
  when the step length has fallen enough, and rebalances τ against σ by how far either side has come [3]_.
- Both products are known at every iterate, so its objective and its bound cost no further one. The best
  weights and the best multipliers are kept apart, and their gap decides when to stop.

References
----------
.. [1] A. Chambolle, T. Pock. A first-order primal-dual algorithm for convex problems. JMIV 40, 2011.
.. [2] H. Lu, J. Yang. Restarted Halpern PDHG for linear programming. arXiv:2407.16144, 2024.
.. [3] D. Applegate et al. Practical large-scale linear programming using PDHG. NeurIPS 2021.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm._runtime.progress import Progress, tell
from cdvm.errors import InputError
from cdvm.optimize.program import Program
from cdvm.optimize.solvers.base import Solution, finish
from cdvm.optimize.solvers.units import in_units

__all__ = ["solve_first_order"]

Vector = NDArray[np.float64]

_CHECK = 10  # iterations between two looks at the gap
_SUFFICIENT, _NECESSARY, _ARTIFICIAL = 0.2, 0.8, 0.36  # when to restart, as in [3]
_PROBES = 10  # random sign vectors for the column norms
_POWER = 1.5  # D falls with this power of a column's norm: 1 to 2 do about as well
_MARGIN = 1.02  # power iteration comes from below


def solve_first_order(
    program: Program,
    *,
    tolerance: float = 1e-2,
    warm: Solution | None = None,
    max_iterations: int = 100_000,
    time_limit: float | None = None,
    progress: bool | None = False,
) -> Solution:
    """The relaxed program to a certified relative gap; nothing of T's size is stored.

    Parameters
    ----------
    program : Program
    tolerance : float
        Relative gap between the objective and the proven bound at which to stop.
    warm : Solution, optional
        A solution of the same attribution for another budget, alpha or kappa to start from.
    max_iterations : int
    time_limit : float, optional
        Seconds. When a limit ends the run, the status is ``"limit"`` and the gap is what was reached.
    progress : bool, optional
        Show a line with the gap; None does on a terminal. Where other work shows its progress, the gap stands
        there in any case.

    Examples
    --------
    >>> import numpy as np
    >>> program = Program(np.array([[0.5, 0.0], [0.5, 0.0], [0.0, 0.4]]), budget=2, kappa=0.4)
    >>> solution = solve_first_order(program, tolerance=1e-6)
    >>> round(solution.objective, 5), solution.gap <= 1e-6
    (0.4, True)
    """
    _check(program, tolerance, warm, max_iterations, time_limit)
    started = time.perf_counter()
    deadline = np.inf if time_limit is None else started + time_limit
    run = _Run(in_units(program)[0])
    run.start(warm)
    iterations, built = 0, started
    if run.gap > tolerance:
        with Progress("first order", enabled=progress):
            run.scale(deadline)
            built = time.perf_counter()
            iterations = run.iterate(tolerance, max_iterations, deadline)
    solution = finish(
        program,
        run.best_weights,
        run.best_multipliers,
        status="optimal",
        iterations=iterations,
        build_seconds=built - started,
        solve_seconds=time.perf_counter() - built,
        method="first_order",
    )
    return solution if solution.gap <= tolerance else replace(solution, status="limit")


@dataclass
class _Point:
    """Weights and multipliers with their products v = Tᵀw and Tλ."""

    w: Vector
    lam: Vector
    v: Vector
    t_lam: Vector

    def blend(self, own: float, step: _Point, ahead: float, anchor: _Point, back: float) -> _Point:
        return _Point(
            *(
                own * a + ahead * b + back * c
                for a, b, c in zip(self._all(), step._all(), anchor._all(), strict=True)
            )
        )

    def _all(self) -> tuple[Vector, Vector, Vector, Vector]:
        return self.w, self.lam, self.v, self.t_lam


class _Run:
    """One solve: the scaling, the current point and the best weights and multipliers so far."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.n, self.m, self.budget = program.n_rows, program.n_evaluation, program.budget
        self.reward, self.penalty = program.rewards, program.penalties
        # a single-precision matrix would be copied to double at every product with a double vector
        matrix = getattr(program.attribution, "matrix", None)
        self._dtype = np.float32 if getattr(matrix, "dtype", None) == np.float32 else np.float64
        self.objective, self.bound = -np.inf, np.inf
        self.best_weights = self.best_multipliers = np.empty(0)

    def matvec(self, lam: Vector) -> Vector:
        return self.program.attribution.matvec(lam.astype(self._dtype, copy=False))

    def rmatvec(self, w: Vector) -> Vector:
        return self.program.attribution.rmatvec(w.astype(self._dtype, copy=False))

    @property
    def gap(self) -> float:
        return self.program.gap(self.objective, self.bound)

    def offer(self, w: Vector, v: Vector) -> None:
        """Keep the weights if they are the best so far."""
        objective = self.program.objective_at(v)
        if objective > self.objective:
            self.objective, self.best_weights = objective, w

    def offer_bound(self, lam: Vector, t_lam: Vector) -> None:
        """Keep the multipliers if they prove the best bound so far."""
        # where all rows are kept there is one feasible objective
        bound = self.objective if self.program.whole else self.program.bound_at(lam, self.reward - t_lam)
        if bound < self.bound:
            self.bound, self.best_multipliers = bound, lam

    def start(self, warm: Solution | None) -> None:
        """The first point, beside candidates that are optimal in the extreme cases."""
        none, greedy = np.zeros(self.m), self.program.greedy()
        self.offer(greedy, self.rmatvec(greedy))
        self.offer_bound(none, np.zeros(self.n))  # optimal when no evaluation row reaches kappa
        if warm is None:
            w = self.program.uniform()
            lam = self.program.middle()
        else:
            w = self.program.project(warm.weights)[0]
            lam = np.clip(warm.multipliers, 0.0, self.penalty)
        v = self.rmatvec(w)
        self.offer(w, v)
        answer = np.where(v > self.program.caps, self.penalty, 0.0)  # optimal when all weights are as good
        self.offer_bound(answer, self.matvec(answer))
        t_lam = self.matvec(lam)
        self.offer_bound(lam, t_lam)
        self.point = _Point(w, lam, v, t_lam)

    def scale(self, deadline: float) -> None:
        """Step lengths of the evaluation rows (D), the norm that bounds all steps, and their balance."""
        rng = np.random.default_rng(0)
        squares = np.zeros(self.m)
        for _ in range(_PROBES):
            signs = rng.choice([-1.0, 1.0], self.n)
            squares += self.rmatvec(signs - signs.mean()) ** 2
        norms = np.sqrt(squares / _PROBES)
        norms = np.maximum(norms, 1e-3 * norms.max(initial=0.0)) if norms.any() else np.ones(self.m)
        self.steps = norms**-_POWER
        root, self.norm = np.sqrt(self.steps), 0.0
        x = rng.standard_normal(self.m)
        for _ in range(30):
            y = self.matvec(root * (x / np.linalg.norm(x)))
            y -= y.mean()
            x = root * self.rmatvec(y)
            last, self.norm = self.norm, float(np.sqrt(np.linalg.norm(x)))
            if self.norm <= 1.005 * last or self.norm == 0 or time.perf_counter() > deadline:
                break
        self.norm = _MARGIN * self.norm or 1.0
        even = self.program.uniform()
        reach = float(np.sqrt((even * (self.program.upper - even)).sum())) or 1.0
        self.balance = float(np.sqrt((self.program.middle() ** 2 / self.steps).sum())) / reach or 1.0

    def iterate(self, tolerance: float, limit: int, deadline: float) -> int:
        """Run until the gap is met or a limit is reached; the number of iterations."""
        anchor, since, length, first, last = self.point, 0, 0.0, np.inf, np.inf
        shift: float | None = None
        for iteration in range(1, limit + 1):
            new, shift = self._step(shift)
            since += 1
            if since == 1:
                first = self._length(new, self.point)
            if iteration % _CHECK == 0 or iteration == limit or time.perf_counter() > deadline:
                self.offer(new.w, new.v)
                self.offer_bound(new.lam, new.t_lam)
                tell(f"iteration {iteration}, gap {self.gap:.2%}")
                if self.gap <= 0.999 * tolerance or time.perf_counter() > deadline:
                    return iteration
                length = self._length(new, self.point)
                slowed = length <= _NECESSARY * first and length > last
                if length <= _SUFFICIENT * first or slowed or since >= _ARTIFICIAL * iteration:
                    self._rebalance(new, anchor)
                    self.point = anchor = new
                    since, last = 0, np.inf
                    continue
                last = length
            keep = since / (since + 1.0)
            self.point = self.point.blend(-keep, new, 2.0 * keep, anchor, 1.0 - keep)
        return limit

    def _step(self, shift: float | None) -> tuple[_Point, float]:
        tau, sigma = 1.0 / (self.norm * self.balance), self.balance / self.norm
        old = self.point
        point = old.w + tau * (self.reward - old.t_lam)
        w, shift = self.program.project(point, shift)
        v = self.rmatvec(w)
        lam = np.clip(old.lam + sigma * self.steps * (2.0 * v - old.v - self.program.caps), 0.0, self.penalty)
        new = _Point(w, lam, v, self.matvec(lam))
        # should the norm be an underestimate after all, the step itself tells
        coupled = 2.0 * abs(float((lam - old.lam) @ (v - old.v)))
        self.norm = max(self.norm, _MARGIN * coupled / max(self._length(new, old) ** 2, 1e-300))
        return new, shift

    def _length(self, new: _Point, old: _Point) -> float:
        """The distance of two points in the norm in which the method contracts."""
        rows = float(((new.w - old.w) ** 2).sum())
        evaluation = float(((new.lam - old.lam) ** 2 / self.steps).sum())
        return float(np.sqrt(self.balance * rows + evaluation / self.balance))

    def _rebalance(self, new: _Point, anchor: _Point) -> None:
        rows = float(np.linalg.norm(new.w - anchor.w))
        evaluation = float(np.sqrt(((new.lam - anchor.lam) ** 2 / self.steps).sum()))
        if rows > 1e-10 and evaluation > 1e-10:
            self.balance = float(np.sqrt(self.balance * evaluation / rows))


def _check(
    program: Program, tolerance: Any, warm: Solution | None, max_iterations: int, time_limit: float | None
) -> None:
    if not tolerance > 0:
        raise InputError(f"tolerance={tolerance!r}: use a positive relative gap, e.g. 0.01")
    if max_iterations < 1:
        raise InputError(f"max_iterations={max_iterations!r}: use at least 1")
    if time_limit is not None and not time_limit > 0:
        raise InputError(f"time_limit={time_limit!r}: use a positive number of seconds")
    if warm is not None and (len(warm.weights), len(warm.multipliers)) != program.attribution.shape:
        given = f"{len(warm.weights)} rows and {len(warm.multipliers)} evaluation rows"
        raise InputError(
            f"warm has {given}, the program {program.attribution.shape}: use the same attribution"
        )
