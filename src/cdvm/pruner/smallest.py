"""How small can the set be and still be as good? A curve over budgets by rows that had no part in choosing.

The rows are divided into folds. For each fold everything is done anew on the others: models, T, the choice
for every budget. Models trained on the kept rows, on as many random rows and on all rows of the other folds
are then asked about the fold. So every row tells, once, what a set chosen without it loses against all rows.

:func:`smallest_set` walks down a list of budgets, fixed beforehand, and stops where the loss, with its
standard error, is no longer below what is allowed. Budgets that are tried in a fixed order until the first
fails are right together as often as each of them alone, so no correction for trying many is due.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from cdvm._runtime.progress import Progress
from cdvm.data.split import Split, evaluation_sample
from cdvm.errors import InputError
from cdvm.evaluation.comparison import random_sets
from cdvm.evaluation.metrics import make_metric
from cdvm.evaluation.training import SetTrainer
from cdvm.learners import Learner
from cdvm.optimize.program import resolve_budget
from cdvm.selection import Selection

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CrossFit", "Curve", "CurvePoint", "Smallest", "cross_fit", "smallest_set"]

Vector = NDArray[np.float64]

_STEP = 0.8  # from one budget of the search to the next
_MOST = 0.8


class Fitted(Protocol):
    """A pruner fitted on a split."""

    split_: Split
    learner_: Learner

    def select(self, budget: Any) -> Any: ...


@dataclass(frozen=True)
class CurvePoint:
    """What as many rows are good for, on rows that had no part in choosing them.

    Attributes
    ----------
    fraction : float
        Of the rows, kept.
    score, random, all_rows : float
        Accuracy (R² for regression) of models on the kept rows, on as many random ones, on all rows.
    loss, standard_error : float
        Score of all rows less that of the kept ones, and its standard error, row by row.
    disagreement : float
        Mean square of that difference, which decides how many rows it takes to see a loss.
    n_rows : int
        Rows that were asked.
    """

    fraction: float
    score: float
    random: float
    all_rows: float
    loss: float
    standard_error: float
    disagreement: float
    n_rows: int


@dataclass(frozen=True)
class Curve:
    """Points for several budgets, the largest first."""

    points: tuple[CurvePoint, ...]

    def to_frame(self) -> pd.DataFrame:
        """One line a budget."""
        import pandas as pd

        return pd.DataFrame([vars(point) for point in self.points])


@dataclass(frozen=True)
class Smallest:
    """The smallest set that is good enough, and why it is thought to be.

    ``selection`` is None where no budget is good enough; the curve then says what there is.
    """

    selection: Selection | None
    within: float
    confidence: float
    curve: Curve

    def __str__(self) -> str:
        least = self.curve.points[-1 if self.selection is None else self._chosen]
        found = f"loses {100 * least.loss:.2f} ± {100 * least.standard_error:.2f} points against all rows"
        if self.selection is None:
            return (
                f"no set of at most {100 * _MOST:.0f} % of the rows is known to lose no more than "
                f"{100 * self.within:g} points with confidence {self.confidence:.0%}: at "
                f"{least.fraction:.1%} it {found}"
            )
        return (
            f"{len(self.selection)} rows ({least.fraction:.1%}) are within {100 * self.within:g} points of "
            f"all rows with confidence {self.confidence:.0%}: on {least.n_rows} rows not part of it, "
            f"such a set {found}"
        )

    @property
    def _chosen(self) -> int:
        assert self.selection is not None
        found = self.selection.retained
        return int(np.argmin([abs(point.fraction - found) for point in self.curve.points]))


@dataclass(frozen=True, eq=False)
class _Fold:
    """A pruner fitted without a fold, and the fold's losses by models on all other rows."""

    pruner: Fitted
    trainer: SetTrainer
    X: Any
    y: NDArray[Any]
    all_rows: Vector

    def losses(self, sets: list[NDArray[np.int64]]) -> Vector:
        """Loss of a model on each set, on every row of the fold: (n_sets, n_rows)."""
        return _losses(self.trainer, sets, self.X, self.y)


