from __future__ import annotations

import builtins
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_regression

from cdvm.data.split import Split
from cdvm.errors import InputError
from cdvm.learners.batched.batches import initial_weights
from cdvm.learners.paper import PaperLearner
from cdvm.learners.torch import TorchLearner
from cdvm.sampling import Design, Subsets

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install cdvm[torch]")
from torch import nn  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def digits() -> Split:
    X, y = load_digits(return_X_y=True)
    return Split.from_arrays(X[:700] / 16, y[:700], validation_size=0.3, random_state=0)


@pytest.fixture(scope="module")
def numbers() -> Split:
    X, y = make_regression(300, 8, noise=1.0, random_state=0)
    return Split.from_arrays(X, y / y.std(), task="regression", random_state=0)


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10))


def cnn() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 10))


def one_by_one(trainer):
    """The same trainer with stacking switched off."""
    trainer.stacked = False
    return trainer


SETTINGS = [
    {"optimizer": "adam"},
    {"optimizer": "adam", "weight_decay": 0.1, "learning_rate": 0.003},
    {"optimizer": "sgd", "learning_rate": 0.2},
    {"optimizer": "sgd", "learning_rate": 0.05, "momentum": 0.9, "weight_decay": 0.01},
]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize(("kind", "inclusion"), [("bernoulli", 0.06), ("bootstrap", 0.3)])
def test_stacked_models_equal_torch_optim(digits, settings, kind, inclusion):
    learner = TorchLearner(mlp, epochs=6, batch_size=32, dtype="float64", **settings)
    subsets = Design(digits.n_rows, inclusion, kind, seed=1).take(range(6))
    trainer = learner.bind(digits, digits.X_val)
    assert trainer.stacked
    assert trainer.note is None
    stacked = trainer._outputs(subsets)
    alone = one_by_one(learner.bind(digits, digits.X_val))._outputs(subsets)
    np.testing.assert_allclose(stacked, alone, atol=1e-6)
    assert np.ptp(stacked, axis=0).max() > 1e-3


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


class Centred(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(64, 10)

    def forward(self, rows):
        return self.layer(rows - rows.mean(dim=0))


class Branching(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(64, 10)

    def forward(self, rows):
        out = self.layer(rows)
        return out if out.sum() > 0 else 2 * out


@pytest.mark.parametrize(
    ("factory", "reason"),
    [
        (lambda: nn.Sequential(nn.Linear(64, 8), nn.BatchNorm1d(8), nn.Linear(8, 10)), "normalisation"),
        (lambda: nn.Sequential(nn.Linear(64, 8), nn.Dropout(0.5), nn.Linear(8, 10)), "random"),
        (Centred, "other rows"),
        (Branching, "refused"),
    ],
    ids=["batchnorm", "dropout", "rows mixed", "control flow"],
)
def test_modules_that_cannot_be_stacked_are_trained_one_by_one(digits, factory, reason):
    trainer = TorchLearner(factory, epochs=2).bind(digits, digits.X_val)
    assert not trainer.stacked
    assert reason in trainer.note
    assert trainer.prefer == "processes"
    subsets = Design(digits.n_rows, 0.2, seed=3).take(range(3))
    whole = trainer.predict(subsets)
    np.testing.assert_array_equal(trainer.predict(subsets[1:2]), whole[1:2])


def test_an_optimizer_of_ones_own(digits):
    learner = TorchLearner(mlp, optimizer=lambda p: torch.optim.Adam(p, lr=0.01), epochs=3)
    trainer = learner.bind(digits, digits.X_val)
    assert not trainer.stacked
    subsets = Design(digits.n_rows, 0.2, seed=3).take(range(3))
    named = TorchLearner(mlp, optimizer="adam", learning_rate=0.01, epochs=3).bind(digits, digits.X_val)
    np.testing.assert_allclose(trainer._outputs(subsets), named._outputs(subsets), atol=1e-4)


def test_models_do_not_depend_on_chunks(digits, monkeypatch):
    learner = TorchLearner(mlp, epochs=3, batch_size=20)
    subsets = Design(digits.n_rows, 0.1, seed=4).take(range(12))
    trainer = learner.bind(digits, digits.X_val)
    whole = trainer._outputs(subsets)
    np.testing.assert_allclose(trainer._outputs(subsets[7:9]), whole[7:9], atol=1e-5)
    monkeypatch.setattr("cdvm.learners.batched.modules._CHUNK_BYTES", 1)
    np.testing.assert_allclose(trainer._outputs(subsets), whole, atol=1e-5)


def test_the_seed_decides_the_initial_state(digits):
    subsets = Design(digits.n_rows, 0.1, seed=4).take(range(2))
    torch.manual_seed(1)
    first = TorchLearner(mlp, epochs=1).bind(digits, digits.X_val).scores(subsets)
    torch.manual_seed(2)
    again = TorchLearner(mlp, epochs=1).bind(digits, digits.X_val).scores(subsets)
    other = TorchLearner(mlp, epochs=1, init_seed=5).bind(digits, digits.X_val).scores(subsets)
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.01


def test_a_users_generator_is_left_alone(digits):
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    TorchLearner(mlp, epochs=1).bind(digits, digits.X_val)
    assert torch.rand(1) == expected


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


def test_missing_torch_names_the_extra(digits, monkeypatch):
    real = builtins.__import__

    def without_torch(name, *args, **kwargs):
        if name == "torch":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.setattr(builtins, "__import__", without_torch)
    with pytest.raises(InputError, match=r"pip install cdvm\[torch\]"):
        TorchLearner(mlp).bind(digits, digits.X_val)
