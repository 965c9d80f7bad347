"""Rounding: exactly S rows, and a search that never makes them worse."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from condition_cases import random_program, rows_of_program
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import norm

from cdvm.attribution.base import MatrixAttribution
from cdvm.attribution.implicit import ImplicitAttribution
from cdvm.errors import InputError
from cdvm.optimize.conditions import Conditions
from cdvm.optimize.program import Program
from cdvm.optimize.rounding import (
    _slope_gains,
    class_floors,
    keep_classes,
    loss_of,
    swap_search,
    top_rows,
    with_classes,
)
from cdvm.optimize.solvers.highs import solve_lp


def clustered(n: int, m: int, seed: int) -> np.ndarray:
    """Rows that each help one group of evaluation rows, as real attributions do."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 4, n)[:, None] == rng.integers(0, 4, m)[None, :]
    return rng.normal(0.0, 0.02, (n, m)) + 0.05 * groups


def objective(program: Program, rows: np.ndarray) -> float:
    return program.objective(np.isin(np.arange(program.n_rows), rows).astype(float))


def test_top_rows_breaks_ties_by_gain_then_position():
    program = Program(np.array([[0.1], [0.3], [0.3], [0.2]]), budget=2)
    assert top_rows(program, np.array([0.5, 0.5, 0.5, 0.5])).tolist() == [1, 2]
    assert top_rows(program, np.array([1.0, 0.5, 0.5, 0.0])).tolist() == [0, 1]


def test_conditions_that_ask_for_nothing_change_nothing(rng):
    for seed in range(5):
        program = Program(clustered(20, 8, seed), budget=6, kappa=0.12)
        free = program.replace(conditions=Conditions.of(20))
        weights = np.round(rng.random(20), 1)
        assert top_rows(free, weights).tolist() == top_rows(program, weights).tolist()


def test_of_equal_weights_most_gain_for_the_price_goes_first():
    T = np.array([[6.0], [4.0], [5.0]])
    program = Program(T, 3.0, conditions=Conditions.of(3, costs=[3.0, 1.0, 2.0]))
    assert top_rows(program, np.full(3, 0.5)).tolist() == [1, 2]
    assert top_rows(program, np.array([0.6, 0.5, 0.5])).tolist() == [0]


def test_rows_that_go_together_have_the_mean_of_their_weights():
    program = Program(np.ones((4, 1)), 2, conditions=Conditions.of(4, together=["x", "x", None, None]))
    assert top_rows(program, np.array([0.6, 0.2, 0.5, 0.1])).tolist() == [2, 3]
    assert top_rows(program, np.array([0.6, 0.5, 0.5, 0.1])).tolist() == [0, 1]


def neighbours(program: Program, rows: np.ndarray):
    """Sets that fulfil the conditions and differ by one block, or by one in the place of another."""
    block = program.conditions.block
    above, limits, equal, values, bounds = rows_of_program(program)
    low, high = np.array(bounds).T
    inside = np.unique(block[rows])
    outside = np.setdiff1d(block, inside)
    for new, old in [(b, a) for b in outside for a in [None, *inside]]:
        chosen = np.setdiff1d(inside, [] if old is None else [old])
        w = np.isin(block, np.append(chosen, new)).astype(float)
        fits = (w >= low).all() and (w <= high).all()
        fits = fits and all(row @ w <= limit + 1e-9 for row, limit in zip(above, limits, strict=True))
        if fits and all(abs(row @ w - v) < 1e-9 for row, v in zip(equal, values, strict=True)):
            yield w


def test_no_exchange_or_addition_within_the_conditions_improves_a_finished_search():
    tried = 0
    for seed in range(50):
        program = random_program(seed, most_rows=14)
        try:
            start = top_rows(program, np.random.default_rng(seed).random(program.n_rows))
        except InputError:
            continue
        found = swap_search(program, start, passes=100)
        best = objective(program, found)
        unit = 1e-8 * (abs(best) + program._scale)
        around = [program.objective(w) for w in neighbours(program, found)]
        assert max(around, default=-np.inf) <= best + unit, seed
        tried += len(around) > 0 and best > objective(program, start)
        assert swap_search(program, start, passes=0).tolist() == start.tolist()
    assert tried > 15


