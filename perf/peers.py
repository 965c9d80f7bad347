"""The same models one at a time, as one would write them: PyTorch in a loop, scikit-learn through joblib.

Both get all cores: the models are dealt out to one process a core, each with one thread.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import threadpool_limits

from cdvm.data.split import Split
from cdvm.learners.batched.batches import epoch_orders, initial_weights
from cdvm.sampling import Subsets

Fit = Callable[[Split, Subsets, int], np.ndarray]


def on_all_cores(fit: Fit, split: Split, subsets: Subsets) -> np.ndarray:
    """Labels of all models, ``fit(split, subsets, k)`` at a time."""
    parts = np.array_split(np.arange(len(subsets)), max(1, min(len(subsets), 8 * effective_n_jobs(-1))))
    answers = Parallel(n_jobs=-1)(delayed(_some)(fit, split, subsets[part]) for part in parts)
    return np.concatenate(answers)


def in_one_process(fit: Fit, split: Split, subsets: Subsets) -> np.ndarray:
    return np.stack([_one(fit, split, subsets, k) for k in range(len(subsets))])


def _some(fit: Fit, split: Split, subsets: Subsets) -> np.ndarray:
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return in_one_process(fit, split, subsets)


def _one(fit: Fit, split: Split, subsets: Subsets, k: int) -> np.ndarray:
    present = np.unique(split.y[subsets.rows(k)])
    if len(present) == 1:
        return np.full(len(split.y_val), present[0])
    return fit(split, subsets, k)


class SklearnFit:
    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def __call__(self, split: Split, subsets: Subsets, k: int) -> np.ndarray:
        from sklearn.base import clone

        rows = subsets.rows(k)
        return clone(self.estimator).fit(split.X[rows], split.y[rows]).predict(split.X_val)


def torch_fit(split: Split, subsets: Subsets, k: int) -> np.ndarray:
    """One model of the paper's protocol."""
    import torch

    torch.set_num_threads(1)
    n_classes, width = split.n_classes, split.X.shape[1]
    X = torch.from_numpy(split.X).float()
    y = torch.from_numpy(split.y)
    target = torch.eye(n_classes)[y] if n_classes == 2 else y
    initial = torch.from_numpy(initial_weights(subsets.seed, n_classes, width))
    layer = torch.nn.Linear(width, n_classes)
    with torch.no_grad():
        layer.weight.copy_(initial[:, :-1])
        layer.bias.copy_(initial[:, -1])
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.01)
    loss = torch.nn.BCELoss() if n_classes == 2 else torch.nn.CrossEntropyLoss()
    last = torch.sigmoid if n_classes == 2 else lambda z: torch.softmax(z, dim=1)
    for order in torch.from_numpy(epoch_orders(subsets, k, 15).astype(np.int64)):
        for rows in torch.split(order, 250):
            optimizer.zero_grad()
            loss(last(layer(X[rows])), target[rows]).backward()
            optimizer.step()
    with torch.no_grad():
        return layer(torch.from_numpy(split.X_val).float()).argmax(dim=1).numpy()
