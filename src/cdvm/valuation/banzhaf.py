"""Data Banzhaf by maximum sample reuse (Wang and Jia 2023).

With training sets that hold each row with probability *p*, the value of a row is the mean utility of the sets
with it less the mean utility of those without. Every model serves every row, and the models of a CDVM run
serve too: the value is the row mean of their :class:`~cdvm.attribution.base.Attribution`.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cdvm.attribution.implicit import ImplicitAttribution
from cdvm.data.split import Split
from cdvm.errors import InputError, InputWarning
from cdvm.outcomes.kinds import Outcome
from cdvm.outcomes.recorded import Outcomes
from cdvm.sampling import Design, DesignKind
from cdvm.valuation.base import Game, LearnerLike, Players, Values
from cdvm.valuation.runs import ROUND, check_models, models_needed, record
from cdvm.valuation.semivalues import MOST_EXACT, banzhaf_weights, enumerate_values
from cdvm.valuation.stopping import Estimate, StoppingRule, at_most, in_rounds

__all__ = ["banzhaf", "banzhaf_from_outcomes"]


def banzhaf(
    split: Players,
    learner: LearnerLike,
    *,
    n_models: int = 1000,
    inclusion: float = 0.5,
    design: DesignKind = "bernoulli",
    exact: bool | None = None,
    outcome: Outcome | None = None,
    stop: StoppingRule | None = None,
    store: str | Path | None = None,
    seed: int = 0,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> Values:
    """Banzhaf values of the training rows.

    Parameters
    ----------
    split : Split or int
        A number of rows is enough where ``learner`` is a utility.
    learner : Learner, str, estimator or callable
        Or the utility itself, a function from Subsets to one number per subset.
    n_models : int
        Fits; with ``stop``, at most.
    inclusion : float
        *p*, strictly between 0 and 1.
    design : {"bernoulli", "fixed", "bootstrap"}
    exact : bool, optional
        Try all 2^n training sets, weighted, instead of sampling; by default where that is no more fits.
    outcome : {"correct", "margin", "squared_error"} or callable, optional
        What is averaged over the evaluation rows, as in :func:`cdvm.record_outcomes`; "margin" needs a
        learner with scores.
    stop : StoppingRule, optional
        End earlier when met.
    store : path, optional
        Directory to keep outcomes in; models found there are not trained again.

    Examples
    --------
    >>> banzhaf(3, lambda sets: (sets.sizes > 0).astype(float)).values
    array([0.25, 0.25, 0.25])
    """
    n = split.n_rows if isinstance(split, Split) else split
    drawn = Design(n, inclusion, design, seed)
    accuracy = outcome in (None, "correct") and (not isinstance(split, Split) or split.task != "regression")
    if exact and not accuracy:
        raise InputError("exact=True averages accuracy only: use exact=False for other outcomes")
    if exact is None:
        sampled = design != "bernoulli" or stop is not None or store is not None
        sampled |= isinstance(split, Split) and split.evaluation_rows is not None
        exact = accuracy and not sampled and n <= MOST_EXACT and 2**n <= n_models
    if exact:
        return _exactly(split, learner, inclusion, seed=seed, n_jobs=n_jobs, progress=progress)
    if callable(learner):
        if store is not None or outcome is not None:
            raise InputError("store= and outcome= are about trained models: pass a learner, not a utility")
        return _of_utility(split, learner, drawn, n_models, stop, progress)
    if not isinstance(split, Split):
        raise InputError(f"split={split!r}: to train a learner pass a Split, not a number of rows")
    started = time.perf_counter()
    outcomes, converged = record(
        split,
        learner,
        drawn,
        n_models,
        _estimate,
        outcome=outcome,
        stop=stop,
        store=store,
        n_jobs=n_jobs,
        progress=progress,
    )
    values = banzhaf_from_outcomes(outcomes, split)
    values.meta.update(converged=converged, seconds=time.perf_counter() - started)
    return values


def banzhaf_from_outcomes(outcomes: Outcomes, split: Split | None = None) -> Values:
    """Banzhaf values from models that were trained already, at no further cost.

    Parameters
    ----------
    outcomes : Outcomes
    split : Split, optional
        Tells where the rows stood in the user's table.
    """
    attribution = ImplicitAttribution.from_outcomes(outcomes)
    if attribution.n_unusable == attribution.shape[0]:
        raise InputError(
            f"outcomes of {outcomes.n_models} models: every row is in all or in none of their training "
            f"sets; use at least {models_needed(outcomes.design)} models"
        )
    if attribution.n_unusable:
        warnings.warn(
            f"{attribution.n_unusable} rows are in all or in none of the {outcomes.n_models} training sets: "
            f"their value is 0. {models_needed(outcomes.design)} models would be enough",
            InputWarning,
            stacklevel=2,
        )
    return _as_values(
        outcomes.design.n_rows if split is None else split,
        attribution,
        inclusion=outcomes.design.inclusion,
        exact=False,
        fits=outcomes.n_models,
    )


def _as_values(split: Players, attribution: ImplicitAttribution, **meta: Any) -> Values:
    stderr, counts = attribution.values_stderr(), attribution.counts
    return Values.of(split, attribution.values(), "banzhaf", stderr=stderr, counts=counts, **meta)


def _exactly(
    split: Players,
    utility: LearnerLike,
    inclusion: float,
    *,
    seed: int,
    n_jobs: int | None,
    progress: bool | None,
) -> Values:
    started = time.perf_counter()
    game = Game(split, utility, n_jobs=n_jobs)
    values = enumerate_values(game, banzhaf_weights(game.n_rows, inclusion), seed=seed, progress=progress)
    seconds = time.perf_counter() - started
    meta: dict[str, Any] = {"exact": True, "fits": game.evaluations, "seconds": seconds}
    return Values.of(split, values, "banzhaf", inclusion=inclusion, **meta)


def _of_utility(
    split: Players,
    utility: LearnerLike,
    design: Design,
    n_models: int,
    stop: StoppingRule | None,
    progress: bool | None,
) -> Values:
    """Sample a utility that is a function: one number a set, in the place of outcomes."""
    started = time.perf_counter()
    check_models(design, n_models)
    game = Game(design.n_rows, utility)
    members: list[sparse.csr_array] = []
    worth: list[NDArray[np.float64]] = []

    def sample(first: int, last: int) -> None:
        subsets = design.take(range(first, last))
        members.append(subsets.members)
        worth.append(game(subsets))

    def attribution() -> ImplicitAttribution:
        return ImplicitAttribution(sparse.vstack(members, format="csr"), np.concatenate(worth)[:, None])

    def look() -> Estimate:
        return _estimate_from(attribution())

    plan = at_most(n_models, ROUND)
    _, converged = in_rounds(sample, look, plan, stop=stop, what="sets", progress=progress)
    meta = {"inclusion": design.inclusion, "exact": False, "fits": game.evaluations}
    seconds = time.perf_counter() - started
    return _as_values(split, attribution(), converged=converged, seconds=seconds, **meta)


def _estimate(outcomes: Outcomes) -> Estimate:
    return _estimate_from(ImplicitAttribution.from_outcomes(outcomes))


def _estimate_from(attribution: ImplicitAttribution) -> Estimate:
    members, worth = attribution.members, attribution.outcomes
    even, odd = (ImplicitAttribution(members[k::2], worth[k::2]).values() for k in (0, 1))
    rarer = np.minimum(attribution.counts, attribution.n_models - attribution.counts)
    return Estimate(attribution.values(), attribution.values_stderr(), rarer, (even, odd))
