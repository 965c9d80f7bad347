"""Modules at work on a split: stacked where they can be, one by one where not."""

from __future__ import annotations

import builtins
import sys

import numpy as np
import pytest
from torch_cases import mlp, nn, one_by_one, torch

from cdvm.errors import InputError
from cdvm.learners.torch import TorchLearner
from cdvm.outcomes.recorded import Outcomes
from cdvm.outcomes.recording import record_outcomes
from cdvm.sampling import Design

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


def test_modules_of_which_few_fill_a_chunk_are_trained_one_by_one(digits, monkeypatch):
    learner = TorchLearner(mlp, epochs=3, batch_size=20)
    subsets = Design(digits.n_rows, 0.1, seed=4).take(range(3))
    stacked = learner.bind(digits, digits.X_val)
    eight = 4 * 8 * (2 * 20 * stacked._per_row + 5 * sum(p.numel() for p in mlp().parameters()))
    monkeypatch.setattr("cdvm.learners.batched.modules._CHUNK_BYTES", eight)
    assert learner.bind(digits, digits.X_val).stacked
    monkeypatch.setattr("cdvm.learners.batched.modules._CHUNK_BYTES", eight - 1)
    alone = learner.bind(digits, digits.X_val)
    assert not alone.stacked
    assert "large" in alone.note
    np.testing.assert_allclose(alone._outputs(subsets), stacked._outputs(subsets), atol=1e-5)


def test_a_run_of_modules_trained_one_by_one_that_stops_keeps_what_it_had(digits, tmp_path):
    """Each may take seconds: a task of hundreds of them would lose an hour, and leave one core to it."""
    learner = TorchLearner(lambda: nn.Sequential(nn.Dropout(0.2), nn.Linear(64, 10)), epochs=1)
    design, models = Design(digits.n_rows, 0.05, seed=1), range(25)

    class Stopping:
        calls, tasks_before = 0, 2

        def __call__(self, y, answer):
            self.calls += 1
            if self.calls > self.tasks_before:
                raise KeyboardInterrupt
            return (answer.argmax(axis=2) == y).astype(float)

    stopping = Stopping()
    own = {"outcome": stopping, "store": tmp_path / "store", "n_jobs": 1}
    with pytest.raises(KeyboardInterrupt):
        record_outcomes(digits, learner, design, models, **own)
    assert Outcomes.load(tmp_path / "store").n_models == 20
    stopping.calls = 1  # the rest is one task
    record_outcomes(digits, learner, design, models, **own)
    assert Outcomes.load(tmp_path / "store").n_models == 25


def test_a_module_for_other_rows_is_refused_in_one_line(digits):
    with pytest.raises(InputError, match=r"rows of shape \(64,\).*input_shape") as refused:
        TorchLearner(lambda: nn.Linear(5, 10)).bind(digits, digits.X_val)
    assert "\n" not in str(refused.value)


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


def test_a_users_generator_is_left_alone(digits):
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    TorchLearner(mlp, epochs=1).bind(digits, digits.X_val)
    assert torch.rand(1) == expected


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
