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
from cdvm.optimize.solvers.base import Solution, Status, finish
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
    n, m = program.n_rows, program.n_evaluation
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
    model.passModel(_lp(highspy, scaled, integer))
    built = time.perf_counter()
    model.run()
    solved = time.perf_counter()

    info, solution = model.getInfo(), model.getSolution()
    status = _status(highspy, model)
    found, proven = bool(solution.value_valid), bool(solution.dual_valid)
    # an interrupted run may have found nothing: the rows of largest gain are a set, and lambda = 0 a bound
    weights = np.zeros(n)
    weights[np.argsort(-program.gains, kind="stable")[: program.budget]] = 1.0
    multipliers, bound = np.zeros(m), None
    if found:
        weights = np.asarray(solution.col_value[:n])
    if integer:
        weights = np.round(weights)
        proof = float(np.ldexp(info.mip_dual_bound, exponent))
        bound = proof if np.isfinite(proof) else None
        iterations = int(info.mip_node_count)
    else:
        # against a large kappa the last digits of duals that should be 0 spoil the bound
        duals = [multipliers, np.asarray(solution.row_dual[:m])] if proven else [multipliers]
        multipliers = min(duals, key=program.bound)
        iterations = int(info.simplex_iteration_count + info.ipm_iteration_count)
    answer = finish(
        program,
        weights,
        multipliers,
        status=status,
        iterations=iterations,
        build_seconds=built - started,
        solve_seconds=solved - built,
        method="milp" if integer else "highs",
        bound=bound,
    )
    # entries of very different size can still mislead HiGHS about what it has reached
    return answer if answer.gap <= _TOLERANCE + (gap or 0.0) else replace(answer, status="limit")


def _lp(highspy: Any, program: Program, integer: bool) -> Any:
    n, m = program.n_rows, program.n_evaluation
    matrix: Any = getattr(program.attribution, "matrix")  # noqa: B009  the caller made it one
    evaluation = sparse.hstack([sparse.csr_array(matrix.T), -sparse.eye_array(m)], format="csr")
    budget = sparse.csr_array(np.concatenate([np.ones(n), np.zeros(m)])[None, :])
    constraints = sparse.vstack([evaluation, budget], format="csc")

    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = n + m, m + 1
    lp.sense_ = highspy.ObjSense.kMaximize
    lp.col_cost_ = np.concatenate([program.alpha * program.gains, np.full(m, program.alpha - 1.0)])
    lp.col_lower_ = np.zeros(n + m)
    lp.col_upper_ = np.concatenate([np.ones(n), np.full(m, highspy.kHighsInf)])
    lp.row_lower_ = np.concatenate([np.full(m, -highspy.kHighsInf), [program.budget]])
    lp.row_upper_ = np.concatenate([np.full(m, program.kappa), [program.budget]])
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
    raise RuntimeError(f"HiGHS ended with {model.modelStatusToString(status)}")
