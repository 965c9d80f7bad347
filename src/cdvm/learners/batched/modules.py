"""Many PyTorch modules at work on one split, stacked where they can be.

Where the module allows it, the weights of many models are stacked and one call of ``torch.func.vmap`` takes
a step of all of them; the loss of model *t* is ``Σᵢ weight_ti · loss(f_t(xᵢ), yᵢ)``, with weight 0 for the
rows that pad its batch. Modules whose rows see each other (batch normalisation), that draw random numbers
(dropout), that ``vmap`` refuses, or that are large, are trained one by one with ``torch.optim``;
:attr:`TorchTrainer.note` says why.
"""

from __future__ import annotations

import copy
import logging
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cdvm._runtime.parallel import Prefer
from cdvm.data.split import Features, Split
from cdvm.errors import InputError
from cdvm.learners.base import Trainer
from cdvm.learners.batched.batches import epoch_orders, padded_sizes
from cdvm.learners.batched.stacked import stack_optimizer
from cdvm.sampling import RandomStream, Subsets, draw_words

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = ["RANDOM", "TorchTrainer", "load_torch"]

RANDOM = threading.Lock()
"""PyTorch's generator is one for the whole process."""

_CHUNK_BYTES = 64 << 20  # inputs, activations, weights and moments of the models trained side by side
_WORTH_STACKING = 8  # models: fewer are no faster together, and convolutions much slower
_ONE_BY_ONE = 10  # models a task trains where each may take seconds
_log = logging.getLogger(__name__)


def load_torch() -> Any:
    """The library, or what to do where it is not there."""
    try:
        import torch
    except ImportError as error:
        raise InputError(
            "TorchLearner needs PyTorch, which is not installed: pip install cdvm[torch]"
        ) from error
    return torch


class ModuleSettings(Protocol):
    """What is asked of a :class:`~cdvm.learners.torch.TorchLearner`."""

    optimizer: Any
    loss: Callable[[Tensor, Tensor], Tensor] | None
    learning_rate: float
    momentum: float
    weight_decay: float
    epochs: int
    batch_size: int
    input_shape: tuple[int, ...] | None
    dtype: str
    init_seed: int | None

    def make(self, seed: int) -> nn.Module: ...
    def place(self) -> str: ...
    def optimizer_of(self, module: nn.Module) -> Any: ...


