"""Linear models at their optimum, and the solvers of their Hessian against each other."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from valuation_games import classes_split

from cdvm import InputError, Split
from cdvm.valuation import influence_linear as module
from cdvm.valuation.influence import influence, influence_vectors
from cdvm.valuation.influence_linear import fit_linear

rng = np.random.default_rng(0)


@pytest.mark.parametrize("classes", [2, 3])
def test_more_features_than_rows_are_rotated_without_loss(classes):
    split = classes_split(n=20, d=50, classes=classes)
    fit = fit_linear(split)
    assert fit.n_parameters == 21 * max(1, classes - 1)
    vectors = influence_vectors(split)
    model = LogisticRegression(tol=1e-12, max_iter=20_000).fit(split.X, split.y)
    p = model.predict_proba(split.X)
    X = np.column_stack([split.X, np.ones(20)])
    errors = (p - np.eye(classes)[split.y]) if classes > 2 else (p[:, 1] - split.y)[:, None]
    k = errors.shape[1]
    hessian = np.kron(np.diag([1 / 20 + 0.01] * 50 + [0.01]), np.eye(k))
    for i in range(20):
        bend = np.diag(p[i]) - np.outer(p[i], p[i]) if k > 1 else p[i, :1, None] * p[i, 1:, None]
        hessian += np.kron(np.outer(X[i], X[i]), bend) / 20
    full = np.linalg.solve(hessian, np.einsum("np,nk->npk", X, errors).reshape(20, -1).T) / 20
    np.testing.assert_allclose(vectors @ vectors.T, full.T @ full, rtol=1e-4, atol=1e-10)


def test_every_solver_of_the_hessian_agrees(monkeypatch):
    fit = fit_linear(classes_split(n=40, d=12, classes=4))
    right = rng.standard_normal((fit.n_parameters, 7))
    exact = fit.solve(right)
    np.testing.assert_allclose(fit.product(exact), right, atol=1e-9)
    monkeypatch.setattr(module, "_DOUBLE", 1)
    np.testing.assert_allclose(fit.solve(right), exact, rtol=1e-6, atol=1e-8)
    monkeypatch.setattr(module, "_SINGLE", 1)
    np.testing.assert_allclose(fit.solve(right), exact, rtol=1e-6, atol=1e-8)


def test_sparse_features_give_the_same_values():
    from scipy import sparse

    split = classes_split()
    thin = Split.from_arrays(sparse.csr_array(split.X), split.y, sparse.csr_array(split.X_val), split.y_val)
    np.testing.assert_allclose(influence(thin).values, influence(split).values)


def test_a_singular_hessian_asks_for_damping():
    split = classes_split(d=3)
    doubled = Split.from_arrays(
        np.column_stack([split.X, split.X * 0]),
        split.y,
        np.column_stack([split.X_val, split.X_val * 0]),
        split.y_val,
    )
    with pytest.raises(InputError, match="damping > 0"):
        influence(doubled, LogisticRegression(C=np.inf), damping=0.0)
