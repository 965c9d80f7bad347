"""The form of a program with conditions that solvers know."""

import numpy as np
import pytest
from condition_cases import random_program, relaxed_optimum
from scipy import sparse
from scipy.optimize import linprog

from cdvm import ImplicitAttribution, MatrixAttribution, Program
from cdvm.attribution.base import Attribution
from cdvm.optimize.conditions import Conditions
from cdvm.optimize.reduction import Stacked, reduce_program


@pytest.fixture
def stacked(rng):
    T = MatrixAttribution(rng.normal(size=(9, 4)))
    rows = sparse.csr_array(sparse.random_array((5, 9), density=0.4, rng=rng))
    extra = rng.normal(size=(5, 2))
    return Stacked(T, rows, extra), np.hstack([rows @ T.dense(), extra])


@pytest.mark.parametrize("rows", [None, [3, 1], slice(1, 4)])
@pytest.mark.parametrize("columns", [None, slice(2, 6), [5, 0]])
def test_stacked_blocks_are_those_of_the_whole(stacked, rows, columns):
    found, whole = stacked
    expected = whole if rows is None else whole[rows]
    expected = expected if columns is None else expected[:, columns]
    np.testing.assert_allclose(found.block(rows, columns), expected, atol=1e-12)


def test_stacked_products_are_those_of_the_whole(stacked, rng):
    found, whole = stacked
    lam, w = rng.normal(size=6), rng.normal(size=5)
    np.testing.assert_allclose(found.matvec(lam), whole @ lam, atol=1e-12)
    np.testing.assert_allclose(found.rmatvec(w), w @ whole, atol=1e-12)
    assert found.max() == pytest.approx(whole.max())


def test_a_program_as_an_array_has_the_same_values(rng):
    implicit = ImplicitAttribution((rng.random((200, 30)) < 0.3).astype(float), rng.random((200, 8)) < 0.5)
    conditions = Conditions.of(30, groups=np.arange(30) % 3, at_least=2, keep=[4], drop=[5])
    reduced = reduce_program(Program(implicit, 9, kappa=0.1, conditions=conditions)).program
    dense = reduced.densified()
    assert isinstance(dense.attribution, MatrixAttribution)
    assert dense.densified() is dense
    w, lam = rng.random(reduced.n_rows), rng.random(reduced.n_evaluation) * reduced.penalties
    assert dense.objective(w) == pytest.approx(reduced.objective(w), abs=1e-5)
    assert dense.bound(lam) == pytest.approx(reduced.bound(lam), abs=1e-4)
    assert dense.bound(10 * lam + 1e3) == pytest.approx(dense.bound(dense.penalties))  # never beyond these


def test_penalties_of_the_limits_alone_grow():
    program = random_program(3)
    reduced = reduce_program(program)
    assert reduced.limits
    larger, m = reduced.with_penalties(16.0), program.n_evaluation
    np.testing.assert_array_equal(larger.program.penalties[:m], reduced.program.penalties[:m])
    np.testing.assert_array_equal(larger.program.penalties[m:], 16 * reduced.program.penalties[m:])


def test_a_feasible_set_has_the_original_objective():
    tried = 0
    for seed in range(40):
        program = random_program(seed)
        reduced, conditions = reduce_program(program), program.conditions
        blocks = np.zeros(conditions.members.shape[0])
        blocks[reduced.kept] = 1.0
        rng = np.random.default_rng(seed)
        blocks[reduced.free] = rng.random(len(reduced.free)) < 0.5
        rows = np.asarray(blocks @ conditions.members)
        spent = float(conditions.prices @ blocks)
        if not conditions.satisfied(rows, spent, 1e-9) or spent > program.budget:
            continue
        tried += 1
        u = blocks[reduced.free] * conditions.prices[reduced.free]
        u = u if conditions.exact else np.append(u, program.budget - spent)
        np.testing.assert_allclose(reduced.weights(u), blocks)
        value = reduced.program.objective(u) + reduced.constant
        assert value == pytest.approx(program.objective(rows), rel=1e-6, abs=1e-6 * program._scale)
    assert tried > 5


