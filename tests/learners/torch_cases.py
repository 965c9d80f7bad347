"""What the tests of modules share."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install cdvm[torch]")
nn = torch.nn
torch.set_num_threads(1)


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10))


def one_by_one(trainer):
    """The same trainer with stacking switched off."""
    trainer.stacked = False
    return trainer
