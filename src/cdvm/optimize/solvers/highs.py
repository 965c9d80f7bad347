"""The program through HiGHS: the relaxed linear program, and the exact one with whole weights.

Columns are the weights and one excess per evaluation row, rows are the evaluation rows and the budget::

    maximise   Σ_i alpha·(T1)_i w_i − (1 − alpha) Σ_j t_j
    subject to Σ_i T_ij w_i − t_j ≤ kappa,   Σ_i w_i = S,   0 ≤ w ≤ 1,   t ≥ 0

HiGHS' tolerances are absolute, so it is given the program in units of its largest entry. Objective and bound
of the answer are computed here, from T itself; only the bound of the mixed-integer program is HiGHS' own.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
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
        model.setOptionValue("mip_abs_gap", 0.0)  # a small alpha makes a small objective
    scaled, exponent = in_units(
        program if isinstance(program.attribution, MatrixAttribution) else program.densified(), always=True
    )
    lp = _lp(highspy, scaled, integer)
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
    read = _plain_solution if program.conditions is None else _conditioned
    answer = read(program, model, integer, exponent, ended)
    # entries of very different size can still mislead HiGHS about what it has reached
    return answer if answer.gap <= _TOLERANCE + (gap or 0.0) else replace(answer, status="limit")


def _plain_solution(
    program: Program, model: Any, integer: bool, exponent: int, ended: dict[str, Any]
) -> Solution:
    n, m = program.n_rows, program.n_evaluation
    info, solution = model.getInfo(), model.getSolution()
    # an interrupted run may have found nothing: the rows of largest gain are a set, and lambda = 0 a bound
    weights = program.greedy()
    multipliers, bound = np.zeros(m), None
    if bool(solution.value_valid):
        weights = np.asarray(solution.col_value[:n])
    if integer:
        weights, bound = np.round(weights), _proof(info, exponent)
    else:
        # against a large kappa the last digits of duals that should be 0 spoil the bound
        proven = bool(solution.dual_valid)
        duals = [multipliers, np.asarray(solution.row_dual[:m])] if proven else [multipliers]
        multipliers = min(duals, key=program.bound)
    return finish(program, weights, multipliers, iterations=_iterations(info, integer), bound=bound, **ended)


def _conditioned(
    program: Program, model: Any, integer: bool, exponent: int, ended: dict[str, Any]
) -> Solution:
    """The same where HiGHS knows the conditions as rows of its own."""
    conditions, m = program.conditions, program.n_evaluation
    assert conditions is not None
    info, solution = model.getInfo(), model.getSolution()
    if not bool(solution.value_valid):
        raise InputError("time_limit ended HiGHS before it found rows that meet the conditions: raise it")
    n = conditions.members.shape[0]
    blocks = np.asarray(solution.col_value[:n])
    reduced = reduce_program(program)
    multipliers = np.zeros(reduced.program.n_evaluation)
    if not integer and bool(solution.dual_valid):
        dual = np.asarray(solution.row_dual)
        multipliers[:m] = dual[:m]
        for k, (g, sign) in enumerate(reduced.limits):
            multipliers[m + k] = (
                max(sign * float(np.ldexp(dual[m + 1 + g], exponent)), 0.0) / reduced.scale[k]
            )
    bound = _proof(info, exponent) if integer else None
    found = Solution(
        weights=blocks,
        multipliers=np.clip(multipliers, 0.0, reduced.program.penalties),
        objective=0.0,
        bound=reduced.program.bound(multipliers) if bound is None else bound - reduced.constant,
        gap=0.0,
        iterations=_iterations(info, integer),
        **ended,
    )
    return conditioned_solution(reduced, np.round(blocks) if integer else blocks, found)


def _proof(info: Any, exponent: int) -> float | None:
    proof = float(np.ldexp(info.mip_dual_bound, exponent))
    return proof if np.isfinite(proof) else None


def _iterations(info: Any, integer: bool) -> int:
    return int(info.mip_node_count if integer else info.simplex_iteration_count + info.ipm_iteration_count)


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