def optimum_of(reduced):
    """The optimum of a reduced program, by writing it down as a linear one."""
    T, m = reduced.attribution.dense(), reduced.n_evaluation
    unit = np.abs(T).max()
    found = linprog(
        -np.r_[reduced.rewards, -reduced.penalties * unit],
        A_ub=np.c_[T.T / unit, -np.eye(m)],
        b_ub=reduced.caps / unit,
        A_eq=np.r_[np.ones(reduced.n_rows), np.zeros(m)][None],
        b_eq=[reduced.budget],
        bounds=[*((0, u) for u in reduced.upper), *[(0, None)] * m],
        method="highs",
    )
    return -found.fun


def test_penalties_stand_for_the_limits():
    tried = 0
    for seed in range(40):
        program = random_program(seed, most_rows=14)
        expected = relaxed_optimum(program)
        if expected is None:
            continue
        reduced = reduce_program(program)
        tried += bool(reduced.limits)
        found = reduced.constant + optimum_of(reduced.program)
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-6 * program._scale), seed
        lam = np.random.default_rng(seed).random(reduced.program.n_evaluation) * reduced.program.penalties
        for multipliers in (lam, 0 * lam, reduced.program.middle()):
            assert reduced.constant + reduced.program.bound(multipliers) >= expected - 1e-6 * program._scale
    assert tried > 10


