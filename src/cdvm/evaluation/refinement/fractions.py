"""Fractions of the budget over strata, learnt by retraining.

Single rows drown in noise where a set has hundreds: exchanging one of them moves the score by less than the
evaluation rows can tell. What a *kind* of row is worth can be told. Rows are divided by difficulty and class
(quarter of the targets, for regression); a stratum of difficulty *d* and class *c* is drawn from with density
``exp(a_d + b_c)``, and *a* and *b* are moved towards the sets whose models are best, by the cross-entropy
method.

A set that takes the hard rows is evaluated on what is left, which is easier. Within a stratum the rows left
are a random sample, so the mean of each stratum, weighted by its size, is free of that.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm._runtime.progress import Progress
from cdvm.data.split import Split
from cdvm.evaluation.difficulty import difficulty_bins
from cdvm.evaluation.refinement.scorer import HeldOutScorer, Rows, RowScores

__all__ = ["Strata", "learn_fractions", "stratify"]

Vector = NDArray[np.float64]

_BINS = 6
_SETS = 32  # trained in a round
_BEST = 8  # of which these say where to go
_STEP = 0.5
_LEAST_SPREAD = 0.05
_MOST = 6.0  # densities differ by exp(2 · 6) at most
_NOTHING = 1e-12  # of a weight


@dataclass(frozen=True, eq=False)
class Strata:
    """Training rows by difficulty and class.

    Attributes
    ----------
    code : ndarray
        The stratum of each training row.
    parts : ndarray of shape (n_strata, n_parameters)
        The parameters, one a difficulty and one a class, that add up to a stratum's log density.
    """

    code: Rows
    parts: Vector

    @property
    def counts(self) -> Rows:
        """Rows of each stratum."""
        return np.bincount(self.code, minlength=len(self.parts))

    def draw(self, theta: Vector, size: int, rng: np.random.Generator) -> Rows:
        """A random set of rows, from each stratum in proportion to its size and density."""
        density = np.exp(np.clip(self.parts @ theta, -_MOST, _MOST))
        taken = _apportion(self.counts, density, size, rng)
        found = [
            rows[rng.choice(len(rows), count, replace=False, shuffle=False)]
            for rows, count in zip(self._members, taken.tolist(), strict=True)
            if count
        ]
        return np.sort(np.concatenate(found))

    @cached_property
    def _members(self) -> list[Rows]:
        """Rows of each stratum."""
        return np.split(np.argsort(self.code, kind="stable"), np.cumsum(self.counts)[:-1])

    def of_evaluation(self, rows: Rows, n_evaluation: int) -> Rows:
        """The stratum of each evaluation row; training ``rows`` come last, the others are one stratum."""
        others = np.full(n_evaluation - len(rows), len(self.parts))
        return np.concatenate([others, self.code[rows]])

    def score(self, found: RowScores, rows: Rows, weights: NDArray[Any] | None = None) -> Vector:
        """Mean of the models' scores on the rows outside, each stratum by its size.

        ``rows`` are the training rows among the evaluation rows, which come last; ``weights`` say how much
        each evaluation row counts.
        """
        one_hot = np.eye(len(self.parts) + 1)[self.of_evaluation(rows, found.scores.shape[1])]
        if weights is not None:
            one_hot *= weights[:, None]
        counted = found.outside @ one_hot
        total = np.where(found.outside, found.scores, 0) @ one_hot
        usual = total.sum(axis=0) / np.maximum(counted.sum(axis=0), _NOTHING)
        # of a stratum that a set holds whole, the other sets' mean
        mean = np.where(counted > 0, total / np.maximum(counted, _NOTHING), usual)
        sizes = one_hot.sum(axis=0)
        return np.asarray(mean @ sizes / sizes.sum())


def stratify(split: Split, ease: Vector) -> Strata:
    """Strata by difficulty and class, from :func:`~cdvm.evaluation.difficulty.ease_of_rows`."""
    bins = difficulty_bins(ease, _BINS, task=split.task)
    kind = split.y if split.task == "classification" else _quarters(split.y)
    _, kind = np.unique(kind, return_inverse=True)
    pairs, code = np.unique(np.column_stack([bins, kind]), axis=0, return_inverse=True)
    one_hot = [np.eye(int(column.max()) + 1)[column] for column in pairs.T]
    return Strata(code.ravel().astype(np.int64), np.concatenate(one_hot, axis=1))


def learn_fractions(
    scorer: HeldOutScorer,
    strata: Strata,
    size: int,
    *,
    fits: int,
    seconds: float | None = None,
    draws: int = 3,
    progress: bool | None = None,
) -> list[Rows]:
    """Sets of ``size`` rows drawn with the densities found best, the best of ``draws`` first.

    Parameters
    ----------
    scorer : HeldOutScorer
    strata : Strata
    size : int
    fits : int
        Models to train, about.
    seconds : float, optional
        Time to search, about. Only without it is the answer the same each time.
    draws : int
        Sets to return.
    progress : bool, optional
    """
    rng = np.random.default_rng([scorer.seed, 2])
    n_parameters = strata.parts.shape[1]
    middle, spread = np.zeros(n_parameters), np.ones(n_parameters)
    rounds, started = max(1, fits // _SETS), time.perf_counter()
    weight = np.linspace(1.0, 0.3, _BEST)
    weight /= weight.sum()
    scorer.attune(size)
    with Progress("fractions", rounds, enabled=progress) as bar:
        for number in range(rounds):
            theta = middle + spread * rng.standard_normal((_SETS, n_parameters))
            theta[0] = middle
            sets = np.stack([strata.draw(t, size, rng) for t in theta])
            scores = strata.score(scorer.score_rows(sets, number), scorer.rows, scorer.weights)
            best = theta[np.argsort(-scores, kind="stable")[:_BEST]]
            aim = weight @ best
            middle = middle + _STEP * (aim - middle)
            spread = np.maximum(0.7 * spread + 0.3 * np.sqrt(weight @ (best - aim) ** 2), _LEAST_SPREAD)
            bar.advance()
            if seconds is not None and time.perf_counter() - started > seconds:
                break
        sets = np.stack([strata.draw(middle, size, rng) for _ in range(draws)])
        scores = strata.score(scorer.score_rows(sets, rounds), scorer.rows, scorer.weights)
    return [sets[k] for k in np.argsort(-scores, kind="stable")]


def _apportion(counts: Rows, density: Vector, size: int, rng: np.random.Generator) -> Rows:
    """Rows of each stratum: in proportion to count × density, none above its count, exactly ``size``.

    What is left of whole rows is drawn at random.
    """
    share = counts * density
    full = np.zeros(len(counts), dtype=bool)
    while True:
        free = share * ~full
        wanted = np.where(full, counts, (size - counts[full].sum()) * free / max(free.sum(), 1e-300))
        over = ~full & (wanted > counts)
        if not over.any():
            break
        full |= over
    taken = np.floor(wanted + 1e-9).astype(np.int64)
    rest = np.where(taken < counts, wanted - taken, -1.0)
    missing = size - int(taken.sum())
    if missing > 0:
        with np.errstate(divide="ignore"):
            keys = np.log(np.maximum(rest, 0.0)) + rng.gumbel(size=len(rest))
        keys[rest < 0] = -np.inf
        order = np.lexsort((-rest, -keys))
        taken[order[:missing]] += 1
    return taken


def _quarters(y: NDArray[np.float64]) -> Rows:
    return np.searchsorted(np.quantile(y, [0.25, 0.5, 0.75]), y)
