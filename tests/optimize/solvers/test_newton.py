import numpy as np
import pytest

from cdvm.optimize.solvers import newton


@pytest.mark.parametrize("system", [newton.EvaluationSystem, newton.RowSystem])
@pytest.mark.parametrize(("spread", "precision"), [(1.0, float), (1e6, float), (2.0, np.float32)])
def test_step_systems_solve_the_full_equations(system, spread, precision):
    rng = np.random.default_rng(0)
    n, m = 40, 25
    matrix = rng.normal(size=(n, m))
    d, e = spread ** rng.uniform(-1, 1, n), spread ** rng.uniform(-1, 1, m)
    a, b, c = rng.normal(size=n), rng.normal(size=m), 0.7
    norms = (matrix**2).sum(axis=1 if system is newton.EvaluationSystem else 0)
    dw, dlam, deta = system(matrix, matrix.astype(precision), d, e, norms, 1e-9).solve(a, b, c)
    scale = 1 + np.abs(matrix @ dlam).max() + abs(deta)
    assert np.abs(dw / d + matrix @ dlam + deta - a).max() <= 1e-7 * scale
    assert np.abs(matrix.T @ dw - e * dlam - b).max() <= 1e-7 * (
        1 + np.abs(dw).max() + np.abs(e * dlam).max()
    )
    assert dw.sum() == pytest.approx(c, abs=1e-8)


@pytest.mark.parametrize("system", [newton.EvaluationSystem, newton.RowSystem])
def test_conjugate_gradients_make_up_for_a_rough_factor(system):
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(30, 30))
    rough = matrix * (1 + 0.2 * rng.normal(size=matrix.shape))
    d, e = rng.uniform(0.5, 2, 30), rng.uniform(20, 40, 30)
    made = system(matrix, rough, d, e, np.ones(30), 1e-8)
    before, solves = made.steps, made.solves
    rhs = rng.normal(size=30)
    x = made._reduced_solve(rhs)
    assert np.abs(rhs - made._multiply(x)).max() <= 1e-8
    assert made.steps - before == 9  # 12 that are no conjugate directions leave three to ten times as much
    assert made.solves == solves + 1


def test_the_smaller_system_is_the_one_that_is_factorised():
    matrix = np.random.default_rng(0).normal(size=(6, 4))
    norms = (matrix**2).sum(axis=1), (matrix**2).sum(axis=0)
    made = newton.newton_system(matrix, matrix, np.ones(6), np.ones(4), norms, 1e-9)
    assert isinstance(made, newton.EvaluationSystem)
    assert made.factor.shape == (4, 4)
    turned = newton.newton_system(matrix.T, matrix.T, np.ones(4), np.ones(6), norms[::-1], 1e-9)
    assert isinstance(turned, newton.RowSystem)
    assert turned.factor.shape == (4, 4)
    square = newton.newton_system(np.eye(3), np.eye(3), np.ones(3), np.ones(3), (np.ones(3),) * 2, 1e-9)
    assert isinstance(square, newton.EvaluationSystem)
    assert (square.steps, square.solves) == (0, 0)


def test_rows_that_do_not_count_stay_out_of_the_factor():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(40, 5))
    d = np.where(np.arange(40) < 20, 1.0, 1e-12)
    made = newton.EvaluationSystem(matrix, matrix, d, np.ones(5), (matrix**2).sum(axis=1), 1e-9)
    few = matrix[:20] - made.mean
    np.testing.assert_allclose(made.factor @ made.factor.T, few.T @ few + np.eye(5), rtol=1e-9, atol=1e-9)
    assert made._counting(d).tolist() == list(range(20))
    nearly_all = np.where(np.arange(40) < 38, 1.0, 1e-12)
    assert made._counting(nearly_all).tolist() == list(range(40))


@pytest.mark.parametrize("system", [newton.EvaluationSystem, newton.RowSystem])
def test_a_factor_made_in_chunks_is_the_whole(system, monkeypatch):
    monkeypatch.setattr(newton, "_CHUNK", 7)
    rng = np.random.default_rng(0)
    matrix, d, e = rng.normal(size=(30, 20)), rng.uniform(0.5, 2, 30), rng.uniform(0.5, 2, 20)
    made = system(matrix, matrix, d, e, np.ones(30 if system is newton.EvaluationSystem else 20), 1e-9)
    size = 20 if system is newton.EvaluationSystem else 30
    whole = np.column_stack([made._multiply(one) for one in np.eye(size)])
    np.testing.assert_allclose(made.factor @ made.factor.T, whole, rtol=1e-9, atol=1e-9)
    made.solve(rng.normal(size=30), rng.normal(size=20), 0.7)
    assert made.steps == 0  # nothing is left for conjugate gradients


@pytest.mark.parametrize(("below", "added"), [(0.0, 50), (1e-12, 5e4), (1e-9, 5e7), (1e-6, None)])
def test_as_much_is_added_to_the_diagonal_as_a_factor_needs(below, added):
    """Ones less a little on the diagonal have the eigenvalue -below, three times."""
    made = newton.EvaluationSystem(np.eye(4), np.eye(4), np.ones(4), np.ones(4), np.ones(4), 1e-9)
    kernel = np.ones((4, 4))
    if added is None:
        with pytest.raises(FloatingPointError, match="not positive definite"):
            made._factorise(kernel, np.full(4, -below))
        return
    made._factorise(kernel, np.full(4, -below))
    np.testing.assert_allclose(kernel.diagonal() - (1 - below), added * np.finfo(float).eps, rtol=0.05)
    np.testing.assert_allclose(made.factor @ made.factor.T, kernel, atol=1e-15)
    with pytest.raises(FloatingPointError):  # in single precision there is one attempt
        made._factorise(np.ones((4, 4), dtype=np.float32), np.full(4, -1e-5))
