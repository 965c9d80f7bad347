from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_regression
from torch_cases import mlp, nn, one_by_one, torch

from cdvm.data.split import Split
from cdvm.errors import InputError
from cdvm.learners.batched.batches import initial_weights
from cdvm.learners.paper import PaperLearner
from cdvm.learners.torch import TorchLearner
from cdvm.sampling import Design, Subsets


@pytest.fixture(scope="module")
def digits() -> Split:
    X, y = load_digits(return_X_y=True)
    return Split.from_arrays(X[:700] / 16, y[:700], validation_size=0.3, random_state=0)


@pytest.fixture(scope="module")
def numbers() -> Split:
    X, y = make_regression(300, 8, noise=1.0, random_state=0)
    return Split.from_arrays(X, y / y.std(), task="regression", random_state=0)


def cnn() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 10))


def test_the_paper_model_written_as_a_module(digits):
    """Two independent routes to the same fifteen epochs: NumPy stacks and a module with its own loss."""
    start = torch.tensor(initial_weights(5, 10, 64))

    def factory() -> nn.Module:
        layer = nn.Linear(64, 10)
        layer.load_state_dict({"weight": start[:, :-1], "bias": start[:, -1]})
        return layer

    def loss(outputs, targets):
        return nn.functional.cross_entropy(outputs.softmax(dim=-1), targets, reduction="none")

    subsets = Design(digits.n_rows, 0.65, seed=5).take(range(5))
    assert (subsets.sizes > 250).all()
    ours = TorchLearner(factory, loss=loss).bind(digits, digits.X_val).scores(subsets)
    paper = PaperLearner().bind(digits, digits.X_val).scores(subsets)
    np.testing.assert_allclose(ours, paper, atol=1e-3)


def test_images_through_a_convolution(digits):
    learner = TorchLearner(cnn, input_shape=(1, 8, 8), epochs=10)
    trainer = learner.bind(digits, digits.X_val)
    assert trainer.stacked
    subsets = Design(digits.n_rows, 0.3, seed=2).take(range(4))
    labels = trainer.predict(subsets)
    assert (labels == digits.y_val).mean() > 0.7
    assert (labels == one_by_one(learner.bind(digits, digits.X_val)).predict(subsets)).mean() > 0.99


def test_regression(numbers):
    learner = TorchLearner(lambda: nn.Linear(8, 1), task="regression", learning_rate=0.05, epochs=60)
    subsets = Subsets.of([range(0, 200, 2), [], range(240)], numbers.n_rows)
    trainer = learner.bind(numbers, numbers.X_val)
    answer = trainer.predict(subsets)
    assert trainer.stacked
    assert answer.dtype == np.float64
    assert np.corrcoef(answer[2], numbers.y_val)[0, 1] > 0.99
    np.testing.assert_allclose(answer[1], numbers.y.mean())
    alone = one_by_one(learner.bind(numbers, numbers.X_val)).predict(subsets)
    np.testing.assert_allclose(answer, alone, atol=1e-4)


def test_the_seed_decides_the_initial_state(digits):
    subsets = Design(digits.n_rows, 0.1, seed=4).take(range(2))
    torch.manual_seed(1)
    first = TorchLearner(mlp, epochs=1).bind(digits, digits.X_val).scores(subsets)
    torch.manual_seed(2)
    again = TorchLearner(mlp, epochs=1).bind(digits, digits.X_val).scores(subsets)
    other = TorchLearner(mlp, epochs=1, init_seed=5).bind(digits, digits.X_val).scores(subsets)
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.01


def test_spec_tells_modules_and_weights_apart():
    spec = TorchLearner(mlp).spec()
    assert spec == TorchLearner(mlp).spec()
    assert spec["module"] != TorchLearner(cnn).spec()["module"]
    assert spec["weights"] != TorchLearner(lambda: nn.Sequential(*mlp(), nn.Linear(10, 10))).spec()["weights"]
    assert TorchLearner(mlp, learning_rate=0.5).spec() != spec


def test_wrong_settings_are_named(digits, numbers):
    with pytest.raises(InputError, match="optimizer='lion'"):
        TorchLearner(mlp, optimizer="lion")
    with pytest.raises(InputError, match="factory='mlp'"):
        TorchLearner("mlp")
    with pytest.raises(InputError, match="a function that makes the module"):
        TorchLearner(mlp())
    with pytest.raises(InputError, match=r"shape \(4, 3\).*needed is \(4, 10\)"):
        TorchLearner(lambda: nn.Linear(64, 3)).bind(digits, digits.X_val)
    with pytest.raises(InputError, match="input_shape"):
        TorchLearner(cnn, input_shape=(1, 9, 9)).bind(digits, digits.X_val)
    with pytest.raises(InputError, match="regression"):
        TorchLearner(mlp).bind(numbers, numbers.X_val)
