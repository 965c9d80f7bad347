"""The attribution of subset models, from their training sets and outcomes alone.

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

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cdvm.attribution.base import Attribution, Matrix, Vector
from cdvm.attribution.bits import Bits
from cdvm.attribution.layout import Arrays, require, sparse_layout, within
from cdvm.attribution.membership import MembershipMatrix
from cdvm.attribution.sparsify import largest_entry
from cdvm.errors import InputError
from cdvm.outcomes.recorded import Outcomes

__all__ = ["FLOAT_OUTCOMES", "ImplicitAttribution"]

FLOAT_OUTCOMES = 1 << 26
"""Outcomes kept in single precision; more are kept as bits."""

_DRAWN = 1 << 26  # rows of models drawn at once to build the membership,
_POSITIONS = 1 << 22  # of which no more may be members


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

    _marker = "outcomes"

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

    @classmethod
    def from_outcomes(cls, *outcomes: Outcomes, compact: bool = False) -> ImplicitAttribution:
        """The attribution of recorded outcomes, several of one kind of design and of the same rows together.

        ``compact`` keeps the least: positions of 16 bits and outcomes of one bit each, for products that take
        about a third longer.
        """
        first, n_models = outcomes[0], sum(some.n_models for some in outcomes)
        seen_by = MembershipMatrix.stacked(
            chain.from_iterable(map(_drawn, outcomes)), first.design.n_rows, narrow=compact
        )
        large = compact or n_models * first.n_evaluation > FLOAT_OUTCOMES
        if first.binary and large and first.evaluation_rows is None:
            return cls(seen_by, Bits(_stacked([some.data for some in outcomes]), first.n_evaluation))
        return cls(seen_by, _stacked([some.values() for some in outcomes]), first.evaluation_rows)

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
        if not self.binary:
            return super().reader(columns)
        if self.evaluation_rows is not None:
            return self._out_of_bag_reader(columns)
        right, totals = self._right(columns), self._totals[columns]

        def read(rows: slice) -> NDArray[np.float32]:
            sums = self._seen_by.rows(rows, right.dtype) @ right
            entries = np.multiply(sums, self._scale[rows, None])
            entries -= np.outer(self._shift[rows], totals)
            return np.asarray(entries, dtype=np.float32)

        return read

    def _out_of_bag_reader(self, columns: slice) -> Callable[[slice], NDArray[np.float32]]:
        """Centred outcomes of a column are one number above 0, one below, and 0: two counts tell their sum.

        Both are counted at once, in the two halves of one short integer.
        """
        centred = self.outcomes[:, columns]
        half = np.min_scalar_type(int(self.counts.max(initial=0)))
        if half.itemsize > 2:
            return super().reader(columns)
        kind, bits = (np.uint16, 8) if half.itemsize == 1 else (np.uint32, 16)
        outcomes = (centred > 0).astype(kind)
        outcomes += (centred < 0).astype(kind) << kind(bits)
        above, below = centred.max(axis=0), centred.min(axis=0)

        def read(rows: slice) -> NDArray[np.float32]:
            both = self._seen_by.rows(rows, kind) @ outcomes
            entries = (both & kind((1 << bits) - 1)) * above
            entries += (both >> kind(bits)) * below
            entries *= self._scale[rows, None].astype(np.float32)
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

    def _payload(self) -> Arrays:
        saw = self._seen_by.transpose()
        arrays: Arrays = {"indices": saw.indices, "indptr": saw.indptr}
        if self.evaluation_rows is not None:
            arrays["evaluation_rows"] = self.evaluation_rows
        if isinstance(self.outcomes, Bits):
            return arrays | {"outcomes": self.outcomes.packed, "packed": np.array(1)}
        if self.binary:
            # centred or not, right is above 0; where it is not, an evaluation row's outcomes are all alike
            packed = np.packbits(self.outcomes > 0, axis=1)
            return arrays | {"outcomes": packed, "packed": np.array(1)}
        return arrays | {"outcomes": self.outcomes}

    @classmethod
    def _from_arrays(cls, arrays: Arrays, shape: tuple[int, int]) -> ImplicitAttribution:
        (n, m), outcomes, evaluation_rows = shape, arrays["outcomes"], arrays.get("evaluation_rows")
        packed = "packed" in arrays
        expected = (len(arrays["indptr"]) - 1, -(-m // 8) if packed else m)
        require(outcomes.shape == expected, f"its outcomes have shape {outcomes.shape}, not {expected}")
        require(outcomes.dtype == (np.uint8 if packed else np.float32), f"outcomes are {outcomes.dtype}")
        require(packed or bool(np.isfinite(outcomes).all()), "its outcomes are not finite")
        if evaluation_rows is not None:
            known = evaluation_rows.shape == (m,) and within(evaluation_rows, n)
            require(known, "its evaluation rows are no rows")
        indices, indptr = sparse_layout(arrays, expected[0], n)
        ones = np.ones(len(indices), dtype=np.int32)
        members = sparse.csr_array((ones, indices, indptr), (expected[0], n))
        if not packed:
            return cls(members, outcomes, evaluation_rows, centred=True)
        bits = Bits(outcomes, m)
        small = evaluation_rows is not None or expected[0] * m <= FLOAT_OUTCOMES
        return cls(members, bits.columns(slice(None)) if small else bits, evaluation_rows)


def _drawn(outcomes: Outcomes) -> Iterator[sparse.csr_array]:
    """Who saw what, for some models at a time."""
    design, models = outcomes.design, outcomes.models
    step = max(1, min(max(_DRAWN // design.n_rows, len(models) // 32), _POSITIONS // design.size))
    return (design.take(models[k : k + step]).members for k in range(0, len(models), step))


def _stacked(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


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
