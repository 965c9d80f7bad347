"""Any PyTorch module, trained from the same initial state for every model."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cdvm.data.split import Features, Split, Task
from cdvm.errors import InputError
from cdvm.learners.base import Learner
from cdvm.learners.batched.modules import RANDOM, TorchTrainer, load_torch

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = ["TorchLearner"]


class TorchLearner(Learner):
    """Train modules made by a factory.

    Parameters
    ----------
    factory : callable
        Makes the module. It answers rows of shape ``(rows, *input_shape)`` with ``(rows, n_classes)`` scores,
        or with one number a row for regression.
    optimizer : {"adam", "sgd"} or callable
        A callable gets the parameters and returns a ``torch.optim`` optimiser; its models are trained one by
        one.
    learning_rate, momentum, weight_decay : float
        Settings of the named optimisers; momentum is SGD's.
    epochs, batch_size : int
        Up to ``batch_size`` rows, a step sees all of them; beyond, the order is new in every epoch.
    loss : callable or None
        ``loss(outputs, targets)``, one number a row. None is cross-entropy, or the squared error.
    task : {"classification", "regression"}
    input_shape : tuple of int or None
        Shape of one row for the module, e.g. ``(1, 28, 28)``; None leaves rows flat.
    device : str
        ``"auto"`` takes CUDA where there is one.
    dtype : str
    init_seed : int or None
        Seeds the factory. None takes the seed of the subsets.
    """

    name = "torch"
    stochastic = True  # initial weights, the order of batches, dropout

    def __init__(
        self,
        factory: Callable[[], nn.Module],
        *,
        optimizer: str | Callable[[Any], Any] = "adam",
        learning_rate: float = 0.01,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        epochs: int = 15,
        batch_size: int = 250,
        loss: Callable[[Tensor, Tensor], Tensor] | None = None,
        task: Task = "classification",
        input_shape: tuple[int, ...] | None = None,
        device: str = "auto",
        dtype: str = "float32",
        init_seed: int | None = None,
    ) -> None:
        if not callable(factory) or (hasattr(factory, "state_dict") and not isinstance(factory, type)):
            raise InputError(f"factory={factory!r}: pass a function that makes the module")
        if not callable(optimizer) and optimizer not in ("adam", "sgd"):
            raise InputError(f"optimizer={optimizer!r}: use 'adam', 'sgd' or a function of the parameters")
        if dtype not in ("float32", "float64"):
            raise InputError(f"dtype={dtype!r}: use 'float32' or 'float64'")
        for label, value in (("epochs", epochs), ("batch_size", batch_size)):
            if value < 1:
                raise InputError(f"{label}={value!r}: use a whole number of at least 1")
        self.factory = factory
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.epochs = epochs
        self.batch_size = batch_size
        self.loss = loss
        self.task = task
        self.input_shape = input_shape
        self.device = device
        self.dtype = dtype
        self.init_seed = init_seed

    def bind(self, split: Split, X: Features) -> TorchTrainer:
        if self.task != split.task:
            raise InputError(f"TorchLearner(task={self.task!r}) does not fit a {split.task} split")
        return TorchTrainer(split, X, self)

    def spec(self) -> dict[str, Any]:
        module = self.make(0)
        digest = hashlib.sha256()
        for value in module.state_dict().values():
            digest.update(value.cpu().numpy().tobytes())
        plain = (
            "learning_rate",
            "momentum",
            "weight_decay",
            "epochs",
            "batch_size",
            "task",
            "dtype",
            "init_seed",
        )
        return {
            "name": self.name,
            "module": repr(module),
            "weights": digest.hexdigest()[:32],
            "optimizer": _name_of(self.optimizer),
            "loss": _name_of(self.loss),
            "input_shape": None if self.input_shape is None else list(self.input_shape),
            **{key: getattr(self, key) for key in plain},
        }

    def make(self, seed: int) -> nn.Module:
        """The module in its initial state."""
        torch = load_torch()
        with RANDOM, torch.random.fork_rng():
            torch.manual_seed(seed & (2**63 - 1))
            module: nn.Module = self.factory()
        return module.to(self.place(), getattr(torch, self.dtype))

    def place(self) -> str:
        """The device to train on."""
        if self.device != "auto":
            return self.device
        return "cuda" if load_torch().cuda.is_available() else "cpu"

    def optimizer_of(self, module: nn.Module) -> Any:
        """A ``torch.optim`` optimiser of one module."""
        if callable(self.optimizer):
            return self.optimizer(module.parameters())
        optim = load_torch().optim
        shared = {"lr": self.learning_rate, "weight_decay": self.weight_decay}
        if self.optimizer == "adam":
            return optim.Adam(module.parameters(), **shared)
        return optim.SGD(module.parameters(), momentum=self.momentum, **shared)


def _name_of(value: Any) -> str | None:
    return f"{value.__module__}.{value.__qualname__}" if hasattr(value, "__qualname__") else value
