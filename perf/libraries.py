"""Ways to choose rows from other libraries: ``pip install apricot-select coreax``.

Both are greedy, so that the rows of a smaller budget come first among those of a larger one: all budgets are
computed at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cdvm import Split
from cdvm.selectors.base import Positions, allocate

Rows = dict[float, Positions]


def apricot(split: Split, budgets: Sequence[float]) -> Rows:
    """Facility location with apricot's defaults, class by class."""
    from apricot import FacilityLocationSelection

    sizes = np.bincount(split.y, minlength=split.n_classes)
    parts = {b: allocate(sizes, round(b * split.n_rows)) for b in budgets}
    kept: dict[float, list[Positions]] = {b: [] for b in budgets}
    for k in range(split.n_classes):
        rows, most = np.flatnonzero(split.y == k), max(int(part[k]) for part in parts.values())
        order = FacilityLocationSelection(most, metric="euclidean").fit(split.X[rows]).ranking
        for budget, part in parts.items():
            kept[budget].append(rows[order[: part[k]]])
    return {b: np.sort(np.concatenate(found)) for b, found in kept.items()}


def coreax(split: Split, budgets: Sequence[float]) -> Rows:
    """Kernel herding of all rows, the kernel's length by the median heuristic."""
    import jax.numpy as jnp
    from coreax import Data
    from coreax.kernels import SquaredExponentialKernel, median_heuristic
    from coreax.solvers import KernelHerding

    few = np.random.default_rng(0).choice(split.n_rows, min(split.n_rows, 1000), replace=False)
    length = float(median_heuristic(jnp.asarray(split.X[few])))
    solver = KernelHerding(
        round(max(budgets) * split.n_rows), kernel=SquaredExponentialKernel(length_scale=length), unique=True
    )
    coreset, _ = solver.reduce(Data(jnp.asarray(split.X)))
    order = np.asarray(coreset.unweighted_indices).ravel()
    return {b: np.sort(order[: round(b * split.n_rows)]) for b in budgets}


LIBRARIES: dict[str, Callable[[Split, Sequence[float]], Rows]] = {"apricot": apricot, "coreax": coreax}
