"""Choose rows with the method a command names."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdvm.baselines import select_with
from cdvm.cli.source import Source
from cdvm.errors import InputError
from cdvm.program import resolve_budget
from cdvm.pruner import CDVM
from cdvm.selection import Selection

__all__ = ["Chosen", "Request", "choose"]


@dataclass(frozen=True)
class Request:
    """How rows are to be chosen, as the command line says it; None leaves a thing to the method."""

    method: str
    remove: str
    per_class: bool | None
    models: int | None
    inclusion: float | None
    alpha: float
    kappa: float | None
    tune: bool
    store: Path | None
    memory_limit: str | None
    seed: int
    jobs: int


@dataclass(frozen=True)
class Chosen:
    """Selections by the name of their budget, and what is to be told of how they were found."""

    selections: dict[str, Selection]
    method: str
    details: dict[str, Any]


def choose(source: Source, budgets: dict[str, float], request: Request) -> Chosen:
    """Selections of the requested method, one a budget."""
    for budget in budgets.values():
        resolve_budget(budget, source.split.n_rows)
    find = _by_cdvm if request.method == "cdvm" else _by_baseline
    selections, details = find(source, list(budgets.values()), request)
    return Chosen(dict(zip(budgets, selections, strict=True)), request.method, details)


def _by_cdvm(
    source: Source, budgets: list[float], request: Request
) -> tuple[list[Selection], dict[str, Any]]:
    if request.remove != "low":
        raise InputError("--remove high needs a method that values rows: add --method, e.g. out_of_bag")
    started = time.perf_counter()
    pruner = CDVM(
        learner=source.learner,
        n_models=5000 if request.models is None else request.models,
        inclusion="auto" if request.inclusion is None else request.inclusion,
        alpha=request.alpha,
        kappa="auto" if request.kappa is None else request.kappa,
        tune="grid" if request.tune else None,
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
        remove=request.remove,  # type: ignore[arg-type]  # checked there
        seed=request.seed,
        n_jobs=request.jobs,
        **options,
    )
    return selections, {"remove": request.remove}
