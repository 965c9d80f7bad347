"""Attribution *T*: what each training row does for each judge.

``T[i, j]`` is the mean outcome of the models that saw row *i* on judge *j*, less the mean outcome of those
that did not (maximum sample reuse). With membership *M* (models × rows, 0/1), outcomes *C* (models ×
judges), counts ``c = Mᵀ1`` and totals ``tot = Cᵀ1`` over *N* models::

    T = diag(1/c + 1/(N − c)) MᵀC − (1/(N − c)) totᵀ = diag(1/c + 1/(N − c)) Mᵀ(C − 1 totᵀ/N)

so products with T and Tᵀ are two thin products each, and the n × m matrix is never needed. Centred as on the
right they lose nothing to cancellation, and single precision suffices. Rows that every
or no model saw have attribution 0.

A judge that is a training row itself is judged out of bag: its outcomes by models that saw it give way to the
mean of the others. Centred at that mean they are 0, and so is what a row does for itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from cdvm.errors import InputError
from cdvm.files import load_arrays, save_arrays
from cdvm.incidence import Incidence

if TYPE_CHECKING:
    from cdvm.outcomes import Outcomes

__all__ = ["Attribution", "ImplicitAttribution", "MatrixAttribution", "as_attribution"]

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_BLOCK_ENTRIES = 1 << 24  # entries of T held at once while streaming over it


class Attribution(ABC):
    """An n × m attribution, used through products and blocks."""

    shape: tuple[int, int]
    n_unusable: int = 0  # rows that every or no model saw, and whose attribution is therefore 0

    @abstractmethod
    def matvec(self, judges: NDArray[Any]) -> Vector:
        """Tλ: one number per row."""

    @abstractmethod
    def rmatvec(self, rows: NDArray[Any]) -> Vector:
        """Tᵀw: one number per judge."""

    @abstractmethod
    def block(self, rows: Any = None, columns: Any = None) -> Matrix:
        """The dense entries of the given rows and columns (all when None)."""

    @abstractmethod
    def max(self) -> float:
        """The largest entry."""

    @abstractmethod
    def _payload(self) -> dict[str, NDArray[Any]]:
        """Arrays that :func:`load` builds the attribution from."""

    @staticmethod
    def from_outcomes(outcomes: Outcomes) -> ImplicitAttribution:
        """The implicit attribution of recorded outcomes."""
        members = outcomes.design.take(outcomes.models).members
        return ImplicitAttribution(members, outcomes.values(), outcomes.judge_rows)

    def row_sums(self) -> Vector:
        """T1: what each row adds to all judges together."""
        return self.matvec(np.ones(self.shape[1]))

    def values(self) -> Vector:
        """Row means: one value a row (the Banzhaf value for the design's inclusion probability)."""
        return self.row_sums() / self.shape[1]

    def dense(self) -> Matrix:
        """T as an array."""
        return self.block()

    def blocks(self) -> Iterator[tuple[slice, Matrix]]:
        """T in dense row blocks of bounded size."""
        step = max(1, _BLOCK_ENTRIES // max(1, self.shape[1]))
        for start in range(0, self.shape[0], step):
            rows = slice(start, min(start + step, self.shape[0]))
            yield rows, self.block(rows)

    def sparsify(self, keep: float = 0.05) -> MatrixAttribution:
        """The ``keep`` share of entries largest in magnitude, the others set to 0.

        Streams over row blocks, so the dense matrix is never held. Of entries equal in magnitude at the
        threshold, the first in row order are kept.
        """
        if not 0 < keep <= 1:
            raise InputError(f"keep={keep!r}: use a share of the entries between 0 and 1, e.g. 0.05")
        wanted = round(keep * self.shape[0] * self.shape[1])
        threshold, ties = self._kth_magnitude(wanted)
        parts = []
        for _, block in self.blocks():
            single = block.astype(np.float32)
            magnitude = np.abs(single)
            kept = magnitude > threshold
            equal = np.flatnonzero((magnitude == threshold).ravel())[:ties]
            kept.ravel()[equal] = True
            ties -= len(equal)
            kept &= single != 0
            parts.append(sparse.csr_array(np.where(kept, single, np.float32(0))))
        return MatrixAttribution(sparse.vstack(parts, format="csr"))

    def _kth_magnitude(self, k: int) -> tuple[float, int]:
        """The k-th largest magnitude (float32), and how many entries equal to it are among the k.

        One pass counts magnitudes by the leading bits of their float32 pattern, which sort like the numbers;
        a second looks only into the bin that holds the k-th.
        """
        shift = 15
        histogram = np.zeros(1 << 16, dtype=np.int64)
        for _, block in self.blocks():
            bits = np.abs(block.astype(np.float32)).view(np.uint32) >> shift
            histogram += np.bincount(bits.ravel(), minlength=1 << 16)
        above = np.cumsum(histogram[::-1])[::-1]  # entries in this bin or a larger one
        bin_ = int(np.flatnonzero(above >= k)[-1])
        rest = k - int(above[bin_] - histogram[bin_])
        inside: list[NDArray[np.float32]] = []
        for _, block in self.blocks():
            magnitude = np.abs(block.astype(np.float32))
            inside.append(magnitude[(magnitude.view(np.uint32) >> shift) == bin_])
        candidates = np.concatenate(inside)
        threshold = np.partition(candidates, len(candidates) - rest)[len(candidates) - rest]
        return float(threshold), rest - int((candidates > threshold).sum())

    def operator(self) -> LinearOperator:
        """T as a SciPy LinearOperator."""
        return LinearOperator(self.shape, matvec=self.matvec, rmatvec=self.rmatvec, dtype=np.float64)

    def save(self, path: str | Path) -> Path:
        """Write to one ``.npz`` file, read back by :meth:`load`; an existing file is replaced whole."""
        return save_arrays(path, "attribution", {"shape": self.shape}, self._payload())

    @staticmethod
    def load(path: str | Path) -> Attribution:
        """Read what :meth:`save` wrote."""
        meta, arrays = load_arrays(path, "attribution")
        shape = tuple(meta["shape"])
        if "outcomes" in arrays:
            n_models = len(arrays["indptr"]) - 1
            ones = np.ones(len(arrays["indices"]), dtype=np.int32)
            members = sparse.csr_array((ones, arrays["indices"], arrays["indptr"]), (n_models, shape[0]))
            outcomes = arrays["outcomes"]
            if "packed" in arrays:
                outcomes = np.unpackbits(outcomes, axis=1, count=shape[1])
            return ImplicitAttribution(members, outcomes, arrays.get("judge_rows"))
        if "indptr" in arrays:
            return MatrixAttribution(
                sparse.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape)
            )
        return MatrixAttribution(arrays["data"])


class MatrixAttribution(Attribution):
    """An attribution held as an array or a sparse matrix."""

    def __init__(self, matrix: Any) -> None:
        if sparse.issparse(matrix):
            self.matrix: Any = sparse.csr_array(matrix)
            entries = self.matrix.data
        else:
            self.matrix = entries = np.ascontiguousarray(matrix, dtype=np.float64)
            if self.matrix.ndim != 2:
                raise InputError(f"an attribution has two dimensions (rows × judges), not {self.matrix.ndim}")
        if 0 in self.matrix.shape:
            raise InputError(f"an attribution of shape {self.matrix.shape} has no entries")
        if not np.isfinite(entries).all():
            raise InputError("the attribution contains NaN or infinity")
        self.shape = (int(self.matrix.shape[0]), int(self.matrix.shape[1]))

    @cached_property
    def _transposed(self) -> Any:
        return self.matrix.T.tocsr() if sparse.issparse(self.matrix) else self.matrix.T

    def matvec(self, judges: NDArray[Any]) -> Vector:
        return np.asarray(self.matrix @ judges, dtype=np.float64)

    def rmatvec(self, rows: NDArray[Any]) -> Vector:
        return np.asarray(self._transposed @ rows, dtype=np.float64)

    def block(self, rows: Any = None, columns: Any = None) -> Matrix:
        part = self.matrix if rows is None else self.matrix[rows]
        part = part if columns is None else part[:, columns]
        return np.asarray(part.toarray() if sparse.issparse(part) else part, dtype=np.float64)

    def max(self) -> float:
        return float(self.matrix.max())

    def _payload(self) -> dict[str, NDArray[Any]]:
        if sparse.issparse(self.matrix):
            names = ("data", "indices", "indptr")
            return {name: getattr(self.matrix, name) for name in names}
        return {"data": self.matrix}


class ImplicitAttribution(Attribution):
    """The attribution of subset models, never formed as a matrix.

    Parameters
    ----------
    members : csr_array of shape (n_models, n_rows)
        Which model saw which row; multiplicities do not matter.
    outcomes : ndarray of shape (n_models, n_judges)
        Right or wrong (bool or uint8), or a float score.
    judge_rows : ndarray of shape (n_judges,), optional
        The training row that each judge is, where they are training rows.
    """

    def __init__(
        self,
        members: sparse.csr_array,
        outcomes: NDArray[Any],
        judge_rows: NDArray[np.int64] | None = None,
    ) -> None:
        members = sparse.csr_array(members)
        if members.shape[0] != outcomes.shape[0]:
            raise InputError(f"{members.shape[0]} training sets but outcomes of {outcomes.shape[0]} models")
        self._saw = Incidence(members.indices, members.indptr, members.shape)
        # single precision: exact for bits, and scores carry far more sampling noise than that
        self.outcomes = np.ascontiguousarray(outcomes, dtype=np.float32)
        self.judge_rows = judge_rows
        if judge_rows is not None:
            self.outcomes = _out_of_bag(members, self.outcomes, judge_rows)
        self.binary = outcomes.dtype.kind in "bu"
        self.shape = (int(members.shape[1]), int(outcomes.shape[1]))
        self.n_models = int(members.shape[0])
        self.counts = np.bincount(members.indices, minlength=self.shape[0]).astype(np.int64)
        self.usable = (self.counts > 0) & (self.counts < self.n_models)
        self.n_unusable = int((~self.usable).sum())
        inside = np.where(self.usable, self.counts, 1).astype(np.float64)
        outside = np.where(self.usable, self.n_models - self.counts, 1).astype(np.float64)
        self._scale = np.where(self.usable, 1 / inside + 1 / outside, 0.0)
        self._shift = np.where(self.usable, 1 / outside, 0.0)
        self._totals = self.outcomes.sum(axis=0, dtype=np.float64)
        if judge_rows is not None:
            self._totals[:] = 0.0  # but for rounding they are

    @property
    def members(self) -> sparse.csr_array:
        """Model × row membership."""
        return self._saw.to_csr()

    @cached_property
    def _seen_by(self) -> Incidence:
        """Row × model membership."""
        return self._saw.transpose()

    def matvec(self, judges: NDArray[Any]) -> Vector:
        return self._spread(self.outcomes @ np.asarray(judges, dtype=np.float32), np.float32)

    def rmatvec(self, rows: NDArray[Any]) -> Vector:
        scaled = (self._scale * np.asarray(rows, dtype=np.float64)).astype(np.float32)
        per_model = (self._saw @ scaled).astype(np.float64)
        centred = (per_model - per_model.mean()).astype(np.float32)
        return np.asarray(centred @ self.outcomes, dtype=np.float64)

    def row_sums(self) -> Vector:
        return self._spread(self.outcomes.sum(axis=1, dtype=np.float64), np.float64)

    def _spread(self, per_model: NDArray[Any], precision: Any) -> Vector:
        """What each row gets of one number a model."""
        centred = per_model.astype(np.float64)
        centred -= centred.mean()
        seen: Vector = self._seen_by @ centred.astype(precision)
        return self._scale * seen

    def _sums(self, rows: Any, outcomes: NDArray[np.float32]) -> Matrix:
        """MᵀC on some rows: how often (how much) the models that saw a row were right."""
        return np.asarray(self._seen_by.rows(rows) @ outcomes, dtype=np.float64)

    def block(self, rows: Any = None, columns: Any = None) -> Matrix:
        every = slice(None)
        picked, columns = every if rows is None else rows, every if columns is None else columns
        sums = self._sums(rows, np.ascontiguousarray(self.outcomes[:, columns]))
        return self._scale[picked, None] * sums - np.outer(self._shift[picked], self._totals[columns])

    @cached_property
    def _largest(self) -> float:
        return max(float(block.max()) for _, block in self.blocks())

    def max(self) -> float:
        return self._largest

    def stderr(self, rows: Any = None, columns: Any = None) -> Matrix:
        """Standard error of the entries: of a difference of two means over distinct models."""
        every = slice(None)
        picked, columns = every if rows is None else rows, every if columns is None else columns
        part = np.ascontiguousarray(self.outcomes[:, columns])
        squares = part if self.binary and self.judge_rows is None else part**2
        return self._error_of_difference(
            picked,
            self._sums(rows, part),
            self._sums(rows, squares),
            self._totals[columns],
            squares.sum(axis=0, dtype=np.float64),
        )

    def values_stderr(self) -> Vector:
        """Standard error of :meth:`values`."""
        mean = self.outcomes.mean(axis=1, dtype=np.float64)[:, None]
        seen_by = self._seen_by.to_csr()
        sums, squares = seen_by @ mean, seen_by @ mean**2
        error = self._error_of_difference(slice(None), sums, squares, mean.sum(axis=0), (mean**2).sum(axis=0))
        return error[:, 0]

    def _error_of_difference(
        self, rows: Any, sums: Matrix, squares: Matrix, totals: Vector, total_squares: Vector
    ) -> Matrix:
        inside = self.counts[rows, None].astype(np.float64)
        outside = self.n_models - inside
        with np.errstate(divide="ignore", invalid="ignore"):
            var_in = (squares / inside - (sums / inside) ** 2) / (inside - 1)
            mean_out = (totals - sums) / outside
            var_out = ((total_squares - squares) / outside - mean_out**2) / (outside - 1)
            error = np.sqrt(np.maximum(var_in, 0.0) + np.maximum(var_out, 0.0))
        # A mean of fewer than two models has no standard error; rows without attribution have none either.
        return np.where((inside > 1) & (outside > 1), error, np.nan)

    def _payload(self) -> dict[str, NDArray[Any]]:
        arrays: dict[str, NDArray[Any]] = {"indices": self._saw.indices, "indptr": self._saw.indptr}
        if self.judge_rows is not None:
            arrays["judge_rows"] = self.judge_rows
        if self.binary:
            # centred or not, right is above 0; where it is not, a judge's outcomes are all alike
            packed = np.packbits(self.outcomes > 0, axis=1)
            return arrays | {"outcomes": packed, "packed": np.array(1)}
        return arrays | {"outcomes": self.outcomes}


def _out_of_bag(
    members: sparse.csr_array, outcomes: NDArray[np.float32], judge_rows: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Outcomes less their mean over the models that did not see the judge, and 0 for those that did."""
    column = np.full(members.shape[1], -1)
    column[judge_rows] = np.arange(len(judge_rows))
    model = np.repeat(np.arange(members.shape[0]), np.diff(members.indptr))
    judge = column[members.indices]
    seen = model[judge >= 0], judge[judge >= 0]
    n_unseen = members.shape[0] - np.bincount(seen[1], minlength=len(judge_rows))
    inside = np.bincount(seen[1], outcomes[seen], minlength=len(judge_rows))
    mean = (outcomes.sum(axis=0, dtype=np.float64) - inside) / np.maximum(n_unseen, 1)
    centred: NDArray[np.float32] = outcomes - mean.astype(np.float32)
    centred[seen] = 0.0
    return centred


def as_attribution(source: Any) -> Attribution:
    """An Attribution from itself, an array or a sparse matrix."""
    return source if isinstance(source, Attribution) else MatrixAttribution(source)
