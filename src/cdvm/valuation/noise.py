"""Suspected mislabelled rows: those whose label the evidence speaks against.

Rows with a wrong label have low values by nearly every method; by memorization they have high ones, since
only models that saw such a row get it right. Where the fraction of wrong labels is known, the rows at that
end are suspected. Where it is not, there must be evidence with a rate of false alarms: how surprising a
label is to the models that did not see its row (:mod:`cdvm.valuation.evidence`), or a value that is negative
beyond its standard error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from cdvm.attribution.base import Attribution
from cdvm.data.split import Split
from cdvm.errors import InputError
from cdvm.optimize.program import resolve_budget
from cdvm.sampling import RandomStream, draw_words
from cdvm.valuation.base import Values

__all__ = [
    "RATE",
    "NoiseReport",
    "check_rate",
    "detection_report",
    "flip_labels",
    "flip_split",
    "has_evidence",
    "no_evidence",
    "p_values",
    "suspects",
]

Side = Literal["low", "high"]

RATE = 0.01
_CONTRIBUTIONS = ("banzhaf", "shapley", "beta_shapley")  # a value below 0 says that a row does harm


def suspects(
    source: Values | Attribution | ArrayLike,
    fraction: float | None = None,
    *,
    rate: float | None = None,
    side: Side | None = None,
) -> NDArray[np.int64]:
    """Sorted positions of the training rows that are suspected to carry a wrong label.

    Parameters
    ----------
    source : Values, Attribution or one number per row
    fraction : float or int, optional
        Known fraction (or number) of wrong labels: as many rows are suspected.
    rate : float, optional
        Otherwise, the rate of false alarms: rows with a p-value of at most this are suspected, see
        :func:`p_values`. By default 0.01.
    side : {"low", "high"}, optional
        With ``fraction``, where wrong labels lie; by default low, and high for memorization.

    Examples
    --------
    >>> suspects([0.9, 0.8, 0.1, 1.0, 0.2], fraction=1)
    array([2])
    >>> harmful = Values.of(3, [0.2, -0.3, -0.1], "banzhaf", stderr=[0.1, 0.1, 0.1])
    >>> suspects(harmful, rate=0.05)
    array([1])
    """
    if side not in (None, "low", "high"):
        raise InputError(f"side={side!r}: use 'low' or 'high'")
    if fraction is None:
        found = _evidence(source, side)
        return np.flatnonzero(found <= check_rate(RATE if rate is None else rate))
    if rate is not None:
        raise InputError(f"rate={rate!r} and fraction={fraction!r}: use one of them")
    if isinstance(source, Values):
        values = source.values
        side = side or ("high" if source.method == "memorization" else "low")
    else:
        values = source.values() if isinstance(source, Attribution) else np.asarray(source, dtype=np.float64)
    signed = -values if side == "high" else values
    return np.sort(np.argsort(signed, kind="stable")[: resolve_budget(fraction, len(signed))])


def p_values(values: Values) -> NDArray[np.float64] | None:
    """The p-value behind each row's suspicion; None where the values hold no evidence.

    Out-of-bag methods have the probability of a label as surprising, were labels drawn as the models believe.
    For values of what a row adds (Banzhaf, Shapley) it is that of a value as low, were the true one 0 (a
    one-sided normal test).
    """
    if values.p_values is not None:
        return values.p_values
    if values.stderr is None or values.method not in _CONTRIBUTIONS:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        p = ndtr(values.values / values.stderr)
    return np.where(np.isnan(p), 1.0, p)


def check_rate(rate: float) -> float:
    """A rate of false alarms strictly between 0 and 1."""
    if not isinstance(rate, float | int) or not 0 < rate < 1:
        raise InputError(f"rate={rate!r}: use a rate of false alarms between 0 and 1, e.g. 0.01")
    return rate


def _evidence(source: Any, side: Side | None) -> NDArray[np.float64]:
    if side is not None:
        raise InputError(f"side={side!r} goes with fraction=, the known fraction of wrong labels")
    found = p_values(source) if isinstance(source, Values) else None
    if found is None:
        raise no_evidence(
            f"{source.method} gives values" if isinstance(source, Values) else "these are numbers"
        )
    return found


def has_evidence(method: str) -> bool:
    """Whether a method's values come with evidence for suspects, at least where they are estimates.

    >>> has_evidence("out_of_bag"), has_evidence("knn_shapley")
    (True, False)
    """
    return method in (*_CONTRIBUTIONS, "out_of_bag", "memorization")


def no_evidence(what: str) -> InputError:
    """The error for values that say nothing about false alarms."""
    return InputError(
        f"{what} without a measure of doubt, so no rate of false alarms follows: say what fraction= of the "
        "labels is wrong, e.g. fraction=0.05, or use method='out_of_bag'"
    )


@dataclass(frozen=True)
class NoiseReport:
    """How well suspected rows match the rows whose labels were flipped."""

    precision: float
    recall: float
    f1: float
    n_suspects: int
    n_flipped: int


def detection_report(suspected: ArrayLike, flipped: ArrayLike) -> NoiseReport:
    """Precision, recall and F1 of suspected rows against rows known to be wrong.

    >>> detection_report([1, 2, 3, 4], [2, 3]).f1.__round__(3)
    0.667
    """
    found, wrong = np.unique(np.asarray(suspected)), np.unique(np.asarray(flipped))
    if not wrong.size:
        raise InputError("flipped names no row: there is nothing to find")
    hits = len(np.intersect1d(found, wrong))
    return NoiseReport(
        precision=hits / len(found) if found.size else 0.0,
        recall=hits / len(wrong),
        f1=2 * hits / (len(found) + len(wrong)),
        n_suspects=len(found),
        n_flipped=len(wrong),
    )


def flip_labels(
    codes: NDArray[np.integer[Any]], fraction: float, *, n_classes: int | None = None, seed: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Move a fraction of the labels to other classes, uniformly; new codes and the sorted rows moved.

    >>> codes, flipped = flip_labels(np.zeros(10, dtype=int), 0.2, n_classes=3)
    >>> len(flipped), bool((codes[flipped] > 0).all()), int((codes > 0).sum())
    (2, True, 2)
    """
    given = np.asarray(codes, dtype=np.int64)
    classes = int(given.max()) + 1 if n_classes is None else n_classes
    if not 0 < fraction < 1:
        raise InputError(f"fraction={fraction!r}: use a fraction of the labels between 0 and 1, e.g. 0.1")
    if classes < 2:
        raise InputError(f"n_classes={classes}: labels can be moved between at least 2 classes")
    chosen, shift = draw_words(seed, RandomStream.FLIPS, 0, 2, len(given))
    flipped = np.sort(np.argsort(chosen)[: max(1, round(fraction * len(given)))])
    moved = given.copy()
    step = 1 + (shift[flipped] % np.uint64(classes - 1)).astype(np.int64)
    moved[flipped] = (given[flipped] + step) % classes
    return moved, flipped


def flip_split(split: Split, fraction: float, *, seed: int = 0) -> tuple[Split, NDArray[np.int64]]:
    """The split with a fraction of its training labels moved, and the training rows that were."""
    if split.task != "classification":
        raise InputError("labels can be flipped between classes only, not for a regression task")
    codes, flipped = flip_labels(split.y, fraction, n_classes=split.n_classes, seed=seed)
    return replace(split, y=codes), flipped
