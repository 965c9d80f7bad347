from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from cdvm import InputError, Program
from cdvm.optimize.conditions import Conditions


@given(
    n=st.integers(1, 8),
    m=st.integers(1, 5),
    alpha=st.floats(0, 1),
    kappa=st.floats(0, 2),
    seed=st.integers(0, 999),
    data=st.data(),
)
@settings(max_examples=80, deadline=None)
def test_bound_holds_for_every_set_and_every_multiplier(n, m, alpha, kappa, seed, data):
    size = data.draw(st.integers(1, n))
    rng = np.random.default_rng(seed)
    program = Program(rng.normal(size=(n, m)), size, alpha, kappa)
    best = max(
        program.objective(np.isin(np.arange(n), rows).astype(float)) for rows in combinations(range(n), size)
    )
    for _ in range(5):
        assert program.bound(rng.uniform(-0.2, 1.2, m)) >= best - 1e-9


def test_objective_is_the_papers_formula(rng):
    T = rng.normal(size=(6, 4))
    w = rng.uniform(size=6)
    v = T.T @ w
    expected = 0.3 * v.sum() - 0.7 * np.maximum(v - 0.2, 0).sum()
    assert Program(T, 3, 0.3, 0.2).objective(w) == pytest.approx(expected)


def test_default_kappa_is_max_plus_budget_times_mean(rng):
    T = rng.normal(size=(50, 20)) + 0.1
    assert Program(T, 10).kappa == pytest.approx(T.max() + 10 * T.mean())
    assert Program(-np.abs(T), 10).kappa == 0.0


def test_budget_is_a_count_or_a_share():
    T = np.zeros((200, 1))
    assert Program(T, 10).budget == 10
    assert Program(T, 0.05).budget == 10
    assert Program(T, 1.0).budget == 200
    assert Program(T, 1).budget == 1
    assert Program(T, np.int64(3)).budget == 3
    assert Program(T, np.float32(0.5)).budget == 100
    assert Program(T, 1e-9).budget == 1


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"budget": 0}, "budget=0"),
        ({"budget": -3}, "budget=-3"),
        ({"budget": 201}, "at most the 200"),
        ({"budget": 0.0}, "budget=0.0"),
        ({"budget": 1.5}, "budget=1.5"),
        ({"budget": float("nan")}, "budget=nan"),
        ({"budget": True}, "budget=True"),
        ({"budget": "5%"}, "budget='5%'"),
        ({"alpha": -0.1}, "alpha=-0.1"),
        ({"alpha": 1.1}, "alpha=1.1"),
        ({"alpha": float("nan")}, "alpha=nan"),
        ({"kappa": -1}, "kappa=-1"),
        ({"kappa": "large"}, "kappa='large'"),
        ({"kappa": float("inf")}, "kappa=inf"),
        ({"importance": [1.0, 1.0]}, "importance: use 1 finite numbers"),
        ({"importance": [np.inf]}, "importance: use 1 finite numbers"),
    ],
)
def test_parameters_outside_their_range_are_refused_by_name(settings_, message):
    with pytest.raises(InputError, match=message):
        Program(np.zeros((200, 1)), **{"budget": 5, **settings_})


def test_replace_keeps_what_was_computed(rng):
    program = Program(rng.normal(size=(20, 5)), 3)
    gains = program.gains
    other = program.replace(budget=7, alpha=0.1, kappa="auto")
    assert other.gains is gains
    assert other.kappa == pytest.approx(other.default_kappa()) != program.kappa


@pytest.mark.parametrize(
    ("objective", "bound", "gap"),
    [
        (3.0, 4.0, 0.25),  # of the larger of the two,
        (-4.0, -3.0, 0.25),  # whatever their signs
        (-1.0, 1.0, 2.0),
        (4.0, 3.0, 0.0),  # rounding errors may put the objective above its bound
        (0.0, 0.0, 0.0),
        (0.0, 3e-6, 1.0),
        (0.0, 3e-7, 0.1),  # around 0, of a millionth of what the two largest rows hold: 2 + 1
    ],
)
@pytest.mark.parametrize("as_matrix", [np.asarray, sparse.csr_array])
def test_gap_is_relative_but_around_zero(objective, bound, gap, as_matrix):
    T = as_matrix(np.array([[0.25, -0.25], [1.5, -0.5], [-0.5, 0.5]]))
    assert Program(T, 2).gap(objective, bound) == pytest.approx(gap, rel=1e-6)


def test_gap_of_no_attribution_at_all():
    assert Program(np.zeros((3, 2)), 2).gap(0.0, 1e-6) == 1.0


