"""From a program to the rows to keep: solve, round, compare where there is a choice, refine."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cdvm._runtime.parallel import run_tasks
from cdvm._runtime.progress import Progress
from cdvm.data.split import Split
from cdvm.evaluation.refinement.search import refine
from cdvm.evaluation.scoring import score_sets
from cdvm.learners import Learner
from cdvm.optimize.path import solve_path
from cdvm.optimize.program import Program, resolve_budget
from cdvm.optimize.rounding import keep_classes, loss_of, swap_search, top_rows
from cdvm.optimize.solvers.dispatch import Method, Solution
from cdvm.selection import Selection

__all__ = ["Chooser"]

_FITS = 5  # for each set that evaluation rows compare, where the learner has randomness


class _Solved(NamedTuple):
    program: Program
    solution: Solution
    rows: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Chooser:
    """How rows are chosen by one program, for any budgets.

    Attributes
    ----------
    program : Program
        Its budget, alpha and kappa do not matter.
    split : Split
    learner : Learner
    alphas, kappas : sequences of float
        Solved for all combinations; with more than one, evaluation rows say which set's model is best.
    solver : str
        Method of :func:`cdvm.solve`.
    rounding : {"swap", "top"}
    refining : dict or None
        Options of :func:`cdvm.refine`; None leaves the rows as they are.
    seed : int
    n_jobs : int
    progress : bool, optional
    """

    program: Program
    split: Split
    learner: Learner
    alphas: Sequence[float]
    kappas: Sequence[float | Literal["auto"]]
    solver: Method
    rounding: Literal["swap", "top"]
    refining: dict[str, Any] | None
    seed: int
    n_jobs: int | None
    progress: bool | None

    def choose(self, budgets: Sequence[Any]) -> list[Selection]:
        """The rows to keep for each budget."""
        started = time.perf_counter()
        for budget in budgets:
            resolve_budget(budget, self.split.n_rows)
        solved = self._solve(budgets)
        asked = len(self.alphas) * len(self.kappas) > 1
        scores = self._scores([s.rows for group in solved.values() for s in group]) if asked else {}
        best = {
            budget: max(group, key=lambda s: scores.get(s.rows.tobytes(), 0.0))  # the first of equals
            for budget, group in solved.items()
        }
        seconds = (time.perf_counter() - started) / len(budgets)
        chosen = [(best[budget], scores.get(best[budget].rows.tobytes())) for budget in budgets]
        selections = [self._selection(solved, score, seconds) for solved, score in chosen]
        if self.refining is None:
            return selections
        return [self._refined(solved, s) for (solved, _), s in zip(chosen, selections, strict=True)]

    def _solve(self, budgets: Sequence[Any]) -> dict[Any, list[_Solved]]:
        """Rows for each budget and each alpha and kappa."""
        solutions = solve_path(
            self.program,
            budgets,
            self.alphas,
            self.kappas,
            method=self.solver,
            n_jobs=self.n_jobs,
            progress=self.progress,
        )
        rounded: dict[int, _Solved] = {}
        with Progress("rounded programs", len(solutions), enabled=self.progress) as bar:
            programs = [self.program.replace(budget=s, alpha=a, kappa=k) for s, a, k in solutions]
            tasks = list(zip(programs, solutions.values(), strict=True))
            for number, found in run_tasks(self._round, tasks, n_jobs=self.n_jobs, prefer="threads"):
                rounded[number] = found
                bar.advance()
        solved: dict[Any, list[_Solved]] = {}
        for number, (budget, *_) in enumerate(solutions):
            solved.setdefault(budget, []).append(rounded[number])
        return solved

    def _round(self, program: Program, solution: Solution) -> _Solved:
        rows = top_rows(program, solution.weights)
        if self.rounding == "swap":
            rows = swap_search(program, rows)
            if self.split.task == "classification":
                rows = keep_classes(program, rows, solution.weights, self.split.y)
        return _Solved(program, solution, rows)

    def _scores(self, sets: list[NDArray[np.int64]]) -> dict[bytes, float]:
        """The score on the evaluation rows of each set's model, equal sets trained once."""
        distinct = {rows.tobytes(): rows for rows in sets}
        scores = score_sets(
            self.split,
            self.learner,
            list(distinct.values()),
            repeats=_FITS,
            seed=self.seed,
            n_jobs=self.n_jobs,
            progress=self.progress,
        )
        return {key: s for key, s in zip(distinct, scores.tolist(), strict=True) if not np.isnan(s)}

    def _selection(self, solved: _Solved, score: float | None, seconds: float) -> Selection:
        program, solution = solved.program, solved.solution
        objective, gap = loss_of(program, solved.rows, solution.bound)
        return Selection(
            indices=self.split.rows[solved.rows],
            n_rows=self.split.n_table,
            candidates=self.split.rows,
            weights=solution.weights,
            alpha=program.alpha,
            kappa=program.kappa,
            objective=objective,
            bound=solution.bound,
            gap=gap,
            method=solution.method,
            seconds=seconds,
            score=score,
        )

    def _refined(self, solved: _Solved, selection: Selection) -> Selection:
        own = {"seed": self.seed, "n_jobs": self.n_jobs, "progress": self.progress}
        refined = refine(selection, self.split, self.learner, **(own | (self.refining or {})))
        objective, gap = loss_of(solved.program, refined.rows, solved.solution.bound)
        return replace(refined, objective=objective, gap=gap)
