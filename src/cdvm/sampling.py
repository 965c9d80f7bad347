"""Which rows each model is trained on.

Model ``t`` of a design sees rows that follow from ``(seed, t)`` alone: every random number is read from
the counter-based generator Philox at a position computed from ``t``, so models can be drawn in any order,
on any worker and in chunks of any size and are always the same.

Three designs: ``bernoulli`` includes each row independently with probability *p*, ``fixed`` takes exactly
``round(p·n)`` distinct rows, ``bootstrap`` draws ``round(p·n)`` rows with replacement.

A table may grow and shrink after a design was drawn from it. Rows that came later are in none of its models.
Rows that are gone must be in none: of models that did not draw them, the others are those of the same design
over the rows that stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from enum import IntEnum
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from cdvm.errors import InputError

__all__ = [
    "N_MODELS",
    "Design",
    "DesignKind",
    "RandomStream",
    "Subsets",
    "default_inclusion",
    "draw_words",
    "seed_of",
]

N_MODELS = 5_000
"""Subset models that are trained where no number is named, as in the paper."""

DesignKind = Literal["bernoulli", "fixed", "bootstrap"]

_WORDS_AT_ONCE = 1 << 23  # 64 MiB of random words


def seed_of(random_state: Any) -> int:
    """The seed of a design, from an int, a RandomState or None."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def default_inclusion(n_rows: int, n_classes: int, enough: int = 0) -> float:
    """The paper's 0.03, or what it takes for subsets of about 10 rows, 3 per class and ``enough`` in all."""
    return min(0.5, max(0.03, max(10, 3 * n_classes, enough) / n_rows))


class RandomStream(IntEnum):
    """Independent sequences of one seed, one per purpose."""

    MEMBERS = 0
    BATCHES = 1
    WEIGHTS = 2
    ESTIMATOR = 3
    BASELINE = 4
    PERMUTATIONS = 5
    VALUES = 6
    FLIPS = 7


