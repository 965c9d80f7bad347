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
evaluation rows together, asked plainly for right or wrong, do not find more right answers: the score
searched by is smooth.
"""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cdvm._runtime.progress import Progress
from cdvm.data.split import Split
from cdvm.errors import InputError
from cdvm.evaluation.refinement.scorer import (
    HeldOutScorer,
    Rows,
    RowScores,
    Score,
    check_evaluation,
    check_score,
)
from cdvm.learners import make_learner
from cdvm.optimize.rounding import class_floors
from cdvm.selection import Selection

__all__ = ["FITS", "check_options", "refine"]

FITS = 3_000  # for small models; see default_fits

_LEAST = 50
_PROPOSALS = 64
_SHARE = 0.05  # of the rows exchanged at once, at the start
_MEMORY = 0.9  # weight of a round's evidence one round later
_PATIENCE = 12  # rounds without a better set after which the search ends
_POOL = 20_000  # rows considered for entering in one round
_CONTENDERS = 8  # sets a round trains again, where the learner has randomness
_REPEATS = 3  # fits for each of them

_DOUBT = (
    2.0  # standard errors by which held-back evaluation rows must find the best set worse to undo the search
)

Callback = Callable[[int, Rows], None]


def refine(
    selection: Selection | Any,
    split: Split,
    learner: Any,
    *,
    fits: int | None = None,
    seconds: float | None = None,
    score: Score | None = None,
    evaluation: Literal["all", "validation"] = "all",
    seed: int = 0,
    n_jobs: int | None = -1,
    progress: bool | None = None,
    callback: Callback | None = None,
) -> Selection:
    """Improve a set of rows by exchanging some for others, evaluated by models trained on them.

    Parameters
    ----------
    selection : Selection or sequence of int
        Where to start: what CDVM or another method chose, or positions of rows in the table.
    split : Split
        The rows the selection was made of. Test rows are not looked at.
    learner : str, scikit-learn estimator or Learner
    fits : int, optional
        Models to train, at most; by default 3,000, fewer where a set has many numbers (rows × features ×
        classes), down to 500. Up to three times as many for a learner with randomness that trains many models
        at once: exchanges are harder to tell from luck there.
    seconds : float, optional
        Time to search, at most. Only without it is the answer the same each time.
    score : {"accuracy", "balanced", "squared_error"}, optional
        What to improve: accuracy, accuracy with every class counting the same, or, for regression, the
        squared error.
    evaluation : {"all", "validation"}
        Who says what is better: the validation rows and the training rows outside the set, or the
        validation rows only, for training labels that are not to be trusted as a measure.
    seed : int
    n_jobs : int
        Parallel tasks; -1 uses all cores. The answer does not depend on it.
    progress : bool, optional
        Show a bar; by default on a terminal.
    callback : callable, optional
        Called with the number of fits so far and the positions, among the training rows, of the best
        set, once at the start and after every round.

    Returns
    -------
    Selection
        As many rows as at the start. ``score`` is the (balanced) accuracy, R² for regression, on all
        evaluation rows outside the set, ``optimism`` how much of the gain was there only for the evaluation
        rows searched on, ``fits`` the number of models trained. An interrupt (Ctrl-C) ends the search, not
        the program.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> split = Split.from_arrays(*load_wine(return_X_y=True), random_state=0).standardized()
    >>> better = refine(split.rows[:10], split, "logistic", fits=400, n_jobs=1)
    >>> len(better), better.method, better.fits <= 400
    (10, 'rows+refine', True)
    """
    started = time.perf_counter()
    learner = make_learner(learner)
    given = {"fits": fits, "seconds": seconds, "score": score, "evaluation": evaluation, "seed": seed}
    check_options({**given, "callback": callback}, split)
    base, start = _start(selection, split)
    scorer = HeldOutScorer(split, learner, score=score, evaluation=evaluation, seed=seed, n_jobs=n_jobs)
    fits = default_fits(scorer, len(start)) if fits is None else int(fits)
    search = _Search(scorer, start, fits, seconds, callback)
    with scorer:
        if len(start) < split.n_rows:
            search.run(progress)
        rows, optimism = search.answer()
        value = scorer.score(rows, search.repeats)
    changed = not np.array_equal(rows, start)
    weights = base.weights
    if changed:
        weights = np.zeros(split.n_rows)
        weights[rows] = 1.0
    return replace(
        base,
        indices=split.rows[rows],
        weights=weights,
        method=f"{base.method}+refine",
        seconds=base.seconds + time.perf_counter() - started,
        objective=None if changed else base.objective,
        gap=None if changed else base.gap,
        score=value,
        optimism=optimism,
        fits=scorer.fits,
    )


class _Search:
    """The best set so far, the sets before it, and what is known of the rows around it."""

    def __init__(
        self, scorer: HeldOutScorer, start: Rows, fits: int, seconds: float | None, callback: Callback | None
    ) -> None:
        self.scorer, self.start, self.best = scorer, start, start
        self.callback = callback
        # the held-back evaluation rows' look at the end is part of what may be trained
        self._limit = fits - 3 * self.repeats
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
                self._current = scorer.score_rows(self.best[None])
                if scorer.stochastic:  # perhaps not with these settings and this many rows
                    again = scorer.score_rows(self.best[None], self._next())
                    scorer.stochastic = not np.array_equal(again.scores, self._current.scores)
                while idle < _PATIENCE and (spent := self._spent()) < 1:
                    before = scorer.fits
                    most = max(1, round(len(self.best) * _SHARE * (1 - spent)))
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
        worse = gain < -_DOUBT * error or scorer.plain_gain(scored[1], scored[0]) < 0
        return (self.start if worse else np.sort(self.best)), optimism

    def _spent(self) -> float:
        """Fraction of the fits, or of the time, that is used up; 1 where no further round fits."""
        left = self._limit - self.scorer.fits
        again = self.scorer.stochastic * (1 + _REPEATS * (_CONTENDERS + 1))
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


def default_fits(scorer: HeldOutScorer, size: int) -> int:
    """Fits that take seconds with a linear model: fewer, but not in proportion, the larger a set is."""
    split = scorer.split
    numbers = size * int(split.X.shape[1]) * max(split.n_classes, 1) / 2**14
    if scorer.stochastic and scorer.batched:
        return int(np.clip(3 * FITS / numbers**0.5, 500, 3 * FITS))
    return int(np.clip(FITS / numbers**0.3, 500, FITS))


def check_options(options: dict[str, Any], split: Split | None = None) -> None:
    """Complain about keyword arguments that :func:`refine` does not have or values it cannot use.

    With a split, also about those that do not apply to it.
    """
    known = [name for name, p in inspect.signature(refine).parameters.items() if p.kind == p.KEYWORD_ONLY]
    for name, value in options.items():
        if name not in known:
            raise InputError(f"refine has no option {name!r}: it has {', '.join(known)}")
        if value is not None or name in ("evaluation", "seed"):
            _check_value(name, value)
    if split is not None:
        check_evaluation(split, options.get("evaluation", "all"))
        check_score(split, options.get("score"))


def _check_value(name: str, value: Any) -> None:
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    number = isinstance(value, Real) and not isinstance(value, bool)
    if name == "fits" and not (whole and value >= _LEAST):
        raise InputError(f"fits={value!r}: use a whole number of at least {_LEAST}, e.g. 2000")
    if name == "seconds" and not (number and value > 0):
        raise InputError(f"seconds={value!r}: use a positive number, or None for no limit")
    if name == "evaluation" and value not in ("all", "validation"):
        raise InputError(f"evaluation={value!r}: use 'all' or 'validation'")
    if name == "score" and value not in ("accuracy", "balanced", "squared_error"):
        raise InputError(f"score={value!r}: use 'accuracy', 'balanced' or 'squared_error'")
    if name == "seed" and not (whole and 0 <= value < 2**63):
        raise InputError(f"seed={value!r}: use a whole number of at least 0")
    if name == "callback" and not callable(value):
        raise InputError(f"callback={value!r}: pass a function of the fits so far and the rows")


def _start(selection: Any, split: Split) -> tuple[Selection, Rows]:
    """The starting set as a Selection and as positions among the training rows."""
    if isinstance(selection, Selection):
        if not np.array_equal(selection.candidates, split.rows):
            raise InputError(
                "the selection was made of other rows than split has: pass the split it was made of"
            )
        return selection, selection.rows
    given = np.asarray(selection)
    if given.ndim != 1 or not given.size or given.dtype.kind not in "iu":
        raise InputError("selection: pass a Selection, or a sequence of row positions in the table")
    indices = np.unique(given).astype(np.int64)
    if len(indices) < len(given):
        raise InputError(f"selection names {len(given) - len(indices)} rows twice: pass distinct positions")
    rows = np.minimum(np.searchsorted(split.rows, indices), split.n_rows - 1)
    wrong = indices[split.rows[rows] != indices]
    if len(wrong):
        raise InputError(
            f"selection names row {wrong[0]}, which is not among the {split.n_rows} training rows"
        )
    return Selection.of_rows(split, rows, method="rows", seconds=0.0), rows
