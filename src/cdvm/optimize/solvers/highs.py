"""The program through HiGHS: the relaxed linear program, and the exact one with whole weights.

Columns are the weights and one excess per evaluation row, rows are the evaluation rows and the budget::

    maximise   Σ_i alpha·(T1)_i w_i − (1 − alpha) Σ_j t_j
    subject to Σ_i T_ij w_i − t_j ≤ kappa,   Σ_i w_i = S,   0 ≤ w ≤ 1,   t ≥ 0

HiGHS' tolerances are absolute, so it is given the program in units of its largest entry, and an objective
that a small alpha makes small is enlarged. Objective and bound of the answer are computed here, from T
itself; only the bound of the mixed-integer program is HiGHS' own, and what its tolerance may have gained on
every evaluation row is added to it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cdvm.attribution.base import MatrixAttribution
from cdvm.errors import InputError
from cdvm.optimize.program import Program
from cdvm.optimize.reduction import reduce_program
from cdvm.optimize.solvers.base import Solution, Status, finish
from cdvm.optimize.solvers.conditioned import conditioned_solution
from cdvm.optimize.solvers.units import in_units

__all__ = ["solve_lp", "solve_milp"]

_TOLERANCE = 1e-6  # HiGHS' own, on numbers of order one
_MOST_ENLARGED = 30  # powers of two, of an objective that a small alpha makes small
_EXACT = 1e-9  # how far an exact program's rows may be violated, each at its penalty


def solve_lp(program: Program, *, time_limit: float | None = None) -> Solution:
    """The relaxed program to HiGHS' tolerance."""
    return _solve(program, integer=False, time_limit=time_limit, gap=None)


def solve_milp(program: Program, *, time_limit: float | None = None, gap: float = 1e-4) -> Solution:
    """The exact program: whole weights, to a relative gap or a time limit in seconds."""
    return _solve(program, integer=True, time_limit=time_limit, gap=gap)


def _solve(program: Program, *, integer: bool, time_limit: float | None, gap: float | None) -> Solution:
    import highspy

    started = time.perf_counter()
    model = highspy.Highs()  # type: ignore[no-untyped-call]
    model.setOptionValue("output_flag", False)
    if time_limit is not None:
        if not time_limit > 0:
            raise InputError(f"time_limit={time_limit!r}: use a positive number of seconds")
        model.setOptionValue("time_limit", float(time_limit))
    if gap is not None:
        model.setOptionValue("mip_rel_gap", float(gap))
        model.setOptionValue("mip_abs_gap", 0.0)
        for option in ("mip_feasibility_tolerance", "primal_feasibility_tolerance"):
            model.setOptionValue(option, _EXACT)
    scaled, exponent = in_units(
        program if isinstance(program.attribution, MatrixAttribution) else program.densified(), always=True
    )
    lp = _lp(highspy, scaled, integer)
    small = int(np.clip(-np.frexp(np.abs(scaled.rewards).max())[1], 0, _MOST_ENLARGED))
    lp.col_cost_ = np.ldexp(lp.col_cost_, small)
    model.passModel(lp)
    built = time.perf_counter()
    model.run()
    solved = time.perf_counter()
    ended: dict[str, Any] = {
        "status": _status(highspy, model),
        "build_seconds": built - started,
        "solve_seconds": solved - built,
        "method": "milp" if integer else "highs",
    }
    answered = _Answered(
        info=model.getInfo(),
        solution=model.getSolution(),
        integer=integer,
        exponent=exponent,
        enlarged=small,
        slack=_EXACT * _binding_penalties(scaled),
    )
    read = _plain_solution if program.conditions is None else _conditioned
    answer = read(program, answered, ended)
    # entries of very different size can still mislead HiGHS about what it has reached
    return answer if answer.gap <= _TOLERANCE + (gap or 0.0) else replace(answer, status="limit")


def _binding_penalties(program: Program) -> float:
    """Penalties of the evaluation rows that some set gives more than their cap."""
    gains = np.sort(np.maximum(program.attribution.dense(), 0.0), axis=0)[-program.n_needed :]
    binding = gains.sum(axis=0) > program.caps
    return float(np.broadcast_to(program.penalties, binding.shape)[binding].sum())


@dataclass(frozen=True, kw_only=True)
class _Answered:
    """What HiGHS says, in numbers of the program it was asked about.

    T was divided by ``2**exponent``, and then the objective multiplied by ``2**enlarged``. ``slack`` is what
    HiGHS' tolerance may have added to the former's objective.
    """

    info: Any
    solution: Any
    integer: bool
    exponent: int
    enlarged: int
    slack: float

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """Weights, and whatever columns come after; None where an interrupted run has found nothing."""
        return np.asarray(self.solution.col_value) if bool(self.solution.value_valid) else None

    @property
    def duals(self) -> NDArray[np.float64] | None:
        """Of T's rows as they are, and of further ones in units; None where there are none."""
        if self.integer or not bool(self.solution.dual_valid):
            return None
        return np.asarray(np.ldexp(self.solution.row_dual, -self.enlarged))

    @property
    def proof(self) -> float | None:
        """A bound on the exact program."""
        proof = np.ldexp(self.info.mip_dual_bound, -self.enlarged) + self.slack
        return float(np.ldexp(proof, self.exponent)) if self.integer and np.isfinite(proof) else None

    @property
    def iterations(self) -> int:
        """Nodes of an exact program, else steps."""
        info = self.info
        steps = info.simplex_iteration_count + info.ipm_iteration_count
        return int(info.mip_node_count if self.integer else steps)


