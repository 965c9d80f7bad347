"""Rows and scores before and after, class by class and group by group: whether anything vanished."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm.data.split import Split
from cdvm.evaluation.comparison import cross_validated
from cdvm.evaluation.metrics import METRICS, Metric
from cdvm.evaluation.scoring import note_answers, shaped
from cdvm.evaluation.training import SetTrainer
from cdvm.report.run import Run
from cdvm.selection import Selection

__all__ = ["Breakdown", "by_class", "by_group"]

MOST = 60  # classes or groups that are told of, the largest first


@dataclass(frozen=True)
class Breakdown:
    """One line a class or group.

    Attributes
    ----------
    by : str
        What the lines are.
    part : str
        The rows that were scored on.
    measure : str
        What the scores are.
    names : list of str
    rows : list of int
        Candidates, by line.
    kept : list of list of int
        Rows kept by each selection, by line.
    before : list of float or None
        The score with all rows; None where no row was scored on.
    after : list of list of float or None
        That of each selection.
    left_out : int
        Lines that would be too many.
    """

    by: str
    part: str
    measure: str
    names: list[str]
    rows: list[int]
    kept: list[list[int]]
    before: list[float | None]
    after: list[list[float | None]]
    left_out: int = 0


@dataclass(frozen=True)
class _Losses:
    """Of the model of all rows and of each selection's, on the same rows; NaN on a selection's own rows."""

    rows: NDArray[np.int64]  # among the training rows; empty for others
    y: NDArray[Any]
    before: NDArray[np.float64]
    after: NDArray[np.float64]


def by_class(run: Run) -> Breakdown | None:
    """Class by class, on the rows that had the least part in choosing; None for regression."""
    split = run.split
    if split.classes is None:
        return None
    if split.X_test is not None and split.y_test is not None:
        part, losses = "held-out rows", _on_others(run, split.X_test, split.y_test)
    elif split.evaluation_rows is None:
        part, losses = "validation rows", _on_others(run, *split.validation)
    else:
        part, losses = "rows outside each set", _outside(run)
    names = [str(label) for label in split.classes.tolist()]
    return _lines("class", part, names, split.y, losses.y, losses, run)


def by_group(run: Run, groups: Sequence[Any], name: str) -> Breakdown:
    """Group by group; ``groups`` has a label for each row of the table. Scores are of the rows outside."""
    from pandas import Series, isna

    given = Series(list(groups), dtype=object)
    labels = given.where(isna(given), given.astype(str)).fillna("(none)").to_numpy()[run.split.rows]
    names, codes = np.unique(labels, return_inverse=True)
    losses = _outside(run)
    part = "rows outside each set"
    return _lines(name, part, names.tolist(), codes, codes[losses.rows], losses, run)


def _lines(
    by: str,
    part: str,
    names: list[str],
    codes: NDArray[Any],
    scored: NDArray[Any],
    losses: _Losses,
    run: Run,
) -> Breakdown:
    right = run.split.task == "classification"
    counts = np.bincount(codes, minlength=len(names))
    shown = (
        np.arange(len(names)) if len(names) <= MOST else np.sort(np.argsort(-counts, kind="stable")[:MOST])
    )

    def scores(line: NDArray[np.float64]) -> list[float | None]:
        means = [_mean(line[scored == k]) for k in shown]
        return [None if m is None else 1 - m if right else m for m in means]

    return Breakdown(
        by=by,
        part=part,
        measure="right" if right else "mean absolute error",
        names=[names[k] for k in shown],
        rows=counts[shown].tolist(),
        kept=[np.bincount(codes[s.rows], minlength=len(names))[shown].tolist() for s in run.selections],
        before=scores(losses.before),
        after=[scores(line) for line in losses.after],
        left_out=len(names) - len(shown),
    )


def _mean(line: NDArray[np.float64]) -> float | None:
    return float(np.nanmean(line)) if np.isfinite(line).any() else None


def _on_others(run: Run, X: Any, y: NDArray[Any]) -> _Losses:
    sets = [*(s.rows for s in run.selections), np.arange(run.split.n_rows)]
    found = _train(run.split, run, sets, X, y)
    return _Losses(np.empty(0, dtype=np.int64), y, found[-1], found[:-1])


def _outside(run: Run) -> _Losses:
    """On training rows: a selection's model on those outside it, that of all rows by cross-validation."""
    own = run.split.evaluation_rows is not None
    split = run.split if own else run.split.out_of_bag()
    metric = _metric(split)
    rows = np.asarray(split.evaluation_rows)
    X, y = split.evaluation
    answers = cross_validated(SetTrainer(split, run.learner, 1, run.seed, run.jobs, None), metric)
    before = metric.row_losses(y, answers[None])[0]
    after = _train(split, run, [s.rows for s in run.selections], X, y)
    for line, selection in zip(after, run.selections, strict=True):
        line[_holds(selection, rows)] = np.nan
    return _Losses(rows, y, before, after)


def _holds(selection: Selection, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.isin(rows, selection.rows)


def _train(split: Split, run: Run, sets: list[Any], X: Any, y: NDArray[Any]) -> NDArray[np.float64]:
    metric = _metric(split)
    trainer = SetTrainer(split, run.learner, 1, run.seed, run.jobs, None)
    note = partial(note_answers, metric, split, [y])
    answers = shaped(trainer.train(sets, [X], note, ask=metric.ask, once=True)[0], len(y))
    return metric.row_losses(y, answers)


def _metric(split: Split) -> Metric:
    return METRICS["accuracy" if split.task == "classification" else "mae"]
