"""The methods a benchmark compares, by name.

========================  ==========================================================================
``CDVM5k``, ``CDVM10k``   the paper's: so many models at p = 0.03, alpha and kappa from the grid
``CDVM5k-p05``            another p, in percent
``CDVM5k-nokappa``        no cap: the rows of largest total influence
``CDVM5k-default``        the default alpha and kappa instead of the grid
``CDVM5k@5``              the set for 5 % of the rows, followed along all budgets
``CDVM``                  short for CDVM5k-default
``CDVM+refine``           CDVM's rows improved by retraining, see :func:`cdvm.refine`
``CDVM-n``                the paper's setting for nomao: p = 0.1, kappa = 0.2, alpha = 0.1
``InfOpt``                influence pruning, at its best size and direction for each budget *by test
                          accuracy*, as in the paper: an upper bound; ``InfOpt-val`` by validation rows
``DataOOB``, ``Banzhaf``  values of 1,000 models, the highest kept; ``Banzhaf10k``, ``DataOOB-high``
``Random``, ``All``       random rows; every row
any other baseline        by its own name, e.g. ``k_center`` or ``knn_shapley``
========================  ==========================================================================
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from cdvm.benchmark.protocol import Protocol
from cdvm.benchmark.task import Choice, Task
from cdvm.errors import unknown_name
from cdvm.evaluation.comparison import random_sets
from cdvm.evaluation.refinement.refine import refine
from cdvm.learners.paper import PaperLearner
from cdvm.pruner.estimator import CDVM
from cdvm.selectors import learnt_by
from cdvm.selectors.baselines import baseline_names, select_with
from cdvm.valuation import valuation_names

if TYPE_CHECKING:
    from cdvm.selectors.influence_pruning import Removal

__all__ = ["METHODS", "PAPER_METHODS", "Method", "get_method"]

Answer = tuple[list[Choice], float]
Run = Callable[[Task], Answer]

PAPER_METHODS = (
    "CDVM5k",
    "CDVM10k",
    "CDVM",
    "CDVM-n",
    "CDVM5k-nokappa",
    "InfOpt",
    "DataOOB",
    "Banzhaf",
    "Random",
    "All",
)

_CDVM = re.compile(r"CDVM(?P<k>\d+)k(-p(?P<p>\d\d))?(-(?P<mode>nokappa|default)|@(?P<at>\d+))?")


@dataclass(frozen=True)
class Method:
    """A name, what it does with a task, and the data sets it is for (None for all).

    ``run`` answers with the rows for each budget, and the seconds spent before choosing began.
    """

    name: str
    run: Run
    datasets: tuple[str, ...] | None = None

    def suits(self, dataset: str) -> bool:
        return self.datasets is None or dataset in self.datasets


def get_method(name: str) -> Method:
    """A method by name.

    >>> get_method("CDVM5k-p10").name
    'CDVM5k-p10'
    """
    if name in METHODS:
        return METHODS[name]
    if match := _CDVM.fullmatch(name):
        n_models, inclusion = 1000 * int(match["k"]), int(match["p"] or 3) / 100
        if match["at"]:
            return Method(name, partial(_followed, n_models=n_models, target=int(match["at"]) / 100))
        options = _MODES[match["mode"] or "grid"]
        return Method(name, partial(_cdvm, n_models=n_models, inclusion=inclusion, **options))
    if name in valuation_names():
        return Method(name, partial(_valued, method=name))
    if name in baseline_names():
        return Method(name, partial(_selected, method=name))
    raise unknown_name("method", name, [*METHODS, *baseline_names()])


_MODES: dict[str, dict[str, Any]] = {
    "grid": {"tune": "grid"},
    "default": {},
    "nokappa": {"alpha": 1.0},
}


def _pruner(task: Task, n_models: int, inclusion: float, **options: Any) -> tuple[CDVM, float]:
    outcomes, seconds = task.outcomes(n_models, inclusion)
    started = time.process_time()
    pruner = CDVM(
        task.learner, rounding="top", n_jobs=task.n_jobs, random_state=task.seed, progress=False, **options
    )
    pruner.fit_outcomes(task.split, outcomes)
    return pruner, seconds + time.process_time() - started


def _cdvm(task: Task, *, n_models: int, inclusion: float, **options: Any) -> Answer:
    pruner, prepared = _pruner(task, n_models, inclusion, **options)
    started = time.process_time()
    selections = pruner.select(task.budgets)
    seconds = (time.process_time() - started) / len(selections)
    return [
        Choice(len(s), s.rows, alpha=s.alpha, kappa=s.kappa, gap=s.gap, seconds=seconds) for s in selections
    ], prepared


def _refined(task: Task, *, n_models: int, inclusion: float) -> Answer:
    pruner, prepared = _pruner(task, n_models, inclusion)
    answer = []
    for budget in task.budgets:
        started = time.process_time()
        selection = pruner.select(budget)
        better = refine(
            selection, task.split, task.learner, seed=task.seed, n_jobs=task.n_jobs, progress=False
        )
        answer.append(
            Choice(
                budget,
                better.rows,
                alpha=selection.alpha,
                kappa=selection.kappa,
                optimism=better.optimism,
                fits=better.fits,
                seconds=time.process_time() - started,
            )
        )
    return answer, prepared


def _followed(task: Task, *, n_models: int, target: float) -> Answer:
    """The set for one budget kept whole while others come or go by weight, then by total influence."""
    pruner, prepared = _pruner(task, n_models, 0.03, tune="grid")
    started = time.process_time()
    chosen = pruner.select(target)
    seconds = (time.process_time() - started) / len(task.budgets)
    inside = np.isin(np.arange(task.split.n_rows), chosen.rows)
    order = np.lexsort((-pruner.attribution_.row_sums(), -chosen.weights, ~inside))
    kept = [np.sort(order[:budget]) for budget in task.budgets]
    return [Choice(len(k), k, seconds=seconds) for k in kept], prepared


def _valued(task: Task, *, method: str, remove: Literal["low", "high"] = "low", **options: Any) -> Answer:
    """Rows by their values, which are preparation: ranking them takes no time."""
    values, seconds = task.values(method, **options)
    return [Choice(budget, values.top(budget, remove=remove)) for budget in task.budgets], seconds


def _selected(task: Task, *, method: str) -> Answer:
    """A selector chooses for each budget."""
    own: dict[str, Any] = {"seed": task.seed, "n_jobs": task.n_jobs, "progress": False}
    learnt = {what: task.learnt(what) for what in learnt_by(method)}
    own |= {what: found for what, (found, _) in learnt.items()}
    started = time.process_time()
    selections = select_with(task.split, task.learner, method, task.budgets, **own)
    seconds = (time.process_time() - started) / len(selections)
    return [Choice(len(s), s.rows, seconds=seconds) for s in selections], sum(t for _, t in learnt.values())


def _influence_optimisation(task: Task, *, by: Literal["accuracy", "validation"]) -> Answer:
    """The best over all sizes and both directions; by test accuracy, as in the paper, an upper bound.

    Rows that the program marks alike are kept at random, as in the paper.
    """
    same = task.protocol.split_seed is not None  # then the program is that of every repetition
    removals, prepared, seconds = _removals(
        json.dumps(task.protocol.to_dict()), task.dataset, 0 if same else task.repetition
    )
    answer = []
    for budget in task.budgets:
        sets = [
            r.keep(budget, reverse=reverse, seed=task.seed) for r in removals for reverse in (False, True)
        ]
        best = sets[int(task.scored(sets)[by].argmax())]
        answer.append(Choice(budget, best, seconds=seconds))
    return answer, prepared


@lru_cache(maxsize=8)
def _removals(protocol: str, dataset: str, repetition: int) -> tuple[list[Removal], float, float]:
    """What influence pruning removes for each size, the seconds for influence vectors, and those for a size.

    The paper's model stops far from its optimum, where influence functions say little: its influence vectors
    are those of the converged logistic model, which has no randomness.
    """
    from cdvm.selectors.influence_pruning import InfluenceProgram
    from cdvm.valuation.influence import influence_vectors

    task = Task(Protocol.from_dict(json.loads(protocol)), dataset, repetition)
    started = time.process_time()
    model = "logistic" if isinstance(task.learner, PaperLearner) else task.learner
    program = InfluenceProgram(influence_vectors(task.split, model, damping=0.01))
    prepared = time.process_time()
    removals = [program.solve(size) for size in task.budgets if size < task.split.n_rows]
    seconds = (time.process_time() - prepared) / len(task.budgets)
    return removals, prepared - started, seconds


def _random(task: Task) -> Answer:
    draws, n = task.protocol.random_draws, task.split.n_rows
    return [
        Choice(budget, rows, draw=k)
        for budget in task.budgets
        for k, rows in enumerate(random_sets(n, budget, draws, seed=task.seed))
    ], 0.0


def _all(task: Task) -> Answer:
    all_rows: NDArray[np.int64] = np.arange(task.split.n_rows)
    return [Choice(len(all_rows), all_rows)], 0.0


METHODS = {
    method.name: method
    for method in (
        Method("CDVM5k", partial(_cdvm, n_models=5000, inclusion=0.03, tune="grid")),
        Method("CDVM10k", partial(_cdvm, n_models=10_000, inclusion=0.03, tune="grid")),
        Method("CDVM", partial(_cdvm, n_models=5000, inclusion=0.03)),
        Method("CDVM+refine", partial(_refined, n_models=5000, inclusion=0.03)),
        Method("CDVM-n", partial(_cdvm, n_models=5000, inclusion=0.1, alpha=0.1, kappa=0.2), ("nomao",)),
        Method("CDVM5k-nokappa", partial(_cdvm, n_models=5000, inclusion=0.03, alpha=1.0)),
        Method("InfOpt", partial(_influence_optimisation, by="accuracy")),
        Method("InfOpt-val", partial(_influence_optimisation, by="validation")),
        Method("DataOOB", partial(_valued, method="out_of_bag", n_models=1000)),
        Method("DataOOB-high", partial(_valued, method="out_of_bag", n_models=1000, remove="high")),
        Method("Banzhaf", partial(_valued, method="banzhaf", n_models=1000)),
        Method("Banzhaf10k", partial(_valued, method="banzhaf", n_models=10_000)),
        Method("Random", _random),
        Method("All", _all),
    )
}
