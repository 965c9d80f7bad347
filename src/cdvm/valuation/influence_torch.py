"""Influence values of a PyTorch module, by conjugate gradients on products with the Hessian.

The module is trained on all rows as its learner says; its weight decay counts as the penalty (w/2)‖θ‖². The
gradient of ``∇J(θ)ᵀ d`` is H d, so the Hessian is never formed; and the gradient of ``sᵀ ∇ Σ_i u_i ℓ_i(θ)``
by u has the entries sᵀg_i, so neither is any row's own gradient. Both take two passes backwards over the
rows, in pieces that fit in memory.

A network is rarely trained to a minimum, and its Hessian may be negative in some direction d. There the
quadratic model has no minimum: conjugate gradients stop, with a warning, at the step before.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cdvm._runtime.progress import Progress
from cdvm.data.split import Split
from cdvm.errors import InputError, InputWarning
from cdvm.sampling import Subsets

if TYPE_CHECKING:
    from torch import Tensor, nn

    from cdvm.learners.batched.modules import TorchTrainer

__all__ = ["Curve", "conjugate_gradients", "torch_influence"]

_PASSES = 4  # activations held at once: forwards and backwards, and the same of the second pass


def torch_influence(
    split: Split,
    learner: Any,
    *,
    damping: float,
    tolerance: float,
    max_iterations: int,
    seed: int,
    progress: bool | None,
) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """The value of each training row, and how well the system was solved."""
    trainer = learner.bind(split, split.validation[0])
    module = trainer.trained(Subsets.of([np.arange(split.n_rows)], split.n_rows, seed=seed))
    curve = Curve(trainer, module, split, damping)
    solution = conjugate_gradients(
        curve.product,
        curve.evaluated(),
        tolerance=tolerance,
        max_iterations=max_iterations,
        progress=progress,
    )
    _warn(solution, tolerance)
    values = curve.along(solution.vector).double().cpu().numpy() / split.n_rows
    if not np.isfinite(values).all():
        raise InputError("influence is not finite: the training diverged, use a smaller learning_rate")
    details = {
        "parameters": len(solution.vector),
        "iterations": solution.iterations,
        "residual": solution.residual,
        "converged": solution.residual <= tolerance,
    }
    return values, details


class Curve:
    """First and second derivatives of a trained module's losses; parameters are one flat vector.

    Parameters
    ----------
    trainer : TorchTrainer
    module : torch.nn.Module
        Trained, in evaluation mode. Parameters without gradients are constants.
    split : Split
    damping : float
    """

    def __init__(self, trainer: TorchTrainer, module: nn.Module, split: Split, damping: float) -> None:
        import torch

        self._torch = torch
        self._trainer, self._module = trainer, module
        self._weights = [value for value in module.parameters() if value.requires_grad]
        if not self._weights:
            raise InputError("the module has no parameters that are trained: influence needs some")
        decay = {
            id(value): float(group.get("weight_decay", 0.0))
            for group in trainer.learner.optimizer_of(module).param_groups
            for value in group["params"]
        }
        self._diagonal = torch.cat(
            [torch.full_like(w, decay.get(id(w), 0.0) + damping).flatten() for w in self._weights]
        ).detach()
        self._rows = trainer.tensor(split.X), trainer.targets(split.y)
        # a label never seen in training has no loss to speak of
        X, y = split.validation
        seen = np.flatnonzero(y >= 0) if split.task == "classification" else slice(None)
        self._evaluation = trainer.tensor(X[seen]), trainer.targets(y[seen])
        self._n_evaluation = len(y)

    def evaluated(self) -> Tensor:
        """Gradient of the evaluation rows' mean loss."""
        total = self._torch.zeros_like(self._diagonal)
        for losses in self._losses(*self._evaluation):
            total += self._gradient(losses.sum()).detach()
        return total / self._n_evaluation

    def product(self, direction: Tensor) -> Tensor:
        """The damped Hessian of the penalised mean loss times ``direction``."""
        total = self._torch.zeros_like(direction)
        for losses in self._losses(*self._rows):
            slope = self._gradient(losses.sum(), again=True)
            # losses linear in the parameters have a slope that depends on none of them
            if slope.requires_grad:
                total += self._gradient(slope @ direction).detach()
        return total / len(self._rows[0]) + self._diagonal * direction

    def along(self, direction: Tensor) -> Tensor:
        """Product of each training row's gradient with ``direction``."""
        parts = []
        for losses in self._losses(*self._rows):
            fraction = self._torch.ones_like(losses, requires_grad=True)
            slope = self._gradient((losses * fraction).sum(), again=True)
            parts.append(self._torch.autograd.grad(slope @ direction, fraction)[0].detach())
        answer: Tensor = self._torch.cat(parts)
        return answer

    def _losses(self, rows: Tensor, targets: Tensor) -> Iterator[Tensor]:
        at_once = self._trainer.rows_at_once(_PASSES)
        for start in range(0, len(rows), at_once):
            piece = slice(start, start + at_once)
            yield self._trainer.losses(self._module(rows[piece]), targets[piece])

    def _gradient(self, scalar: Tensor, *, again: bool = False) -> Tensor:
        parts = self._torch.autograd.grad(
            scalar, self._weights, create_graph=again, allow_unused=True, materialize_grads=True
        )
        flat: Tensor = self._torch.cat([part.flatten() for part in parts])
        return flat


