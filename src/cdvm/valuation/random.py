"""Values without meaning: the baseline every ranking has to beat."""

from __future__ import annotations

from typing import Any

import numpy as np

from cdvm.data.split import Split
from cdvm.sampling import RandomStream, draw_words
from cdvm.valuation.base import Players, Values

__all__ = ["random"]


def random(split: Players, learner: Any = None, *, seed: int = 0) -> Values:
    """Values uniform between 0 and 1, whatever the rows and the learner.

    >>> random(3, seed=1).values.round(2)
    array([..., ..., ...])
    """
    n_rows = split.n_rows if isinstance(split, Split) else split
    words = draw_words(seed, RandomStream.VALUES, 0, 1, n_rows)[0]
    return Values.of(split, (words >> np.uint64(11)) / 2.0**53, "random", fits=0)