class TorchTrainer(Trainer):
    """Modules at work on one split.

    Attributes
    ----------
    stacked : bool
        Whether many models are trained by one call.
    note : str or None
        Why not, where not.
    """

    link = "softmax"

    def __init__(self, split: Split, X: Features, learner: ModuleSettings) -> None:
        super().__init__(split, X)
        self.learner = learner
        self._rows = self.tensor(split.X)
        self._evaluated = self.tensor(X)
        self._targets = self.targets(split.y)
        self._per_row, self.note = self._probe()
        at_once = self._models_at_once(learner.make(0), min(learner.batch_size, len(split.y)))
        if self.note is None and at_once < _WORTH_STACKING:
            self.note = "the module is so large that few models would be trained at once"
        self.stacked = self.note is None
        self.prefer: Prefer = "threads" if self.stacked else "processes"  # type: ignore[misc]
        if self.note is not None:
            self.chunk = _ONE_BY_ONE  # type: ignore[misc]
            _log.info("models are trained one by one: %s", self.note)

    def trained(self, subsets: Subsets) -> nn.Module:
        """The module trained on the first of ``subsets``, ready to answer."""
        return self._single_model(self._initial(subsets), subsets, 0)

    def _initial(self, subsets: Subsets) -> nn.Module:
        seed = self.learner.init_seed
        return self.learner.make(subsets.seed if seed is None else seed)

    def rows_at_once(self, copies: int = 1) -> int:
        """Rows that may go through ``copies`` of the module together."""
        return int(max(1, _CHUNK_BYTES // (self._rows.element_size() * self._per_row * copies)))

    def _labels(self, subsets: Subsets) -> NDArray[Any]:
        if self.split.task == "regression":
            return np.asarray(self._outputs(subsets)[:, :, 0], dtype=np.float64)
        return np.asarray(self._outputs(subsets).argmax(axis=2), dtype=np.int32)

    def _scores(self, subsets: Subsets) -> NDArray[np.floating[Any]]:
        if self.split.task == "regression":
            raise InputError("a regression has no scores: use predict")
        return self._outputs(subsets).astype(np.float32)

    def _outputs(self, subsets: Subsets) -> NDArray[Any]:
        """Outputs on the rows to answer for, shape (n_models, n_rows, n_outputs)."""
        module = self._initial(subsets)
        width = self.split.n_classes or 1
        answer = np.empty((len(subsets), len(self._evaluated), width), dtype=self.learner.dtype)
        run = self._stacked_models if self.stacked else self._single_models
        for which, outputs in run(module, subsets):
            answer[which] = outputs.reshape(len(which), -1, width).cpu().numpy()
        return answer

    def _stacked_models(
        self, module: nn.Module, subsets: Subsets
    ) -> Iterator[tuple[NDArray[np.int64], Tensor]]:
        slots = padded_sizes(subsets.sizes, self.learner.batch_size)
        for width in np.unique(slots).tolist():
            which = np.flatnonzero(slots == width)
            at_once = self._models_at_once(module, min(width, self.learner.batch_size))
            for start in range(0, len(which), at_once):
                part = which[start : start + at_once]
                orders, inside = self._orders(subsets, part, width)
                weights = self._train_stack(module, orders, inside)
                yield part, self._answer_stack(module, weights)

    def _orders(
        self, subsets: Subsets, which: NDArray[np.int64], width: int
    ) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Rows of each epoch, model and slot, and which slots hold a row."""
        orders = np.zeros((self.learner.epochs, len(which), width), dtype=np.int32)
        for position, k in enumerate(which.tolist()):
            order = self._order(subsets, k)
            orders[:, position, : order.shape[1]] = order
        return orders, np.arange(width) < subsets.sizes[which][:, None]

    def _order(self, subsets: Subsets, k: int) -> NDArray[np.int32]:
        rows = subsets.rows(k).astype(np.int32)
        if len(rows) <= self.learner.batch_size:
            return np.tile(rows, (self.learner.epochs, 1))
        return epoch_orders(subsets, k, self.learner.epochs)

    def _train_stack(
        self, module: nn.Module, orders: NDArray[np.int32], inside: NDArray[np.bool_]
    ) -> dict[str, Tensor]:
        torch = load_torch()
        gradient = torch.func.vmap(torch.func.grad(self._stack_loss(module)), randomness="error")
        weights = {
            name: value.detach().expand(len(inside), *value.shape).clone()
            for name, value in module.named_parameters()
        }
        step = stack_optimizer(
            str(self.learner.optimizer),
            weights,
            rate=self.learner.learning_rate,
            momentum=self.learner.momentum,
            decay=self.learner.weight_decay,
        )
        filled = torch.as_tensor(inside, device=self._rows.device)
        for order in torch.as_tensor(orders.astype(np.int64), device=self._rows.device):
            for start in range(0, order.shape[1], self.learner.batch_size):
                batch = slice(start, start + self.learner.batch_size)
                rows, fraction = order[:, batch], filled[:, batch].to(self._rows.dtype)
                fraction /= fraction.sum(dim=1, keepdim=True)
                step(gradient(weights, self._rows[rows], self._targets[rows], fraction))
        return weights

    def _stack_loss(self, module: nn.Module) -> Callable[..., Tensor]:
        torch = load_torch()
        buffers = dict(module.named_buffers())

        def loss(weights: dict[str, Tensor], rows: Tensor, targets: Tensor, fraction: Tensor) -> Tensor:
            outputs = torch.func.functional_call(module, (weights, buffers), (rows,))
            return (self.losses(outputs, targets) * fraction).sum()

        return loss

    def _answer_stack(self, module: nn.Module, weights: dict[str, Tensor]) -> Tensor:
        torch = load_torch()
        quiet = copy.deepcopy(module).eval()
        buffers = dict(quiet.named_buffers())

        def outputs(one: dict[str, Tensor], rows: Tensor) -> Any:
            return torch.func.functional_call(quiet, (one, buffers), (rows,))

        n_models = len(next(iter(weights.values())))
        at_once = self.rows_at_once(n_models)
        with torch.no_grad():
            parts = [
                torch.func.vmap(outputs, in_dims=(0, None))(weights, rows)
                for rows in torch.split(self._evaluated, at_once)
            ]
        answer: Tensor = torch.cat(parts, dim=1)
        return answer

    def _single_models(
        self, module: nn.Module, subsets: Subsets
    ) -> Iterator[tuple[NDArray[np.int64], Tensor]]:
        torch = load_torch()
        for k in range(len(subsets)):
            model = self._single_model(module, subsets, k)
            with torch.no_grad():
                parts = [model(rows) for rows in torch.split(self._evaluated, self.rows_at_once())]
            yield np.array([k]), torch.cat(parts)

    def _single_model(self, module: nn.Module, subsets: Subsets, k: int) -> nn.Module:
        torch = load_torch()
        word = draw_words(subsets.seed, RandomStream.ESTIMATOR, int(subsets.models[k]), 1, 1)[0, 0]
        with RANDOM, torch.random.fork_rng():
            torch.manual_seed(int(word >> np.uint64(1)))
            return self._train_one(copy.deepcopy(module), self._order(subsets, k)).eval()

    def _train_one(self, model: nn.Module, orders: NDArray[np.int32]) -> nn.Module:
        torch = load_torch()
        optimizer = self.learner.optimizer_of(model.train())
        for order in torch.as_tensor(orders.astype(np.int64), device=self._rows.device):
            for rows in torch.split(order, self.learner.batch_size):
                optimizer.zero_grad()
                self.losses(model(self._rows[rows]), self._targets[rows]).mean().backward()
                optimizer.step()
        return model

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Loss of each row."""
        if self.split.task == "regression":
            outputs = outputs.reshape(targets.shape)
        if self.learner.loss is not None:
            return self.learner.loss(outputs, targets)
        functional = load_torch().nn.functional
        kind = functional.mse_loss if self.split.task == "regression" else functional.cross_entropy
        losses: Tensor = kind(outputs, targets, reduction="none")
        return losses

    def targets(self, y: NDArray[Any]) -> Tensor:
        """Class codes or targets as the loss wants them."""
        torch, learner = load_torch(), self.learner
        kind = torch.int64 if self.split.task == "classification" else getattr(torch, learner.dtype)
        return torch.as_tensor(np.ascontiguousarray(y), dtype=kind, device=learner.place())  # type: ignore[no-any-return]

    def tensor(self, X: Features) -> Tensor:
        """Features as the module wants them."""
        torch, learner = load_torch(), self.learner
        X = X.toarray() if sparse.issparse(X) else np.asarray(X)
        rows = torch.as_tensor(
            np.ascontiguousarray(X), dtype=getattr(torch, learner.dtype), device=learner.place()
        )
        if learner.input_shape is None:
            return rows  # type: ignore[no-any-return]
        if int(np.prod(learner.input_shape)) != X.shape[1]:
            raise InputError(
                f"input_shape={learner.input_shape} does not hold the {X.shape[1]} features of a row"
            )
        return rows.reshape(-1, *learner.input_shape)  # type: ignore[no-any-return]

    def _models_at_once(self, module: nn.Module, rows: int) -> int:
        weights = sum(value.numel() for value in module.parameters())
        # Activations are kept for the backward pass, and once more while it runs.
        floats = 2 * rows * self._per_row + 5 * weights
        return int(max(1, _CHUNK_BYTES // (self._rows.element_size() * floats)))

    def _probe(self) -> tuple[int, str | None]:
        """Numbers a row needs on its way through the module, and why models cannot be stacked (or None)."""
        module = self.learner.make(0).train()
        sample, targets = self._rows[:4], self._targets[:4]
        numbers = [int(np.prod(sample.shape[1:]))]
        hooks = [
            leaf.register_forward_hook(lambda _m, _i, out: numbers.append(out.numel() // len(sample)))
            for leaf in module.modules()
            if not any(leaf.children())
        ]
        try:
            outputs = module(sample)
        except (RuntimeError, ValueError) as error:  # layers that do not fit the rows
            reason = str(error).splitlines()[0]
            raise InputError(
                f"the module cannot read rows of shape {tuple(sample.shape[1:])} ({reason}): "
                "let the factory make one for that shape, or give its input_shape"
            ) from error
        for hook in hooks:
            hook.remove()
        wanted = (len(sample), self.split.n_classes or 1)
        if outputs.numel() != wanted[0] * wanted[1] or outputs.shape[0] != wanted[0]:
            raise InputError(f"the module answers with shape {tuple(outputs.shape)}, needed is {wanted}")
        return sum(numbers), self._why_not_stacked(module, outputs, sample, targets)

    def _why_not_stacked(
        self, module: nn.Module, outputs: Tensor, sample: Tensor, targets: Tensor
    ) -> str | None:
        torch = load_torch()
        if callable(self.learner.optimizer):
            return "the optimiser is a function; 'adam' and 'sgd' can be stacked"
        if not all(value.requires_grad for value in module.parameters()):
            return "some parameters are frozen"
        if any(isinstance(m, torch.nn.modules.batchnorm._BatchNorm) for m in module.modules()):
            return "batch normalisation mixes the rows of a batch"
        weights = {name: value.detach()[None] for name, value in module.named_parameters()}
        fraction = torch.ones(len(sample), dtype=sample.dtype, device=sample.device)[None]
        gradient = torch.func.vmap(torch.func.grad(self._stack_loss(module)), randomness="error")
        try:
            gradient(weights, sample[None], targets[None], fraction)
        except Exception as error:  # vmap refuses with many types; the module itself has already run
            return f"torch.func refused the module ({str(error).splitlines()[0]})"
        if len(sample) > 2 and not torch.allclose(module(sample[:2]), outputs[:2], rtol=1e-3, atol=1e-5):
            return "the answer for a row depends on the other rows of its batch"
        return None
