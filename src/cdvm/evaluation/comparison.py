"""How good is a set of rows beside as many random ones, and beside all rows?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm._runtime.parameters import check, is_whole
from cdvm.data.split import Split
from cdvm.errors import InputError
from cdvm.evaluation.metrics import Metric, make_metric
from cdvm.evaluation.scoring import note_answers, score_on_parts, shaped
from cdvm.evaluation.training import RULES, Rows, Scores, SetTrainer, rows_of
from cdvm.sampling import RandomStream, draw_words

__all__ = ["Comparison", "affordable_sets", "compare_with_random", "cross_validated", "random_sets"]

_FOLDS = 5


def random_sets(n_rows: int, size: int, draws: int, *, seed: int = 0) -> list[NDArray[np.int64]]:
    """``draws`` sets of ``size`` distinct rows, each uniform."""
    check(RULES, {"n_rows": n_rows, "draws": draws, "seed": seed})
    if not is_whole(size) or not 1 <= size <= n_rows:
        raise InputError(f"size={size}: use at least 1 row and at most the {n_rows} there are")
    keys = draw_words(seed, RandomStream.BASELINE, 0, draws, n_rows)
    return [np.sort(np.argsort(row)[:size]) for row in keys]


def affordable_sets(costs: Scores, spend: float, draws: int, *, seed: int = 0) -> list[NDArray[np.int64]]:
    """``draws`` sets of rows in random order, as long as the money lasts, and at least one row each.

    >>> [len(rows) for rows in affordable_sets(np.array([1.0, 1.0, 1.0, 1.0]), 2.5, 3)]
    [2, 2, 2]
    """
    orders = [np.argsort(row) for row in draw_words(seed, RandomStream.BASELINE, 0, draws, len(costs))]
    counts = [max(1, int(np.searchsorted(np.cumsum(costs[o]), spend, side="right"))) for o in orders]
    return [np.sort(order[:count]) for order, count in zip(orders, counts, strict=True)]


@dataclass(frozen=True)
class Comparison:
    """Scores on one part: of a set, of as many random rows, of all rows.

    Parts are validation and test rows, or the training rows outside each set (see :func:`score_sets`); there,
    all rows are scored by cross-validation.

    Attributes
    ----------
    kept : float
        Score of the set.
    random, random_std : float
        Mean and standard deviation of the scores of random sets.
    standard_error : float
        Of that mean, and so of the difference between the set and the usual random set: what drawing more
        random sets would change. That the rows scored on are a sample themselves is not in it.
    all_rows : float
        Score of all rows.
    """

    kept: float
    random: float
    random_std: float
    all_rows: float
    standard_error: float = 0.0

    @property
    def above_random(self) -> bool:
        """Whether the set is above random sets by more than two standard errors."""
        return self.kept - self.random > 2 * self.standard_error


def compare_with_random(
    split: Split,
    learner: Any,
    sets: Sequence[Any],
    *,
    metric: Any = None,
    draws: int = 20,
    repeats: int = 1,
    seed: int = 0,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> list[dict[str, Comparison]]:
    """Compare each set with ``draws`` random sets of its size and with all rows.

    Other parameters are those of :func:`evaluate_sets`. The scores are on the parts there are:
    ``"validation"`` or else ``"outside"``, and ``"test"``.
    """
    run = SetTrainer(split, learner, repeats, seed, n_jobs, progress, draws=draws)
    made = make_metric(metric, split)
    compared = rows_of(split, sets)
    if not compared:
        return []
    trained: list[Rows] = []
    for rows in compared:
        trained += [rows, *random_sets(split.n_rows, len(rows), draws, seed=seed)]
    own = split.evaluation_rows is not None
    parts = {"outside" if own else "validation": split.evaluation}
    if split.X_test is not None and split.y_test is not None:
        parts["test"] = (split.X_test, split.y_test)
    if not own or "test" in parts:
        trained.append(np.arange(split.n_rows))
    lines = score_on_parts(run, trained, parts, made)
    all_rows = {part: float(line[-1]) for part, line in lines.items()}
    if own:
        all_rows["outside"] = whole = float(
            made.score(split, split.evaluation[1], cross_validated(run, made)[None])[0]
        )
        outside = np.where(np.isnan(lines["outside"]), whole, lines["outside"])
        # what makes sets comparable may lift the best beyond what there is
        lines["outside"] = outside if made.losses is None else np.minimum(outside, made.best)
    starts = range(0, (draws + 1) * len(compared), draws + 1)
    return [
        {
            part: _comparison(line[k], line[k + 1 : k + 1 + draws], all_rows[part])
            for part, line in lines.items()
        }
        for k in starts
    ]


def _comparison(kept: float, drawn: Scores, all_rows: float) -> Comparison:
    std = float(drawn.std(ddof=1)) if len(drawn) > 1 else 0.0
    return Comparison(
        kept=float(kept),
        random=float(drawn.mean()),
        random_std=std,
        all_rows=all_rows,
        standard_error=std / len(drawn) ** 0.5,
    )


def cross_validated(run: SetTrainer, metric: Metric) -> NDArray[Any]:
    """Answers on the evaluation rows of models trained on all rows but a fifth, each row by the one without.

    Only where training rows are the evaluation rows.
    """
    split = run.split
    X, y = split.evaluation
    fold = np.empty(split.n_rows, dtype=np.int64)
    fold[np.random.RandomState(run.seed).permutation(split.n_rows)] = np.arange(split.n_rows) % _FOLDS
    sets = [np.flatnonzero(fold != k) for k in range(_FOLDS)]
    note = partial(note_answers, metric, split, [y])
    answers = shaped(run.train(sets, [X], note, ask=metric.ask, once=True)[0], len(y))
    return np.asarray(answers[fold[split.evaluation_rows], np.arange(len(y))])
