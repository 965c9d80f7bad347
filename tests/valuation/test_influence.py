"""Influence against retraining without the row, and the solvers of the Hessian against each other."""

import numpy as np
import pytest
from scipy.special import log_softmax
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier

from cdvm import InputError, Split
from cdvm.errors import InputWarning
from cdvm.learners import TorchLearner
from cdvm.valuation import influence_linear as module
from cdvm.valuation.influence import influence, influence_attribution, influence_vectors
from cdvm.valuation.influence_linear import fit_linear

rng = np.random.default_rng(0)


def classes_split(n=60, d=5, classes=2, seed=0) -> Split:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + 40, d))
    scores = X @ rng.standard_normal((d, classes)) + 0.7 * rng.standard_normal((n + 40, classes))
    y = scores.argmax(axis=1)
    y[:classes] = range(classes)
    return Split.from_arrays(X[:n], y[:n], X[n:], y[n:])


def regression_split(n=150, d=4) -> Split:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n + 30, d))
    y = X @ rng.standard_normal(d) + rng.standard_normal(n + 30) + 2.0
    return Split.from_arrays(X[:n], y[:n], X[n:], y[n:], task="regression")


def logistic_loss(model, X, y):
    scores = model.decision_function(X)
    scores = np.column_stack([np.zeros(len(X)), scores]) if scores.ndim == 1 else scores
    return -log_softmax(scores, axis=1)[np.arange(len(y)), y]


def retrained(split, make, loss):
    """Rise of each evaluation row's loss when each row is left out; the penalty stays that of all rows."""
    rest = [np.delete(np.arange(split.n_rows), i) for i in range(split.n_rows)]
    before = loss(make().fit(split.X, split.y), split.X_val, split.y_val)
    return np.array(
        [loss(make().fit(split.X[r], split.y[r]), split.X_val, split.y_val) - before for r in rest]
    )


def half_square(model, X, y):
    return 0.5 * (model.predict(X) - y) ** 2


def test_ridge_influence_ranks_like_retraining():
    split = regression_split()
    truth = retrained(split, lambda: Ridge(alpha=2.0), half_square)
    values = influence(split, Ridge(alpha=2.0), damping=0.0).values
    assert spearmanr(values, truth.mean(axis=1)).statistic > 0.99
    # the scale agrees too, but for leverages of 5 parameters on 150 rows
    assert np.polyfit(values, truth.mean(axis=1), 1)[0] == pytest.approx(1.04, abs=0.06)


@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_influence_ranks_like_retraining(classes):
    split = classes_split(classes=classes)
    truth = retrained(split, lambda: LogisticRegression(solver="newton-cg", tol=1e-8), logistic_loss)
    damping = 0.0 if classes == 2 else 1e-9
    values = influence(split, LogisticRegression(), damping=damping).values
    assert spearmanr(values, truth.mean(axis=1)).statistic > 0.97
    T = influence_attribution(split, "logistic", damping=damping).dense()
    assert spearmanr(T.ravel(), truth.ravel()).statistic > 0.97


def test_ridge_classifier_counts_every_class():
    split = classes_split(n=150, classes=3)
    signs = 2.0 * np.eye(3) - 1.0

    def loss(model, X, y):
        return 0.5 * ((model.decision_function(X) - signs[y]) ** 2).sum(axis=1)

    truth = retrained(split, RidgeClassifier, loss)
    assert spearmanr(influence(split, "ridge", damping=0.0).values, truth.mean(axis=1)).statistic > 0.99


def test_values_are_the_mean_of_the_attribution():
    for split in (classes_split(classes=4), classes_split(n=20, d=30, classes=3)):
        T = influence_attribution(split)
        np.testing.assert_allclose(T.values(), influence(split).values, rtol=1e-7, atol=1e-14)


def test_vectors_are_the_parameter_changes_of_a_newton_step():
    split = classes_split(d=3)
    model = LogisticRegression(tol=1e-12, max_iter=5000).fit(split.X, split.y)
    X = np.column_stack([split.X, np.ones(split.n_rows)])
    p = model.predict_proba(split.X)[:, 1]
    hessian = (X * (p * (1 - p))[:, None]).T @ X / 60 + np.diag([1 / 60] * 3 + [0.0]) + 0.01 * np.eye(4)
    expected = np.linalg.solve(hessian, (X * (p - split.y)[:, None]).T).T / 60
    np.testing.assert_allclose(influence_vectors(split), expected, rtol=1e-5, atol=1e-9)


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


