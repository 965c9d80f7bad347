"""Suspected mislabelled rows: those whose value says that they do harm.

Rows with a wrong label have low values by nearly every method; by memorization they have high ones, since
only models that saw such a row get it right. Where the share of wrong labels is not known, values are cut in
two groups so that the variance within the groups is smallest (2-means in one dimension, Otsu's threshold).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cdvm.attribution import Attribution
from cdvm.errors import InputError
from cdvm.program import resolve_budget
from cdvm.split import Split
from cdvm.subsets import Stream, draw_words
from cdvm.valuation.base import Values

__all__ = ["NoiseReport", "detection_report", "flip_labels", "flip_split", "suspects", "two_groups"]

Side = Literal["low", "high"]


def suspects(
    source: Values | Attribution | ArrayLike, share: float | None = None, *, side: Side | None = None
) -> NDArray[np.int64]:
    """Sorted positions of the training rows that are suspected to carry a wrong label.

    Parameters
    ----------
    source : Values, Attribution or one number per row
    share : float or int, optional
        Known share (or number) of wrong labels; by default the values decide, see :func:`two_groups`.
    side : {"low", "high"}, optional
        Where wrong labels lie; by default low, and high for memorization.

    Examples
    --------
    >>> suspects([0.9, 0.8, 0.1, 1.0, 0.2])
    array([2, 4])
    >>> suspects([0.9, 0.8, 0.1, 1.0, 0.2], share=1)
    array([2])
    """
    if side not in (None, "low", "high"):
        raise InputError(f"side={side!r}: use 'low' or 'high'")
    if isinstance(source, Values):
        values = source.values
        side = side or ("high" if source.method == "memorization" else "low")
    else:
        values = source.values() if isinstance(source, Attribution) else np.asarray(source, dtype=np.float64)
    signed = -values if side == "high" else values
    if share is None:
        return np.flatnonzero(signed <= two_groups(signed))
    return np.sort(np.argsort(signed, kind="stable")[: resolve_budget(share, len(signed))])


def two_groups(values: NDArray[np.floating[Any]]) -> float:
    """The largest value of the lower of two groups whose inner variance is smallest.

    Equal values give no groups: the answer is then minus infinity.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    n = len(ordered)
    below = np.arange(1, n)
    lower = np.cumsum(ordered)[:-1]
    gap = lower / below - (ordered.sum() - lower) / (n - below)
    between = np.where(np.diff(ordered) > 0, below * (n - below) * gap**2, -1.0)
    if n < 2 or between.max() < 0:
        return -np.inf
    return float(ordered[int(between.argmax())])


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
    codes: NDArray[np.integer[Any]], share: float, *, n_classes: int | None = None, seed: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Move a share of the labels to another class, uniformly; new codes and the sorted rows that were moved.

    >>> codes, flipped = flip_labels(np.zeros(10, dtype=int), 0.2, n_classes=3)
    >>> len(flipped), bool((codes[flipped] > 0).all()), int((codes > 0).sum())
    (2, True, 2)
    """
    given = np.asarray(codes, dtype=np.int64)
    classes = int(given.max()) + 1 if n_classes is None else n_classes
    if not 0 < share < 1:
        raise InputError(f"share={share!r}: use a share of the labels between 0 and 1, e.g. 0.1")
    if classes < 2:
        raise InputError(f"n_classes={classes}: labels can be moved between at least 2 classes")
    chosen, shift = draw_words(seed, Stream.FLIPS, 0, 2, len(given))
    flipped = np.sort(np.argsort(chosen)[: max(1, round(share * len(given)))])
    moved = given.copy()
    step = 1 + (shift[flipped] % np.uint64(classes - 1)).astype(np.int64)
    moved[flipped] = (given[flipped] + step) % classes
    return moved, flipped


def flip_split(split: Split, share: float, *, seed: int = 0) -> tuple[Split, NDArray[np.int64]]:
    """The split with a share of its training labels moved, and the training rows that were."""
    if split.task != "classification":
        raise InputError("labels can be flipped between classes only, not for a regression task")
    codes, flipped = flip_labels(split.y, share, n_classes=split.n_classes, seed=seed)
    return replace(split, y=codes), flipped
