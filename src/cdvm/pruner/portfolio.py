"""Several ways to choose, decided by the model the rows are for.

Which way of choosing is best depends on the table, the budget and the model: CDVM's program where rows are
few, fractions over strata of difficulty where models are simple, hard rows that a set has not learnt where
they are not, exchanges by retraining on top of each, and sometimes nothing beats chance. A cheap *proxy*
trains the thousands of models that propose; the user's own model, the *principal*, is trained on each
proposal, and on random rows, and decides.

All are scored on the rows outside them and on synthetic ones (:mod:`cdvm.evaluation.synthetic`), against
chance (:mod:`cdvm.pruner.chance`). Of several sets that a way has drawn the mean counts, so that chance,
which draws most, has no luck. The best set of the best way goes on to be refined by the proxy, and is kept
where it is better than what the way chooses.
"""

from __future__ import annotations

import time
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from cdvm._runtime.progress import Progress
from cdvm.evaluation.comparison import random_sets
from cdvm.evaluation.refinement.fractions import learn_fractions
from cdvm.evaluation.refinement.mining import Miner
from cdvm.evaluation.refinement.refine import default_fits, refine_with
from cdvm.evaluation.refinement.scorer import HeldOutScorer, RowScores
from cdvm.learners import (
    BoostingLearner,
    ForestLearner,
    Learner,
    LogisticLearner,
    NeighborsLearner,
    PaperLearner,
    RidgeLearner,
    SklearnLearner,
)
from cdvm.learners.relatives import akin
from cdvm.optimize.conditions import Conditions
from cdvm.optimize.room import random_sets_within
from cdvm.optimize.rounding import class_floors, with_classes
from cdvm.pruner.chance import DRAWS, compare_with_chance
from cdvm.pruner.grounds import Evaluation, Grounds
from cdvm.selection import Candidate, Selection

__all__ = [
    "EFFORTS",
    "Effort",
    "Portfolio",
    "Proposal",
]

Effort = Literal["low", "medium", "high"]
EFFORTS: dict[Effort, float] = {"medium": 1.0, "high": 4.0}  # times the models of a search

_FRACTIONS = 480  # models for the fractions over strata
_ROWS = 400_000  # of all models of a search by trees and the like, about
_USUAL_FITS, _MOST_ROWS = 500, 2_000_000  # so many models all the same, as long as these are their rows
_LEAST_FITS = 128
_MINED = 3  # sets of hard rows
_CHOOSING, _MINING = 520, 192  # models for what they are mined from, and for them
_OWN_MINING = 32  # models of the principal, where the proxy's are of another kind
_ONE_BY_ONE = 1000  # models of a search that are not trained together, at most
_OF_A_CLASS = 2  # rows at least, of those drawn


@dataclass(frozen=True, eq=False)
class Proposal:
    """A set of rows, and what it took to find it."""

    selection: Selection
    fits: int = 0
    seconds: float = 0.0

    @property
    def name(self) -> str:
        """The way of choosing."""
        found = self.selection
        return found.method if found.alpha is None else "program" + "+refine" * found.refined


