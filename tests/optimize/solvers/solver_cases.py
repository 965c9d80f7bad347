"""Attributions of every kind the solvers must handle, and checks every solution must pass."""

import itertools

import numpy as np
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_digits

from cdvm.attribution.implicit import ImplicitAttribution
from cdvm.optimize.program import Program


def random_matrix(rng, n, m):
    return rng.normal(0.02, 0.1, (n, m))


def clustered_matrix(rng, n, m):
    """Rows help the evaluation rows of their own cluster only."""
    k = int(rng.integers(1, min(n, m) + 1))
    return np.where(
        (np.arange(n) % k)[:, None] == np.arange(m) % k, rng.uniform(0.1, 1.0, k)[np.arange(m) % k], 0.0
    )


def duplicated_matrix(rng, n, m):
    """Few distinct rows and columns: every optimum is degenerate."""
    rows, columns = rng.integers(0, max(1, n // 3), n), rng.integers(0, max(1, m // 3), m)
    return random_matrix(rng, n, m)[np.ix_(rows, columns)]


def integer_matrix(rng, n, m):
    return rng.integers(-1, 2, (n, m)).astype(float)


def negative_matrix(rng, n, m):
    return -np.abs(random_matrix(rng, n, m))


def sparse_matrix(rng, n, m):
    return random_matrix(rng, n, m) * (rng.random((n, m)) < 0.2)


KINDS = {
    "random": random_matrix,
    "clustered": clustered_matrix,
    "duplicated": duplicated_matrix,
    "integer": integer_matrix,
    "negative": negative_matrix,
    "sparse": sparse_matrix,
}


@st.composite
def programs(draw, max_rows=30, max_evaluation=30):
    """Programs of all kinds, shapes, budgets, trade-offs and caps, the extremes included."""
    n, m = draw(st.integers(1, max_rows)), draw(st.integers(1, max_evaluation))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    matrix = KINDS[draw(st.sampled_from(sorted(KINDS)))](rng, n, m)
    budget = draw(st.one_of(st.just(1), st.just(n), st.integers(1, n)))
    # HiGHS' tolerances are absolute: it cannot serve as the truth where alpha is all but 0
    alpha = draw(st.one_of(st.sampled_from([0.0, 0.1, 0.3, 0.5, 1.0]), st.floats(0.01, 1.0)))
    fraction = draw(st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.0]))
    program = Program(matrix, budget, alpha)
    return program.replace(kappa=fraction * program.kappa)


def digits_attribution(n=150, m=60, n_models=600, inclusion=0.1):
    """Real subset models: ridge classifiers on scikit-learn's digits."""
    x, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    picked = rng.permutation(len(x))[: n + m]
    x, y = np.c_[x[picked] / 16.0, np.ones(n + m)], y[picked]
    members = rng.random((n_models, n)) < inclusion
    right = np.zeros((n_models, m), dtype=np.uint8)
    for model, seen in enumerate(members):
        a = x[:n][seen]
        coefficients = a.T @ np.linalg.solve(a @ a.T + np.eye(len(a)), 2.0 * np.eye(10)[y[:n][seen]] - 1.0)
        right[model] = (x[n:] @ coefficients).argmax(axis=1) == y[n:]
    return ImplicitAttribution(sparse.csr_array(members.astype(np.int8)), right)


def assert_feasible(program, solution):
    w = solution.weights
    assert w.shape == (program.n_rows,)
    assert w.min() >= 0.0
    assert w.max() <= 1.0
    assert abs(w.sum() - program.budget) <= 1e-9
    assert solution.multipliers.min() >= 0.0
    assert solution.multipliers.max() <= 1.0 - program.alpha


def assert_certified(program, solution, tolerance=1e-8):
    assert_feasible(program, solution)
    assert solution.status == "optimal"
    assert solution.gap <= tolerance * 1.01
    assert (
        program.gap(program.objective(solution.weights), program.bound(solution.multipliers))
        <= tolerance * 1.01
    )


def distance(program, first, second):
    """Relative difference of two objectives, by the program's own measure."""
    return program.gap(min(first, second), max(first, second))


def brute_force(program, must=()):
    """The best objective over all sets of S rows, or of those with some rows that must be kept."""
    matrix = program.attribution.dense()
    sets = itertools.combinations(range(program.n_rows), program.budget)
    return max(program.objective_at(matrix[list(rows)].sum(axis=0)) for rows in sets if {*must} <= {*rows})
