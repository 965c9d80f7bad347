"""The paper's model: one linear layer, a few steps of Adam, far from converged.

Outputs are ``z = Wx + b`` from initial weights that all models of a run share. With two classes each
output passes a sigmoid and meets the one-hot label in a binary cross-entropy, averaged over rows and
outputs, so the gradient with respect to ``z`` is ``(σ(z) − e_y) / 2s``. With more, the softmax ``p`` of the
outputs is fed to a cross-entropy that applies log-softmax again; with ``r = softmax(p) − e_y`` the gradient
is ``p (r − pᵀr) / s``. Fifteen epochs in batches of 250 rows: up to 250 rows that is fifteen full steps.

Adam works on each weight alone, so a model is its d × K weights and nothing smaller. What many models share
is the shape: models with equally many rows (padded with rows of weight 0) form stacks of products
``(K, d) × (d, s)`` and ``(K, s) × (s, d)``. The padding follows from a model's own size, so its answer is
the same in every chunk.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cdvm.data.split import Features, Split
from cdvm.errors import InputError
from cdvm.learners.base import Learner, Trainer
from cdvm.learners.batched.batches import epoch_orders, initial_weights, padded_sizes
from cdvm.sampling import Subsets

__all__ = ["PaperLearner"]

_CHUNK_BYTES = 4 << 20  # rows, weights and moments of the models trained side by side: about one core's cache
_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-8

Array = NDArray[np.float32]


class PaperLearner(Learner):
    """The under-trained linear model of the paper, many at a time.

    Parameters
    ----------
    learning_rate : float
    epochs : int
    batch_size : int
        Rows of a step; the last batch of an epoch may be smaller.
    init_seed : int or None
        Seed of the initial weights. None takes the seed of the subsets; pass several in turn to average over
        initial weights.

    Examples
    --------
    >>> split = Split.from_arrays([[-1.0], [1.0]] * 10, [0, 1] * 10, random_state=0)
    >>> PaperLearner(learning_rate=0.1).predict(split, Subsets.of([range(16)], 16), [[-3.0], [3.0]])
    array([[0, 1]], dtype=int32)
    """

    name = "paper"
    stochastic = True

    def __init__(
        self,
        *,
        learning_rate: float = 0.01,
        epochs: int = 15,
        batch_size: int = 250,
        init_seed: int | None = None,
    ) -> None:
        if not learning_rate > 0:
            raise InputError(f"learning_rate={learning_rate!r}: use a positive number, e.g. 0.01")
        for label, value in (("epochs", epochs), ("batch_size", batch_size)):
            if value < 1:
                raise InputError(f"{label}={value!r}: use a whole number of at least 1")
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.batch_size = batch_size
        self.init_seed = init_seed

    def bind(self, split: Split, X: Features) -> PaperTrainer:
        if split.task != "classification":
            raise InputError("learner='paper' classifies: use 'ridge_regression' for a regression target")
        return PaperTrainer(split, X, self)

    def spec(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "learning_rate": self.learning_rate,
            "epochs": self.epochs,
            "batch_size": self.batch_size,
            "init_seed": self.init_seed,
        }


class PaperTrainer(Trainer):
    link = "softmax"
    """:class:`PaperLearner` at work on one split."""

    def __init__(self, split: Split, X: Features, learner: PaperLearner) -> None:
        super().__init__(split, _with_ones(X))
        self.learner = learner
        self._rows = _with_ones(split.X)
        self._one_hot = np.eye(split.n_classes, dtype=np.float32)[split.y]

    def weights(self, subsets: Subsets) -> Array:
        """Trained weights, the bias last: shape (n_models, n_classes, n_features + 1)."""
        answer = np.empty((len(subsets), *self._initial(subsets).shape), dtype=np.float32)
        for which, weights in self._chunks(subsets):
            answer[which] = weights
        return answer

    def _labels(self, subsets: Subsets) -> NDArray[Any]:
        answer = np.empty((len(subsets), self.X.shape[0]), dtype=np.int32)
        for which, weights in self._chunks(subsets):
            z = self._outputs(weights)
            answer[which] = z[:, 1] > z[:, 0] if z.shape[1] == 2 else z.argmax(axis=1)
        return answer

    def _scores(self, subsets: Subsets) -> NDArray[np.floating[Any]]:
        answer = np.empty((len(subsets), self.X.shape[0], self.split.n_classes), dtype=np.float32)
        for which, weights in self._chunks(subsets):
            answer[which] = self._outputs(weights).transpose(0, 2, 1)
        return answer

    def _initial(self, subsets: Subsets) -> Array:
        seed = self.learner.init_seed
        seed = subsets.seed if seed is None else seed
        return initial_weights(seed, self.split.n_classes, self.split.X.shape[1])

    def _outputs(self, weights: Array) -> Array:
        """Outputs on the rows to answer for, shape (n_models, n_classes, n_rows)."""
        if not sparse.issparse(self.X):
            # a product a model: in a single one, the last digits of a row depend on the rows around it
            return np.asarray(np.matmul(weights, self.X.T))
        flat = weights.reshape(-1, weights.shape[2])
        return np.asarray((self.X @ flat.T).T).reshape(*weights.shape[:2], -1)

    def _chunks(self, subsets: Subsets) -> Iterator[tuple[NDArray[np.int64], Array]]:
        """Positions and trained weights of models that were trained side by side."""
        initial = self._initial(subsets)
        whole = subsets.sizes <= self.learner.batch_size
        rows = np.where(whole, np.diff(subsets.members.indptr), subsets.sizes)
        slots = padded_sizes(rows, self.learner.batch_size)
        for kind in (True, False):
            for width in np.unique(slots[whole == kind]).tolist():
                which = np.flatnonzero((whole == kind) & (slots == width))
                at_once = self._models_at_once(width, whole=kind)
                for start in range(0, len(which), at_once):
                    part = which[start : start + at_once]
                    train = self._train_whole if kind else self._train_batches
                    yield part, train(subsets, part, width, initial)

    def _models_at_once(self, width: int, *, whole: bool) -> int:
        rows = width if whole else self.learner.batch_size
        n_outputs, features = self._one_hot.shape[1], self._rows.shape[1]
        floats = rows * (features + 4 * n_outputs) + 5 * n_outputs * features
        orders = 0 if whole else self.learner.epochs * width
        return int(max(1, _CHUNK_BYTES // (4 * (floats + orders))))

    def _train_whole(self, subsets: Subsets, which: NDArray[np.int64], width: int, initial: Array) -> Array:
        """Every epoch is one step over all rows; repeated rows count through their weight."""
        members = subsets.members
        counts = np.diff(members.indptr)[which]
        inside = np.arange(width) < counts[:, None]
        rows = np.zeros((len(which), width), dtype=np.intp)
        fraction = np.zeros((len(which), width), dtype=np.float32)
        entries = (members.indptr[which][:, None] + np.arange(width))[inside]
        rows[inside] = members.indices[entries]
        fraction[inside] = members.data[entries]
        fraction /= subsets.sizes[which][:, None]
        state = _Adam(initial, len(which), self.learner.learning_rate)
        batch = self._gather(rows, fraction)
        for _ in range(self.learner.epochs):
            state.step(*batch)
        return state.weights

    def _train_batches(self, subsets: Subsets, which: NDArray[np.int64], width: int, initial: Array) -> Array:
        """Epochs of several batches, the rows in a new order each time."""
        sizes = subsets.sizes[which]
        orders = np.zeros((self.learner.epochs, len(which), width), dtype=np.int32)
        for position, k in enumerate(which.tolist()):
            orders[:, position, : sizes[position]] = epoch_orders(subsets, k, self.learner.epochs)
        inside = np.arange(width) < sizes[:, None]
        state = _Adam(initial, len(which), self.learner.learning_rate)
        for order in orders:
            for start in range(0, width, self.learner.batch_size):
                batch = slice(start, start + self.learner.batch_size)
                fraction = inside[:, batch].astype(np.float32)
                fraction /= fraction.sum(axis=1, keepdims=True)
                state.step(*self._gather(order[:, batch], fraction))
        return state.weights

    def _gather(self, rows: NDArray[Any], fraction: Array) -> tuple[Array, Array, Array]:
        """Features (models, rows, d), one-hot labels (models, K, rows) and shares of the mean loss."""
        if sparse.issparse(self._rows):
            features = self._rows[rows.ravel()].toarray().reshape(*rows.shape, -1)
        else:
            features = self._rows[rows]
        labels = np.ascontiguousarray(self._one_hot[rows].transpose(0, 2, 1))
        return features, labels, fraction[:, None, :]


class _Adam:
    """Weights and moments of several models; a step is taken in place.

    The moments are kept without their factors 1 − β, which moves into the step size and ε.
    """

    def __init__(self, initial: Array, n_models: int, learning_rate: float) -> None:
        self.weights: Array = np.repeat(initial[None], n_models, axis=0)
        self._first = np.zeros_like(self.weights)
        self._second = np.zeros_like(self.weights)
        self._gradient = np.empty_like(self.weights)
        self._rate = learning_rate
        self._steps = 0

    def step(self, features: Array, labels: Array, fraction: Array) -> None:
        z = np.matmul(self.weights, features.transpose(0, 2, 1))
        slope = _two_class_slope if z.shape[1] == 2 else _many_class_slope
        g = np.matmul(slope(z, labels, fraction), features, out=self._gradient)
        self._steps += 1
        undo = np.sqrt((1 - _BETA_2**self._steps) / (1 - _BETA_2))
        size = self._rate * undo * (1 - _BETA_1) / (1 - _BETA_1**self._steps)
        self._first *= np.float32(_BETA_1)
        self._first += g
        self._second *= np.float32(_BETA_2)
        g *= g
        self._second += g
        np.sqrt(self._second, out=g)
        g += np.float32(_EPSILON * undo)
        np.divide(self._first, g, out=g)
        g *= np.float32(size)
        self.weights -= g


def _two_class_slope(z: Array, labels: Array, fraction: Array) -> Array:
    """Gradient of the binary cross-entropy with respect to the outputs, in place of the outputs."""
    np.negative(z, out=z)
    with np.errstate(over="ignore"):
        np.exp(z, out=z)
    z += 1
    p = np.divide(np.float32(1), z, out=z)
    lost = None
    if p.max() == 1 or p.min() < 1e-12:
        # Where the sigmoid saturates, the cross-entropy's derivative is cut at 1e12 and the product vanishes.
        spread = p * (1 - p)
        lost = spread / np.maximum(spread, np.float32(1e-12))
    p -= labels
    if lost is not None:
        p *= lost
    p *= fraction * np.float32(0.5)
    return p


def _many_class_slope(z: Array, labels: Array, fraction: Array) -> Array:
    """Gradient of the cross-entropy of a softmax of a softmax with respect to the outputs."""
    z -= z.max(axis=1, keepdims=True)
    p = np.exp(z, out=z)
    p /= p.sum(axis=1, keepdims=True)
    r = np.exp(p)
    r /= r.sum(axis=1, keepdims=True)
    r -= labels
    r -= np.einsum("bks,bks->bs", p, r)[:, None, :]
    p *= r
    p *= fraction
    return p


def _with_ones(X: Features) -> Features:
    """Features in single precision with a last column of ones for the bias."""
    if sparse.issparse(X):
        ones = sparse.csr_array(np.ones((X.shape[0], 1), dtype=np.float32))
        return sparse.csr_array(sparse.hstack([X.astype(np.float32), ones], format="csr"))
    X = np.asarray(X, dtype=np.float32)
    return np.column_stack([X, np.ones(len(X), dtype=np.float32)])