class Solution(NamedTuple):
    """Where conjugate gradients ended."""

    vector: Any
    residual: float  # relative to the right side
    iterations: int
    curvature: float  # dᵀHd / dᵀd of the last direction


def conjugate_gradients(
    product: Callable[[Any], Any],
    right: Any,
    *,
    tolerance: float,
    max_iterations: int,
    progress: bool | None = None,
) -> Solution:
    """Solve ``product(s) = right`` up to a residual of ``tolerance`` times ``right``, from s = 0.

    Ends early where the curvature along a direction is not positive; if that is the first, there is no
    solution to speak of and an InputError says how much damping would do.
    """
    solution, residual, direction = right * 0.0, right, right
    scale = fall = float(residual @ residual)
    if fall == 0.0:
        return Solution(solution, 0.0, 0, np.inf)
    steps, curvature = 0, np.inf
    with Progress("conjugate gradients", max_iterations, enabled=progress) as bar:
        while steps < max_iterations and fall > tolerance**2 * scale:
            image = product(direction)
            bend = float(direction @ image)
            curvature = bend / float(direction @ direction)
            if not bend > 0:
                break
            solution = solution + (fall / bend) * direction
            residual = residual - (fall / bend) * image
            before, fall = fall, float(residual @ residual)
            direction = residual + (fall / before) * direction
            steps += 1
            bar.advance(note=f"residual {(fall / scale) ** 0.5:.1e}")
    if steps == 0 and not curvature > 0:
        raise InputError(
            f"the Hessian is not positive along the evaluation rows' gradient "
            f"(curvature {curvature:.3g}): train the "
            f"module closer to a minimum or raise damping by more than {abs(curvature):.2g}"
        )
    return Solution(solution, (fall / scale) ** 0.5, steps, curvature)


def _warn(solution: Solution, tolerance: float) -> None:
    if solution.residual <= tolerance:
        return
    if solution.curvature > 0:
        why, cure = "did not converge", "raise max_iterations or damping"
    else:
        why = f"met negative curvature ({solution.curvature:.3g})"
        cure = "raise damping, or train the module closer to a minimum"
    warnings.warn(
        f"conjugate gradients {why} after {solution.iterations} iterations: the residual is "
        f"{solution.residual:.1e} of the right side, asked for was {tolerance:.0e}; {cure}",
        InputWarning,
        stacklevel=4,
    )
