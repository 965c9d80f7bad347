import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression, Ridge
from valuation_games import classes_split, regression_split

from cdvm import InputError, Split
from cdvm.errors import InputWarning
from cdvm.learners import TorchLearner
from cdvm.valuation.influence import influence, influence_vectors


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
    # both end within 1e-10 of the right side: small values agree as far as large ones are known
    np.testing.assert_allclose(pieces.values, values.values, rtol=1e-9, atol=1e-9 * abs(values.values).max())


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