def test_an_evaluation_row_with_an_unseen_label_does_not_count():
    split = classes_split()
    with pytest.warns(UserWarning, match="never seen"):
        odd = Split.from_arrays(split.X, split.y, split.X_val, [*split.y_val[:-1], 9])
    T, plain = influence_attribution(odd).dense(), influence_attribution(split).dense()
    assert not T[:, -1].any()
    np.testing.assert_array_equal(T[:, :-1], plain[:, :-1])


def test_flipped_labels_get_the_lowest_values():
    split = classes_split(n=200, seed=3)
    flipped = np.arange(0, 200, 10)
    y = split.y.copy()
    y[flipped] = 1 - y[flipped]
    values = influence(Split.from_arrays(split.X, y, split.X_val, split.y_val)).values
    assert np.median(values[flipped]) < np.quantile(values, 0.15)


@pytest.mark.parametrize(
    "learner",
    ["random_forest", LogisticRegression(class_weight="balanced"), Ridge(alpha=[1.0, 2.0])],
)
def test_models_without_derivatives_are_refused(learner):
    split = regression_split() if isinstance(learner, Ridge) else classes_split()
    with pytest.raises(InputError, match=r"known for linear models.*TorchLearner"):
        influence(split, learner)


def test_bad_arguments_are_named():
    with pytest.raises(InputError, match="damping=-1"):
        influence(classes_split(), damping=-1)
    with pytest.raises(InputError, match="tolerance=nan"):
        influence(classes_split(), tolerance=float("nan"))
    with pytest.raises(InputError, match="max_iterations=0"):
        influence(classes_split(), max_iterations=0)
    with pytest.raises(InputError, match="regression split"):
        influence(regression_split(), "logistic")
    with pytest.raises(InputError, match="classification split"):
        influence(classes_split(), "ridge_regression")


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


def linear_learner(classes=3, **options) -> TorchLearner:
    nn = pytest.importorskip("torch").nn
    settings = {"optimizer": "sgd", "learning_rate": 0.5, "momentum": 0.9, "weight_decay": 1 / 60}
    settings |= {"epochs": 400, "dtype": "float64", **options}
    return TorchLearner(lambda: nn.Linear(5, classes, bias=False), **settings)


def mlp_learner(**options) -> TorchLearner:
    nn = pytest.importorskip("torch").nn
    settings = {"weight_decay": 0.01, "epochs": 300, "dtype": "float64", "init_seed": 1, **options}
    return TorchLearner(lambda: nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3)), **settings)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_linear_module_has_the_values_of_logistic_regression(dtype):
    split = classes_split(classes=3)
    exact = influence(split, LogisticRegression(fit_intercept=False)).values
    values = influence(split, linear_learner(dtype=dtype), tolerance=1e-6)
    assert spearmanr(values.values, exact).statistic > 0.999
    np.testing.assert_allclose(values.values, exact, rtol=1e-3, atol=1e-4 * np.abs(exact).max())
    assert values.meta["converged"]
    assert values.meta["parameters"] == 15


def test_a_linear_module_has_the_values_of_ridge_regression():
    nn = pytest.importorskip("torch").nn
    split = regression_split()
    learner = TorchLearner(
        lambda: nn.Linear(4, 1, bias=False),
        optimizer=optimizer_of_ridge,
        loss=lambda outputs, targets: 0.5 * (outputs - targets) ** 2,
        epochs=300,
        dtype="float64",
        task="regression",
    )
    exact = influence(split, Ridge(alpha=3.0, fit_intercept=False)).values
    np.testing.assert_allclose(influence(split, learner).values, exact, rtol=1e-3, atol=1e-7)


def optimizer_of_ridge(parameters):
    import torch

    return torch.optim.SGD(parameters, lr=0.3, momentum=0.5, weight_decay=3 / 150)


