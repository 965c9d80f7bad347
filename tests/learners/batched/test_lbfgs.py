"""L-BFGS on quadratics, whose minima are known."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from cdvm.learners.batched import lbfgs
from cdvm.learners.batched.lbfgs import Point, dot, keep, minimise

SIZE = 6


@dataclass(frozen=True)
class Quadratics:
    """½ (x − c)ᵀ A (x − c) for each of several A and c, without a preconditioner; NaN where ``broken``."""

    A: np.ndarray
    c: np.ndarray
    broken: np.ndarray
    memory: int = 4

    @property
    def design(self):
        return self.A

    def keep(self, which):
        return replace(self, A=self.A[which], c=self.c[which], broken=self.broken[which])

    def start(self):
        return Point(np.zeros_like(self.c), np.zeros_like(self.c))

    def image(self, at):
        return at.copy()

    def metric(self, point):
        return point.at

    def penalty(self, point):
        return dot(self.c, self.c)

    def loss(self, point):
        wrong = (point.at - self.c) @ self.A
        moved = np.abs(point.at).sum(axis=(1, 2)) > 0
        return np.where(self.broken & moved, np.nan, 0.5 * dot(wrong, point.at - self.c)), wrong

    def slope(self, point, wrong):
        return wrong

    def inverse(self, wrong):
        return np.broadcast_to(np.eye(SIZE), self.A.shape)

    def precondition(self, rest, inverse):
        return rest @ inverse


def quadratics(rng, n, condition):
    turn = np.linalg.qr(rng.standard_normal((n, SIZE, SIZE)))[0]
    spectrum = np.geomspace(1, condition, SIZE) / condition
    A = turn @ (spectrum[:, None] * turn.transpose(0, 2, 1))
    return Quadratics(A, rng.standard_normal((n, 1, SIZE)), np.zeros(n, dtype=bool))


@pytest.mark.parametrize("condition", [1.0, 10.0, 1000.0])
def test_minima_are_found_whatever_the_curvature(rng, condition):
    problem = quadratics(rng, 9, condition)
    coefficients, intercepts, converged = minimise(problem, 1e-9)
    assert converged.all()
    found = np.concatenate([coefficients, intercepts[:, :, None]], axis=2)
    np.testing.assert_allclose(found, problem.c, atol=1e-6)


def test_a_problem_is_solved_alike_alone_and_beside_others_that_end_sooner(rng):
    easy, hard = quadratics(rng, 6, 1.0), quadratics(rng, 2, 300.0)
    both = Quadratics(*(np.concatenate([getattr(p, n) for p in (easy, hard)]) for n in ("A", "c", "broken")))
    together = minimise(both, 1e-8)
    for part, place in ((easy, slice(0, 6)), (hard, slice(6, 8))):
        for alone, beside in zip(minimise(part, 1e-8), together, strict=True):
            np.testing.assert_array_equal(alone, beside[place])


def test_a_problem_that_no_step_helps_stays_where_it_is_and_is_told(rng):
    problem = replace(quadratics(rng, 4, 10.0), broken=np.array([False, True, False, False]))
    coefficients, _, converged = minimise(problem, 1e-9)
    assert converged.tolist() == [True, False, True, True]
    assert not coefficients[1].any()
    np.testing.assert_allclose(coefficients[0], problem.c[0, :, :-1], atol=1e-6)


def test_who_begins_near_the_minimum_needs_fewer_steps(rng, monkeypatch):
    problem = quadratics(rng, 3, 1000.0)
    start = problem.c + 1e-7
    monkeypatch.setitem(lbfgs._ITERATIONS, 8, 3)
    assert not minimise(problem, 1e-6)[2].any()
    coefficients, _, converged = minimise(problem, 1e-6, start)
    assert converged.all()
    np.testing.assert_allclose(coefficients, problem.c[:, :, :-1], atol=1e-6)
    np.testing.assert_array_equal(start, problem.c + 1e-7)


def test_problems_are_kept_in_nested_tuples(rng):
    a = rng.standard_normal((3, 2, 2))
    kept = keep(Point(a, a + 1), np.array([True, False, True]))
    assert isinstance(kept, Point)
    np.testing.assert_array_equal(kept.image, (a + 1)[[0, 2]])
    np.testing.assert_allclose(dot(a, a + 1), (a * (a + 1)).sum(axis=(1, 2)))
