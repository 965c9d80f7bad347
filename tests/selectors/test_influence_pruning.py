"""The influence program against CVXPY, and influence pruning from end to end."""

import cvxpy as cp
import numpy as np
import pytest

from cdvm import InputError, Split
from cdvm.selectors import InfluenceProgram, influence_pruning, select_rows
from cdvm.valuation.influence import influence_vectors


def vectors(n, p, seed=0, shift=0.3):
    rng = np.random.default_rng(seed)
    return shift + rng.standard_normal((n, p)) * rng.gamma(1.0, size=(n, 1))


def cvxpy_optimum(Z, size):
    r = cp.Variable(len(Z))
    # the square is smooth at the optimum, and solved more precisely
    problem = cp.Problem(cp.Minimize(cp.sum_squares(Z.T @ r)), [cp.sum(r) == size, r >= 0, r <= 1])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-10, tol_feas=1e-10)
    return np.sqrt(max(problem.value, 0.0))


@pytest.mark.parametrize(("n", "p"), [(60, 100), (60, 10), (120, 60)])
@pytest.mark.parametrize("fraction", [0.02, 0.1, 0.5, 0.95])
def test_norm_is_the_optimum_of_cvxpy(n, p, fraction):
    Z, size = vectors(n, p), max(1, round(fraction * n))
    removal = InfluenceProgram(Z).solve(size)
    optimum = cvxpy_optimum(Z, size)
    scale = np.linalg.norm(Z, axis=1).mean()
    assert removal.norm == pytest.approx(optimum, rel=1e-5, abs=1e-5 * scale)
    assert removal.bound <= optimum + 1e-5 * scale
    assert removal.norm - removal.bound <= 1e-6 * removal.norm + 1e-6 * scale


@pytest.mark.parametrize(("n", "p"), [(40, 60), (40, 5)])
def test_weights_are_feasible_and_the_norm_is_theirs(n, p):
    Z = vectors(n, p, seed=1, shift=0.0)
    for size in (1, 7, 39, 40):
        removal = InfluenceProgram(Z).solve(size)
        assert removal.weights.min() >= 0
        assert removal.weights.max() <= 1
        assert removal.weights.sum() == pytest.approx(size, abs=1e-9)
        assert removal.norm == pytest.approx(np.linalg.norm(removal.weights @ Z), abs=1e-9)


def test_bound_holds_for_every_set():
    Z = vectors(12, 20)
    removal = InfluenceProgram(Z).solve(4)
    rng = np.random.default_rng(0)
    norms = [np.linalg.norm(Z[rng.choice(12, 4, replace=False)].sum(axis=0)) for _ in range(500)]
    assert removal.bound <= min(norms)
    assert removal.bound > 0


def test_few_parameters_leave_few_fractions():
    Z = vectors(200, 6, shift=0.0)
    removal = InfluenceProgram(Z).solve(60)
    fractions = (removal.weights > 1e-7) & (removal.weights < 1 - 1e-7)
    assert removal.norm < 1e-6
    assert fractions.sum() <= 7
    removed = np.setdiff1d(np.arange(200), removal.keep(140))
    chance = np.sqrt(60 * (Z**2).sum(axis=1).mean())
    assert np.linalg.norm(Z[removed].sum(axis=0)) < 0.3 * chance


def test_both_directions_divide_the_rows():
    removal = InfluenceProgram(vectors(50, 80)).solve(20)
    low, high = removal.keep(30), removal.keep(20, reverse=True)
    assert sorted([*low, *high]) == list(range(50))
    assert removal.weights[low].max() <= removal.weights[high].min() + 1e-9
    assert len(removal.keep(0.1)) == 5


def test_rows_marked_alike_are_kept_at_random_with_a_seed():
    removal = InfluenceProgram(vectors(60, 5, shift=0.0)).solve(10)
    untouched = np.flatnonzero(removal.weights < 1e-9)
    sets = [removal.keep(20, seed=seed) for seed in range(200)]
    assert all(np.isin(rows, untouched).all() for rows in sets)
    counts = np.bincount(np.concatenate(sets), minlength=60)[untouched]
    expected = 200 * 20 / len(untouched)
    assert abs(counts - expected).max() < 5 * np.sqrt(expected)
    np.testing.assert_array_equal(removal.keep(20, seed=3), sets[3])
    # by length, always the same
    longest = untouched[np.argsort(-removal.lengths[untouched])[:20]]
    np.testing.assert_array_equal(removal.keep(20), np.sort(longest))


def test_rows_without_influence_go_first():
    Z = vectors(30, 40)
    Z[[3, 17]] = 0.0
    removal = InfluenceProgram(Z).solve(2)
    assert removal.norm < 1e-8
    assert {3, 17}.isdisjoint(removal.keep(28))


@pytest.mark.parametrize("classes", [2, 4])
def test_end_to_end_moves_the_model_less_than_chance(classes):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((160, 12))
    y = (X[:, :classes] + 0.5 * rng.standard_normal((160, classes))).argmax(axis=1)
    split = Split.from_arrays(X[:120], y[:120], X[120:], y[120:])
    kept = select_rows(split, "influence_pruning", 80)
    assert len(kept) == 80
    np.testing.assert_array_equal(kept, influence_pruning(split, 80))
    Z = influence_vectors(split)
    removed = np.setdiff1d(np.arange(120), kept)
    chance = [np.linalg.norm(Z[rng.choice(120, 40, replace=False)].sum(axis=0)) for _ in range(50)]
    assert np.linalg.norm(Z[removed].sum(axis=0)) < min(*chance, 0.6 * np.median(chance))


def test_all_rows_can_be_kept_and_sizes_set_apart():
    split = Split.from_arrays(np.eye(8), [0, 1] * 4, np.eye(8), [0, 1] * 4)
    assert influence_pruning(split, 8).tolist() == list(range(8))
    assert len(influence_pruning(split, 3, size=2, reverse=True)) == 3


def test_bad_arguments_are_named():
    program = InfluenceProgram(vectors(10, 4))
    for size in (0, 11, 2.5, True):
        with pytest.raises(InputError, match="size="):
            program.solve(size)
    with pytest.raises(InputError, match="finite array"):
        InfluenceProgram(np.array([[1.0, np.nan]]))
    with pytest.raises(InputError, match="budget=0"):
        program.solve(3).keep(0)
