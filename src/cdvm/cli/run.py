"""Choose rows with the method a command names."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from cdvm._runtime.cluster import on_cluster
from cdvm.cli.options import refuse_unused
from cdvm.cli.source import Source
from cdvm.errors import InputError
from cdvm.evaluation.refinement.refine import refine
from cdvm.optimize.program import resolve_budget
from cdvm.outcomes.recorded import Outcomes
from cdvm.outcomes.recording import record_outcomes
from cdvm.pruner.estimator import CDVM
from cdvm.sampling import Design, default_inclusion, seed_of
from cdvm.selection import Selection
from cdvm.selectors.baselines import select_with
from cdvm.valuation import valuation_names

__all__ = ["Chosen", "Request", "check_request", "choose", "placed", "record"]


@dataclass(frozen=True)
class Request:
    """How rows are to be chosen, as the command line says it; None leaves a thing to the method."""

    method: str
    remove: str | None
    per_class: bool | None
    models: int | None
    inclusion: float | None
    alpha: float | None
    kappa: float | None
    tune: bool
    refine: bool
    fits: int | None
    store: str | None
    memory_limit: str | None
    seed: int
    jobs: int
    cluster: str | None = None


@dataclass(frozen=True)
class Chosen:
    """Selections by the name of their budget, and what is to be told of how they were found."""

    selections: dict[str, Selection]
    method: str
    details: dict[str, Any]


def check_request(request: Request) -> None:
    """Refuse options that do not go together, before any work is done."""
    given = {
        "remove": request.remove,
        "per_class": request.per_class if request.per_class is None else "given",
        "n_models": request.models,
        "inclusion": request.inclusion,
        "alpha": request.alpha,
        "kappa": request.kappa,
        "tune": request.tune,
        "store": request.store,
        "memory_limit": request.memory_limit,
        "cluster": request.cluster,
    }
    refuse_unused(request.method, given, of_use=["cluster"] if request.refine else [])
    if request.fits is not None and not request.refine:
        raise InputError("--fits says how long to refine: add --refine")
    for flag, value in {"--alpha": request.alpha, "--kappa": request.kappa}.items():
        if request.tune and value is not None:
            raise InputError(f"{flag} {value:g} is fixed and --tune chooses it: leave one of them out")


def choose(source: Source, budgets: dict[str, float], request: Request) -> Chosen:
    """Selections of the requested method, one a budget."""
    for budget in budgets.values():
        resolve_budget(budget, source.split.n_rows)
    find = _by_cdvm if request.method == "cdvm" else _by_baseline
    with placed(request.cluster):
        selections, details = find(source, list(budgets.values()), request)
    return Chosen(dict(zip(budgets, selections, strict=True)), request.method, details)


def placed(cluster: str | None) -> AbstractContextManager[Any]:
    """Where models are trained: on this machine, or on the cluster at an address."""
    return nullcontext() if cluster is None else on_cluster(cluster)


def record(
    source: Source, models: range, *, inclusion: float | None, store: str, seed: int, jobs: int
) -> Outcomes:
    """Outcomes of some of the models that ``choose`` would train with the same settings."""
    split = source.split
    return record_outcomes(
        split,
        source.learner,
        Design(
            split.n_rows,
            default_inclusion(split.n_rows, split.n_classes) if inclusion is None else inclusion,
            seed=seed_of(seed),
        ),
        models,
        store=store,
        n_jobs=jobs,
    )


def _by_cdvm(
    source: Source, budgets: list[float], request: Request
) -> tuple[list[Selection], dict[str, Any]]:
    started = time.perf_counter()
    pruner = CDVM(
        learner=source.learner,
        n_models=5000 if request.models is None else request.models,
        inclusion="auto" if request.inclusion is None else request.inclusion,
        alpha=0.5 if request.alpha is None else request.alpha,
        kappa="auto" if request.kappa is None else request.kappa,
        tune="grid" if request.tune else None,
        refine=_options(request) if request.refine else False,
        store=request.store,
        memory_limit=request.memory_limit,
        n_jobs=request.jobs,
        random_state=request.seed,
    ).fit_split(source.split)
    details = {
        "models": pruner.outcomes_.n_models,
        "inclusion": pruner.outcomes_.design.inclusion,
        "degenerate_models": pruner.outcomes_.degenerate,
        "rows_without_attribution": pruner.attribution_.n_unusable,
        "fit_seconds": time.perf_counter() - started,
    }
    return pruner.select(budgets), details


def _by_baseline(
    source: Source, budgets: list[float], request: Request
) -> tuple[list[Selection], dict[str, Any]]:
    given = {
        "n_models": request.models,
        "inclusion": request.inclusion,
        "store": request.store,
        "per_class": request.per_class,
    }
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    selections = select_with(
        source.split,
        source.learner,
        request.method,
        budgets,
        remove=request.remove or "low",  # type: ignore[arg-type]  # checked there
        seed=request.seed,
        n_jobs=request.jobs,
        **options,
    )
    if request.refine:
        selections = [
            refine(
                s, source.split, source.learner, **_options(request), seed=request.seed, n_jobs=request.jobs
            )
            for s in selections
        ]
    return selections, {"remove": request.remove or "low"} if request.method in valuation_names() else {}


def _options(request: Request) -> dict[str, Any]:
    return {} if request.fits is None else {"fits": request.fits}
