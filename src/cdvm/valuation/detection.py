"""Which method finds wrong labels best? Several methods on one split whose flips are known."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm.data.split import Split
from cdvm.errors import InputError
from cdvm.outcomes.recorded import Outcomes
from cdvm.outcomes.storage import inside
from cdvm.valuation import valuation_options, value_rows
from cdvm.valuation.base import LearnerLike, Values
from cdvm.valuation.noise import NoiseReport, detection_report, p_values, suspects
from cdvm.valuation.out_of_bag import record_bootstrap

__all__ = ["Detection", "detect", "detect_with_each"]

_BOOTSTRAP = ("out_of_bag", "memorization")


@dataclass(frozen=True)
class Detection:
    """How well one method's values tell flipped rows from the others.

    Attributes
    ----------
    method : str
    known, automatic : NoiseReport or None
        With as many suspects as there are flips, and with those of a rate of false alarms; None where the
        values hold no evidence for one.
    fits : int
    seconds : float
    skipped : str
        Why the method could not be used; empty if it was.
    """

    method: str
    known: NoiseReport | None = None
    automatic: NoiseReport | None = None
    fits: int = 0
    seconds: float = 0.0
    skipped: str = ""


def detect(
    values: Values, flipped: NDArray[np.int64], *, rate: float | None = None, seconds: float | None = None
) -> Detection:
    """Score the rows that values make suspicious against those that were flipped."""
    certain = p_values(values) is not None
    return Detection(
        values.method,
        detection_report(suspects(values, len(flipped)), flipped),
        detection_report(suspects(values, rate=rate), flipped) if certain else None,
        int(values.meta.get("fits", 0)),
        float(values.meta.get("seconds", 0.0)) if seconds is None else seconds,
    )


def detect_with_each(
    split: Split,
    learner: LearnerLike,
    flipped: NDArray[np.int64],
    methods: Sequence[str],
    *,
    rate: float | None = None,
    store: str | Path | None = None,
    **options: Any,
) -> Iterator[Detection]:
    """Value the rows by each method and score what it suspects.

    Methods get the options they understand. Out-of-bag values and memorization share one run. A method that
    does not fit the task or the learner is skipped, and says why.

    Parameters
    ----------
    split : Split
        With flipped labels.
    learner : Learner, str or estimator
    flipped : ndarray
        Training rows whose labels were flipped.
    methods : sequence of str
    rate : float, optional
        Of false alarms, as in :func:`cdvm.valuation.suspects`.
    store : path, optional
        Directory or address with one outcome store a run.
    **options
        For the methods, e.g. ``n_models``, ``seed`` and ``n_jobs``.
    """
    run: Outcomes | None = None
    for method in methods:
        started = time.perf_counter()
        try:
            known = valuation_options(method)
            mine = {name: value for name, value in options.items() if name in known}
            if store is not None and "store" in known:
                mine["store"] = inside(store, "bootstrap" if method in _BOOTSTRAP else method)
            if method in _BOOTSTRAP:
                run = run or record_bootstrap(split, learner, **mine)
                mine = {"outcomes": run}
            values = value_rows(split, learner, method, **mine)
        except InputError as error:
            yield Detection(method, skipped=str(error))
            continue
        yield detect(values, flipped, rate=rate, seconds=time.perf_counter() - started)
