"""Data-OOB and memorization, both from one run of bootstrap models evaluated on the training rows themselves.

Data-OOB (Kwon and Zou 2023) is how often the models that did not see a row get it right: low for rows that
contradict the others. Memorization (Feldman and Zhang 2020) is how much more often the models that saw the
row get it right: high for rows that only they themselves explain.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cdvm.data.split import Split
from cdvm.errors import InputError
from cdvm.outcomes.kinds import Outcome
from cdvm.outcomes.recorded import Outcomes
from cdvm.sampling import Design
from cdvm.valuation.base import LearnerLike, Values
from cdvm.valuation.evidence import count_votes, surprise
from cdvm.valuation.runs import record
from cdvm.valuation.stopping import Estimate, StoppingRule

__all__ = ["memorization", "out_of_bag", "record_bootstrap"]

Vector = NDArray[np.float64]
Estimator = Callable[[Outcomes], Estimate]


def record_bootstrap(
    split: Split,
    learner: LearnerLike,
    *,
    n_models: int = 1000,
    outcome: Outcome | None = None,
    stop: StoppingRule | None = None,
    store: str | Path | None = None,
    seed: int = 0,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> Outcomes:
    """Train bootstrap models of as many rows as there are, evaluated on the training rows.

    The outcomes serve both :func:`out_of_bag` and :func:`memorization`. A stopping rule looks at the
    out-of-bag values.
    """
    run = _Run(n_models, outcome, stop, store, seed, n_jobs, progress)
    return run.record(split, learner, _estimate_oob)[0]


def out_of_bag(
    split: Split,
    learner: LearnerLike = None,
    *,
    outcomes: Outcomes | None = None,
    n_models: int = 1000,
    outcome: Outcome | None = None,
    stop: StoppingRule | None = None,
    store: str | Path | None = None,
    seed: int = 0,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> Values:
    """Data-OOB: mean outcome of each row (right or wrong, by default) by models without it.

    Parameters
    ----------
    split : Split
    learner : Learner, str or estimator
        Not needed with ``outcomes``.
    outcomes : Outcomes, optional
        What :func:`record_bootstrap` returned; nothing is trained then.
    n_models : int
        Bootstrap models; with ``stop``, at most.
    outcome : {"answer", "correct", "margin", "squared_error"} or callable, optional
        As in :func:`cdvm.record_outcomes`; "answer", the default for classes, also gives the p-values of
        :mod:`cdvm.valuation.evidence`, and "margin" needs a learner with scores.
    stop : StoppingRule, optional
        End earlier when met.
    store : path, optional
        Directory to keep outcomes in; models found there are not trained again.
    """
    run = _Run(n_models, outcome, stop, store, seed, n_jobs, progress)
    return _values("out_of_bag", split, learner, outcomes, _estimate_oob, run)


def memorization(
    split: Split,
    learner: LearnerLike = None,
    *,
    outcomes: Outcomes | None = None,
    n_models: int = 1000,
    outcome: Outcome | None = None,
    stop: StoppingRule | None = None,
    store: str | Path | None = None,
    seed: int = 0,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> Values:
    """Memorization: mean outcome of each row by models that saw it, less that by models that did not.

    Parameters are those of :func:`out_of_bag`, and so is the run: a store made by one serves the other.
    """
    run = _Run(n_models, outcome, stop, store, seed, n_jobs, progress)
    return _values("memorization", split, learner, outcomes, _estimate_memorization, run)


@dataclass(frozen=True)
class _Run:
    n_models: int
    outcome: Outcome | None
    stop: StoppingRule | None
    store: str | Path | None
    seed: int
    n_jobs: int | None
    progress: bool | None

    def record(self, split: Split, learner: LearnerLike, estimate: Estimator) -> tuple[Outcomes, bool | None]:
        """Outcomes on the training rows, and whether the stopping rule was met."""
        if not isinstance(split, Split) or callable(learner):
            raise InputError("out-of-bag values ask models about single rows: pass a Split and a learner")
        if learner is None:
            raise InputError("learner=None: pass a learner, or outcomes= of models trained already")
        return record(
            replace(split, X_val=split.X, y_val=split.y, evaluation_rows=None),
            learner,
            Design(split.n_rows, 1.0, "bootstrap", self.seed),
            self.n_models,
            estimate,
            outcome=self.outcome or ("answer" if split.task == "classification" else None),
            stop=self.stop,
            store=self.store,
            n_jobs=self.n_jobs,
            progress=self.progress,
        )


def _values(
    method: str,
    split: Split,
    learner: LearnerLike,
    outcomes: Outcomes | None,
    estimate: Estimator,
    run: _Run,
) -> Values:
    started = time.perf_counter()
    converged = None
    if outcomes is None:
        outcomes, converged = run.record(split, learner, estimate)
    elif outcomes.n_evaluation != split.n_rows or outcomes.design.n_rows != split.n_rows:
        raise InputError(
            f"outcomes are of {outcomes.design.n_rows} rows evaluated on "
            f"{outcomes.n_evaluation}: the models must "
            f"be evaluated on the {split.n_rows} training rows, as record_bootstrap does"
        )
    found = estimate(outcomes)
    if np.isnan(found.values).any():
        raise InputError("outcomes: a row is in all or in none of the training sets; record more models")
    votes = count_votes(outcomes, split) if split.task == "classification" else None
    p_values, fraction = (None, None) if votes is None else surprise(votes)
    return Values.of(
        split,
        found.values,
        method,
        stderr=found.stderr,
        counts=found.counts,
        p_values=p_values,
        unexplained=fraction,
        fits=outcomes.n_models,
        converged=converged,
        seconds=time.perf_counter() - started,
    )


def _moments(
    members: sparse.csr_array, answers: NDArray[Any]
) -> tuple[tuple[Vector, Vector, Vector], tuple[Vector, Vector, Vector]]:
    """Count, mean and squared standard error of each row's own outcomes, by models with and without it."""
    n = members.shape[1]
    model = np.repeat(np.arange(len(answers)), np.diff(members.indptr))
    own = answers[model, members.indices].astype(np.float64)
    inside = np.bincount(members.indices, minlength=n).astype(np.float64)
    sums, squares = (_total(members.indices, w, n) for w in (own, own**2))
    total: Vector = answers.sum(axis=0, dtype=np.float64)
    total_squares: Vector = np.einsum("ij,ij->j", answers, answers, dtype=np.float64)
    outside = len(answers) - inside
    return (
        _mean_and_error(inside, sums, squares),
        _mean_and_error(outside, total - sums, total_squares - squares),
    )


