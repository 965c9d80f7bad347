"""Attribution without (or with few) models: what rows have in common with evaluation rows.

A row speaks for its label wherever features are alike. Its *similarity* attribution to an evaluation row is
a kernel of their distance, positive where the labels agree and negative where they do not; of every
evaluation row only the nearest rows count, so T is sparse and costs one pass over distances, however large n
is. With d the distance, h that of the evaluation row's k-th neighbour, and weights that sum to 1 for every
evaluation row::

    T_ij = ± exp(−2 d_ij² / h_j²) / Σ_i' exp(−2 d_i'j² / h_j²)      for the k rows i nearest to j

The idea of evaluating rows by their place in feature space is Sorscher et al.'s [1]_.

References
----------
.. [1] B. Sorscher et al. Beyond neural scaling laws: beating power law scaling via data pruning.
   NeurIPS 2022.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cdvm._runtime.parallel import run_tasks
from cdvm._runtime.progress import Progress
from cdvm.attribution.base import MatrixAttribution
from cdvm.data.split import Features, Split
from cdvm.errors import InputError

__all__ = ["similarity_attribution"]

_DISTANCES = 1 << 23  # distances a worker holds at once


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
