"""Rows to look at: labels that models doubt, and rows that are there twice.

Doubts come from a small run of its own (:mod:`cdvm.valuation.evidence`): what CDVM records of its models is
right or wrong, of some rows, and doubt needs to know what they answered instead, of all.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cdvm.data.split import Split
from cdvm.errors import InputWarning
from cdvm.learners.relatives import StandIn
from cdvm.outcomes.recording import record_outcomes
from cdvm.sampling import Design, default_inclusion
from cdvm.valuation.evidence import count_votes, surprise
from cdvm.valuation.noise import RATE

__all__ = ["Doubts", "Twin", "doubt_labels", "find_twins"]

_MODELS = 200
_INCLUSION = 0.1
_SUBSET = 2_000  # rows a model is trained on, at most
_COMPARED = 20_000  # rows whose nearest neighbour is looked for, at most
_NEAR = 0.1  # of the usual distance to the nearest row


@dataclass(frozen=True, eq=False)
class Doubts:
    """What models that did not see a row say of its label; one entry a training row.

    Attributes
    ----------
    p_values : ndarray
    said : ndarray
        Codes of the class that most of them answer.
    right : ndarray
        Fraction of them that answers the label.
    suspects : ndarray
        The rows of at most :data:`cdvm.valuation.noise.RATE` false alarms, the most surprising first.
    """

    p_values: NDArray[np.float64]
    said: NDArray[np.int64]
    right: NDArray[np.float64]
    suspects: NDArray[np.int64]
    models: int = _MODELS
    rate: float = RATE


@dataclass(frozen=True)
class Twin:
    """A training row with the same features as an earlier one, or nearly."""

    row: int
    other: int
    distance: float  # in units of the usual distance to the nearest row


def doubt_labels(proxy: StandIn, *, seed: int, jobs: int | None) -> Doubts | None:
    """Ask a few hundred models about the rows they did not see; None for regression."""
    if proxy.split.task != "classification":
        return None
    split = proxy.split.out_of_bag(np.arange(proxy.split.n_rows))
    n = split.n_rows
    inclusion = max(default_inclusion(n, split.n_classes), min(_INCLUSION, _SUBSET / n))
    design = Design(n, inclusion, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)  # of settings that are not the user's
        outcomes = record_outcomes(
            split, proxy.learner, design, range(_MODELS), outcome="answer", n_jobs=jobs
        )
    votes = count_votes(outcomes, split)
    assert votes is not None  # answers were recorded
    p, _ = surprise(votes)
    found = np.flatnonzero(p <= RATE)
    right = votes[:, 0] / np.maximum(votes.sum(axis=1), 1)
    return Doubts(
        p_values=p,
        said=(split.y + votes.argmax(axis=1)) % split.n_classes,
        right=right,
        suspects=found[np.lexsort([right[found], p[found]])],
    )


def find_twins(split: Split) -> tuple[list[Twin], int]:
    """Rows with the features of another, and how many rows were searched for nearly the same.

    ``split`` has features that are numbers, standardised (:func:`cdvm.learners.relatives.as_numbers`). Exact
    twins are found among all rows, near ones among so many.
    """
    exact = _same(split.X)
    twice = {twin.row for twin in exact}
    rows = np.setdiff1d(np.arange(split.n_rows), list(twice))
    if len(rows) > _COMPARED:
        rows = np.sort(np.random.RandomState(0).permutation(rows)[:_COMPARED])
    return exact + _near(split.X, rows), len(rows)


def _same(X: Any) -> list[Twin]:
    """Every row whose features an earlier row has."""
    first: dict[bytes, int] = {}
    found = []
    for row in range(X.shape[0]):
        other = first.setdefault(_content(X, row), row)
        if other != row:
            found.append(Twin(row, other, 0.0))
    return found


def _content(X: Any, row: int) -> bytes:
    if sparse.issparse(X):
        part = slice(X.indptr[row], X.indptr[row + 1])
        return bytes(X.indices[part].tobytes() + b"|" + X.data[part].tobytes())
    return bytes(np.ascontiguousarray(X[row]).tobytes())


def _near(X: Any, rows: NDArray[np.int64]) -> list[Twin]:
    """Rows much nearer to another than rows usually are."""
    from sklearn.neighbors import NearestNeighbors

    if len(rows) < 3:
        return []
    search = NearestNeighbors(n_neighbors=2, algorithm="brute").fit(X[rows])
    distances, places = search.kneighbors()
    nearest, place = distances[:, 0], places[:, 0]
    usual = float(np.median(nearest))
    found = np.flatnonzero(nearest <= _NEAR * usual) if usual else np.empty(0, dtype=np.int64)
    pairs = {(max(k, int(place[k])), min(k, int(place[k]))): nearest[k] / usual for k in found.tolist()}
    return [Twin(int(rows[a]), int(rows[b]), float(d)) for (a, b), d in sorted(pairs.items())]