def draw_words(seed: int, stream: RandomStream, first: int, count: int, words: int) -> NDArray[np.uint64]:
    """Random 64-bit words of items ``first`` to ``first + count``: one row an item, ``words`` columns.

    >>> whole = draw_words(7, RandomStream.MEMBERS, 0, 5, 3)
    >>> bool((draw_words(7, RandomStream.MEMBERS, 3, 2, 3) == whole[3:]).all())
    True
    """
    blocks = -(-words // 4)  # Philox makes four words a counter value
    key = np.array([seed, int(stream)], dtype=np.uint64)
    generator = np.random.Philox(counter=first * blocks, key=key)
    raw = generator.random_raw(count * blocks * 4).reshape(count, blocks * 4)
    return np.asarray(raw[:, :words], dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class Subsets:
    """Training sets of several models.

    Attributes
    ----------
    members : csr_array of shape (n_models, n_rows)
        How often each row is in each model's training set (0 or 1 except for a bootstrap).
    models : ndarray of shape (n_models,)
        The number of each model in its design; learners derive their own random numbers from it.
    seed : int
        Seed of the design.
    """

    members: sparse.csr_array
    models: NDArray[np.int64]
    seed: int = 0

    @classmethod
    def of(cls, sets: Sequence[ArrayLike], n_rows: int, *, seed: int = 0, first: int = 0) -> Subsets:
        """Subsets from explicit lists of row positions; a repeated position is a repeated row.

        >>> Subsets.of([[0, 2], [1, 1]], n_rows=3).members.toarray()
        array([[1, 0, 1], [0, 2, 0]], dtype=int32)
        """
        rows = [np.asarray(s, dtype=np.int64).ravel() for s in sets]
        for number, r in enumerate(rows):
            if r.size and (r.min() < 0 or r.max() >= n_rows):
                raise InputError(f"subset {number} names a row outside 0..{n_rows - 1}")
        sizes = np.array([r.size for r in rows], dtype=np.int64)
        model = np.repeat(np.arange(len(rows)), sizes)
        flat = np.concatenate(rows) if rows else np.empty(0, dtype=np.int64)
        members = _members(model, flat, len(rows), n_rows)
        return cls(members, np.arange(first, first + len(rows), dtype=np.int64), seed)

    def __len__(self) -> int:
        return int(self.members.shape[0])

    def __getitem__(self, which: slice | NDArray[Any]) -> Subsets:
        return Subsets(self.members[which], self.models[which], self.seed)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Rows of each training set, repeated rows counted as often as they occur."""
        return np.asarray(self.members.sum(axis=1), dtype=np.int64)

    def rows(self, k: int) -> NDArray[np.int64]:
        """Sorted row positions of the ``k``-th training set, repeated rows repeated."""
        start, stop = self.members.indptr[k : k + 2]
        return np.repeat(self.members.indices[start:stop].astype(np.int64), self.members.data[start:stop])


@dataclass(frozen=True)
class Design:
    """How the training sets of all models are drawn.

    Parameters
    ----------
    n_rows : int
        Rows of the training set.
    inclusion : float
        *p*: the probability of a row, or the fraction of rows drawn.
    kind : {"bernoulli", "fixed", "bootstrap"}
    seed : int
    recent : int
        Rows at the end of the table that are drawn with another probability.
    recent_inclusion : float
    gone : tuple of int
        Rows, by their position when the design was drawn, that have left the table since.
    later : int
        Rows at the end of the table that came since.

    Examples
    --------
    >>> design = Design(n_rows=1000, inclusion=0.03, seed=1)
    >>> late = design.take(range(4000, 4002))
    >>> both = design.take([4001, 17])
    >>> bool((late.rows(1) == both.rows(0)).all())
    True
    """

    n_rows: int
    inclusion: float = 0.03
    kind: DesignKind = "bernoulli"
    seed: int = 0
    recent: int = 0
    recent_inclusion: float = 0.0
    gone: tuple[int, ...] = ()
    later: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "gone", tuple(self.gone))  # a list, where it was read from a file
        if self.kind not in ("bernoulli", "fixed", "bootstrap"):
            raise InputError(f"design={self.kind!r}: use 'bernoulli', 'fixed' or 'bootstrap'")
        if not 0 < self.inclusion <= 1 or (self.inclusion == 1 and self.kind != "bootstrap"):
            raise InputError(f"inclusion={self.inclusion!r}: use a probability between 0 and 1, e.g. 0.03")
        if self.n_rows < 1:
            raise InputError(f"n_rows={self.n_rows}: a design needs at least one row")
        if self.recent and (self.kind != "bernoulli" or not 0 < self.recent_inclusion < 1):
            raise InputError(
                f"recent_inclusion={self.recent_inclusion!r}: use a probability, and the bernoulli design"
            )
        if not 0 <= self.seed < 1 << 64:
            raise InputError(f"seed={self.seed}: use a whole number from 0 to 2**64 - 1")

    @property
    def size(self) -> int:
        """Rows drawn per model by the fixed and bootstrap designs; the expectation for Bernoulli."""
        return max(1, round(self.inclusion * self.n_rows))

    @property
    def n_drawn(self) -> int:
        """Rows of the table when the design was drawn."""
        return self.n_rows - self.later + len(self.gone)

    def describe(self) -> dict[str, Any]:
        """The fields as plain values, for a manifest; those on what changed only where something did."""
        told = {**asdict(self), "gone": list(self.gone)}
        since = ("recent", "recent_inclusion", "gone", "later")
        return {name: value for name, value in told.items() if value or name not in since}

    def grown(self, rows: int) -> Design:
        """The same design, after so many rows came to the end of the table."""
        return replace(self, n_rows=self.n_rows + rows, later=self.later + rows)

    def without(self, rows: NDArray[np.int64]) -> Design:
        """The same design, after rows left the table."""
        own = self.n_rows - self.later  # rows of the table that it was drawn from
        drawn = np.delete(np.arange(self.n_drawn), self.gone)
        gone = sorted({*self.gone, *drawn[rows[rows < own]].tolist()})
        later = self.later - int((rows >= own).sum())
        return replace(self, n_rows=self.n_rows - len(rows), later=later, gone=tuple(gone))

    def take(self, models: Iterable[int]) -> Subsets:
        """Training sets of the given models, in the order given."""
        numbers = np.asarray(
            models if isinstance(models, np.ndarray | range | list) else list(models), dtype=np.int64
        )
        parts: list[sparse.csr_array] = []
        runs = np.split(numbers, np.flatnonzero(np.diff(numbers) != 1) + 1)
        at_once = max(1, _WORDS_AT_ONCE // self.n_drawn)
        for run in runs:
            for start in range(0, len(run), at_once):
                piece = run[start : start + at_once]
                parts.append(self._draw(int(piece[0]), len(piece)))
        members = (
            sparse.vstack(parts, format="csr")
            if parts
            else sparse.csr_array((0, self.n_drawn), dtype=np.int32)
        )
        return Subsets(self._since(sparse.csr_array(members)), numbers, self.seed)

    def _since(self, members: sparse.csr_array) -> sparse.csr_array:
        """Membership of the rows that are in the table now."""
        if self.gone:
            members = sparse.csr_array(members[:, np.delete(np.arange(self.n_drawn), self.gone)])
        if self.later:
            members.resize(members.shape[0], self.n_rows)
        return members

    def _draw(self, first: int, count: int) -> sparse.csr_array:
        if self.kind == "fixed":
            keys = draw_words(self.seed, RandomStream.MEMBERS, first, count, self.n_drawn)
            row = np.argpartition(keys, self._drawn_size - 1, axis=1)[:, : self._drawn_size]
        else:
            # 32 bits decide a row exactly enough (2**-32) at half the cost of 64.
            draws = self.n_drawn if self.kind == "bernoulli" else self._drawn_size
            words = draw_words(self.seed, RandomStream.MEMBERS, first, count, -(-draws // 2))
            halves = np.ascontiguousarray(words.astype("<u8", copy=False)).view("<u4")[:, :draws]
            if self.kind == "bernoulli":
                inside = halves < self._thresholds()
                sizes = np.count_nonzero(inside, axis=1)
                row = np.flatnonzero(inside) - np.repeat(np.arange(count) * self.n_drawn, sizes)
                indptr = np.concatenate([[0], np.cumsum(sizes)])
                ones = np.ones(len(row), dtype=np.int32)
                return sparse.csr_array(
                    (ones, row.astype(np.int32), indptr.astype(np.int32)), shape=(count, self.n_drawn)
                )
            row = ((halves.astype(np.uint64) * np.uint64(self.n_drawn)) >> np.uint64(32)).astype(np.int64)
        model = np.repeat(np.arange(count), self._drawn_size)
        return _members(model, row.ravel(), count, self.n_drawn)

    @property
    def _drawn_size(self) -> int:
        return max(1, round(self.inclusion * self.n_drawn))

    def _thresholds(self) -> Any:
        """Below which of 32 random bits a row is drawn: a number, or one for each row."""
        least, recent = (min(round(p * 2**32), 2**32 - 1) for p in (self.inclusion, self.recent_inclusion))
        if not self.recent:
            return np.uint32(least)
        return np.repeat(
            np.array([least, recent], dtype=np.uint32), [self.n_drawn - self.recent, self.recent]
        )


def _members(
    model: NDArray[np.int64], row: NDArray[np.int64], n_models: int, n_rows: int
) -> sparse.csr_array:
    if n_models * n_rows <= 16 * len(
        row
    ):  # counting every place is then faster than sorting those that occur
        counts = np.bincount(model * n_rows + row, minlength=n_models * n_rows).reshape(n_models, n_rows)
        return sparse.csr_array(counts.astype(np.int32))
    ones = np.ones(len(row), dtype=np.int32)
    place = (model.astype(np.int32), row.astype(np.int32))
    members = sparse.coo_array((ones, place), shape=(n_models, n_rows)).tocsr()
    members.sum_duplicates()
    return sparse.csr_array(members)
