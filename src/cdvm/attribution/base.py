"""Attribution *T*: what each training row does for each evaluation row, used through products and blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from cdvm._runtime.files import load_arrays, save_arrays
from cdvm._runtime.memory import parse_bytes
from cdvm.attribution.layout import Arrays, require, sparse_layout
from cdvm.attribution.sparsify import strongest_entries
from cdvm.errors import InputError

__all__ = ["Attribution", "MatrixAttribution", "as_attribution", "load_attribution"]

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_SUMMABLE = 1e300  # sums beyond this end at infinity


class Attribution(ABC):
    """An n × m attribution, used through products and blocks.

    A subclass is saved by ``_payload`` and loaded by ``_from_arrays``, and known in a file by the array named
    ``_marker``.
    """

    shape: tuple[int, int]
    n_unusable: int = 0  # rows that every or no model saw, and whose attribution is therefore 0
    _marker: ClassVar[str] = " "  # of no file
    _kinds: ClassVar[list[type[Attribution]]] = []

    def __init_subclass__(cls) -> None:
        Attribution._kinds.append(cls)

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
    def _payload(self) -> Arrays:
        """Arrays that the attribution is built from when it is loaded."""

    @classmethod
    @abstractmethod
    def _from_arrays(cls, arrays: Arrays, shape: tuple[int, int]) -> Attribution:
        """The attribution of such arrays, each checked before it is used; InputError where it is none."""

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
        return load_arrays(path, "attribution", lambda meta, arrays: load_attribution(arrays, meta["shape"]))


def load_attribution(arrays: Arrays, shape: Any) -> Attribution:
    """The attribution that arrays hold, of whatever kind."""
    n, m = (int(length) for length in shape)
    require(n > 0 and m > 0, f"its shape is {n} × {m}")
    kind = next((kind for kind in Attribution._kinds if kind._marker in arrays), None)
    if kind is None:
        raise InputError(f"its arrays are of no known kind: {', '.join(sorted(arrays)[:3])}")
    return kind._from_arrays(arrays, (n, m))


class MatrixAttribution(Attribution):
    """An attribution held as an array or a sparse matrix."""

    _marker = "data"

    def __init__(self, matrix: Any) -> None:
        if sparse.issparse(matrix):
            self.matrix: Any = sparse.csr_array(matrix)
            if not self.matrix.has_canonical_format:  # SciPy would mend that later, in the caller's arrays
                self.matrix = self.matrix.copy()
                self.matrix.sum_duplicates()
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

    def _payload(self) -> Arrays:
        if sparse.issparse(self.matrix):
            names = ("data", "indices", "indptr")
            return {name: getattr(self.matrix, name) for name in names}
        return {"data": self.matrix}

    @classmethod
    def _from_arrays(cls, arrays: Arrays, shape: tuple[int, int]) -> MatrixAttribution:
        data = arrays["data"]
        require(data.dtype.kind == "f", f"its entries are of type {data.dtype}")
        if "indptr" not in arrays:
            require(data.shape == shape, f"its entries have shape {data.shape}, not {shape}")
            return cls(data)
        indices, indptr = sparse_layout(arrays, *shape)
        require(data.shape == indices.shape, f"{data.shape} entries stand at {indices.shape} positions")
        return cls(sparse.csr_array((data, indices, indptr), shape))


def as_attribution(source: Any) -> Attribution:
    """An Attribution from itself, an array or a sparse matrix."""
    return source if isinstance(source, Attribution) else MatrixAttribution(source)
