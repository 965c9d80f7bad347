"""Random programs with conditions, and their optimum by other means."""

from itertools import combinations

import numpy as np
from scipy.optimize import linprog

from cdvm import Program
from cdvm.optimize.conditions import Conditions


def random_program(seed, most_rows=40):
    """A program with some of all conditions; None where they contradict each other by themselves."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(5, most_rows)), int(rng.integers(1, 25))
    T = rng.normal(0.01, 1, (n, m)) * 10.0 ** rng.uniform(-4, 3)
    size = int(rng.integers(1, n + 1))
    given = {}
    if rng.random() < 0.7:
        groups = given["groups"] = rng.integers(0, 4, n)
        counts = np.bincount(groups, minlength=4)
        least = {int(g): int(rng.integers(0, min(counts[g], size // 4) + 1)) for g in np.unique(groups)}
        if rng.random() < 0.6:
            given["at_least"] = least
        if rng.random() < 0.6:
            floor = given.get("at_least", {})
            given["at_most"] = {g: int(max(floor.get(g, 0), rng.integers(1, counts[g] + 1))) for g in least}
    if rng.random() < 0.4:
        given["keep"] = rng.choice(n, int(rng.integers(0, max(1, size // 3) + 1)), replace=False)
    if rng.random() < 0.4:
        dropped = rng.choice(n, int(rng.integers(0, n // 4 + 1)), replace=False)
        given["drop"] = np.setdiff1d(dropped, given.get("keep", [])).astype(int)
    if rng.random() < 0.25 and "keep" not in given:
        given["together"] = rng.integers(0, max(2, n // 2), n)
    budget = size
    if rng.random() < 0.3:
        given["costs"] = rng.uniform(0.5, 3, n)
        budget = 1.5 * size
    return Program(
        T,
        budget,
        alpha=float(rng.choice([0.1, 0.3, 0.5, 0.9, 1.0])),
        kappa=float(np.abs(T).max() * rng.uniform(0, 3)),
        importance=rng.uniform(0, 2, m) if rng.random() < 0.4 else None,
        conditions=Conditions.of(n, **given),
    )


def rows_of_program(program):
    """Equalities and inequalities in the rows' weights, and their bounds, written down one by one."""
    c, n = program.conditions, program.n_rows
    above, limits, equal, values = [], [], [], []
    price = np.ones(n) if c.costs is None else c.costs
    if c.costs is None and len(np.unique(c.block)) == n:
        equal.append(price)
        values.append(program.budget)
    else:
        above.append(price)
        limits.append(program.budget)
    for g in range(len(c.names)):
        member = c.membership[:, [g]].toarray().ravel()
        above += [member, -member]
        limits += [c.high[g], -c.low[g]]
    for block in np.unique(c.block):
        first, *others = np.flatnonzero(c.block == block)
        for other in others:
            equal.append(np.eye(n)[first] - np.eye(n)[other])
            values.append(0.0)
    return above, limits, equal, values, list(zip(c.keep.astype(float), 1.0 - c.drop, strict=True))


def relaxed_optimum(program):
    """The optimum of the relaxed program by SciPy's linprog, or None where there is no feasible point."""
    m, T = program.n_evaluation, program.attribution.dense()
    scale = np.abs(T).max()
    T, kappa = T / scale, program.kappa / scale
    importance = np.ones(m) if program.importance is None else program.importance
    above, limits, equal, values, bounds = rows_of_program(program)
    pad = np.zeros(m)
    A_ub = [np.r_[row, pad] for row in above] + [np.r_[T[:, j], -np.eye(m)[j]] for j in range(m)]
    cost = -np.r_[program.alpha * (T @ importance), -(1 - program.alpha) * importance]
    found = linprog(
        cost,
        A_ub=np.array(A_ub),
        b_ub=np.r_[limits, np.full(m, kappa)],
        A_eq=np.array([np.r_[row, pad] for row in equal]) if equal else None,
        b_eq=values or None,
        bounds=[*bounds, *[(0, None)] * m],
        method="highs",
    )
    return None if found.x is None else -found.fun * scale


def best_set(program):
    """The best feasible set by trying all; None where there is none."""
    n, best = program.n_rows, None
    above, limits, equal, values, bounds = rows_of_program(program)
    low, high = np.array(bounds).T
    for size in range(n + 1):
        for rows in combinations(range(n), size):
            w = np.zeros(n)
            w[list(rows)] = 1.0
            fits = (w >= low).all() and (w <= high).all()
            fits = fits and all(row @ w <= limit + 1e-9 for row, limit in zip(above, limits, strict=True))
            fits = fits and all(abs(row @ w - v) < 1e-9 for row, v in zip(equal, values, strict=True))
            if fits and (best is None or program.objective(w) > best):
                best = program.objective(w)
    return best
