"""From S rows to better S rows, by real retraining.

Attributions are a linear view of a model: they do not see how rows work together. Where a model costs a
tenth of a millisecond it can be asked itself. In every round sets that exchange a few rows of the best set
so far are trained and compared with it by a :class:`~cdvm.evaluation.refinement.scorer.HeldOutScorer`; the
best of them takes its place.

Nothing that was trained is wasted: the covariance of a row's presence with the gains of the last rounds'
sets, ``v_i = Σ (g_k − ḡ)(x_ik − x̄_i) / (Σ (x_ik − x̄_i)² + 1)`` with older rounds counting less, says what
the row does *around this set*. Rows leave and enter with probabilities that grow with −v and v, and some
sets simply exchange the worst for the best.

No exchange leaves a class with fewer rows than :func:`~cdvm.optimize.rounding.class_floors` asks for, or than
it has.

One evaluation row in ten is held back. They say how much of the gain is real, and where they find the best
set worse than the start, by more than two standard errors, the start is the answer. So it is where all
evaluation rows together, asked plainly for right or wrong, find fewer right answers: the score searched by
is smooth.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cdvm._runtime.progress import Progress
from cdvm.evaluation.refinement.scorer import (
    HeldOutScorer,
    Rows,
    RowScores,
)
from cdvm.evaluation.refinement.within import exchange_within
from cdvm.optimize.conditions import Conditions
from cdvm.optimize.rounding import class_floors

__all__ = ["Callback", "Search"]

_PROPOSALS = 64
_FRACTION = 0.05  # of the rows exchanged at once, at the start
_MEMORY = 0.9  # weight of a round's evidence one round later
_PATIENCE = 12  # rounds without a better set after which the search ends
_POOL = 20_000  # rows considered for entering in one round
_CONTENDERS = 8  # sets a round trains again, where the learner has randomness
_REPEATS = 3  # fits for each of them
_FEW = 100  # fits of which none are spent on how smoothly to ask
_DOUBT = 2.0  # standard errors by which rows held back must find the best set worse to undo the search

Callback = Callable[[int, Rows], None]


class Search:
    """The best set so far, the sets before it, and what is known of the rows around it."""

    def __init__(
        self,
        scorer: HeldOutScorer,
        start: Rows,
        fits: int,
        seconds: float | None = None,
        callback: Callback | None = None,
        conditions: Conditions | None = None,
        budget: float = 0.0,
    ) -> None:
        self.scorer, self.start, self.best = scorer, start, start
        self.callback, self._conditions, self._budget = callback, conditions, budget
        # the held-back evaluation rows' look at the end is part of what may be trained
        self._limit = fits - (3 if scorer.metric.losses is not None else 5) * self.repeats
        self._proposals = int(np.clip(self._limit // 16, 4, _PROPOSALS))
        self._seconds, self._started = seconds, time.perf_counter()
        self._rng = np.random.default_rng([scorer.seed, 0])
        classes = scorer.split.task == "classification"
        self._floors = class_floors(scorer.split.y, len(start)) if classes else np.empty(0, dtype=np.int64)
        self._number = 0
        self._covariance = np.zeros(scorer.split.n_rows)
        self._variance = np.zeros(scorer.split.n_rows)

    def run(self, progress: bool | None) -> None:
        """Search until fits, time or patience are spent."""
        scorer, idle = self.scorer, 0
        with Progress("fits", max(self._limit, 1), enabled=progress) as bar:
            try:
                self._tell()
                if self._limit >= _FEW and self._spent() < 1:
                    scorer.attune(len(self.start))
                self._current = scorer.score_rows(self.best[None])
                if scorer.stochastic:  # perhaps not with these settings and this many rows
                    again = scorer.score_rows(self.best[None], self._next())
                    scorer.stochastic = not np.array_equal(again.scores, self._current.scores)
                while idle < _PATIENCE and (spent := self._spent()) < 1:
                    before = scorer.fits
                    most = max(1, round(len(self.best) * _FRACTION * (1 - spent)))
                    idle = 0 if self._round(self._propose(most)) else idle + 1
                    self._tell()
                    bar.advance(scorer.fits - before)
            except KeyboardInterrupt:
                warnings.warn(
                    f"the search was interrupted after {scorer.fits} fits: this is the best set up to there",
                    RuntimeWarning,
                    stacklevel=4,
                )

    def _round(self, sets: Rows) -> bool:
        """Whether one of the sets is better than the best, which it then replaces."""
        scorer, number = self.scorer, self._next()
        if scorer.stochastic:
            self._current = scorer.score_rows(self.best[None], number)
        scored = scorer.score_rows(sets, number)
        gains = scorer.compare(scored, self._current)
        self._learn(sets, gains)
        if scorer.stochastic:
            sets = sets[np.argsort(-gains)[:_CONTENDERS]]
            gains = self._average_gains(sets)
        top = int(gains.argmax())
        if not gains[top] > 0:
            return False
        self.best = sets[top]
        if not scorer.stochastic:
            self._current = scored[top]
        return True

    def _average_gains(self, sets: Rows) -> NDArray[np.float64]:
        """Gains over the best set, free of the luck of one training."""
        together = np.concatenate([self.best[None], sets])
        runs = [self.scorer.score_rows(together, self._next()) for _ in range(_REPEATS)]
        scored = _mean(runs)
        return self.scorer.compare(scored, scored[0])[1:]

    @property
    def repeats(self) -> int:
        """Fits that make one comparison."""
        return _REPEATS if self.scorer.stochastic else 1

    def answer(self) -> tuple[Rows, float]:
        """The best set, or the start where evaluation rows find it worse, and the best's optimism."""
        if self.best is self.start:
            return self.start, 0.0
        scorer = self.scorer
        both = np.stack([self.start, self.best])
        runs = [scorer.score_rows(both, self._next()) for _ in range(self.repeats)]
        scored = _mean(runs)
        gain, error = scorer.confirm(scored[1], scored[0])
        optimism = float(scorer.compare(scored[1], scored[0])[0]) - gain
        # most evaluation rows took part in the search: where they, too, are less often right, nothing is won
        worse = gain < -_DOUBT * error or self._plain_gain(scored) < 0
        return (self.start if worse else np.sort(self.best)), optimism

    def _plain_gain(self, scored: RowScores) -> float:
        """What is won over the start, by the metric itself, on the evaluation rows outside both."""
        if self.scorer.metric.losses is not None:
            return self.scorer.plain_gain(scored[1], scored[0])
        after, before = (
            self.scorer.score(rows, self.repeats, also_outside=other)
            for rows, other in ((self.best, self.start), (self.start, self.best))
        )
        return after - before

    def _spent(self) -> float:
        """Fraction of the fits, or of the time, that is used up; 1 where no further round fits."""
        left = self._limit - self.scorer.fits
        again = self.scorer.stochastic * (1 + _REPEATS * (min(_CONTENDERS, self._proposals) + 1))
        if left < self._proposals + again:
            return 1.0
        fraction = self.scorer.fits / self._limit
        if self._seconds is not None:
            fraction = max(fraction, (time.perf_counter() - self._started) / self._seconds)
        return min(fraction, 1.0)

    def _propose(self, most: int) -> Rows:
        """Sets that exchange up to ``most`` rows of the best for others."""
        rng, count, size = self._rng, self._proposals, len(self.best)
        outside = np.setdiff1d(np.arange(self.scorer.split.n_rows), self.best, assume_unique=True)
        if len(outside) > _POOL:
            outside = rng.choice(outside, _POOL, replace=False)
        most = min(most, len(outside))
        estimate = self._covariance / (self._variance + 1.0)
        estimate = estimate / (estimate.std() or 1.0)
        out = rng.gumbel(size=(count, size)) - estimate[self.best]
        into = rng.gumbel(size=(count, len(outside))) + estimate[outside]
        exchanged = rng.integers(1, most + 1, size=count)
        greedy = count // 8 if estimate.any() else 0
        out[:greedy], into[:greedy] = -estimate[self.best], estimate[outside]
        exchanged[:greedy] = np.geomspace(1, most, greedy).round()
        if self._conditions is not None:
            return np.stack(
                [
                    exchange_within(
                        self._conditions,
                        self._budget,
                        self.best,
                        np.argsort(-out[k])[: exchanged[k]],
                        outside[np.argsort(-into[k])],
                    )
                    for k in range(count)
                ]
            )
        leaving, entering = _largest(out, most), outside[_largest(into, most)]
        exchanges = np.arange(most) < exchanged[:, None]
        bound = exchanges & self._bound(leaving, exchanges)
        which, place = np.nonzero(exchanges & ~bound)
        sets = np.repeat(self.best[None], count, axis=0)
        sets[which, leaving[which, place]] = entering[which, place]
        for k, j in zip(*np.nonzero(bound), strict=True):
            self._exchange_within_class(sets[k], leaving[k, j], outside, into[k])
        return sets

    def _bound(self, leaving: NDArray[np.int64], exchanges: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which exchanges would take a class below its floor, were the entering row of another class."""
        split = self.scorer.split
        if split.task == "regression":
            return np.zeros_like(exchanges)
        spare = np.maximum(np.bincount(split.y[self.best], minlength=split.n_classes) - self._floors, 0)
        classes = split.y[self.best[leaving]]
        one_hot = (classes[..., None] == np.arange(split.n_classes)) & exchanges[..., None]
        left = np.take_along_axis(one_hot.cumsum(axis=1), classes[..., None], axis=2)[..., 0]
        return np.asarray(left > spare[classes])

    def _exchange_within_class(
        self, rows: Rows, place: np.int64, outside: Rows, into: NDArray[np.float64]
    ) -> None:
        """Let the row at a place of a set leave for the most promising one of its class, if there is one."""
        own = np.flatnonzero(self.scorer.split.y[outside] == self.scorer.split.y[rows[place]])
        own = own[~np.isin(outside[own], rows)]
        if len(own):
            rows[place] = outside[own[into[own].argmax()]]

    def _learn(self, sets: Rows, gains: NDArray[np.float64]) -> None:
        n, count = self.scorer.split.n_rows, len(sets)
        fraction = np.bincount(sets.ravel(), minlength=n) / count
        centred = np.repeat(gains - gains.mean(), sets.shape[1])
        self._covariance = _MEMORY * self._covariance + np.bincount(sets.ravel(), centred, minlength=n)
        self._variance = _MEMORY * self._variance + count * fraction * (1 - fraction)

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _tell(self) -> None:
        if self.callback is not None:
            self.callback(self.scorer.fits, np.sort(self.best))


def _mean(runs: list[RowScores]) -> RowScores:
    scores, right = (np.mean([getattr(run, name) for run in runs], axis=0) for name in ("scores", "right"))
    return RowScores(scores, right, runs[0].outside)


def _largest(keys: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Places of the ``count`` largest entries of each line, the largest first."""
    places = np.argpartition(-keys, count - 1, axis=1)[:, :count]
    order = np.argsort(-np.take_along_axis(keys, places, axis=1), axis=1)
    return np.take_along_axis(places, order, axis=1)