def _total(rows: NDArray[Any], weights: Vector, n_rows: int) -> Vector:
    return np.bincount(rows, weights, minlength=n_rows).astype(np.float64)


def _mean_and_error(count: Vector, sums: Vector, squares: Vector) -> tuple[Vector, Vector, Vector]:
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = sums / count
        variance = np.maximum(squares / count - mean**2, 0.0) / (count - 1)
    return count, mean, np.where(count > 1, variance, np.nan)


def _oob(members: sparse.csr_array, answers: NDArray[Any]) -> tuple[Vector, Vector, Vector]:
    count, mean, variance = _moments(members, answers)[1]
    return mean, np.sqrt(variance), count


def _memorization(members: sparse.csr_array, answers: NDArray[Any]) -> tuple[Vector, Vector, Vector]:
    (inside, mean_in, var_in), (outside, mean_out, var_out) = _moments(members, answers)
    return mean_in - mean_out, np.sqrt(var_in + var_out), np.minimum(inside, outside)


def _estimate_oob(outcomes: Outcomes) -> Estimate:
    return _estimate(outcomes, _oob)


def _estimate_memorization(outcomes: Outcomes) -> Estimate:
    return _estimate(outcomes, _memorization)


def _estimate(outcomes: Outcomes, kind: Any) -> Estimate:
    members = outcomes.design.take(outcomes.models).members
    answers = outcomes.values()
    values, error, counts = kind(members, answers)
    first, second = (kind(members[k::2], answers[k::2])[0] for k in (0, 1))
    return Estimate(values, error, counts.astype(np.int64), (first, second))
