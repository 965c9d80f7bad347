"""Semivalues: mean marginal contributions, weighted by the size of the set a row joins.

With *n* rows and a weight per size, row *i* is worth::

    φ_i = Σ over S without i of  weight(|S|) · (v(S ∪ {i}) − v(S))

Beta Shapley draws an inclusion probability t ~ Beta(β, α) and then each other row with probability t, so
``weight(s) = B(s + β, n − 1 − s + α) / B(α, β)`` (Kwon and Zou 2022); α = β = 1 is the Shapley value, and
t fixed at p the Banzhaf value with ``weight(s) = p^s (1 − p)^(n − 1 − s)``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import betaln, gammaln

from cdvm._runtime.progress import Progress
from cdvm.errors import InputError
from cdvm.sampling import Subsets
from cdvm.valuation.base import Game

__all__ = ["MOST_EXACT", "banzhaf_weights", "beta_weights", "enumerate_values", "position_weights"]

Vector = NDArray[np.float64]

MOST_EXACT = 16  # rows up to which all 2^n training sets are tried
_AT_ONCE = 1 << 12


def beta_weights(n_rows: int, alpha: float, beta: float) -> Vector:
    """Weight of one set of each size 0..n−1.

    >>> beta_weights(3, 1, 1)
    array([0.333..., 0.166..., 0.333...])
    """
    for name, value in (("alpha", alpha), ("beta", beta)):
        if not 0 < value < np.inf:
            raise InputError(f"{name}={value!r}: use a positive number, e.g. alpha=16 and beta=1")
    size = np.arange(n_rows)
    weights: Vector = np.exp(betaln(size + beta, n_rows - 1 - size + alpha) - betaln(alpha, beta))
    return weights


def banzhaf_weights(n_rows: int, inclusion: float) -> Vector:
    """Weight of one set of each size 0..n−1 when every other row is there with probability ``inclusion``."""
    size = np.arange(n_rows)
    return np.asarray(inclusion**size * (1 - inclusion) ** (n_rows - 1 - size))


def position_weights(n_rows: int, alpha: float, beta: float) -> Vector:
    """Weight of a marginal contribution at each place 0..n−1 of a random order.

    All sets of a size are equally likely to come first in a random order, so this is
    ``n · C(n − 1, s) · weight(s)``; it is 1 on average, and everywhere for the Shapley value.
    """
    size = np.arange(n_rows)
    sets = gammaln(n_rows) - gammaln(size + 1) - gammaln(n_rows - size)
    log = np.log(n_rows) + sets + betaln(size + beta, n_rows - 1 - size + alpha) - betaln(alpha, beta)
    weights: Vector = np.exp(log)
    return weights


def enumerate_values(game: Game, weights: Vector, *, seed: int = 0, progress: bool | None = None) -> Vector:
    """The semivalue by trying every training set."""
    n = game.n_rows
    if n > MOST_EXACT:
        raise InputError(
            f"exact=True with {n} rows would take 2**{n} fits; it is for at most {MOST_EXACT} rows. "
            "Use exact=False to sample"
        )
    joining = np.concatenate([[0.0], weights])  # weight of the smaller set, by the size with the row
    staying = np.concatenate([weights, [0.0]])
    values = np.zeros(n)
    with Progress("fits", 1 << n, enabled=progress) as bar:
        for first in range(0, 1 << n, _AT_ONCE):
            masks = np.arange(first, min(first + _AT_ONCE, 1 << n))
            inside = (masks[:, None] >> np.arange(n)) & 1
            # one number for all: v is then a function of the set, also where training is random
            same = np.zeros(len(masks), dtype=np.int64)
            worth = game(Subsets(sparse.csr_array(inside.astype(np.int32)), same, seed), bar)
            size = inside.sum(axis=1)
            values += inside.T @ (worth * joining[size]) - (1 - inside).T @ (worth * staying[size])
    return values
