import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cdvm.optimize.program import Program
from cdvm.optimize.solvers import projection
from cdvm.optimize.solvers.projection import project


@settings(max_examples=150, deadline=None)
@given(
    values=st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=30),
    scale=st.sampled_from([1e-6, 1.0, 1e4]),
    fraction=st.floats(0, 1),
    start=st.none() | st.floats(-1e3, 1e3),
)
@example(values=[420.0, 420.0, 420.0], scale=1e4, fraction=0.0, start=None)
def test_projection_is_the_nearest_feasible_point(values, scale, fraction, start):
    z = np.array(values) * scale
    size = max(1, round(fraction * len(z)))
    weights, _ = project(z, size, start)
    assert weights.sum() == pytest.approx(size, abs=1e-9)
    assert weights.min() >= 0
    assert weights.max() <= 1
    # the nearest point of a convex set: no corner of W lies on the far side, (z − w)ᵀ(corner − w) ≤ 0
    outward = z - weights
    best_corner = np.sort(outward)[-size:].sum()
    assert best_corner - outward @ weights <= 1e-8 * max(1.0, np.abs(z).max()) * len(z)


def test_projection_matches_bisection():
    rng = np.random.default_rng(0)
    z = rng.normal(0, 3, 500)
    low, high = z.min() - 1, z.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.clip(z - middle, 0, 1).sum() > 60 else (low, middle)
    np.testing.assert_allclose(project(z, 60)[0], np.clip(z - low, 0, 1), atol=1e-12)


@settings(max_examples=80, deadline=None)
@given(
    n=st.integers(1, 20), part=st.floats(0, 1), seed=st.integers(0, 999), start=st.none() | st.floats(-9, 9)
)
def test_projection_keeps_to_a_largest_weight_of_each_row(n, part, seed, start):
    rng = np.random.default_rng(seed)
    z, upper = 3 * rng.normal(size=n), rng.uniform(0.1, 4, n)
    size = part * upper.sum()
    weights, shift = project(z, size, start, upper)
    low, high = (z - upper).min() - 1, z.max() + 1
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.clip(z - middle, 0, upper).sum() > size else (low, middle)
    np.testing.assert_allclose(weights, np.clip(z - high, 0, upper), atol=1e-9)
    np.testing.assert_allclose(np.clip(z - shift, 0, upper), weights, atol=1e-9)


def test_all_there_is_and_nothing():
    z, upper = np.array([3.0, -1.0]), np.array([2.0, 0.5])
    for size in (2.5, 3.0):
        weights, shift = project(z, size, upper=upper)
        assert weights.tolist() == [2.0, 0.5]
        assert np.clip(z - shift, 0, upper).tolist() == [2.0, 0.5]
    weights, shift = project(z, 0.0, upper=upper)
    assert weights.tolist() == [0.0, 0.0]
    assert np.clip(z - shift, 0, upper).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("passes", "kind"), [(4, "plain"), (3, "from nearby"), (6, "upper")])
def test_few_passes_are_enough(passes, kind, monkeypatch):
    cases = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        z, upper = 3 * rng.normal(size=300), rng.uniform(0.1, 2, 300) if kind == "upper" else 1.0
        weights, shift = project(z, 40.0, upper=upper)
        cases.append((z, shift + 0.02 if kind == "from nearby" else None, upper, weights))
    monkeypatch.setattr(projection, "_PASSES", passes)
    for z, start, upper, weights in cases:
        np.testing.assert_allclose(project(z, 40.0, start, upper)[0], weights, atol=1e-12)
        if kind == "from nearby":
            program = Program(np.ones((300, 1)), 40)
            np.testing.assert_allclose(program.project(z, start)[0], weights, atol=1e-12)


def test_a_start_from_which_no_weight_would_move_is_left():
    weights, shift = project(np.array([5.0, 0.0, -5.0]), 1.5, shift=2.0)
    np.testing.assert_allclose(weights, [1.0, 0.5, 0.0])
    assert shift == pytest.approx(-0.5)
