"""The form of a program with conditions that solvers know."""

import numpy as np
import pytest
from condition_cases import random_program
from scipy import sparse

from cdvm import ImplicitAttribution, MatrixAttribution, Program
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
