"""Penalised softmax losses: slopes against differences, minima against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from cdvm.learners.batched.lbfgs import Point, dot, minimise
from cdvm.learners.batched.softmax import Problem, SharedProblem, Table


def rows_of(rng, n, s, r, classes):
    X, y = rng.standard_normal((n, s, r)), rng.integers(0, classes, (n, s))
    y[:, :classes] = range(classes)
    return X, y, rng.integers(1, 4, (n, 1, s)).astype(float)


def problem_of(X, y, weights, classes, *, dual, intercept=True, dtype=np.float64):
    targets = weights * (np.arange(classes)[:, None] == y[:, None, :])
    present = targets.sum(axis=2) > 0
    rows = X @ X.transpose(0, 2, 1) if dual else X
    return Problem.of(rows, targets, weights, present, dual=dual, intercept=intercept, dtype=dtype)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("dual", [True, False])
def test_slopes_are_those_of_the_loss(rng, dual, intercept):
    problem = problem_of(*rows_of(rng, 2, 9, 4, 3), 3, dual=dual, intercept=intercept)

    def point(at):
        return Point(at, problem.image(at))

    shape = problem.start().at.shape
    at, step = rng.standard_normal(shape), rng.standard_normal(shape)
    if not intercept:
        at[:, :, -1] = step[:, :, -1] = 0.0
    slope = problem.slope(point(at), problem.loss(point(at))[1])
    ahead, behind = (problem.loss(point(at + e * step))[0] for e in (1e-5, -1e-5))
    np.testing.assert_allclose(dot(slope, problem.metric(point(step))), (ahead - behind) / 2e-5, rtol=1e-6)


def test_the_loss_is_its_formula(rng):
    X, y, weights = rows_of(rng, 1, 7, 3, 3)
    problem = problem_of(X, y, weights, 3, dual=False)
    at = rng.standard_normal((1, 3, 4))
    f = X[0] @ at[0, :, :-1].T + at[0, :, -1]
    expected = sum(
        w * (np.log(np.exp(line).sum()) - line[k]) for w, line, k in zip(weights[0, 0], f, y[0], strict=True)
    )
    value, wrong = problem.loss(Point(at, problem.image(at)))
    np.testing.assert_allclose(value, expected + 0.5 * (at[0, :, :-1] ** 2).sum())
    chances = np.exp(f) / np.exp(f).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(wrong[0].T, np.where(np.arange(3) == y[0][:, None], 0, chances))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("dual", [True, False])
def test_minima_are_those_of_scikit_learn(rng, dual, intercept, classes):
    X, y, weights = rows_of(rng, 3, 12, 5, classes)
    found, free, converged = minimise(
        problem_of(X, y, weights, classes, dual=dual, intercept=intercept), 1e-8
    )
    assert converged.all()
    for k in range(3):
        peer = LogisticRegression(
            tol=1e-10, max_iter=10_000, fit_intercept=intercept, C=1 if classes > 2 else 2
        )
        peer.fit(X[k], y[k], sample_weight=weights[k, 0])
        mine = (found[k] @ X[k] if dual else found[k]), free[k]
        for ours, theirs in zip(mine, (peer.coef_, peer.intercept_), strict=True):
            # two classes have one line of coefficients: their difference
            both = ours - ours.mean(axis=0) if classes > 2 else ours[1:] - ours[:1]
            np.testing.assert_allclose(
                both, theirs - theirs.mean(axis=0) if classes > 2 else theirs, atol=1e-5
            )


def test_a_class_without_rows_gets_nothing(rng):
    X, y, weights = rows_of(rng, 1, 10, 3, 2)
    three, two = (minimise(problem_of(X, y, weights, k, dual=False), 1e-9)[0] for k in (3, 2))
    np.testing.assert_allclose(three[:, :2], two, atol=1e-7)
    assert not three[:, 2].any()


@pytest.mark.parametrize("own_systems", [True, False])
def test_rows_at_weight_0_of_a_shared_table_do_not_count(rng, own_systems):
    X, y, _ = rows_of(rng, 1, 30, 4, 2)
    counts = rng.integers(0, 3, (5, 1, 30)).astype(float)
    counts[:, :, :2] = 1
    table = Table.of(problem_of(X, y, np.ones((1, 1, 30)), 2, dual=False), np.float64)
    copies = np.repeat(X, 5, axis=0), np.repeat(y, 5, axis=0)
    alone = problem_of(*copies, counts, 2, dual=False)
    fields = {name: getattr(alone, name) for name in ("targets", "weights", "others", "absent", "spread")}
    common = None if own_systems else table.inverse(counts.mean(), intercept=True)
    shared = SharedProblem(
        **fields, design=table.design, dual=False, intercept=True, table=table, common=common
    )
    assert shared.memory > alone.memory or own_systems
    (own, own_free, _), (found, free, converged) = minimise(alone, 1e-9), minimise(shared, 1e-9)
    assert converged.all()
    np.testing.assert_allclose(found, own, atol=1e-7)
    np.testing.assert_allclose(
        free - free.mean(axis=1, keepdims=True), own_free - own_free.mean(axis=1, keepdims=True), atol=1e-7
    )
