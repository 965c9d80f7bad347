"""A primal-dual interior-point method for the program, on dense T.

With excess t ≥ 0 and slack s = kappa − Tᵀw + t ≥ 0, multipliers λ of the slacks and ν = (1 − alpha) − λ of
the excesses, z and y of 0 ≤ w and w ≤ 1, and η of the budget, a solution is where::

    z − y = Tλ + η − alpha·T1,    t − s = Tᵀw − kappa,    Σw = S,    wz = (1 − w)y = sλ = tν = 0

The method follows wz = (1 − w)y = sλ = tν = μ to μ → 0 by Mehrotra's predictor and corrector and Gondzio's
further correctors. Both linear conditions hold for some positive z, y, s, t whatever w and λ are, so every
iterate is feasible, its gap is certified by ``Program.bound``, and that gap ends the method.

References
----------
S. Mehrotra, On the implementation of a primal-dual interior point method, SIAM J. Optim. 2 (1992);
J. Gondzio, Multiple centrality corrections in a primal-dual method for linear programming, Comput. Optim.
Appl. 6 (1996).
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cdvm._runtime.progress import tell
from cdvm.errors import InputError
from cdvm.optimize.program import Program
from cdvm.optimize.solvers.base import Solution, finish
from cdvm.optimize.solvers.newton import NewtonSystem, Rough, newton_system
from cdvm.optimize.solvers.units import in_units

__all__ = ["solve_interior_point"]

Vector = NDArray[np.float64]

_CORRECTORS = 2
_TO_BOUNDARY = 0.99
_RESIDUAL = 0.03  # of mu, allowed in the step's equations
_SINGLE_ORDER = 64  # from this order on, factors start in single precision
_CG_PER_SOLVE = (
    0.0  # more steps of conjugate gradients than this end single precision: double is then as fast
)
_PATIENCE = 15  # iterations without a better gap that count as a numerical breakdown
_PUSH = 0.3  # how far a warm start is moved towards the centre


def solve_interior_point(
    program: Program,
    *,
    tolerance: float = 1e-8,
    warm: Solution | None = None,
    max_iterations: int = 100,
) -> Solution:
    """The relaxed program to a certified relative gap of ``tolerance``.

    Parameters
    ----------
    program : Program
        Its attribution is made dense.
    tolerance : float
    warm : Solution, optional
        A solution of the same rows and evaluation rows under another budget, alpha or kappa.
    max_iterations : int
        Ends with status ``"limit"`` when reached.

    Notes
    -----
    Should rounding errors keep the gap above the tolerance, HiGHS solves the program, and ``method`` says so.
    This has been seen only where duplicated rows or evaluation rows make the optimum exactly 0, of which no
    gap is a small fraction.

    Examples
    --------
    >>> import numpy as np
    >>> program = Program(np.array([[0.5, 0.0], [0.5, 0.0], [0.0, 0.4]]), budget=2, kappa=0.4)
    >>> solution = solve_interior_point(program)
    >>> round(solution.objective, 7), solution.gap <= 1e-8
    (0.4, True)
    """
    if not tolerance > 0:
        raise InputError(f"tolerance={tolerance!r}: use a positive number, e.g. 1e-8")
    started = time.perf_counter()
    program = program.densified()
    search = _Search(in_units(program)[0], warm)
    built = time.perf_counter()
    sound = True
    while search.gap > tolerance and search.iterations < max_iterations and sound:
        sound = search.advance()
        tell(f"iteration {search.iterations}, gap {search.gap:.2g}")
    solution = finish(
        program,
        search.weights,
        search.multipliers,
        status="optimal" if search.gap <= tolerance else "limit",
        iterations=search.iterations,
        build_seconds=built - started,
        solve_seconds=time.perf_counter() - built,
        method="interior_point",
    )
    if sound and (solution.gap <= tolerance or solution.status == "limit"):
        return solution
    return _rescue(program, replace(solution, status="limit"))


def _rescue(program: Program, reached: Solution) -> Solution:
    from cdvm.optimize.solvers.highs import solve_lp

    try:
        exact = solve_lp(program)
    except RuntimeError:
        return reached
    better = exact if exact.gap < reached.gap else reached
    seconds = reached.solve_seconds + exact.solve_seconds
    return replace(better, method="interior_point, then highs", solve_seconds=seconds)


class _Search:
    """The iterate, and the best weights and multipliers met.

    ``x`` holds the primal w, 1 − w, s, t one after the other and ``z`` their multipliers z, y, λ, ν.
    """

    def __init__(self, program: Program, warm: Solution | None) -> None:
        self.program, self.matrix = program, program.attribution.block()
        self.n, self.m = self.matrix.shape
        self.penalty = program.penalties
        self.iterations, self.stalled = 0, 0
        self.objective, self.bound = -np.inf, np.inf
        weights = program.greedy()
        influence = program.influence(weights)
        self._offer_weights(weights, influence)
        # exact where kappa never binds, always binds, or the budget or alpha leaves nothing to choose
        for fraction in (np.zeros(self.m), np.ones(self.m), influence > program.caps):
            lam = np.asarray(self.penalty * fraction, dtype=np.float64)
            self._offer_multipliers(lam, program.rewards - self.matrix @ lam)
        if program.whole:
            self.bound = self.objective
        self.gap = program.gap(self.objective, self.bound)
        if self.gap > 0.0 and np.any(self.penalty > 0.0) and not program.whole:
            squares = np.einsum("ij,ij->i", self.matrix, self.matrix)
            self.norms = squares, np.einsum("ij,ij->j", self.matrix, self.matrix)
            ordinary = 1e-24 < squares.max() < 1e24 and min(self.n, self.m) >= _SINGLE_ORDER
            self.rough: Rough = self.matrix.astype(np.float32) if ordinary else self.matrix
            self._start(*self._guess(warm), spread=1.0 if warm is None else _PUSH)

    def _guess(self, warm: Solution | None) -> tuple[Vector, Vector]:
        """Weights and multipliers well inside their bounds."""
        size, upper = self.program.budget, self.program.upper
        w, lam = self.program.uniform(), self.program.middle()
        if warm is None:
            return w, lam
        if len(warm.weights) != self.n or len(warm.multipliers) != self.m:
            raise InputError(
                f"warm is a solution of {len(warm.weights)} rows × {len(warm.multipliers)} evaluation rows: "
                f"the program has {self.n} × {self.m}"
            )
        old = warm.weights
        missing = size - old.sum()
        room = upper - old if missing > 0 else old
        old = old + missing * room / room.sum() if missing else old
        lam = (1.0 - _PUSH) * np.clip(warm.multipliers, 0.0, self.penalty) + _PUSH * lam
        return (1.0 - _PUSH) * old + _PUSH * w, lam

    def _start(self, w: Vector, lam: Vector, spread: float) -> None:
        influence, reduced = w @ self.matrix, self.program.rewards - self.matrix @ lam
        unit = 1e-3 * np.abs(self.matrix).max()
        self.eta = self.program.level(reduced)
        over, under = influence - self.program.caps, self.eta - reduced
        t, s = _apart(over, spread * float(np.std(over)) + unit)
        z, y = _apart(under, spread * float(np.std(under)) + unit * np.max(self.penalty))
        self.x = np.concatenate([w, self.program.upper - w, s, t])
        self.z = np.concatenate([z, y, lam, self.penalty - lam])
        self._look(influence, reduced)

    def _offer_weights(self, w: Vector, influence: Vector) -> None:
        objective = self.program.objective_at(influence)
        if objective > self.objective:
            self.objective, self.weights = objective, w.copy()

    def _offer_multipliers(self, lam: Vector, reduced: Vector) -> None:
        bound = self.program.bound_at(lam, reduced)
        if bound < self.bound:
            self.bound, self.multipliers = bound, lam.copy()

    def _look(self, influence: Vector, reduced: Vector) -> None:
        n, m = self.n, self.m
        self._offer_weights(self.x[:n], influence)
        self._offer_multipliers(self.z[2 * n : 2 * n + m], reduced)
        gap = self.program.gap(self.objective, self.bound)
        self.stalled = 0 if gap < 0.9 * self.gap else self.stalled + 1
        self.gap = gap

    def advance(self) -> bool:
        """One iteration; False once rounding errors leave nothing to gain."""
        self.iterations += 1
        try:
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                self._iterate()
        except FloatingPointError:
            return False
        return self.stalled < _PATIENCE

    def _iterate(self) -> None:
        n, x, z = self.n, self.x, self.z
        ratio = z[: 2 * n] / x[: 2 * n], x[2 * n :] / z[2 * n :]
        d, e = 1.0 / (ratio[0][:n] + ratio[0][n:]), ratio[1][: self.m] + ratio[1][self.m :]
        products = x * z
        mu = float(products.mean())
        # a residual moves z, y (s, t) by as much, and these are at least mu: one far below does no harm
        self.system = self._factorise(d, e, _RESIDUAL * mu)

        dx, dz, _ = self._direction(-products)
        primal, dual = _longest(x, dx), _longest(z, dz)
        target = float(((x + primal * dx) * (z + dual * dz)).mean() / mu) ** 3 * mu
        aim = target - products - dx * dz
        step = self._direction(aim)
        lengths = _longest(x, step[0]), _longest(z, step[1])
        for _ in range(_CORRECTORS):
            ahead = (x + min(1.0, lengths[0] + 0.1) * step[0]) * (z + min(1.0, lengths[1] + 0.1) * step[1])
            pull = np.maximum(np.clip(ahead, 0.1 * target, 10.0 * target) - ahead, -10.0 * target)
            other = self._direction(aim + pull)
            longer = _longest(x, other[0]), _longest(z, other[1])
            if sum(longer) < sum(lengths) + 0.02:
                break
            aim, step, lengths = aim + pull, other, longer
        self._move(*step, *(_TO_BOUNDARY * length for length in lengths))
        if self.system.steps > _CG_PER_SOLVE * self.system.solves:
            self.rough = self.matrix

    def _factorise(self, d: Vector, e: Vector, accuracy: float) -> NewtonSystem:
        try:
            return newton_system(self.matrix, self.rough, d, e, self.norms, accuracy)
        except FloatingPointError:
            if self.rough is self.matrix:
                raise
            self.rough = self.matrix
            return newton_system(self.matrix, self.matrix, d, e, self.norms, accuracy)

    def _direction(self, aim: Vector) -> tuple[Vector, Vector, float]:
        """The step that changes the products x·z by ``aim`` to first order."""
        n, m, x, z = self.n, self.m, self.x, self.z
        scaled = np.concatenate([aim[: 2 * n] / x[: 2 * n], aim[2 * n :] / z[2 * n :]])
        rows = scaled[:n] - scaled[n : 2 * n]
        evaluation = scaled[2 * n + m :] - scaled[2 * n : 2 * n + m]
        missing = self.program.budget - float(x[:n].sum())
        dw, dlam, deta = self.system.solve(rows, evaluation, missing)
        dx, dz = np.empty_like(x), np.empty_like(z)
        dx[:n], dx[n : 2 * n] = dw, -dw
        dz[2 * n : 2 * n + m], dz[2 * n + m :] = dlam, -dlam
        dz[: 2 * n] = scaled[: 2 * n] - z[: 2 * n] / x[: 2 * n] * dx[: 2 * n]
        dx[2 * n :] = scaled[2 * n :] - x[2 * n :] / z[2 * n :] * dz[2 * n :]
        return dx, dz, deta

    def _move(self, dx: Vector, dz: Vector, deta: float, primal: float, dual: float) -> None:
        n, m = self.n, self.m
        self.x = x = self.x + primal * dx
        self.z = z = self.z + dual * dz
        self.eta += dual * deta
        influence = x[:n] @ self.matrix
        reduced = self.program.rewards - self.matrix @ z[2 * n : 2 * n + m]
        # the larger of each pair follows from the smaller, so rounding never breaks feasibility
        over, under = influence - self.program.caps, self.eta - reduced
        s, t = x[2 * n : 2 * n + m], x[2 * n + m :]
        x[2 * n :] = np.concatenate([np.where(over > 0, s, t - over), np.where(over > 0, s + over, t)])
        low, high = z[:n], z[n : 2 * n]
        z[: 2 * n] = np.concatenate(
            [np.where(under > 0, high + under, low), np.where(under > 0, high, low - under)]
        )
        self._look(influence, reduced)


def _apart(difference: Vector, width: float) -> tuple[Vector, Vector]:
    """Positive a, b with a − b = difference and ab = width²."""
    large = np.hypot(difference / 2, width) + np.abs(difference) / 2
    small = width * (width / large)
    return np.where(difference > 0, large, small), np.where(difference > 0, small, large)


def _longest(x: Vector, dx: Vector) -> float:
    """The longest step up to 1 that keeps x + step·dx ≥ 0."""
    falling = dx < 0
    return min(1.0, float((-x[falling] / dx[falling]).min())) if falling.any() else 1.0
