"""Attribution *T*: what each training row does for each evaluation row.

``T[i, j]`` is the mean outcome of the models that saw row *i* on evaluation row *j*, less the mean outcome
of those that did not (maximum sample reuse). With membership *M* (models × rows, 0/1), outcomes *C* (models
× evaluation rows), counts ``c = Mᵀ1`` and totals ``tot = Cᵀ1`` over *N* models::

    T = diag(1/c + 1/(N − c)) MᵀC − (1/(N − c)) totᵀ = diag(1/c + 1/(N − c)) Mᵀ(C − 1 totᵀ/N)

so products with T and Tᵀ are two thin products each, and the n × m matrix is never needed. Centred as on the
right they lose nothing to cancellation, and single precision suffices. Rows that every
or no model saw have attribution 0.

An evaluation row that is a training row itself is evaluated out of bag: its outcomes by models that saw it
give way to the mean of the others. Centred at that mean they are 0, and so is what a row does for itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from cdvm._runtime.files import load_arrays, save_arrays
from cdvm._runtime.memory import parse_bytes
from cdvm.attribution.bits import Bits
from cdvm.attribution.membership import MembershipMatrix
from cdvm.attribution.sparsify import largest_entry, strongest_entries
from cdvm.errors import InputError

if TYPE_CHECKING:
    from cdvm.outcomes.recording import Outcomes

__all__ = ["FLOAT_OUTCOMES", "Attribution", "ImplicitAttribution", "MatrixAttribution", "as_attribution"]

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

FLOAT_OUTCOMES = 1 << 26
"""Outcomes kept in single precision; more are kept as bits."""

_SUMMABLE = 1e300  # sums beyond this end at infinity
_DRAWN = 1 << 26  # rows of models drawn at once to build the membership,
_POSITIONS = 1 << 22  # of which no more may be members


class Attribution(ABC):
    """An n × m attribution, used through products and blocks."""

    shape: tuple[int, int]
    n_unusable: int = 0  # rows that every or no model saw, and whose attribution is therefore 0

    @abstractmethod
    def matvec(self, evaluation: NDArray[Any]) -> Vector:
        """Tλ: one number per row."""

    @abstractmethod
    def rmatvec(self, rows: NDArray[Any]) -> Vector:
        """Tᵀw: one number per evaluation row."""

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
    def from_outcomes(outcomes: Outcomes, *, compact: bool = False) -> ImplicitAttribution:
        """The implicit attribution of recorded outcomes.

        ``compact`` keeps the least: positions of 16 bits and outcomes of one bit each, for products that take
        about a third longer.
        """
        design, models = outcomes.design, outcomes.models
        step = max(1, min(max(_DRAWN // design.n_rows, len(models) // 32), _POSITIONS // design.size))
        drawn = (design.take(models[k : k + step]).members for k in range(0, len(models), step))
        seen_by = MembershipMatrix.stacked(drawn, design.n_rows, narrow=compact)
        large = compact or outcomes.n_models * outcomes.n_evaluation > FLOAT_OUTCOMES
        if outcomes.binary and large and outcomes.evaluation_rows is None:
            return ImplicitAttribution(seen_by, Bits(outcomes.data, outcomes.n_evaluation))
        return ImplicitAttribution(seen_by, outcomes.values(), outcomes.evaluation_rows)

    def row_sums(self) -> Vector:
        """T1: what each row adds to all evaluation rows together."""
        return self.matvec(np.ones(self.shape[1]))

    def values(self) -> Vector:
        """Row means: one value a row (the Banzhaf value for the design's inclusion probability)."""
        return self.row_sums() / self.shape[1]

    def dense(self) -> Matrix:
        """T as an array."""
        return self.block()

    def reader(self, columns: slice) -> Callable[[slice], NDArray[np.float32]]:
        """A function from a slice of rows to their entries in some columns, in single precision."""
        return lambda rows: self.block(rows, columns).astype(np.float32)

    def sparsify(
        self,
        keep: float = 0.05,
        *,
        memory_limit: str | float | None = None,
        n_jobs: int | None = -1,
        progress: bool | None = None,
    ) -> MatrixAttribution:
        """The ``keep`` fraction of entries largest in magnitude, the others set to 0.

        Streams over tiles, so the dense matrix is never held: ``memory_limit`` (bytes, or a text such as
        ``"2GB"``) bounds what tiles and kept entries take together. Of entries equal in magnitude at the
        threshold, the first in row order are kept, whatever ``n_jobs`` is.
        """
        if not 0 < keep <= 1:
            raise InputError(f"keep={keep!r}: use a fraction of the entries between 0 and 1, e.g. 0.05")
        memory = parse_bytes(memory_limit)
        entries, largest = strongest_entries(self, keep, memory=memory, n_jobs=n_jobs, progress=progress)
        self.__dict__.setdefault("_largest", largest)  # what max() would read T once more for
        return MatrixAttribution(entries)

    def operator(self) -> LinearOperator:
        """T as a SciPy LinearOperator."""
        return LinearOperator(self.shape, matvec=self.matvec, rmatvec=self.rmatvec, dtype=np.float64)

    def save(self, path: str | Path) -> Path:
        """Write to one ``.npz`` file, read back by :meth:`load`; an existing file is replaced whole."""
        return save_arrays(path, "attribution", {"shape": self.shape}, self._payload())

    @staticmethod
    def load(path: str | Path) -> Attribution:
        """Read what :meth:`save` wrote."""
        from cdvm.attribution.files import build_attribution

        return load_arrays(path, "attribution", build_attribution)


class MatrixAttribution(Attribution):
    """An attribution held as an array or a sparse matrix."""

    def __init__(self, matrix: Any) -> None:
        if sparse.issparse(matrix):
            self.matrix: Any = sparse.csr_array(matrix)
            entries = self.matrix.data
        else:
            self.matrix = entries = np.ascontiguousarray(matrix, dtype=np.float64)
            if self.matrix.ndim != 2:
                raise InputError(
                    f"an attribution has two dimensions (rows × evaluation rows), not {self.matrix.ndim}"
                )
        if 0 in self.matrix.shape:
            raise InputError(f"an attribution of shape {self.matrix.shape} has no entries")
        if not np.isfinite(entries).all():
            raise InputError("the attribution contains NaN or infinity")
        largest = float(np.abs(entries).max(initial=0.0))
        if largest > _SUMMABLE / (self.matrix.shape[0] * self.matrix.shape[1]):
            raise InputError(
                f"the attribution has entries of {largest:.0e}, whose sums overflow: divide it by a number"
            )
        self.shape = (int(self.matrix.shape[0]), int(self.matrix.shape[1]))

    @cached_property
    def _transposed(self) -> Any:
        return self.matrix.T.tocsr() if sparse.issparse(self.matrix) else self.matrix.T

    def matvec(self, evaluation: NDArray[Any]) -> Vector:
        return np.asarray(self.matrix @ evaluation, dtype=np.float64)

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
    members : csr_array of shape (n_models, n_rows), or MembershipMatrix of shape (n_rows, n_models)
        Which model saw which row; multiplicities do not matter.
    outcomes : ndarray of shape (n_models, n_evaluation) or Bits
        Right or wrong (bool or uint8), or a float score.
    evaluation_rows : ndarray of shape (n_evaluation,), optional
        The training row that each evaluation row is, where they are training rows.
    centred : bool
        Whether out-of-bag outcomes have been centred, as those of an attribution are; doing so again would
        change their last bits.
    """

    def __init__(
        self,
        members: sparse.csr_array | MembershipMatrix,
        outcomes: NDArray[Any] | Bits,
        evaluation_rows: NDArray[np.int64] | None = None,
        *,
        centred: bool = False,
    ) -> None:
        if not isinstance(members, MembershipMatrix):
            members = MembershipMatrix.stacked([sparse.csr_array(members)], members.shape[1])
        self._seen_by = members  # row × model membership
        self.shape = (int(members.shape[0]), int(outcomes.shape[1]))
        self.n_models = int(members.shape[1])
        if self.n_models != outcomes.shape[0]:
            raise InputError(f"{self.n_models} training sets but outcomes of {outcomes.shape[0]} models")
        # single precision: exact for bits, and scores carry far more sampling noise than that
        kept: Any = outcomes
        if not isinstance(outcomes, Bits):
            kept = np.ascontiguousarray(outcomes, dtype=np.float32)
        elif evaluation_rows is not None:
            kept = outcomes.columns(slice(None))
        self.evaluation_rows = evaluation_rows
        if evaluation_rows is not None and not centred:
            kept = _out_of_bag(members, kept, evaluation_rows)
        self.outcomes: Any = kept
        self.binary = outcomes.dtype.kind in "bu"
        self.counts = np.diff(members.indptr).astype(np.int64)
        self.usable = (self.counts > 0) & (self.counts < self.n_models)
        self.n_unusable = int((~self.usable).sum())
        inside = np.where(self.usable, self.counts, 1).astype(np.float64)
        outside = np.where(self.usable, self.n_models - self.counts, 1).astype(np.float64)
        self._scale = np.where(self.usable, 1 / inside + 1 / outside, 0.0)
        self._shift = np.where(self.usable, 1 / outside, 0.0)
        self._totals = self.outcomes.sum(axis=0, dtype=np.float64)
        if evaluation_rows is not None:
            self._totals[:] = 0.0  # but for rounding they are

    @property
    def members(self) -> sparse.csr_array:
        """Model × row membership."""
        return self._seen_by.transpose().to_csr()

    def matvec(self, evaluation: NDArray[Any]) -> Vector:
        return self._spread(self.outcomes @ np.asarray(evaluation, dtype=np.float32), np.float32)

    def rmatvec(self, rows: NDArray[Any]) -> Vector:
        scaled = (self._scale * np.asarray(rows, dtype=np.float64)).astype(np.float32)
        per_model = scaled @ self._seen_by
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

    def _sums(self, rows: Any, outcomes: NDArray[Any]) -> Matrix:
        """MᵀC on some rows: how often (how much) the models that saw a row were right."""
        return np.asarray(self._seen_by.rows(rows, outcomes.dtype) @ outcomes, dtype=np.float64)

    def _right(self, columns: Any) -> NDArray[Any]:
        """Bits of some evaluation rows in the smallest type that can count the models that saw a row."""
        kind = np.min_scalar_type(int(self.counts.max(initial=0)))
        part = (
            self.outcomes.columns(columns) if isinstance(self.outcomes, Bits) else self.outcomes[:, columns]
        )
        return np.ascontiguousarray(part, dtype=kind)

    def block(self, rows: Any = None, columns: Any = None) -> Matrix:
        every = slice(None)
        picked, columns = every if rows is None else rows, every if columns is None else columns
        packed = isinstance(self.outcomes, Bits)
        part = self._right(columns) if packed else np.ascontiguousarray(self.outcomes[:, columns])
        sums = self._sums(rows, part)
        return self._scale[picked, None] * sums - np.outer(self._shift[picked], self._totals[columns])

    def reader(self, columns: slice) -> Callable[[slice], NDArray[np.float32]]:
        if not self.binary or self.evaluation_rows is not None:  # out of bag, outcomes are centred
            return super().reader(columns)
        right, totals = self._right(columns), self._totals[columns]

        def read(rows: slice) -> NDArray[np.float32]:
            sums = self._seen_by.rows(rows, right.dtype) @ right
            entries = np.multiply(sums, self._scale[rows, None])
            entries -= np.outer(self._shift[rows], totals)
            return np.asarray(entries, dtype=np.float32)

        return read

    @cached_property
    def _largest(self) -> float:
        return largest_entry(self)

    def max(self) -> float:
        return self._largest

    def stderr(self, rows: Any = None, columns: Any = None) -> Matrix:
        """Standard error of the entries: of a difference of two means over distinct models."""
        every = slice(None)
        picked, columns = every if rows is None else rows, every if columns is None else columns
        part = np.ascontiguousarray(self.outcomes[:, columns])
        squares = part if self.binary and self.evaluation_rows is None else part**2
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
        saw = self._seen_by.transpose()
        arrays: dict[str, NDArray[Any]] = {"indices": saw.indices, "indptr": saw.indptr}
        if self.evaluation_rows is not None:
            arrays["evaluation_rows"] = self.evaluation_rows
        if isinstance(self.outcomes, Bits):
            return arrays | {"outcomes": self.outcomes.packed, "packed": np.array(1)}
        if self.binary:
            # centred or not, right is above 0; where it is not, an evaluation row's outcomes are all alike
            packed = np.packbits(self.outcomes > 0, axis=1)
            return arrays | {"outcomes": packed, "packed": np.array(1)}
        return arrays | {"outcomes": self.outcomes}


def _out_of_bag(
    seen_by: MembershipMatrix, outcomes: NDArray[np.float32], evaluation_rows: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Outcomes less their mean over models that did not see the evaluation row, 0 for those that did."""
    counts = np.diff(seen_by.indptr)[evaluation_rows]
    totals, centred = outcomes.sum(axis=0, dtype=np.float64), np.array(outcomes, dtype=np.float32)
    step = max(1, _POSITIONS // max(1, int(counts.max(initial=0))))
    for first in range(0, len(evaluation_rows), step):
        here = slice(first, first + step)
        size = counts[here]
        starts = np.repeat(seen_by.indptr[evaluation_rows[here]] - np.cumsum(size) + size, size)
        seen = seen_by.indices[starts + np.arange(size.sum())], first + np.repeat(np.arange(len(size)), size)
        inside = np.bincount(seen[1] - first, outcomes[seen], minlength=len(size))
        mean = (totals[here] - inside) / np.maximum(seen_by.shape[1] - size, 1)
        centred[:, here] -= mean.astype(np.float32)
        centred[seen] = 0.0
    return centred


def as_attribution(source: Any) -> Attribution:
    """An Attribution from itself, an array or a sparse matrix."""
    return source if isinstance(source, Attribution) else MatrixAttribution(source)
