"""Forgetting: the rows that a network unlearns most often (Toneva et al., 2019).

A network with one hidden layer is trained on all rows. A row is forgotten when it was right after one pass
over the rows and is wrong after the next. Rows that were never right count as forgotten every time.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from cdvm._runtime.parallel import blas_threads
from cdvm._runtime.parameters import check
from cdvm.data.split import Split
from cdvm.optimize.program import resolve_budget
from cdvm.selectors.base import RULES, Positions, numbers_of, refuse_regression

__all__ = ["count_forgotten", "forgetting", "times_forgotten"]


def forgetting(
    split: Split, budget: float, *, passes: int = 30, forgotten: Any = None, random_state: Any = None
) -> Positions:
    """Choose the rows forgotten most often, at random among those forgotten as often.

    Parameters
    ----------
    split : Split
    budget : int or float
        Rows to keep, as a count or as a fraction.
    passes : int
        Over the rows, in training.
    forgotten : ndarray, optional
        What :func:`times_forgotten` found earlier; nothing is trained then.
    random_state : int, RandomState or None

    Returns
    -------
    ndarray
        Sorted positions among the training rows.
    """
    refuse_regression(split, "forgetting")
    size, rng = resolve_budget(budget, split.n_rows), check_random_state(random_state)
    times = numbers_of(split, partial(times_forgotten, passes=passes), rng, forgotten=forgotten)
    order = np.lexsort((rng.random_sample(split.n_rows), -times))
    return np.sort(order[:size])


def times_forgotten(split: Split, *, passes: int = 30, seed: int = 0) -> NDArray[np.int64]:
    """How often a network forgets each training row, see :func:`count_forgotten`."""
    from sklearn.neural_network import MLPClassifier

    refuse_regression(split, "forgetting")
    check(RULES, {"passes": passes})
    network = MLPClassifier(random_state=seed)
    right = np.empty((passes, split.n_rows), dtype=bool)
    with blas_threads(1):  # the same sums, whatever the cores
        for k in range(passes):
            network.partial_fit(split.X, split.y, classes=np.arange(split.n_classes))
            right[k] = network.predict(split.X) == split.y
    return count_forgotten(right)


def count_forgotten(right: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How often each row was right and then wrong; as often as possible for one that was never right.

    >>> count_forgotten(np.array([[1, 0, 0], [0, 0, 1], [1, 0, 1], [0, 0, 1]], dtype=bool))
    array([2, 4, 0])
    """
    times = (right[:-1] & ~right[1:]).sum(axis=0)
    return np.asarray(np.where(right.any(axis=0), times, len(right)), dtype=np.int64)
