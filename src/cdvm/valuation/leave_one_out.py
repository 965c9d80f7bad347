"""Leave-one-out: the score with all rows less the score without the row.

n + 1 fits. Players of which there are two are worth nothing to it, however much they are needed.
"""

from __future__ import annotations

import time

import numpy as np
from scipy import sparse

from cdvm._runtime.progress import Progress
from cdvm.sampling import Subsets
from cdvm.valuation.base import Game, LearnerLike, Players, Values

__all__ = ["leave_one_out"]

_ENTRIES_AT_ONCE = 1 << 24  # of the training sets, which are as long as the table


def leave_one_out(
    split: Players,
    learner: LearnerLike,
    *,
    seed: int = 0,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> Values:
    """Leave-one-out values of the training rows.

    Parameters
    ----------
    split : Split or int
        A number of rows is enough where ``learner`` is a utility.
    learner : Learner, str, estimator or callable
        Or the utility itself, a function from Subsets to one number per subset.

    Examples
    --------
    >>> leave_one_out(3, lambda sets: sets.members[:, [0]].toarray().ravel() * 0.5).values
    array([0.5, 0. , 0. ])
    """
    started = time.perf_counter()
    game = Game(split, learner, n_jobs=n_jobs)
    n = game.n_rows
    step = max(1, _ENTRIES_AT_ONCE // n)
    without = []
    with Progress("fits", n + 1, enabled=progress) as bar:
        all_rows = game(Subsets.of([np.arange(n)], n, seed=seed), bar)[0]
        for first in range(0, n, step):
            without.append(game(_all_but(first, min(first + step, n), n, seed), bar))
    seconds = time.perf_counter() - started
    values = all_rows - np.concatenate(without)
    return Values.of(split, values, "leave_one_out", fits=game.evaluations, seconds=seconds)


def _all_but(first: int, stop: int, n_rows: int, seed: int) -> Subsets:
    """All rows but one, for the rows ``first`` to ``stop``.

    They share one model number: where training is random all start alike, and what differs is the row.
    """
    place = np.arange(n_rows - 1)
    left_out = np.arange(first, stop)[:, None]
    indices = (place + (place >= left_out)).astype(np.int32)
    indptr = np.arange(len(indices) + 1, dtype=np.int32) * np.int32(n_rows - 1)
    ones = np.ones(indices.size, dtype=np.int32)
    members = sparse.csr_array((ones, indices.ravel(), indptr), shape=(len(indices), n_rows))
    return Subsets(members, np.zeros(len(indices), dtype=np.int64), seed)
