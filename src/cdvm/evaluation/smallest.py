"""How small can the set be and still be as good?

:func:`smallest_set` walks down a list of budgets, fixed beforehand, and stops where the loss that one set may
have is no longer below what is allowed: the mean of the folds' sets, and, as many times as the confidence
asks for, the error of that mean and the deviation of one set from it, added as squares. Budgets that are
tried in a fixed order until the first fails are right together as often as each of them alone, so no
correction for trying many is due.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from cdvm._runtime.parameters import check, number
from cdvm._runtime.progress import Progress
from cdvm.errors import InputError
from cdvm.evaluation.cross_fitting import CrossFit
from cdvm.evaluation.curve import Curve, CurvePoint
from cdvm.selection import Selection

__all__ = ["BUDGETS", "Smallest", "check_promise", "smallest_set"]

BUDGETS = (0.8, 0.5, 0.32, 0.2, 0.13, 0.08, 0.05, 0.032, 0.02, 0.013, 0.008, 0.005)
"""Fractions of the rows that are tried, five for each factor of ten."""

_MOST = BUDGETS[0]

_RULES = {
    "within": number(lambda part: 0 < part < 1, "a part of the score above 0, e.g. 0.01 for one point"),
    "confidence": number(lambda p: 0.5 <= p < 1, "a probability from 0.5 up to 1, e.g. 0.9"),
    "least": number(lambda part: 0 < part <= _MOST, f"a fraction of the rows, up to {_MOST}"),
    "at_score": number(np.isfinite, "a score, e.g. 0.9"),
}


@dataclass(frozen=True)
class Smallest:
    """The smallest set that is good enough, and why it is thought to be.

    Attributes
    ----------
    selection : Selection or None
        None where no budget is good enough; the curve then says what there is.
    within, at_score : float or None
        What was asked for: a loss against all rows, or a score.
    confidence : float
    curve : Curve
        The budgets that were tried; the last is the first that was not good enough, if any.
    point : CurvePoint
        That of the set found, or of the largest budget where there is none.
    priced : bool
        Whether rows have costs, and fractions are of what all of them cost.
    """

    selection: Selection | None
    within: float | None
    at_score: float | None
    confidence: float
    curve: Curve
    point: CurvePoint
    priced: bool = False

    @property
    def promise(self) -> str:
        """What is promised of the set."""
        if self.at_score is not None:
            article = "an" if self.curve.metric[0] in "aeiouR" else "a"
            return f"reach {article} {self.curve.metric} of {self.at_score:g}"
        return f"are within {100 * (self.within or 0.0):g} points of all rows"

    def __str__(self) -> str:
        at, metric = self.point, self.curve.metric
        found = f"lose {100 * at.loss:.2f} ± {100 * at.loss_error:.2f} points against all rows"
        if self.at_score is not None:
            found = f"reach {at.score:.4f} ± {at.score_error:.4f}, all rows {at.all_rows:.4f}"
        if at.set_error > 0:
            found += f", ± {100 * at.set_error:.2f} from one to another"
        asked = f"with confidence {self.confidence:.0%}"
        price = f" for {at.fraction:.1%} of the costs" if self.priced else ""
        if self.selection is None:
            return (
                f"no set of at most {_MOST:.0%} of the {'costs' if self.priced else 'rows'} is known to "
                f"{self.promise.removeprefix('are ').replace('within', 'be within')} {asked}: at "
                f"{at.fraction:.1%}, kept rows {found} ({metric} on {at.n_rows} rows)"
            )
        return (
            f"{len(self.selection)} rows ({self.selection.retained:.1%}){price} {self.promise} {asked}: on "
            f"{at.n_rows} rows that had no part in choosing, such sets {found} ({metric})"
        )


def check_promise(
    within: float | None, at_score: float | None, confidence: float, least: float
) -> tuple[float | None, float | None]:
    """What may be lost, or the score to reach; one point by default."""
    if within is not None and at_score is not None:
        raise InputError(
            f"within={within:g} is measured from all rows and at_score={at_score:g} from 0: leave one out"
        )
    within = 0.01 if within is None and at_score is None else within
    given = {"within": within, "at_score": at_score, "confidence": confidence, "least": least}
    check(_RULES, {name: value for name, value in given.items() if value is not None})
    return within, at_score


def smallest_set(
    fitted: CrossFit,
    select: Callable[[float], Selection],
    *,
    within: float | None = None,
    at_score: float | None = None,
    confidence: float = 0.9,
    least: float = 0.005,
    possible: Callable[[float], bool] = lambda fraction: True,
    priced: bool = False,
    progress: bool | None = None,
) -> Smallest:
    """Walk down the budgets while sets are good enough, as long as there can be such a set."""
    within, at_score = check_promise(within, at_score, confidence, least)
    points, good = list[CurvePoint](), None
    with Progress("budgets", enabled=progress) as bar:
        for fraction in BUDGETS:
            if fraction < least or not possible(fraction):
                break
            point = fitted.point(fraction)
            points.append(point)
            bar.advance(note=f"{fraction:.1%}: {100 * point.loss:.2f} points lost")
            if _short(point, within, at_score, confidence) > 0:
                break
            good = point
    if not points:
        of = "costs" if priced else "rows"
        raise InputError(f"the conditions cannot be met by {_MOST:.0%} of the {of}: loosen one of them")
    if good is None and within is not None:
        _refuse_few(points[0], within, confidence)
    found = None if good is None else select(good.fraction)
    curve = Curve(tuple(points), fitted.metric.title)
    return Smallest(found, within, at_score, confidence, curve, good or points[0], priced)


def _short(point: CurvePoint, within: float | None, at_score: float | None, confidence: float) -> float:
    """What is missing to the promise, at the confidence asked for."""
    if at_score is not None:
        return at_score - (point.score - _doubt(point, point.score_error, confidence))
    assert within is not None
    return point.loss + _doubt(point, point.loss_error, confidence) - within


def _doubt(point: CurvePoint, error: float, confidence: float) -> float:
    """How far one set may be off the mean of the folds' sets, which has an error for the rows asked.

    The variance between sets is known from few of them: Student's t, with Satterthwaite's degrees of freedom.
    """
    variance, between = error**2 + point.one_set_error**2, point.one_set_error**2
    freedom = (point.n_sets - 1) * (variance / between) ** 2 if between > 0 else np.inf
    return float(student.ppf(confidence, freedom)) * math.sqrt(variance)


def _refuse_few(first: CurvePoint, within: float, confidence: float) -> None:
    """Where all that is missing is rows to tell, say how many it takes."""
    room = within - max(first.loss, 0.0)
    if room <= 0:
        return
    needed = int(np.ceil(first.n_rows * (_doubt(first, first.loss_error, confidence) / room) ** 2))
    error = math.hypot(first.loss_error, first.one_set_error)
    raise InputError(
        f"within={within:g} cannot be told with {first.n_rows} rows: models on {first.fraction:.0%} of "
        f"them lose {first.loss:.4f} ± {error:.4f}, and it would take about {needed:,} "
        "rows to be sure; use a larger within, a lower confidence, or more rows"
    )