@given(st.integers(1, 6), st.integers(0, 999))
@settings(max_examples=30, deadline=None)
def test_bound_is_the_largest_of_all_sets_for_given_multipliers(size, seed):
    rng = np.random.default_rng(seed)
    program = Program(rng.normal(size=(6, 4)), size, alpha=0.4, kappa=0.3)
    multipliers = rng.uniform(-0.5, 1.5, 4)
    inside = np.clip(multipliers, 0, 0.6)
    worth = 0.4 * program.gains - program.attribution.dense() @ inside
    best = max(worth[list(rows)].sum() for rows in combinations(range(6), size)) + 0.3 * inside.sum()
    expected = program.objective(np.ones(6)) if size == 6 else best
    assert program.bound(multipliers) == pytest.approx(expected, abs=1e-12)


def test_bits_are_no_numbers():
    for name in ("alpha", "kappa"):
        with pytest.raises(InputError, match=f"{name}=True"):
            Program(np.ones((3, 2)), 1, **{name: True})


def test_the_ends_of_each_range_are_allowed():
    T = np.ones((3, 2))
    assert [Program(T, 3, alpha).alpha for alpha in (0, 1)] == [0.0, 1.0]
    assert Program(T, 3, kappa=0).kappa == 0.0
    assert Program(T, 3, importance=[0, 1]).gains.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("importance", [None, [2.0, 0.5, 1.0, 3.0]])
def test_what_every_solver_asks_of_a_program(importance, rng):
    T = rng.normal(size=(7, 4))
    program = Program(T, 3, alpha=0.3, kappa=0.4, importance=importance)
    weight = np.ones(4) if importance is None else np.array(importance)
    np.testing.assert_allclose(program.gains, T @ weight)
    np.testing.assert_allclose(program.rewards, 0.3 * T @ weight)
    np.testing.assert_allclose(program.penalties * np.ones(4), 0.7 * weight)
    np.testing.assert_allclose(program.middle(), 0.35 * weight)
    np.testing.assert_allclose(program.importance_or_one(), weight)
    w = rng.random(7)
    v = w @ T
    expected = 0.3 * weight @ v - 0.7 * weight @ np.maximum(v - 0.4, 0)
    assert program.objective(w) == pytest.approx(expected)
    assert program.objective_at(v) == pytest.approx(expected)
    np.testing.assert_allclose(program.uniform(), 3 / 7)
    greedy = program.greedy()
    assert sorted(greedy.tolist()) == [0] * 4 + [1] * 3
    best = max(combinations(range(7), 3), key=lambda rows: program.rewards[list(rows)].sum())
    assert np.flatnonzero(greedy).tolist() == list(best)
    values = np.array([5.0, 1.0, 4.0, 7.0, 2.0, 6.0, 3.0])
    assert program.level(values) == 5.0  # of 7, 6 and 5 the last
    part = program.restricted(np.array([1, 2, 5]), T[[1, 2, 5]])
    w = rng.random(3)
    assert part.objective(w) == pytest.approx(program.objective(np.array([0, w[0], w[1], 0, 0, w[2], 0])))
    assert not program.whole
    assert program.replace(budget=7).whole
    lam = rng.random(4) * 0.7 * weight
    np.testing.assert_allclose(program.reduced_gains(lam), 0.3 * T @ weight - T @ lam)


def test_another_attribution_or_importance_has_gains_of_its_own(rng):
    program = Program(rng.normal(size=(6, 2)), 2)
    assert program.gains is program.replace(budget=1).gains
    np.testing.assert_allclose(
        program.replace(importance=[1.0, 3.0]).gains, program.attribution.dense() @ [1, 3]
    )
    other = rng.normal(size=(6, 2))
    np.testing.assert_allclose(program.replace(attribution=other).gains, other.sum(axis=1))


def test_an_array_stays_and_the_rest_becomes_one(rng):
    T = rng.normal(size=(6, 3))
    dense, thin = Program(T, 2), Program(sparse.csr_array(T), 2)
    assert dense.densified() is dense
    assert isinstance(thin.densified().attribution.matrix, np.ndarray)
    np.testing.assert_array_equal(thin.densified().attribution.matrix, T)
    assert thin.densified().kappa == thin.kappa


@pytest.mark.parametrize(("spend", "rows"), [(0.5, 1), (1.0, 1), (2.9, 1), (3.0, 2), (6.0, 3), (99.0, 3)])
def test_what_may_be_spent_is_enough_for_the_cheapest_rows(spend, rows):
    conditions = Conditions.of(3, costs=[3.0, 1.0, 2.0])
    assert Program(np.eye(3), spend, conditions=conditions).n_needed == rows


def test_conditions_on_other_rows_are_refused():
    with pytest.raises(InputError, match="conditions are on 3 rows and T has 4"):
        Program(np.eye(4), 2, conditions=Conditions.of(3))


@pytest.mark.parametrize("budget", [1, 2, 3, 500, 3999, 4000])
def test_greedy_weights_are_the_rows_of_largest_reward(budget, rng):
    program = Program(rng.normal(size=(4000, 3)), budget, alpha=0.3)
    best = np.argsort(-program.rewards)[:budget]
    assert np.flatnonzero(program.greedy()).tolist() == np.sort(best).tolist()
    assert program.greedy().sum() == budget
    assert program.level(program.rewards) == program.rewards[best[-1]]