def test_a_single_candidate_within_conditions_is_the_one_the_slope_ranks_first():
    matrix = np.arange(1.0, 11.0)[:, None] * np.ones((10, 4))
    program = Program(matrix, 3, 0.5, 1e3, conditions=Conditions.of(10))
    start = np.array([3, 4, 5])
    assert swap_search(program, start, candidates=1, passes=3).tolist() == [7, 8, 9]
    assert swap_search(program, start, candidates=1, passes=1).tolist() == [4, 5, 9]
    dear = Program(matrix, 9.0, 0.5, 1e3, conditions=Conditions.of(10, costs=[3.0] * 9 + [40.0]))
    assert swap_search(dear, start, candidates=1, passes=1).tolist() == [4, 5, 8]


def test_the_slope_is_smoothed_over_the_size_of_a_typical_entry(rng):
    matrix = rng.normal(size=(200, 5))
    program = Program(matrix, 20, alpha=0.3, kappa=1.0, importance=[1.0, 2.0, 0.5, 1.0, 3.0])
    size = np.sqrt((matrix[:64] ** 2).mean())
    influence = program.kappa + size * np.array([-9.0, -1.0, 0.0, 1.0, 9.0])
    slope = 0.7 * program.importance * norm.cdf([-9.0, -1.0, 0.0, 1.0, 9.0])
    expected = 0.3 * matrix @ program.importance - matrix @ slope
    np.testing.assert_allclose(_slope_gains(program, influence), expected, atol=1e-9)
    sampled = np.sqrt((matrix[100:] ** 2).mean())
    influence = program.kappa + sampled * np.array([-9.0, -1.0, 0.0, 1.0, 9.0])
    np.testing.assert_allclose(_slope_gains(program, influence, slice(100, 200)), expected, atol=1e-9)
    nothing = Program(np.zeros((4, 2)), 2, kappa=1.0)
    assert _slope_gains(nothing, np.zeros(2)).tolist() == [0.0] * 4


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(["dense", "sparse", "implicit"]),
    n=st.integers(1, 40),
    m=st.integers(1, 20),
    fraction=st.floats(0, 1),
    alpha=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    factor=st.sampled_from([0.0, 0.5, 1.0]),
    candidates=st.sampled_from([1, 5, 64]),
    seed=st.integers(0, 10_000),
)
def test_swap_search_never_lowers_the_objective(kind, n, m, fraction, alpha, factor, candidates, seed):
    rng = np.random.default_rng(seed)
    matrix = clustered(n, m, seed)
    if kind == "implicit":
        members = sparse.csr_array(rng.random((30, n)) < 0.3)
        attribution = ImplicitAttribution(members, (rng.random((30, m)) < 0.6).astype(np.uint8))
    else:
        attribution = MatrixAttribution(matrix if kind == "dense" else sparse.csr_array(matrix))
    program = Program(attribution, budget=max(1, round(fraction * n)), alpha=alpha)
    program = program.replace(kappa=factor * program.kappa)
    start = rng.permutation(n)[: program.budget]
    found = swap_search(program, start, candidates=candidates)
    assert len(found) == program.budget
    assert (np.diff(found) > 0).all()
    assert objective(program, found) >= objective(program, start)
    assert np.array_equal(found, swap_search(program, start, candidates=candidates))


@pytest.mark.parametrize("seed", range(12))
def test_no_single_swap_improves_a_finished_search(seed):
    importance = np.random.default_rng(seed).uniform(0, 2, 8) if seed % 2 else None
    program = Program(clustered(12, 8, seed), budget=4, kappa=0.12, importance=importance)
    found = swap_search(program, np.arange(4), passes=100)
    best = objective(program, found)
    for out in found:
        for new in np.setdiff1d(np.arange(12), found):
            swapped = np.append(np.setdiff1d(found, out), new)
            assert objective(program, swapped) <= best + 1e-9


