"""What iterative learners share: initial weights, the order of the rows, and shapes to stack models in.

Initial weights and orders are read from the counter-based generator at a position that follows from the seed
and the number of the model, so a model trained alone, in a chunk or on another worker is the same model.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cdvm.sampling import RandomStream, Subsets, draw_words

__all__ = ["epoch_orders", "initial_weights", "padded_sizes"]


def epoch_orders(subsets: Subsets, k: int, epochs: int) -> NDArray[np.int32]:
    """Training rows of the ``k``-th model in the order of each epoch, shape (epochs, size).

    >>> subsets = Subsets.of([[0, 1, 2, 3]], n_rows=9)
    >>> np.sort(epoch_orders(subsets, 0, epochs=2), axis=1)
    array([[0, 1, 2, 3], [0, 1, 2, 3]], dtype=int32)
    """
    rows = subsets.rows(k).astype(np.int32)
    # As many words as the table has rows, whatever the size, so that no two models share a word.
    words = max(int(subsets.members.shape[1]), len(rows))
    keys = draw_words(subsets.seed, RandomStream.BATCHES, int(subsets.models[k]) * epochs, epochs, words)
    order = np.argsort(keys[:, : len(rows)], axis=1)
    return np.asarray(rows[order], dtype=np.int32)


def initial_weights(seed: int, n_outputs: int, n_features: int) -> NDArray[np.float32]:
    """Uniform(−1/√d, 1/√d) weights of a linear layer, the bias last: shape (n_outputs, n_features + 1)."""
    words = draw_words(seed, RandomStream.WEIGHTS, 0, 1, n_outputs * (n_features + 1))[0]
    unit = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
    weights = (2 * unit - 1) / np.sqrt(n_features)
    return np.asarray(weights, dtype=np.float32).reshape(n_outputs, n_features + 1)


def padded_sizes(sizes: NDArray[np.int64], batch_size: int) -> NDArray[np.int64]:
    """Sizes with the last batch rounded up: few distinct shapes to stack models in, little waste.

    The answer for a size does not depend on the other sizes, so a model has one shape in every chunk.

    >>> padded_sizes(np.array([27, 30, 130, 249, 300, 301]), 250)
    array([ 32,  32, 144, 250, 314, 314])
    """
    whole = sizes <= batch_size
    last = np.where(whole, sizes, sizes % batch_size)
    step = np.where(whole & (sizes <= 64), 8, np.where(whole, 16, 64))
    padded = np.minimum(-(-last // step) * step, batch_size)
    return np.asarray(sizes - last + padded, dtype=np.int64)
