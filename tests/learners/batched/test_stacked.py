"""Steps on the stacked weights of many models, against ``torch.optim`` on one after the other."""

from __future__ import annotations

import pytest
from torch_cases import torch

from cdvm.learners.batched.stacked import stack_optimizer


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("adam", {"momentum": 0.0, "decay": 0.0}),
        ("adam", {"momentum": 0.0, "decay": 0.3}),
        ("sgd", {"momentum": 0.0, "decay": 0.0}),
        ("sgd", {"momentum": 0.8, "decay": 0.3}),
    ],
)
def test_ten_steps_are_those_of_torch_optim(kind, settings):
    generator = torch.Generator().manual_seed(0)
    start = {name: torch.randn((3, *shape), generator=generator) for name, shape in SHAPES.items()}
    weights = {name: value.clone().double() for name, value in start.items()}
    step = stack_optimizer(kind, weights, rate=0.1, **settings)
    alone = [
        {name: value[k].clone().double().requires_grad_() for name, value in start.items()} for k in range(3)
    ]
    if kind == "adam":
        peers = [torch.optim.Adam(w.values(), lr=0.1, weight_decay=settings["decay"]) for w in alone]
    else:
        peers = [
            torch.optim.SGD(w.values(), lr=0.1, momentum=settings["momentum"], weight_decay=settings["decay"])
            for w in alone
        ]
    for _ in range(10):
        gradients = {
            name: torch.randn(value.shape, generator=generator).double() for name, value in start.items()
        }
        step(gradients)
        for k, peer in enumerate(peers):
            for name, weight in alone[k].items():
                weight.grad = gradients[name][k]
            peer.step()
    for k in range(3):
        for name, weight in alone[k].items():
            torch.testing.assert_close(weights[name][k], weight.detach(), rtol=1e-9, atol=1e-9)


SHAPES = {"weight": (4, 2), "bias": (4,)}