def test_swap_search_comes_close_to_the_best_of_all_sets():
    top, searched = [], []
    for seed in range(12):
        program = Program(clustered(12, 8, seed), budget=4, kappa=0.12)
        exact = max(objective(program, np.array(rows)) for rows in combinations(range(12), 4))
        start = top_rows(program, solve_lp(program).weights)
        found = swap_search(program, start)
        assert objective(program, start) <= objective(program, found) <= exact + 1e-12
        top.append(exact - objective(program, start))
        searched.append(exact - objective(program, found))
    assert sum(searched) <= 0.4 * sum(top)


def test_swap_search_removes_most_of_the_loss_of_top_rows():
    removed = []
    for seed in range(4):
        program = Program(clustered(200, 60, seed), budget=30, kappa=0.35)
        relaxed = solve_lp(program)
        start = top_rows(program, relaxed.weights)
        before = loss_of(program, start, relaxed.bound)[1]
        after = loss_of(program, swap_search(program, start), relaxed.bound)[1]
        removed.append(1 - after / before)
    assert np.mean(removed) > 0.4


def test_loss_is_measured_against_the_bound():
    program = Program(clustered(30, 10, 0), budget=5, kappa=0.2)
    relaxed = solve_lp(program)
    rows = top_rows(program, relaxed.weights)
    value, loss = loss_of(program, rows, relaxed.bound)
    assert value == pytest.approx(objective(program, rows))
    assert loss == pytest.approx((relaxed.bound - value) / relaxed.bound)


def test_weights_that_differ_by_rounding_are_ties():
    program = Program(np.array([[0.1], [0.3], [0.2]]), budget=1)
    assert top_rows(program, np.array([0.5 + 4e-10, 0.5, 0.0])).tolist() == [1]
    assert top_rows(program, np.array([0.5 + 4e-9, 0.5, 0.0])).tolist() == [0]
    assert top_rows(program, np.array([0.3, 0.2, 0.4])).tolist() == [2]


@pytest.mark.parametrize(("alpha", "kappa", "best"), [(0.5, 1e3, [7, 8, 9]), (0.25, 0.0, [0, 1, 2])])
def test_a_single_candidate_is_the_one_the_slope_ranks_first(alpha, kappa, best):
    """Far below kappa every gain counts alpha, far above it 2·alpha − 1: one exchange a pass is enough."""
    matrix = np.arange(1.0, 11.0)[:, None] * np.ones((10, 4))
    program = Program(matrix, 3, alpha, kappa)
    start = np.array([3, 4, 5])
    assert swap_search(program, start, candidates=1, passes=3).tolist() == best
    assert len(np.setdiff1d(swap_search(program, start, candidates=1, passes=1), start)) == 1
    assert swap_search(program, start, passes=0).tolist() == start.tolist()


@pytest.mark.parametrize("options", [{"candidates": 0}, {"passes": -1}])
def test_a_search_that_tries_nothing_is_refused(options):
    program = Program(np.ones((4, 2)), 2)
    with pytest.raises(InputError, match=f"{next(iter(options))}={next(iter(options.values()))}"):
        swap_search(program, np.array([0, 1]), **options)


def test_of_equal_rows_of_a_class_the_first_enters():
    y = np.array([0, 0, 0, 0, 1, 1, 1])
    program = Program(np.ones((7, 1)), budget=4)
    weights = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 4e-10, 0.0])
    kept = keep_classes(program, np.arange(4), weights, y)
    assert kept.tolist() == [0, 1, 4, 5]
    weights[6] = 1e-8
    assert keep_classes(program, np.arange(4), weights, y).tolist() == [0, 1, 4, 6]


@pytest.mark.parametrize("rows", [[0, 0], [0], [0, 4], [-1, 0], [0, 1, 2]])
def test_a_set_of_the_wrong_size_is_refused(rows):
    with pytest.raises(InputError, match="rows holds"):
        swap_search(Program(np.ones((4, 2)), budget=2), np.array(rows))