def dense_derivatives(split, module, decay):
    """Hessian of the penalised mean loss, the rows' gradients and the evaluation rows' mean gradient."""
    torch = pytest.importorskip("torch")
    names, shapes = zip(*((name, w.shape) for name, w in module.named_parameters()), strict=True)
    start = torch.cat([w.detach().flatten() for w in module.parameters()])

    def losses(flat, X, y):
        parts = torch.split(flat, [shape.numel() for shape in shapes])
        weights = {name: part.reshape(s) for name, part, s in zip(names, parts, shapes, strict=True)}
        outputs = torch.func.functional_call(module, weights, (torch.as_tensor(X),))
        return torch.nn.functional.cross_entropy(outputs, torch.as_tensor(y), reduction="none")

    hessian = torch.func.hessian(lambda flat: losses(flat, split.X, split.y).mean())(start)
    hessian += decay * torch.eye(len(start))
    rows = torch.func.jacrev(losses)(start, split.X, split.y)
    evaluation = torch.func.jacrev(losses)(start, split.X_val, split.y_val)
    return hessian.numpy(), rows.numpy(), evaluation.numpy().mean(axis=0)


def test_conjugate_gradients_on_a_network_equal_a_dense_solve(monkeypatch):
    from cdvm.learners.batched import modules as torch_learner
    from cdvm.sampling import Subsets

    split, learner = classes_split(classes=3), mlp_learner()
    module = learner.bind(split, split.X_val).trained(Subsets.of([range(60)], 60))
    hessian, rows, evaluated = dense_derivatives(split, module, decay=0.01)
    expected = rows @ np.linalg.solve(hessian + 0.05 * np.eye(len(hessian)), evaluated) / 60
    values = influence(split, learner, damping=0.05, tolerance=1e-10)
    np.testing.assert_allclose(values.values, expected, rtol=1e-6, atol=1e-12)
    monkeypatch.setattr(torch_learner, "_CHUNK_BYTES", 8 << 10)  # rows go through in many pieces
    pieces = influence(split, learner, damping=0.05, tolerance=1e-10)
    np.testing.assert_allclose(pieces.values, values.values, rtol=1e-9, atol=1e-14)


def test_batch_normalisation_dropout_and_frozen_layers_are_met_as_they_answer():
    nn = pytest.importorskip("torch").nn

    def factory():
        layers = nn.Sequential(
            nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2)
        )
        layers[0].requires_grad_(False)
        return layers

    split = classes_split()
    values = influence(split, TorchLearner(factory, epochs=50), damping=0.1)
    assert values.meta["parameters"] == 16 + 18
    assert np.isfinite(values.values).all()
    assert values.values.std() > 0
    np.testing.assert_array_equal(
        values.values, influence(split, TorchLearner(factory, epochs=50), damping=0.1).values
    )


def test_an_evaluation_row_with_an_unseen_label_does_not_count_for_a_module():
    split = classes_split()
    with pytest.warns(UserWarning, match="never seen"):
        odd = Split.from_arrays(split.X, split.y, split.X_val, [*split.y_val[:-1], 9])
    fewer = Split.from_arrays(split.X, split.y, split.X_val[:-1], split.y_val[:-1])
    learner = linear_learner(classes=2, epochs=20)
    odd_values, values = (influence(part, learner, damping=0.1).values for part in (odd, fewer))
    np.testing.assert_allclose(odd_values * 40, values * 39, rtol=1e-6)


def test_unfinished_conjugate_gradients_warn_with_the_residual():
    with pytest.warns(
        InputWarning, match=r"did not converge after 2 iterations: the residual is .* max_iter"
    ):
        values = influence(classes_split(classes=3), linear_learner(epochs=20), max_iterations=2)
    assert not values.meta["converged"]
    assert values.meta["residual"] > 1e-5


def test_negative_curvature_is_told():
    torch = pytest.importorskip("torch")
    from cdvm.valuation.influence_torch import _warn, conjugate_gradients

    bent = torch.tensor([2.0, 1.0, -0.1], dtype=torch.float64)
    options = {"tolerance": 1e-8, "max_iterations": 10, "progress": False}
    found = conjugate_gradients(lambda d: bent * d, torch.ones(3, dtype=torch.float64), **options)
    with pytest.warns(InputWarning, match=r"met negative curvature \(-.*raise damping"):
        _warn(found, 1e-8)
    with pytest.raises(InputError, match=r"raise damping by more than 0\.1"):
        conjugate_gradients(lambda d: bent * d, torch.tensor([0.0, 0.0, 1.0], dtype=torch.float64), **options)


def test_what_a_module_cannot_give_is_refused():
    learner = mlp_learner(epochs=1)
    with pytest.raises(InputError, match="known for linear models"):
        influence_vectors(classes_split(classes=3), learner)
    with pytest.raises(InputError, match="regression split"):
        influence(regression_split(), learner)
