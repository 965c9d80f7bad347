"""Better rows from a given set: :func:`refine`, and its options."""

from __future__ import annotations

import inspect
import time
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np

from cdvm.data.split import Split
from cdvm.errors import InputError
from cdvm.evaluation.metrics import make_metric
from cdvm.evaluation.refinement.scorer import HeldOutScorer, Rows, check_evaluation
from cdvm.evaluation.refinement.search import Callback, Search
from cdvm.learners import make_learner
from cdvm.optimize.conditions import Conditions
from cdvm.optimize.rounding import class_floors
from cdvm.selection import Selection

__all__ = ["FITS", "check_options", "default_fits", "refine", "refine_with"]

FITS = 3_000
"""For small models; see :func:`default_fits`."""

_LEAST = 50


def refine(
    selection: Selection | Any,
    split: Split,
    learner: Any,
    *,
    fits: int | None = None,
    seconds: float | None = None,
    metric: Any = None,
    evaluation: Literal["all", "validation"] = "all",
    seed: int = 0,
    n_jobs: int | None = -1,
    progress: bool | None = None,
    callback: Callback | None = None,
    conditions: Conditions | None = None,
    budget: float | None = None,
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
    metric : str or scikit-learn scorer, optional
        What to improve, as in :func:`cdvm.evaluate_sets`: accuracy, or R² for regression, by default. Rows
        count for "balanced_accuracy", "f1", "f1_macro" and "roc_auc" as if classes were of one size; the
        metric itself has the last word.
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
    conditions : Conditions, optional
        What the rows have to fulfil; the start must. Classes keep the rows they should have, see
        :func:`~cdvm.optimize.rounding.class_floors`, or have.
    budget : float, optional
        What may be spent, where rows have costs; the number of rows otherwise.

    Returns
    -------
    Selection
        As many rows as at the start. ``score`` is the metric on all
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
    learner = make_learner(learner)
    given = {"fits": fits, "seconds": seconds, "metric": metric, "evaluation": evaluation, "seed": seed}
    check_options({**given, "callback": callback}, split)
    _start(selection, split)  # before what takes long
    scorer = HeldOutScorer(split, learner, metric=metric, evaluation=evaluation, seed=seed, n_jobs=n_jobs)
    own: dict[str, Any] = {"progress": progress, "callback": callback, "budget": budget}
    return refine_with(scorer, selection, fits=fits, seconds=seconds, conditions=conditions, **own)


def refine_with(
    scorer: HeldOutScorer,
    selection: Selection | Any,
    *,
    fits: int | None = None,
    seconds: float | None = None,
    progress: bool | None = None,
    callback: Callback | None = None,
    conditions: Conditions | None = None,
    budget: float | None = None,
) -> Selection:
    """Improve a set of rows by the models and evaluation rows of a scorer; the rest as for :func:`refine`."""
    started, split = time.perf_counter(), scorer.split
    base, start = _start(selection, split)
    fits = default_fits(scorer, len(start)) if fits is None else int(fits)
    allowed = _allowed(conditions, budget, start)
    search = Search(scorer, start, fits, seconds, callback, _with_classes(conditions, split, start), allowed)
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


def _allowed(conditions: Conditions | None, budget: float | None, start: Rows) -> float:
    """The budget of a search within conditions, which the start must fulfil."""
    if conditions is None:
        if budget is not None:
            raise InputError(f"budget={budget!r} has no effect without conditions: leave it out")
        return len(start)
    if budget is None and conditions.costs is not None:
        raise InputError("budget is missing: where rows have costs it is what may be spent")
    allowed = len(start) if budget is None else budget
    chosen = np.zeros(conditions.n_rows)
    chosen[start] = 1.0
    if not conditions.satisfied(chosen, allowed):
        raise InputError("selection does not fulfil the conditions: start from rows that do")
    return allowed


def _with_classes(conditions: Conditions | None, split: Split, start: Rows) -> Conditions | None:
    """Conditions, and no fewer rows of a class than it should have, or has."""
    if conditions is None or split.classes is None:
        return conditions
    there = np.bincount(split.y[start], minlength=split.n_classes)
    low = np.minimum(class_floors(split.y, len(start)), there)
    return conditions.with_least(split.y, low, [f"class {label}" for label in split.classes])


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
        make_metric(options.get("metric"), split)


def _check_value(name: str, value: Any) -> None:
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    number = isinstance(value, Real) and not isinstance(value, bool)
    if name == "fits" and not (whole and value >= _LEAST):
        raise InputError(f"fits={value!r}: use a whole number of at least {_LEAST}, e.g. 2000")
    if name == "seconds" and not (number and value > 0):
        raise InputError(f"seconds={value!r}: use a positive number, or None for no limit")
    if name == "evaluation" and value not in ("all", "validation"):
        raise InputError(f"evaluation={value!r}: use 'all' or 'validation'")
    if name == "metric":
        make_metric(value)
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