def _plain_solution(program: Program, answered: _Answered, ended: dict[str, Any]) -> Solution:
    # an interrupted run may have found nothing: the rows of largest gain are a set, and lambda = 0 a bound
    found, duals = answered.weights, answered.duals
    weights = program.greedy() if found is None else found[: program.n_rows]
    multipliers = np.zeros(program.n_evaluation)
    if duals is not None:
        # against a large kappa the last digits of duals that should be 0 spoil the bound
        multipliers = min(multipliers, duals[: program.n_evaluation], key=program.bound)
    weights = np.round(weights) if answered.integer else weights
    proof = answered.proof
    bound = None if proof is None else min(proof, program.bound(multipliers))
    return finish(program, weights, multipliers, iterations=answered.iterations, bound=bound, **ended)


def _conditioned(program: Program, answered: _Answered, ended: dict[str, Any]) -> Solution:
    """The same where HiGHS knows the conditions as rows of its own."""
    conditions, m = program.conditions, program.n_evaluation
    assert conditions is not None
    found, duals, proof = answered.weights, answered.duals, answered.proof
    if found is None:
        raise InputError("time_limit ended HiGHS before it found rows that meet the conditions: raise it")
    blocks = found[: conditions.members.shape[0]]
    reduced = reduce_program(program)
    multipliers = np.zeros(reduced.program.n_evaluation)
    if duals is not None:
        multipliers[:m] = duals[:m]
        for k, (g, sign) in enumerate(reduced.limits):
            price = sign * float(np.ldexp(duals[m + 1 + g], answered.exponent))
            multipliers[m + k] = max(price, 0.0) / reduced.scale[k]
    whole = Solution(
        weights=blocks,
        multipliers=np.clip(multipliers, 0.0, reduced.program.penalties),
        objective=0.0,
        bound=min(reduced.program.bound(multipliers), np.inf if proof is None else proof - reduced.constant),
        gap=0.0,
        iterations=answered.iterations,
        **ended,
    )
    return conditioned_solution(reduced, np.round(blocks) if answered.integer else blocks, whole)


def _lp(highspy: Any, program: Program, integer: bool) -> Any:
    conditions, m = program.conditions, program.n_evaluation
    matrix: Any = getattr(program.attribution, "matrix")  # noqa: B009  the caller made it one
    rewards, prices, counts = program.rewards, np.ones(program.n_rows), np.empty((program.n_rows, 0))
    lower: Any = np.zeros(program.n_rows)
    upper: Any = np.full(program.n_rows, program.upper)
    low, high = np.empty(0), np.empty(0)
    least: float = program.budget
    if conditions is not None:
        matrix, rewards = conditions.members @ matrix, conditions.members @ rewards
        prices, counts, low, high = conditions.prices, conditions.counts, conditions.low, conditions.high
        lower, upper = conditions.fixed[0].astype(float), 1.0 - conditions.fixed[1]
        least = program.budget if conditions.exact else -highspy.kHighsInf
    n = len(prices)
    evaluation = sparse.hstack([sparse.csr_array(matrix.T), -sparse.eye_array(m)], format="csr")
    limits = sparse.csr_array(np.concatenate([prices[None, :], counts.T]))
    further = sparse.hstack([limits, sparse.csr_array((limits.shape[0], m))], format="csr")
    constraints = sparse.vstack([evaluation, further], format="csc")

    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = n + m, m + limits.shape[0]
    lp.sense_ = highspy.ObjSense.kMaximize
    lp.col_cost_ = np.concatenate([rewards, np.full(m, -program.penalties)])
    lp.col_lower_ = np.concatenate([lower, np.zeros(m)])
    lp.col_upper_ = np.concatenate([upper, np.full(m, highspy.kHighsInf)])
    lp.row_lower_ = np.concatenate([np.full(m, -highspy.kHighsInf), [least], low])
    lp.row_upper_ = np.concatenate([np.full(m, program.caps), [program.budget], high])
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = constraints.indptr
    lp.a_matrix_.index_ = constraints.indices
    lp.a_matrix_.value_ = constraints.data
    if integer:
        whole, real = highspy.HighsVarType.kInteger, highspy.HighsVarType.kContinuous
        lp.integrality_ = [whole] * n + [real] * m
    return lp


def _status(highspy: Any, model: Any) -> Status:
    status = model.getModelStatus()
    if status == highspy.HighsModelStatus.kOptimal:
        return "optimal"
    if status in (
        highspy.HighsModelStatus.kTimeLimit,
        highspy.HighsModelStatus.kIterationLimit,
        highspy.HighsModelStatus.kSolutionLimit,
        highspy.HighsModelStatus.kInterrupt,
    ):
        return "limit"
    if status == highspy.HighsModelStatus.kInfeasible:
        raise InputError("the conditions cannot be met together with the budget: loosen one of them")
    raise RuntimeError(f"HiGHS ended with {model.modelStatusToString(status)}")