@dataclass(frozen=True, eq=False)
class Portfolio:
    """How proposals for a budget are made, compared and chosen from.

    Attributes
    ----------
    grounds : Grounds
        What sets are compared on.
    principal : Learner
        The model that decides.
    proxy : Learner
        The model that searches.
    effort : {"medium", "high"}
    seconds : float or None
        Time for the searches of a budget, about.
    seed, n_jobs, progress : as elsewhere
    conditions : Conditions or None
        What all sets have to fulfil; none of them goes by fractions then.
    metric : str, scorer or None
        What sets are compared by. One that is no mean over rows (F1, ROC AUC, a scorer) is compared by right
        answers, with classes of one size where that is nearer to it.
    """

    grounds: Grounds
    principal: Learner
    proxy: Learner
    effort: Effort = "medium"
    seconds: float | None = None
    seed: int = 0
    n_jobs: int | None = -1
    progress: bool | None = None
    conditions: Conditions | None = None
    metric: Any = None

    def choose(self, program: Selection) -> Selection:
        """The best of what the program chose, and of the other ways to choose as many rows."""
        if len(program) == self.grounds.split.n_rows:
            return program
        started = time.perf_counter()
        found = self.decide(self.propose(program))
        return replace(found, seconds=program.seconds + time.perf_counter() - started)

    def propose(self, program: Selection) -> list[Proposal]:
        """Random sets first, then what the program chose, and sets by fractions and of hard rows."""
        starts = [Proposal(program, 0, program.seconds)]
        if self.conditions is not None:
            drawn = random_sets_within(self.conditions, len(program), DRAWS, seed=self.seed)
        else:
            drawn = random_sets(self.grounds.split.n_rows, len(program), DRAWS, seed=self.seed)
            starts += [*self._by_fractions(len(program)), *self._mined(len(program))]
        return [*(Proposal(self._of(rows, "random")) for rows in drawn), *starts]

    def decide(self, proposals: list[Proposal]) -> Selection:
        """The proposal that is best for the principal, refined where that is better still."""
        scorer = self._scorer(self.principal)
        with Progress("comparing ways to choose", len(proposals), enabled=self.progress) as bar:
            outcomes = scorer.score_rows(_sets(proposals), bar=bar)
        strata = self.grounds.strata.of_evaluation(scorer.rows, outcomes.scores.shape[1])
        real = self._real(len(strata))
        scores, _ = compare_with_chance(outcomes, strata, scorer.weights, real)
        refined = [self._refined(proposals[k]) for k in self._to_refine(proposals, scores)]
        if refined:
            proposals = [*proposals, *refined]
            outcomes = _joined(outcomes, scorer.score_rows(_sets(refined)))
        scores, errors = compare_with_chance(outcomes, strata, scorer.weights, real)
        board = _leaderboard(proposals, scorer.level + scores, errors)
        kept = max(_ways(proposals)[board[0].name], key=lambda k: scores[k])
        return replace(
            proposals[kept].selection,
            score=board[0].score,
            leaderboard=board,
            agreement=self._agreement(proposals, scores, strata),
        )

    def _to_refine(self, proposals: list[Proposal], scores: NDArray[np.float64]) -> list[int]:
        """The best set of the best way; with high effort, of the two best.

        None where fewer trees than a set has rows would search: what they find is mostly a score.
        """
        size = len(proposals[0].selection)
        if isinstance(self.proxy, ForestLearner | BoostingLearner) and self._refining_fits(size) < size:
            return []
        ways = sorted(_ways(proposals).values(), key=lambda sets: -scores[sets].mean())
        return [max(sets, key=lambda k: scores[k]) for sets in ways[: 2 if self.effort == "high" else 1]]

    def _by_fractions(self, size: int) -> list[Proposal]:
        started = time.perf_counter()
        # labels of rows outside take part in the strata, so synthetic rows alone say what a stratum is worth
        scorer = self._scorer(self.proxy, None if self.grounds.given is None else "validation")
        sets = learn_fractions(
            scorer,
            self.grounds.strata,
            size,
            fits=int(self._affordable(_FRACTIONS, size) * EFFORTS[self.effort]),
            seconds=self._share,
            progress=self.progress,
        )
        seconds = time.perf_counter() - started
        return [Proposal(self._of(rows, "fractions"), scorer.fits, seconds) for rows in sets]

    def _mined(self, size: int) -> list[Proposal]:
        """Sets of hard rows; none where validation rows alone can tell what is good."""
        if self.grounds.evaluation == "validation":
            return []
        started, miner = time.perf_counter(), self._miner(self.proxy)
        alone = akin(self.principal, self.proxy)
        seconds = None if self._share is None else self._share / (2 if alone else 3)
        scale = EFFORTS[self.effort] * min(1.0, max(_LEAST_FITS, _MOST_ROWS // size) / (_CHOOSING + _MINING))
        among = miner.choose(size, fits=int(scale * _CHOOSING), seconds=seconds)
        sets = miner.draw(among, size, _MINED, fits=int(scale * _MINING), seconds=seconds)
        fits, took = miner.fits, time.perf_counter() - started
        found = [Proposal(self._of(rows, "mining"), fits, took) for rows in sets]
        if not alone:
            own = self._miner(self.principal)
            rows = own.go_on(sets[0], among, fits=int(_OWN_MINING * EFFORTS[self.effort]), seconds=seconds)
            took = time.perf_counter() - started
            found.append(Proposal(self._of(rows, "own mining"), fits + own.fits, took))
        return found

    def _miner(self, learner: Learner) -> Miner:
        own: dict[str, Any] = {"n_jobs": self.n_jobs, "progress": self.progress}
        return Miner(self._scorer(learner), learner, self.grounds.difficulty, **own)

    def _refined(self, start: Proposal) -> Proposal:
        started = time.perf_counter()
        refined = refine_with(
            self._scorer(self.proxy),
            start.selection,
            fits=self._refining_fits(len(start.selection)),
            seconds=self._share,
            progress=self.progress,
            conditions=self.conditions,
        )
        seconds = start.seconds + time.perf_counter() - started
        return Proposal(refined, start.fits + (refined.fits or 0), seconds)

    def _refining_fits(self, size: int) -> int:
        found = self._affordable(default_fits(self._scorer(self.proxy), size), size)
        return int(found * EFFORTS[self.effort])

    def _affordable(self, fits: int, size: int) -> int:
        """Models of a search on sets of a size: thousands where the rows of a model hardly cost anything."""
        if isinstance(self.proxy, LogisticLearner | RidgeLearner | NeighborsLearner | PaperLearner):
            return fits
        if isinstance(self.proxy, SklearnLearner):
            fits = min(fits, _ONE_BY_ONE)
        least = max(_LEAST_FITS, min(_USUAL_FITS, _MOST_ROWS // size))
        return min(fits, max(_ROWS // size, least))

    @property
    def _share(self) -> float | None:
        """Of the time, for one of the searches."""
        return None if self.seconds is None else self.seconds / (4 if self.effort == "high" else 3)

    def _of(self, rows: NDArray[np.int64], method: str) -> Selection:
        """A set that was drawn, with no class left out."""
        split = self.grounds.split
        if split.classes is not None and self.conditions is None:
            y, rng = split.y, np.random.default_rng([self.seed, 3])
            floors = np.minimum(class_floors(y, len(rows)), _OF_A_CLASS)
            rows = with_classes(rows, y, floors, rng.permutation(len(y)))
        return Selection.of_rows(split, rows, method=method, seconds=0.0)

    def _scorer(self, learner: Learner, evaluation: Evaluation | None = None) -> HeldOutScorer:
        """One that counts its own models; what all of a learner's share is made once."""
        evaluation = evaluation or self.grounds.evaluation
        key = learner is self.principal, evaluation
        if key not in self._scorers:
            self._scorers[key] = self._bind(learner, evaluation)
        return copy(self._scorers[key])

    @cached_property
    def _scorers(self) -> dict[tuple[bool, Evaluation], HeldOutScorer]:
        return {}

    def _bind(self, learner: Learner, evaluation: Evaluation) -> HeldOutScorer:
        grounds = self.grounds
        return HeldOutScorer(
            grounds.split if learner is self.principal else grounds.proxy_split,
            learner,
            metric=self.metric,
            evaluation=evaluation,
            seed=self.seed,
            n_jobs=self.n_jobs,
        )

    def _real(self, n_evaluation: int) -> NDArray[np.bool_]:
        """Which evaluation rows are not synthetic: the validation rows given, and the training rows."""
        real, given, y_val = np.ones(n_evaluation, dtype=bool), self.grounds.given, self.grounds.split.y_val
        if given is not None and y_val is not None:
            real[given : len(y_val)] = False
        return real

    def _agreement(
        self, proposals: list[Proposal], scores: NDArray[np.float64], strata: NDArray[np.int64]
    ) -> float | None:
        """Rank correlation of the proxy's and the principal's scores; None where they are one model."""
        if self.proxy is self.principal:
            return None
        scorer = self._scorer(self.proxy)
        own, _ = compare_with_chance(scorer.score_rows(_sets(proposals)), strata, scorer.weights)
        if np.ptp(own) == 0 or np.ptp(scores) == 0:
            return None
        return float(spearmanr(own, scores).statistic)


def _sets(proposals: list[Proposal]) -> NDArray[np.int64]:
    return np.stack([p.selection.rows for p in proposals])


def _joined(some: RowScores, more: RowScores) -> RowScores:
    return RowScores(
        np.concatenate([some.scores, more.scores]),
        np.concatenate([some.right, more.right]),
        np.concatenate([some.outside, more.outside]),
    )


def _ways(proposals: list[Proposal]) -> dict[str, list[int]]:
    """Which proposals are of each way."""
    found: dict[str, list[int]] = {}
    for k, p in enumerate(proposals):
        found.setdefault(p.name, []).append(k)
    return found


def _leaderboard(
    proposals: list[Proposal], scores: NDArray[np.float64], errors: NDArray[np.float64]
) -> tuple[Candidate, ...]:
    """Ways by the mean of their sets; the best comes first and is kept."""
    ways = sorted(_ways(proposals).items(), key=lambda way: -scores[way[1]].mean())
    return tuple(
        Candidate(
            name,
            float(scores[sets].mean()),
            float(errors[sets].mean()),
            proposals[sets[0]].fits,
            proposals[sets[0]].seconds,
            kept=place == 0,
        )
        for place, (name, sets) in enumerate(ways)
    )