def test_what_every_solver_asks_of_a_reduced_program():
    for seed in range(30):
        program = reduce_program(random_program(seed, most_rows=14)).program
        rng = np.random.default_rng(seed)
        if program.budget <= 0 or program.budget >= program.upper.sum():
            continue
        values = rng.normal(size=program.n_rows)
        best, less = (
            -linprog(
                -values,
                A_eq=np.ones((1, program.n_rows)),
                b_eq=[budget],
                bounds=[(0, u) for u in program.upper],
                method="highs",
            ).fun
            for budget in (program.budget, program.budget - 1e-3)
        )
        assert program._fill(values) @ values == pytest.approx(best)
        # what the last of the budget gained
        assert program.level(values) == pytest.approx((best - less) / 1e-3, rel=1e-6)
        lam = rng.random(program.n_evaluation) * program.penalties
        assert program.bound_at(lam, values) == pytest.approx(best + program.caps @ lam)
        assert program.greedy() @ program.rewards == pytest.approx(
            program._fill(program.rewards) @ program.rewards
        )
        even = program.uniform()
        assert even.sum() == pytest.approx(program.budget)
        assert np.ptp(even / program.upper) <= 1e-12
        assert not program.whole
        # the most rows that the budget is enough for, one of them in part
        assert program.n_needed == 1 + max(
            k for k in range(program.n_rows) if np.sort(program.upper)[:k].sum() < program.budget * (1 - 1e-9)
        )
        rows = np.sort(rng.permutation(program.n_rows)[: max(1, program.n_rows // 2)])
        part, w = program.restricted(rows, program.attribution.block(rows)), rng.random(len(rows))
        wide = np.zeros(program.n_rows)
        wide[rows] = w
        assert part.objective(w) == pytest.approx(program.objective(wide))
        assert part.upper.tolist() == program.upper[rows].tolist()
        assert part.rewards.tolist() == program.rewards[rows].tolist()


def test_nothing_to_choose_where_the_budget_is_all_there_is():
    reduced = reduce_program(Program(np.eye(4), 3, conditions=Conditions.of(4, keep=[0], drop=[1])))
    assert reduced.program.whole
    assert reduced.weights(np.ones(2)).tolist() == [1, 0, 1, 1]
    assert reduced.weights(np.array([-0.5, 1.5])).tolist() == [1, 0, 0, 1]
    none = reduce_program(Program(np.eye(4), 1, conditions=Conditions.of(4, keep=[0]))).program
    assert none.budget == 0
    assert none.level(np.array([3.0, 5.0, 4.0])) == 5.0


def test_prices_are_told_by_group_and_limit_a_row():
    T = np.array([[4.0], [3.0], [2.0], [1.0]])
    conditions = Conditions.of(4, groups=list("aabb"), at_most={"a": 1}, at_least={"b": 1})
    reduced = reduce_program(Program(T, 2, alpha=1.0, kappa=100.0, conditions=conditions))
    assert reduced.limits == [(0, 1), (1, -1)]
    multipliers = np.array([0.0, 2.0, 0.0]) / np.r_[1.0, reduced.scale]
    assert reduced.prices(multipliers) == {("a", "at_most"): pytest.approx(2.0)}
    multipliers = np.array([0.0, 2.0, 3.0]) / np.r_[1.0, reduced.scale]
    assert reduced.prices(multipliers)["b", "at_least"] == pytest.approx(3.0)


def test_a_part_of_a_unit_has_a_level_too():
    conditions = Conditions.of(3, costs=[0.25, 0.5, 1.0])
    program = reduce_program(Program(np.eye(3), 0.5, conditions=conditions)).program
    assert program.level(np.array([3.0, 1.0, 2.0, 0.0])) == 2.0


@pytest.mark.parametrize("price", [0.01, 1.0, 100.0])
def test_penalties_are_as_large_whatever_rows_cost(price):
    T = np.array([[4.0], [3.0], [2.0], [1.0]])
    conditions = Conditions.of(4, groups=list("aabb"), at_most={"a": 1}, costs=np.full(4, price))
    program = Program(T, 2 * price, alpha=1.0, kappa=100.0, conditions=conditions)
    reduced = reduce_program(program)
    assert reduced.constant + optimum_of(reduced.program) == pytest.approx(6.0)
    # what a limit's penalty is worth a row, which is what two rows differ by, and no more than is safe
    worth = reduced.program.penalties[-1] * reduced.scale[0]
    assert 3.0 <= worth <= 12.0


def test_what_is_stacked_is_saved_as_the_array_it_stands_for(stacked, tmp_path):
    found, whole = stacked
    np.testing.assert_allclose(Attribution.load(found.save(tmp_path / "t.npz")).dense(), whole, atol=1e-12)


def test_the_nearest_weights_keep_to_what_each_row_may_have():
    for seed in range(20):
        program = reduce_program(random_program(seed, most_rows=14)).program
        if program.budget <= 0 or program.budget >= program.upper.sum():
            continue
        z = np.random.default_rng(seed).normal(size=program.n_rows) * program.upper.max()
        low, high = (z - program.upper).min(), z.max()
        for _ in range(100):
            middle = (low + high) / 2
            below = np.clip(z - middle, 0, program.upper).sum() > program.budget
            low, high = (middle, high) if below else (low, middle)
        np.testing.assert_allclose(program.project(z)[0], np.clip(z - low, 0, program.upper), atol=1e-9)


def test_rows_that_are_kept_count_towards_the_limits():
    T = np.array([[4.0], [3.0], [2.0], [1.0], [0.5], [0.25]])
    conditions = Conditions.of(6, groups=list("aaaabb"), at_most={"a": 3}, keep=[0, 1])
    program = Program(T, 4, alpha=1.0, kappa=100.0, conditions=conditions)
    reduced = reduce_program(program)
    assert reduced.limits == [(0, 1)]
    assert reduced.constant + optimum_of(reduced.program) == pytest.approx(4 + 3 + 2 + 0.5)
    enough = Conditions.of(6, groups=list("aaaabb"), at_least={"a": 2}, keep=[0, 1])
    assert reduce_program(program.replace(conditions=enough)).limits == []
