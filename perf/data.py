"""Splits of 1000 training and 500 evaluating rows for the benchmarks.

With ``CDVM_DATA_HOME`` set, real tables are read from there; without, generated ones of the same shape
stand in.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, make_classification

from cdvm.data.split import Split

N_TRAIN, N_EVALUATION = 1000, 500


def home() -> Path | None:
    folder = os.environ.get("CDVM_DATA_HOME")
    return Path(folder) if folder else None


def load(name: str) -> tuple[str, Split]:
    """The name to print, and the split."""
    label, (X, y) = _READERS[name]()
    X = (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-8)
    order = np.random.default_rng(42).permutation(len(X))
    train, evaluation = order[:N_TRAIN], order[N_TRAIN : N_TRAIN + N_EVALUATION]
    return label, Split.from_arrays(X[train], y[train], X[evaluation], y[evaluation])


def _pol():
    folder = home()
    if folder is None:
        table = make_classification(
            2000, 48, n_informative=12, n_redundant=4, flip_y=0.1, weights=[0.34], random_state=0
        )
        return "generated, 48 columns", table
    import pandas as pd

    table = pd.read_csv(folder / "pol.csv.gz")
    X = table.drop(columns=["foo", "binaryClass"]).to_numpy(np.float64)
    return "pol, 48 columns", (X, (table["binaryClass"] == "P").to_numpy().astype(np.int64))


def _digits():
    return "digits, 64 columns, 10 classes", load_digits(return_X_y=True)


def _embeddings():
    folder = home()
    if folder is None:
        X, y = make_classification(
            2000, 1280, n_informative=60, n_redundant=600, n_classes=10, class_sep=3.0, random_state=0
        )
        return "generated, 1280 columns, 10 classes", (X, y)
    with np.load(folder / "cifar10_embeddings.npz") as stored:
        return "cifar10 embeddings, 1280 columns", (stored["X"].astype(np.float64), stored["y"])


_READERS = {"pol": _pol, "digits": _digits, "embeddings": _embeddings}
