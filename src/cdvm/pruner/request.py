"""Rows by the method that a request names: CDVM, a value, or a selector."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from cdvm._runtime.cluster import on_cluster
from cdvm.data.split import Split
from cdvm.evaluation.refinement.refine import refine
from cdvm.learners import Learner
from cdvm.learners.relatives import stand_in
from cdvm.optimize.program import resolve_budget
from cdvm.outcomes.recorded import Outcomes
from cdvm.outcomes.recording import record_outcomes
from cdvm.pruner.conditions import conditions_on
from cdvm.pruner.estimator import CDVM
from cdvm.report.run import Chosen
from cdvm.sampling import N_MODELS, Design, default_inclusion, seed_of
from cdvm.selectors.baselines import select_with
from cdvm.valuation import valuation_names

__all__ = ["Request", "choose_rows", "placed", "record_models"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """How rows are to be chosen, None leaves a thing to the method.

    ``explain`` keeps what says why, where the method has it.
    """

    method: str = "cdvm"
    remove: str | None = None
    per_class: bool | None = None
    models: int | None = None
    inclusion: float | None = None
    alpha: float | None = None
    kappa: float | None = None
    tune: bool = False
    refine: bool | None = None
    fits: int | None = None
    effort: str | None = None
    proxy: str | None = None
    seconds: float | None = None
    metric: str | None = None
    store: str | None = None
    memory_limit: str | None = None
    seed: int = 0
    jobs: int = -1
    cluster: str | None = None
    explain: bool = False
    within: float | None = None
    at_score: float | None = None
    confidence: float | None = None
    curve: bool = False

    @property
    def searches(self) -> bool:
        """Whether the size of the set is to be found."""
        return self.within is not None or self.at_score is not None


def choose_rows(
    split: Split,
    learner: Learner,
    budgets: dict[str, float],
    request: Request,
    conditions: dict[str, Any] | None = None,
    arrivals: Sequence[tuple[Any, Any]] = (),
) -> Chosen:
    """Selections of the requested method, one a budget.

    ``conditions`` are those of :meth:`CDVM.select`, which other methods do not know; ``arrivals`` are
    features and labels of rows that came after those of the split, for :meth:`CDVM.update`.
    """
    asked = conditions or {}
    n_rows = split.n_rows + sum(len(y) for _, y in arrivals)
    for budget in budgets.values() if "costs" not in asked and not request.searches else ():
        resolve_budget(budget, n_rows)
    if not arrivals:  # before anything is trained
        conditions_on(split, **asked)
    with placed(request.cluster):
        if request.method == "cdvm":
            return _by_cdvm(split, learner, budgets, request, asked, arrivals)
        return _by_baseline(split, learner, budgets, request)


def placed(cluster: str | None) -> AbstractContextManager[Any]:
    """Where models are trained: on this machine, or on the cluster at an address."""
    return nullcontext() if cluster is None else on_cluster(cluster)


def record_models(
    split: Split,
    learner: Learner,
    models: range,
    *,
    inclusion: float | None,
    store: str,
    seed: int,
    jobs: int,
) -> Outcomes:
    """Outcomes of some of the models that :func:`choose_rows` would train with the same settings."""
    learner, split = stand_in("auto", learner, split)
    return record_outcomes(
        split,
        learner,
        Design(
            split.n_rows,
            default_inclusion(split.n_rows, split.n_classes, learner.enough_rows)
            if inclusion is None
            else inclusion,
            seed=seed_of(seed),
        ),
        models,
        store=store,
        n_jobs=jobs,
    )


def _by_cdvm(
    split: Split,
    learner: Learner,
    budgets: dict[str, float],
    request: Request,
    conditions: dict[str, Any],
    arrivals: Sequence[tuple[Any, Any]],
) -> Chosen:
    started = time.perf_counter()
    pruner = CDVM(
        learner=learner,
        proxy=None if request.proxy == "none" else request.proxy or "auto",
        effort=request.effort,  # type: ignore[arg-type]  # checked there
        seconds=request.seconds,
        n_models=N_MODELS if request.models is None else request.models,
        inclusion="auto" if request.inclusion is None else request.inclusion,
        alpha=0.5 if request.alpha is None else request.alpha,
        kappa="auto" if request.kappa is None else request.kappa,
        tune="grid" if request.tune else None,
        refine=_options(request) if request.refine else False,
        store=request.store,
        memory_limit=request.memory_limit,
        n_jobs=request.jobs,
        random_state=request.seed,
    )
    pruner.fit_split(split)
    for X, y in arrivals:
        pruner.update(X, y)
    split = pruner.split_
    asked = conditions_on(split, **conditions)
    compared = pruner._effort != "low" and (asked is None or asked.exact)
    if compared or request.tune or request.refine:  # else it is for the report alone
        pruner.set_params(metric=request.metric)
    seconds = time.perf_counter() - started
    smallest = curve = None
    if request.searches:
        sure: dict[str, Any] = {} if request.confidence is None else {"confidence": request.confidence}
        smallest = pruner.smallest(
            request.within,
            at_score=request.at_score,
            metric=request.metric,
            refine=request.refine,
            **sure,
            **conditions,
        )
        curve = smallest.curve
        selections = {} if smallest.selection is None else dict.fromkeys(budgets, smallest.selection)
    else:
        selections = dict(zip(budgets, pruner.select(budgets.values(), **conditions), strict=True))
    if request.curve:
        parts = [len(selection) / split.n_rows for selection in selections.values()]
        curve = pruner.curve(parts, metric=request.metric, **conditions)
    found = pruner.told(selections, explained=request.explain, fit_seconds=seconds)
    return replace(found, smallest=smallest, curve=curve, split=split if arrivals else None)


def _by_baseline(split: Split, learner: Learner, budgets: dict[str, float], request: Request) -> Chosen:
    given = {
        "n_models": request.models,
        "inclusion": request.inclusion,
        "store": request.store,
        "per_class": request.per_class,
    }
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    selections = select_with(
        split,
        learner,
        request.method,
        list(budgets.values()),
        remove=request.remove or "low",  # type: ignore[arg-type]  # checked there
        seed=request.seed,
        n_jobs=request.jobs,
        **options,
    )
    if request.refine:
        options = {**_options(request), "seed": request.seed, "n_jobs": request.jobs}
        selections = [refine(s, split, learner, metric=request.metric, **options) for s in selections]
    details = {"remove": request.remove or "low"} if request.method in valuation_names() else {}
    return Chosen(dict(zip(budgets, selections, strict=True)), request.method, details)


def _options(request: Request) -> dict[str, Any]:
    return {} if request.fits is None else {"fits": request.fits}
