"""From a program to the rows to keep: solve, round, compare where there is a choice, refine."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cdvm._runtime.parallel import run_tasks
from cdvm._runtime.progress import Progress
from cdvm.attribution.base import Attribution
from cdvm.data.split import Split
from cdvm.errors import InputError, InputWarning
from cdvm.evaluation.refinement.refine import refine
from cdvm.evaluation.scoring import score_sets
from cdvm.learners import Learner
from cdvm.optimize.conditions import Conditions
from cdvm.optimize.path import solve_path
from cdvm.optimize.program import Program
from cdvm.optimize.rounding import class_floors, keep_classes, loss_of, swap_search, top_rows
from cdvm.optimize.solvers.dispatch import DENSE_ENTRIES, Method, Solution, resolve_method, solve
from cdvm.selection import Limit, Selection

__all__ = ["build_program", "select_by_budget"]

_NOTHING = 1e-9  # of the objective: a multiplier that small is rounding
_TUNING = 1e-3  # certified gap of programs that are compared: closer, the choice changes by chance alone
_FITS = 5  # for each set that evaluation rows compare, where the learner has randomness


class _Solved(NamedTuple):
    program: Program
    solution: Solution
    rows: NDArray[np.int64]


def build_program(attribution: Attribution, *, dense: bool = True, progress: bool | None = None) -> Program:
    """A program on T, as an array where that fits (and ``dense`` allows), as an operator where it does not.

    Its budget, alpha and kappa are no one's; :meth:`Program.replace` gives others.
    """
    n, m = attribution.shape
    with Progress("building the program", enabled=progress):
        program = Program(attribution, budget=1, kappa=0.0)
        program = program.densified() if dense and n * m <= DENSE_ENTRIES else program
        _ = program.gains  # computed once here, handed on by replace()
    return program


def select_by_budget(
    program: Program,
    budgets: Sequence[Any],
    *,
    split: Split,
    learner: Learner,
    alphas: Sequence[float],
    kappas: Sequence[float | Literal["auto"]],
    solver: Method = "auto",
    rounding: Literal["swap", "top"] = "swap",
    refining: dict[str, Any] | None = None,
    conditions: Conditions | None = None,
    importance: NDArray[np.float64] | None = None,
    start: NDArray[np.int64] | None = None,
    metric: Any = None,
    tolerance: float | None = None,
    seed: int = 0,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> list[Selection]:
    """The rows to keep for each budget, each solved anew.

    Parameters
    ----------
    program : Program
        Its budget, alpha and kappa do not matter.
    budgets : sequence of int or float
    split : Split
    learner : Learner
    alphas, kappas : sequences of float
        Solved for all combinations; with more than one, to a gap of 1e-3, evaluation rows say which set's
        model is best, and the program that is chosen is solved as closely as one alone.
    solver : str
        Method of :func:`cdvm.solve`.
    rounding : {"swap", "top"}
    refining : dict or None
        Options of :func:`cdvm.refine`; None leaves the rows as they are.
    conditions : Conditions, optional
        On the training rows. Where they have costs, budgets are what may be spent.
    importance : ndarray, optional
        Of every evaluation row.
    start : ndarray, optional
        Training rows that refining begins with, see :func:`_begin`.
    metric : str or scikit-learn scorer, optional
        What evaluation rows compare sets by.
    tolerance : float, optional
        Relative gap at which the solver may stop; its own by default.
    seed, n_jobs, progress : as elsewhere
    """
    started = time.perf_counter()
    if importance is not None:
        program = program.replace(importance=importance)
    program = program if conditions is None else program.replace(conditions=conditions)
    for budget in budgets:
        program.replace(budget=budget)  # complains about one that cannot be
    runs = {"n_jobs": n_jobs, "progress": progress}
    compared = len(alphas) * len(kappas) > 1
    method = resolve_method(program, solver)
    roughly = compared and tolerance is None and method == "interior_point"
    gap = _TUNING if roughly else tolerance
    precision = {} if gap is None else {"tolerance": gap}
    solved = _solve(program, budgets, alphas, kappas, split, method, rounding, runs | precision)
    best, scores = {budget: group[0] for budget, group in solved.items()}, dict[bytes, float]()
    if compared:
        score = partial(_scores, split, learner, seed=seed, runs=runs | {"metric": metric})
        scores = score([s.rows for group in solved.values() for s in group])
        for budget, group in solved.items():
            chosen = max(group, key=lambda s: scores.get(s.rows.tobytes(), -np.inf))  # the first of equals
            best[budget] = chosen
            if roughly:
                best[budget] = _round(chosen.program, solve(chosen.program, method), split, rounding)
                if (key := best[budget].rows.tobytes()) not in scores:  # among the same sets as the others
                    found = score([best[budget].rows, *(s.rows for s in group)])
                    scores |= {key: found[key]} if key in found else {}
    seconds = (time.perf_counter() - started) / len(budgets)
    selections = []
    for budget in budgets:
        chosen = best[budget]
        selection = _selection(chosen, split, scores.get(chosen.rows.tobytes()), seconds)
        if refining is not None:
            if start is not None:
                selection = replace(selection, indices=split.rows[_begin(start, chosen)])
            more = {} if conditions is None else {"conditions": conditions, "budget": chosen.program.budget}
            refined = refine(
                selection, split, learner, **({"seed": seed, "metric": metric} | runs | refining | more)
            )
            objective, gap = loss_of(chosen.program, refined.rows, chosen.solution.bound)
            selection = replace(refined, objective=objective, gap=gap)
        selections.append(selection)
    return selections


def _begin(start: NDArray[np.int64], chosen: _Solved) -> NDArray[np.int64]:
    """Rows to begin with, as many as the budget: of largest weight, and then of those that were chosen."""
    weight, size = chosen.solution.weights, len(chosen.rows)
    first = start[np.argsort(-weight[start], kind="stable")]
    further = np.setdiff1d(chosen.rows, start)
    further = further[np.argsort(-weight[further], kind="stable")]
    return np.sort(np.concatenate([first, further])[:size])


def _solve(
    program: Program,
    budgets: Sequence[Any],
    alphas: Sequence[float],
    kappas: Sequence[float | Literal["auto"]],
    split: Split,
    method: Method,
    rounding: Literal["swap", "top"],
    runs: dict[str, Any],
) -> dict[Any, list[_Solved]]:
    """Rows for each budget and each alpha and kappa."""
    solutions = solve_path(program, budgets, alphas, kappas, method=method, **runs)
    rounded: dict[int, _Solved] = {}
    with Progress("rounded programs", len(solutions), enabled=runs["progress"]) as bar:
        programs = [program.replace(budget=s, alpha=a, kappa=k) for s, a, k in solutions]
        tasks = [
            (one, solution, split, rounding)
            for one, solution in zip(programs, solutions.values(), strict=True)
        ]
        for number, found in run_tasks(_round, tasks, n_jobs=runs["n_jobs"], prefer="threads"):
            rounded[number] = found
            bar.advance()
    solved: dict[Any, list[_Solved]] = {}
    for number, (budget, *_) in enumerate(solutions):
        solved.setdefault(budget, []).append(rounded[number])
    return solved


def _round(program: Program, solution: Solution, split: Split, rounding: Literal["swap", "top"]) -> _Solved:
    if program.conditions is not None:
        return _round_within(program, solution, split, rounding)
    rows = top_rows(program, solution.weights)
    if rounding == "swap":
        rows = swap_search(program, rows)
        if split.task == "classification":
            rows = keep_classes(program, rows, solution.weights, split.y)
    return _Solved(program, solution, rows)


def _round_within(
    program: Program, solution: Solution, split: Split, rounding: Literal["swap", "top"]
) -> _Solved:
    """Rows that fulfil the conditions and, if they allow it, hold some rows of every class."""
    rounded = program
    if split.classes is not None and rounding == "swap" and program.conditions is not None:
        names = [f"class {label}" for label in split.classes]
        floors = class_floors(split.y, program.n_needed)
        rounded = program.replace(conditions=program.conditions.with_least(split.y, floors, names))
    try:
        rows = top_rows(rounded, solution.weights)
    except InputError:
        if rounded is program:
            raise
        warnings.warn(
            "the conditions leave no room for some rows of every class: rows are kept without",
            InputWarning,
            stacklevel=2,
        )
        rounded, rows = program, top_rows(program, solution.weights)
    return _Solved(program, solution, swap_search(rounded, rows) if rounding == "swap" else rows)


def _scores(
    split: Split, learner: Learner, sets: list[NDArray[np.int64]], *, seed: int, runs: dict[str, Any]
) -> dict[bytes, float]:
    """The score on the evaluation rows of each set's model, equal sets trained once."""
    distinct = {rows.tobytes(): rows for rows in sets}
    scores = score_sets(split, learner, list(distinct.values()), repeats=_FITS, seed=seed, **runs)
    return {key: s for key, s in zip(distinct, scores.tolist(), strict=True) if not np.isnan(s)}


def _selection(solved: _Solved, split: Split, score: float | None, seconds: float) -> Selection:
    program, solution = solved.program, solved.solution
    objective, gap = loss_of(program, solved.rows, solution.bound)
    return Selection(
        indices=split.rows[solved.rows],
        n_rows=split.n_table,
        candidates=split.rows,
        weights=solution.weights,
        alpha=program.alpha,
        kappa=program.kappa,
        objective=objective,
        bound=solution.bound,
        gap=gap,
        method=solution.method,
        seconds=seconds,
        score=score,
        limits=_limits(program, solution),
    )


def _limits(program: Program, solution: Solution) -> tuple[Limit, ...]:
    """Conditions on groups that bind, the dearest first."""
    conditions, found = program.conditions, []
    for (group, word), price in solution.prices.items():
        assert conditions is not None
        rows = (conditions.low if word == "at_least" else conditions.high)[
            list(conditions.names).index(group)
        ]
        plain = group.item() if isinstance(group, np.generic) else group
        told = plain if isinstance(plain, str | int | float) else str(plain)
        if price > _NOTHING * abs(solution.objective):
            found.append(Limit(told, word, int(rows), price))
    return tuple(sorted(found, key=lambda limit: -limit.price))
