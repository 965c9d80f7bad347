"""Splits of 1000 training and 500 evaluating rows for the benchmarks.

With ``CDVM_DATA_HOME`` set, real tables are read from there; without, generated ones of the same shape
stand in. Tables to choose constants by, none of which is reported on, are in its folder ``tuning``.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, make_classification

from cdvm.benchmark.protocol import Protocol
from cdvm.data.split import Split
from cdvm.valuation.noise import flip_labels

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


def tuning_table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features, categories one-hot, and class codes of a table to tune on, or of scikit-learn's digits."""
    import pandas as pd

    if name == "digits":
        return load_digits(return_X_y=True)
    folder = home()
    assert folder is not None, "set CDVM_DATA_HOME to the directory that holds tuning/"
    frame = pd.read_csv(folder / "tuning" / f"{name}.csv.gz").drop(columns=["Y", "y"], errors="ignore")
    X = pd.get_dummies(frame.iloc[:, :-1]).to_numpy(np.float64)
    return X, pd.factorize(frame.iloc[:, -1], sort=True)[0]


def tuning_split(name: str, protocol: Protocol, seed: int) -> Split:
    """A table to tune on in parts as a protocol has them, smaller alike where the table is small."""
    X, y = tuning_table(name)
    sizes = np.array([protocol.train, protocol.validation, protocol.test])
    sizes = np.floor(sizes * min(1.0, len(y) / sizes.sum())).astype(int)
    X = (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-8)
    order = np.random.RandomState(seed).permutation(len(y))
    train, validation, test = np.split(order[: sizes.sum()], sizes.cumsum()[:2])
    given = [
        flip_labels(y[part], protocol.noise, n_classes=int(y.max()) + 1, seed=seed + k)[0]
        if protocol.noise
        else y[part]
        for k, part in enumerate((train, validation))
    ]
    return Split.from_arrays(X[train], given[0], X[validation], given[1], X[test], y[test])


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