@settings(max_examples=200, deadline=None)
@given(n=st.integers(2, 60), classes=st.integers(1, 6), fraction=st.floats(0, 1), seed=st.integers(0, 2**16))
def test_every_class_keeps_its_floor_where_the_budget_allows(n, classes, fraction, seed):
    rng = np.random.default_rng(seed)
    y, weights = np.sort(rng.integers(0, classes, n) // rng.integers(1, 3)), rng.random(n)
    program = Program(rng.normal(size=(n, 3)), budget=max(1, round(fraction * n)))
    rows, floors = top_rows(program, weights), class_floors(y, program.budget)
    kept = keep_classes(program, rows, weights, y)
    assert len(np.unique(kept)) == len(kept) == program.budget
    counts, before = (np.bincount(y[r], minlength=len(floors)) for r in (kept, rows))
    there = len(np.unique(y))
    if there > program.budget:
        assert (kept == rows).all()
    else:
        assert floors.sum() <= program.budget
        assert (counts >= floors).all()
        assert (floors[np.unique(y)] >= 1).all()
        assert len(np.setdiff1d(kept, rows)) == np.maximum(floors - before, 0).sum()
        entered = np.setdiff1d(kept, rows)
        left_out = np.setdiff1d(np.flatnonzero(np.isin(y, y[entered])), kept)
        for row in entered:  # the best of their class
            assert (weights[left_out[y[left_out] == y[row]]] <= weights[row]).all()


@pytest.mark.parametrize(
    ("counts", "size", "floors"),
    [
        ([2955, 45], 30, [7, 2]),  # two, though their fraction is less than one
        ([2955, 45], 300, [75, 9]),  # twice their fraction
        ([50, 50], 20, [5, 5]),  # half of equal fractions
        ([97, 1, 2], 12, [2, 1, 2]),  # all there are
        ([40, 30, 30], 5, [1, 1, 1]),  # one where two do not fit
        ([40, 30, 30], 2, [0, 0, 0]),
        ([0, 5, 5], 4, [0, 2, 2]),
    ],
)
def test_floors_of_classes(counts, size, floors):
    assert class_floors(np.repeat(np.arange(len(counts)), counts), size).tolist() == floors


@pytest.mark.parametrize("conditions", [None, Conditions.of(4)])
def test_a_row_stays_where_another_is_only_as_good(conditions):
    program = Program(np.array([[1.0], [1.0], [0.5], [2.0]]), 2, kappa=1e3, conditions=conditions)
    for passes in (1, 2, 3):
        assert swap_search(program, np.array([0, 2]), passes=passes).tolist() == [0, 3]
        assert swap_search(program, np.array([1, 2]), passes=passes).tolist() == [1, 3]
    assert swap_search(program, np.array([0, 3])).tolist() == [0, 3]


def test_a_class_gives_no_more_rows_than_it_can_spare():
    y = np.array([0, 0, 0, 1, 1, 1, 2, 2])
    rank = np.arange(8)  # rows of the first class are the first to leave, but one is all that can
    assert with_classes(np.arange(6), y, np.array([2, 2, 2]), rank).tolist() == [1, 2, 4, 5, 6, 7]
    assert with_classes(np.arange(6), y, np.array([1, 2, 2]), rank).tolist() == [2, 3, 4, 5, 6, 7]
    assert with_classes(np.arange(6), y, np.array([3, 2, 1]), rank).tolist() == [0, 1, 2, 4, 5, 7]


@pytest.mark.parametrize("conditions", [None, Conditions.of(30)])
@pytest.mark.parametrize("unit", [2.0**-40, 2.0**40])
def test_the_unit_of_the_entries_does_not_matter_to_a_search(unit, conditions):
    for seed in range(3):
        program = Program(clustered(30, 10, seed), budget=8, kappa=0.2, conditions=conditions)
        other = Program(unit * program.attribution.dense(), 8, kappa=0.2 * unit, conditions=conditions)
        found = swap_search(program, np.arange(8))
        assert found.tolist() != list(range(8))
        assert swap_search(other, np.arange(8)).tolist() == found.tolist()


def test_a_row_that_entered_counts_once():
    program = Program(np.array([[1.0], [0.5], [0.2]]), 1, alpha=0.1, kappa=1.0)  # twice would be too much
    assert swap_search(program, np.array([1])).tolist() == [0]
    assert swap_search(program, np.array([2])).tolist() == [0]
