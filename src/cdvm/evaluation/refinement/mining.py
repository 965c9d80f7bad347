"""Hard rows that a set has not learnt yet, mined from the others.

Rows that a model gets right without having seen them teach it little, so a set is best filled with rows that
models of *the set itself* find hard. (Rows that are hard for models of many rows are a dense band along the
boundary, of which a few would do.) A set is begun at random. Round after round it is cross-validated, and
asked about the rows outside it; its easiest rows then leave for the hardest outside, fewer each round.

Some rows are too hard: those with wrong labels are the hardest of all, and few rows learn an easy task best.
So a fraction of the rows, hardest first by models of half of all rows, is left out from the beginning. Which
one depends on the table, the model and the budget, and the rows outside a set cannot tell: on easy ones
everybody is right. Fractions are therefore compared by cross-fitting: what is hard is found without a fold of
the rows, sets are mined from the others, and their models are asked about the fold, which no choice has seen.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm._runtime.progress import Progress
from cdvm.evaluation.difficulty import PARTS, Difficulty, ease_around
from cdvm.evaluation.refinement.scorer import HeldOutScorer, Rows
from cdvm.learners import Learner

__all__ = ["Miner"]

Vector = NDArray[np.float64]

_LEAST_ROUNDS = 4
_EXCHANGED = 1.2  # times a set, in all rounds together
# left out: of the rows that are usually wrong, and of all rows beside these
_LEFT_OUT = ((0.0, 0.0), (0.5, 0.0), (1.0, 0.0), (1.0, 0.07), (1.0, 0.2), (1.0, 0.35))
_FIRST = (1, 2, 3)  # of these are tried, and then those beside the best
_TRIED = 4  # in the end, mostly


class Miner:
    """Sets of hard rows for one learner.

    Parameters
    ----------
    scorer : HeldOutScorer
        With the training rows among its evaluation rows.
    learner : Learner
        The scorer's.
    difficulty : Difficulty
        How hard the scorer's training rows are for it.
    n_jobs : int
    progress : bool, optional
    """

    def __init__(
        self,
        scorer: HeldOutScorer,
        learner: Learner,
        difficulty: Difficulty,
        *,
        n_jobs: int | None = -1,
        progress: bool | None = None,
    ) -> None:
        self._scorer, self._difficulty, self._progress = scorer, difficulty, progress
        self._trainer = learner.bind(scorer.split, scorer.split.X)
        self._n_jobs, self._fits = n_jobs, 0

    @property
    def fits(self) -> int:
        """Models trained so far."""
        return self._fits + self._scorer.fits

    def choose(self, size: int, *, fits: int, seconds: float | None = None) -> Rows:
        """The rows that sets of ``size`` are best mined from: all without the best fraction.

        ``fits`` is about how many models are trained, ``seconds`` about how long that takes at most.
        """
        rounds = max(_LEAST_ROUNDS // 2, fits // (PARTS * len(self._difficulty.without) * _TRIED))
        fraction = self._choose(size, rounds, _until(seconds))
        return easier(np.arange(len(self._difficulty.ease)), self._difficulty.ease, fraction, size)

    def draw(
        self, among: Rows, size: int, draws: int, *, fits: int, seconds: float | None = None
    ) -> list[Rows]:
        """Sets of ``size`` rows mined from those given, begun at random."""
        rng = np.random.default_rng([self._scorer.seed, 7])
        rounds = max(_LEAST_ROUNDS, fits // (PARTS * draws))
        sets = _random([among] * draws, size, rng)
        return self._mine(sets, [among] * draws, rng, rounds, _until(seconds))

    def go_on(self, rows: Rows, among: Rows, *, fits: int, seconds: float | None = None) -> Rows:
        """A set that was mined by a relative, mined on by the learner: exchanges half as many rows."""
        rng = np.random.default_rng([self._scorer.seed, 8])
        rounds = max(_LEAST_ROUNDS, fits // PARTS)
        return self._mine([rows], [among], rng, rounds, _until(seconds), _EXCHANGED / 2)[0]

    def _choose(self, size: int, rounds: int, until: float = math.inf) -> float:
        """The fraction that is best left out of all rows, as far as the folds can tell in time."""
        fractions, new = self._fractions(), list(_FIRST)
        scores: dict[int, float] = {}
        while new:
            found = self._cross_fit([fractions[k] for k in new], size, rounds, until)
            scores |= dict(zip(new, found, strict=True))
            best = max(scores, key=lambda k: scores[k])
            new = [k for k in (best - 1, best + 1) if 0 <= k < len(fractions) and k not in scores]
            if time.perf_counter() > until:
                break
        return fractions[best]

    def _fractions(self) -> list[float]:
        """What may be left out."""
        wrong = 0.0
        if self._scorer.split.task == "classification":
            wrong = float((self._difficulty.ease < 0).mean())
        return [of_wrong * wrong + beside for of_wrong, beside in _LEFT_OUT]

    def _cross_fit(
        self, fractions: list[float], size: int, rounds: int, until: float = math.inf
    ) -> list[float]:
        """For each fraction, how often models of sets mined without a fold are right about the fold."""
        scorer, folds = self._scorer, self._difficulty.folds
        others = [np.flatnonzero(folds != k) for k in range(len(self._difficulty.without))]
        size = max(1, round(size * min(map(len, others)) / len(folds)))
        among = [
            easier(rows, ease, fraction, size)
            for fraction in fractions
            for rows, ease in zip(others, self._difficulty.without, strict=True)
        ]
        rng = np.random.default_rng([scorer.seed, 6])
        sets = self._mine(_random(among, size, rng), among, rng, rounds, until)
        right = scorer.score_rows(np.stack(sets)).right[:, len(scorer.y) - len(scorer.rows) :]
        weights = scorer.weights[len(scorer.y) - len(scorer.rows) :]
        asked = np.stack([np.where(folds[scorer.rows] == k, weights, 0.0) for k in range(len(others))])
        found = right.reshape(len(fractions), *asked.shape) * asked
        return [float(x) for x in found.sum(axis=(1, 2))]

    def _mine(
        self,
        sets: list[Rows],
        among: Sequence[Rows],
        rng: np.random.Generator,
        rounds: int,
        until: float = math.inf,
        exchanged: float = _EXCHANGED,
    ) -> list[Rows]:
        """Exchange rows of each set for some of those it is among, ``exchanged`` times its size at most."""
        first = min(1.0, 2 * exchanged / rounds) * len(sets[0])
        with Progress("hard rows", rounds, enabled=self._progress) as bar:
            for number in range(rounds):
                own: dict[str, Any] = {"seed": self._scorer.seed, "number": number, "n_jobs": self._n_jobs}
                ease = ease_around(self._trainer, sets, rng, **own)
                self._fits += PARTS * len(sets)
                most = max(1, int(first * (1 - number / rounds)))
                sets = [exchange(*given, most, rng) for given in zip(sets, among, ease, strict=True)]
                bar.advance()
                if time.perf_counter() > until:
                    break
        return [np.sort(rows) for rows in sets]


def _random(among: Sequence[Rows], size: int, rng: np.random.Generator) -> list[Rows]:
    return [rng.choice(rows, size, replace=False) for rows in among]


def _until(seconds: float | None) -> float:
    return math.inf if seconds is None else time.perf_counter() + seconds


def easier(rows: Rows, ease: Vector, fraction: float, size: int) -> Rows:
    """The rows without a fraction of them, hardest first; ``size`` are left at least.

    >>> easier(np.array([0, 1, 3]), np.array([0.2, -1.0, 0.0, 0.9]), 0.4, 1)
    array([0, 3])
    """
    order = rows[np.argsort(ease[rows], kind="stable")]
    return order[min(int(fraction * len(rows)), len(rows) - size) :]


def exchange(inside: Rows, among: Rows, ease: Vector, most: int, rng: np.random.Generator) -> Rows:
    """A set with its easiest rows, ``most`` of them at most, exchanged for harder ones among the given.

    >>> ease = np.array([0.1, 0.5, 0.9, 0.2, 0.3])
    >>> np.sort(exchange(np.array([1, 2]), np.arange(4), ease, 1, np.random.default_rng(0)))
    array([0, 1])
    """
    outside = rng.permutation(np.setdiff1d(among, inside))  # of equally hard ones chance decides
    inside = rng.permutation(inside)
    outside = outside[np.argsort(ease[outside], kind="stable")][:most]
    inside = inside[np.argsort(-ease[inside], kind="stable")]
    leaving, staying = np.split(inside, [len(outside)])
    harder = ease[outside] < ease[leaving]
    return np.concatenate([staying, np.where(harder, outside, leaving)])
