"""Few models and what needs none, together.

Few real models give an attribution that is right on average and full of noise, similarity one that is wrong
and free of noise. :func:`mix_attributions` takes the combination a·T_models + Σ b_k·T_k that is nearest to
the true T in the mean square, which the data tell: the noise of T_models is known from its standard errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm.attribution.base import Attribution, Matrix, Vector, load_attribution
from cdvm.attribution.grown import GrownAttribution
from cdvm.attribution.implicit import ImplicitAttribution
from cdvm.attribution.layout import Arrays, require
from cdvm.attribution.sparsify import largest_entry
from cdvm.errors import InputError

__all__ = ["MixedAttribution", "mix_attributions"]

_SAMPLED = 2_000_000  # entries that decide how attributions are mixed
_PART = re.compile(r"(\d{1,9})\.(\w+)")


def mix_attributions(
    models: ImplicitAttribution | GrownAttribution, *others: Attribution
) -> MixedAttribution:
    """The combination of an attribution by models with noise-free others that is nearest to the true T.

    Minimising E‖T − a·M − Σ b_k·T_k‖² needs the inner products of T with each part. With the others they are
    those of M on average, and with M itself ‖M‖² less its noise, the sum of its squared standard errors. All
    are taken over evenly spaced rows.
    """
    shapes = {part.shape for part in (models, *others)}
    if not others or len(shapes) > 1:
        raise InputError(f"attributions of shapes {sorted(shapes)}: give at least two of one shape")
    n, m = models.shape
    at = np.unique(np.linspace(0, n - 1, min(n, max(1, _SAMPLED // m))).astype(np.int64))
    blocks = [part.block(at) for part in (models, *others)]
    gram = np.array([[float(np.vdot(a, b)) for b in blocks] for a in blocks])
    noise = float(np.nansum(models.stderr(at) ** 2))
    target = gram[0].copy()
    target[0] = max(0.0, target[0] - noise)
    weights = np.linalg.lstsq(gram, target, rcond=1e-10)[0]
    return MixedAttribution((models, *others), weights.tolist())


class MixedAttribution(Attribution):
    """A weighted sum of attributions, never formed."""

    _marker = "weights"

    def __init__(self, parts: Sequence[Attribution], weights: Sequence[float]) -> None:
        self.parts, self.weights = tuple(parts), tuple(float(w) for w in weights)
        self.shape = self.parts[0].shape
        self.n_unusable = 0

    def matvec(self, evaluation: NDArray[Any]) -> Vector:
        return self._sum([part.matvec(evaluation) for part in self.parts])

    def rmatvec(self, rows: NDArray[Any]) -> Vector:
        return self._sum([part.rmatvec(rows) for part in self.parts])

    def row_sums(self) -> Vector:
        return self._sum([part.row_sums() for part in self.parts])

    def block(self, rows: Any = None, columns: Any = None) -> Matrix:
        return self._sum([part.block(rows, columns) for part in self.parts])

    def reader(self, columns: slice) -> Callable[[slice], NDArray[np.float32]]:
        readers = [part.reader(columns) for part in self.parts]
        return lambda rows: self._sum([read(rows).astype(np.float64) for read in readers]).astype(np.float32)

    def _sum(self, numbers: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        total = self.weights[0] * numbers[0]
        for weight, part in zip(self.weights[1:], numbers[1:], strict=True):
            total += weight * part
        return total

    @cached_property
    def _largest(self) -> float:
        return largest_entry(self)

    def max(self) -> float:
        return self._largest

    def _payload(self) -> Arrays:
        arrays = {
            f"{k}.{name}": a for k, part in enumerate(self.parts) for name, a in part._payload().items()
        }
        return arrays | {"weights": np.array(self.weights)}

    @classmethod
    def _from_arrays(cls, arrays: Arrays, shape: tuple[int, int]) -> MixedAttribution:
        weights = arrays["weights"]
        require(weights.ndim == 1 and weights.dtype.kind == "f", "its weights are no list of numbers")
        require(len(weights) > 0 and bool(np.isfinite(weights).all()), "its weights are not finite")
        parts: list[Arrays] = [{} for _ in weights]
        for name in arrays.keys() - {"weights"}:
            match = _PART.fullmatch(name)
            if match is None or int(match[1]) >= len(parts):
                raise InputError(f"{name!r} belongs to none of its parts")
            parts[int(match[1])][match[2]] = arrays[name]
        return cls([load_attribution(part, shape) for part in parts], weights.tolist())
