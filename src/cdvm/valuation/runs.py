"""Runs of subset models for the methods that compare those that saw a row with those that did not."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cdvm.data.split import Split
from cdvm.errors import InputError
from cdvm.learners import make_learner
from cdvm.outcomes.kinds import Outcome
from cdvm.outcomes.recorded import Outcomes
from cdvm.outcomes.recording import record_outcomes
from cdvm.sampling import Design
from cdvm.valuation.base import LearnerLike
from cdvm.valuation.stopping import Estimate, StoppingRule, at_most, in_rounds

__all__ = ["ROUND", "check_models", "models_needed", "record"]

ROUND = 100  # models between two looks at a stopping rule
_DOUBT = 0.01  # probability that a row is in all or none of the sets, when as many models as needed are drawn


def record(
    split: Split,
    learner: LearnerLike,
    design: Design,
    n_models: int,
    estimate: Callable[[Outcomes], Estimate],
    *,
    outcome: Outcome | None = None,
    stop: StoppingRule | None = None,
    store: str | Path | None = None,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> tuple[Outcomes, bool | None]:
    """Outcomes of the design's models, all or until the rule is met; and whether it was (None: no rule)."""
    check_models(design, n_models)
    made = make_learner(learner)

    def train(models: range, progress: bool | None) -> Outcomes:
        return record_outcomes(
            split, made, design, models, outcome=outcome, store=store, n_jobs=n_jobs, progress=progress
        )

    if stop is None:
        return train(range(n_models), progress), None
    so_far: list[Outcomes] = []

    def sample(first: int, last: int) -> None:
        new = train(range(first, last), False)
        so_far[:] = [so_far[0].merge(new) if so_far else new]

    def look() -> Estimate:
        return estimate(so_far[0])

    plan = at_most(n_models, ROUND)
    _, converged = in_rounds(sample, look, plan, stop=stop, what="models", progress=progress)
    return so_far[0], converged


def check_models(design: Design, n_models: int) -> None:
    """Refuse so few models that a row is in all or in none of their training sets."""
    if n_models < 1:
        raise InputError(f"n_models={n_models}: use at least {models_needed(design)}")
    if n_models >= models_needed(design):
        return
    seen = _times_seen(design, n_models)
    unusable = int(((seen == 0) | (seen == n_models)).sum())
    if unusable:
        raise InputError(
            f"n_models={n_models}: {unusable} of the {design.n_rows} rows are in all or in none of the "
            f"training sets, so there is nothing to compare; with inclusion={design.inclusion:g} use "
            f"at least {models_needed(design)} models"
        )


def models_needed(design: Design) -> int:
    """Models after which, very likely, every row was both in and out of a training set.

    >>> models_needed(Design(1000, 0.5)), models_needed(Design(1000, 0.03))
    (18, 401)
    """
    n = design.n_rows
    chance = {
        "bernoulli": design.inclusion,
        "fixed": design.size / n,
        "bootstrap": 1 - (1 - 1 / n) ** design.size,
    }[design.kind]
    rarer = max(chance, 1 - chance)
    if rarer == 1.0:
        raise InputError(f"{n} rows at inclusion={design.inclusion:g}: every row is in every training set")
    return max(2, ceil(log(_DOUBT / (2 * n)) / log(rarer)))


def _times_seen(design: Design, n_models: int) -> NDArray[np.int64]:
    members = design.take(range(n_models)).members
    return np.bincount(members.indices, minlength=design.n_rows)
