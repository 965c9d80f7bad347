"""The arithmetic of ``torch.optim``'s Adam and SGD on the stacked weights of many models.

``torch.optim`` wants gradients stored in the parameters, where ``torch.func`` returns them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["stack_optimizer"]


def stack_optimizer(
    kind: str, weights: dict[str, Tensor], *, rate: float, momentum: float, decay: float
) -> Callable[[dict[str, Tensor]], None]:
    """A function that takes one step along the gradients, in place."""
    first = {name: value.new_zeros(value.shape) for name, value in weights.items()}
    second = {name: value.new_zeros(value.shape) for name, value in weights.items()}
    steps = 0

    def adam(gradients: dict[str, Tensor]) -> None:
        nonlocal steps
        steps += 1
        for name, value in weights.items():
            g = gradients[name].add(value, alpha=decay) if decay else gradients[name]
            first[name].lerp_(g, 1 - 0.9)
            second[name].mul_(0.999).addcmul_(g, g, value=1 - 0.999)
            size = second[name].sqrt().div_((1 - 0.999**steps) ** 0.5).add_(1e-8)
            value.addcdiv_(first[name], size, value=-rate / (1 - 0.9**steps))

    def sgd(gradients: dict[str, Tensor]) -> None:
        for name, value in weights.items():
            g = gradients[name].add(value, alpha=decay) if decay else gradients[name]
            value.sub_(first[name].mul_(momentum).add_(g), alpha=rate)

    return adam if kind == "adam" else sgd
