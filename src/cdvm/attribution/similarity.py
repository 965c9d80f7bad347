"""Attribution without (or with few) models: what rows have in common with evaluation rows.

A row speaks for its label wherever features are alike. Its *similarity* attribution to an evaluation row is
a kernel of their distance, positive where the labels agree and negative where they do not; of every
evaluation row only the nearest rows count, so T is sparse and costs one pass over distances, however large n
is. With d the distance, h that of the evaluation row's k-th neighbour, and weights that sum to 1 for every
evaluation row::

    T_ij = ± exp(−2 d_ij² / h_j²) / Σ_i' exp(−2 d_i'j² / h_j²)      for the k nearest rows i of evaluation
    row j

The idea of evaluating rows by their place in feature space is Sorscher et al.'s [1]_.

Few real models give an attribution that is right on average and full of noise, similarity one that is wrong
and free of noise. :func:`mix_attributions` takes the combination a·T_models + Σ b_k·T_k that is nearest to
the true T in the mean square, which the data tell: the noise of T_models is known from its standard errors.

References
----------
.. [1] B. Sorscher et al. Beyond neural scaling laws: beating power law scaling via data pruning.
   NeurIPS 2022.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cdvm._runtime.parallel import run_tasks
from cdvm._runtime.progress import Progress
from cdvm.attribution.base import Attribution, ImplicitAttribution, Matrix, MatrixAttribution, Vector
from cdvm.attribution.sparsify import largest_entry
from cdvm.data.split import Features, Split
from cdvm.errors import InputError

__all__ = ["MixedAttribution", "mix_attributions", "similarity_attribution"]

_DISTANCES = 1 << 23  # distances a worker holds at once
_SAMPLED = 2_000_000  # entries that decide how attributions are mixed


def similarity_attribution(
    split: Split, *, neighbors: int = 100, n_jobs: int | None = -1, progress: bool | None = None
) -> MatrixAttribution:
    """An attribution from features and labels alone.

    Parameters
    ----------
    split : Split
        Features should be on one scale, see :meth:`cdvm.Split.standardized`. For regression, labels agree as
        far as targets do: the sign becomes ``1 − 2·min(1, |y_i − y_j| / s)``, s the targets' standard
        deviation.
    neighbors : int
        Rows that count for an evaluation row; all rows where there are fewer.
    n_jobs : int, optional
    progress : bool, optional

    Examples
    --------
    >>> split = Split.from_arrays([[0.0], [1.0], [9.0], [8.0]], list("aabb"), [[0.0], [9.0]], ["a", "b"])
    >>> similarity_attribution(split, neighbors=2).dense().round(2)
    array([[0.88, 0.  ], [0.12, 0.  ], [0.  , 0.88], [0.  , 0.12]])
    """
    if isinstance(neighbors, bool) or not isinstance(neighbors, int | np.integer) or neighbors < 1:
        raise InputError(f"neighbors={neighbors!r}: use a whole number of at least 1, e.g. 100")
    X, y = split.evaluation
    centre, rows = _centred(split.X)
    squares = _squares(rows)
    step = max(1, _DISTANCES // split.n_rows)
    tasks = [
        (
            split,
            rows,
            squares,
            _less(X[start : start + step], centre),
            y[start : start + step],
            None if split.evaluation_rows is None else split.evaluation_rows[start : start + step],
            int(neighbors),
        )
        for start in range(0, len(y), step)
    ]
    parts: dict[int, sparse.csr_array] = {}
    with Progress("evaluation", len(y), enabled=progress) as bar:
        for k, part in run_tasks(_nearest, tasks, n_jobs=n_jobs, prefer="threads"):
            parts[k] = part
            bar.advance(part.shape[0])
    by_evaluation_row = sparse.vstack([parts[k] for k in sorted(parts)], format="csr")
    return MatrixAttribution(sparse.csr_array(by_evaluation_row.T))


def _centred(X: Features) -> tuple[Any, Any]:
    """Mean and rows less the mean in single precision; sparse rows stay where they are."""
    if sparse.issparse(X):
        return None, sparse.csr_array(X, dtype=np.float32)
    centre = X.mean(axis=0)
    return centre, np.ascontiguousarray(X - centre, dtype=np.float32)


def _less(X: Features, centre: Any) -> Any:
    return sparse.csr_array(X, dtype=np.float32) if centre is None else (X - centre).astype(np.float32)


def _squares(X: Any) -> NDArray[np.float32]:
    return np.asarray((X * X).sum(axis=1) if sparse.issparse(X) else np.einsum("ij,ij->i", X, X))


def _nearest(
    split: Split,
    rows: Any,
    squares: NDArray[Any],
    X: Any,
    y: NDArray[Any],
    own: NDArray[np.int64] | None,
    neighbors: int,
) -> sparse.csr_array:
    """Signed kernel weights (evaluation rows × rows) of the nearest rows, the row itself left out."""
    products = X @ rows.T
    distance = products.toarray() if sparse.issparse(products) else products
    distance *= -2
    distance += squares
    distance += _squares(X)[:, None]
    if own is not None:
        distance[np.arange(len(own)), own] = np.inf
    k = min(neighbors, distance.shape[1] - (own is not None))
    near = np.sort(np.argpartition(distance, k - 1, axis=1)[:, :k], axis=1)
    apart = np.maximum(np.take_along_axis(distance, near, axis=1).astype(np.float64), 0.0)
    width = np.maximum(apart.max(axis=1, keepdims=True), 1e-12)
    weights = np.exp(-2 * apart / width)
    weights /= weights.sum(axis=1, keepdims=True)
    weights *= _agreement(split, near, y)
    indptr = np.arange(0, near.size + 1, k)
    return sparse.csr_array(
        (weights.astype(np.float32).ravel(), near.ravel(), indptr), shape=(len(y), split.n_rows)
    )


def _agreement(split: Split, near: NDArray[np.int64], y: NDArray[Any]) -> NDArray[np.float64]:
    if split.task == "classification":
        return np.where(split.y[near] == y[:, None], 1.0, -1.0)
    spread = float(split.y.std()) or 1.0
    return np.asarray(1.0 - 2.0 * np.minimum(1.0, np.abs(split.y[near] - y[:, None]) / spread))


def mix_attributions(models: ImplicitAttribution, *others: Attribution) -> MixedAttribution:
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

    def _payload(self) -> dict[str, NDArray[Any]]:
        arrays = {
            f"{k}.{name}": a for k, part in enumerate(self.parts) for name, a in part._payload().items()
        }
        return arrays | {"weights": np.array(self.weights)}
