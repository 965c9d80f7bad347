"""From weights to a set of exactly S rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm.program import Program

__all__ = ["top_rows"]


def top_rows(program: Program, weights: NDArray[Any]) -> NDArray[np.int64]:
    """The S rows of largest weight, sorted; ties go to the larger total gain, then to the earlier row.

    >>> import numpy as np
    >>> program = Program(np.array([[0.1], [0.3], [0.3]]), budget=1)
    >>> top_rows(program, np.array([0.5, 0.5, 0.0]))
    array([1])
    """
    # solvers agree on weights to about 1e-9: below that, a difference is no preference
    rounded = np.round(np.asarray(weights, dtype=np.float64), 9)
    order = np.lexsort((np.arange(program.n_rows), -program.gains, -rounded))
    return np.sort(order[: program.size])
