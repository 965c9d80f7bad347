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