class CrossFit:
    """Pruners fitted on all folds but one, and what sets of theirs are good for."""

    def __init__(self, folds: list[_Fold], draws: int, seed: int) -> None:
        self.folds, self._draws, self._seed = folds, draws, seed

    def point(self, fraction: float) -> CurvePoint:
        """The point of the curve for a fraction of the rows."""
        kept, drawn, whole, labels = [], [], [], []
        for fold in self.folds:
            split = fold.pruner.split_
            size = resolve_budget(float(fraction), split.n_rows)
            random = random_sets(split.n_rows, size, self._draws, seed=self._seed)
            losses = fold.losses([fold.pruner.select(size).rows, *random])
            kept.append(losses[0])
            drawn.append(losses[1:].mean(axis=0))
            whole.append(fold.all_rows)
            labels.append(fold.y)
        split, y = self.folds[0].pruner.split_, np.concatenate(labels)
        own, chance, full = (np.concatenate(parts) for parts in (kept, drawn, whole))
        metric = make_metric(None, split)
        apart = (own - full) / metric.unit(y)
        return CurvePoint(
            fraction=fraction,
            score=float(metric.of_loss(y, own.mean())),
            random=float(metric.of_loss(y, chance.mean())),
            all_rows=float(metric.of_loss(y, full.mean())),
            loss=float(apart.mean()),
            standard_error=float(apart.std(ddof=1) / np.sqrt(len(apart))),
            disagreement=float((apart**2).mean()),
            n_rows=len(apart),
        )

    def curve(self, fractions: Iterable[float], *, progress: bool | None = None) -> Curve:
        """Points for several fractions."""
        wanted = sorted({float(f) for f in fractions}, reverse=True)
        with Progress("budgets", len(wanted), enabled=progress) as bar:
            points = []
            for fraction in wanted:
                points.append(self.point(fraction))
                bar.advance()
        return Curve(tuple(points))


def cross_fit(
    split: Split,
    learner: Learner,
    fit: Callable[[Split], Fitted],
    *,
    folds: int = 5,
    draws: int = 5,
    seed: int = 0,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> CrossFit:
    """Fit on all folds but one, for each of them; ``fit`` gets the split to fit on."""
    if not 2 <= folds <= split.n_rows // 4:
        raise InputError(f"folds={folds!r}: use at least 2, and no more than a quarter of the rows")
    found = []
    with Progress("folds", folds, enabled=progress) as bar:
        for inner, X, y in _folds(split, folds, seed):
            trainer = SetTrainer(inner, learner, 1, seed, n_jobs, False)
            whole = _losses(trainer, [np.arange(inner.n_rows)], X, y)[0]
            found.append(_Fold(fit(inner), trainer, X, y, whole))
            bar.advance()
    return CrossFit(found, draws, seed)


def smallest_set(
    fitted: CrossFit,
    select: Callable[[float], Selection],
    *,
    within: float = 0.01,
    confidence: float = 0.9,
    least: float = 0.005,
    progress: bool | None = None,
) -> Smallest:
    """Walk down the budgets while sets lose no more than ``within`` of the score."""
    if not 0 < within < 1:
        raise InputError(
            f"within={within!r}: use a part of the score between 0 and 1, e.g. 0.01 for one point"
        )
    if not 0.5 <= confidence < 1:
        raise InputError(f"confidence={confidence!r}: use a probability from 0.5 up to 1, e.g. 0.9")
    quantile, points = float(norm.ppf(confidence)), list[CurvePoint]()
    good: float | None = None
    with Progress("budgets", enabled=progress) as bar:
        for fraction in _descent(least):
            point = fitted.point(fraction)
            points.append(point)
            bar.advance(note=f"{fraction:.1%}: {100 * point.loss:.2f} points lost")
            if point.loss + quantile * point.standard_error > within:
                break
            good = fraction
    first = points[0]
    if good is None and first.loss <= within:
        needed = int(np.ceil(first.disagreement * (quantile / (within - max(first.loss, 0.0) + 1e-12)) ** 2))
        raise InputError(
            f"within={within:g} cannot be told with {first.n_rows} rows: models on {first.fraction:.0%} of "
            f"them lose {first.loss:.4f} ± {first.standard_error:.4f}, and it would take about {needed:,} "
            "rows to be sure; use a larger within, a lower confidence, or more rows"
        )
    return Smallest(None if good is None else select(good), within, confidence, Curve(tuple(points)))


def _descent(least: float) -> Iterator[float]:
    fraction = _MOST
    while fraction >= least:
        yield round(fraction, 4)
        fraction *= _STEP


def _losses(trainer: SetTrainer, sets: list[NDArray[np.int64]], X: Any, y: NDArray[Any]) -> Vector:
    split = trainer.split

    def note(answers: list[NDArray[Any]]) -> Vector:
        wrong = answers[0] != y if split.task == "classification" else (answers[0] - y) ** 2
        return np.asarray(wrong, dtype=np.float64)

    return np.asarray(trainer.train(sets, [X], note).mean(axis=0))


def _folds(split: Split, folds: int, seed: int) -> Iterator[tuple[Split, Any, NDArray[Any]]]:
    """Splits of all folds but one, and the rows and labels of that one, each with its part of every class."""
    rng, n = np.random.default_rng([seed, 7]), split.n_rows
    order = rng.permutation(n)
    order = order[np.argsort(split.y[order], kind="stable")]
    fold = np.empty(n, dtype=np.int64)
    fold[order] = np.arange(n) % folds
    for k in range(folds):
        inside, outside = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        inner = replace(
            split,
            X=split.X[inside],
            y=split.y[inside],
            X_val=None,
            y_val=None,
            rows=np.arange(len(inside)),
            n_table=len(inside),
            index=None,
            X_test=None,
            y_test=None,
            evaluation_rows=evaluation_sample(len(inside)),
        )
        yield inner, split.X[outside], split.y[outside]
