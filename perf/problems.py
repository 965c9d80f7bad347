"""Attributions to solve on: of real subset models where data is at hand, generated otherwise."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
from scipy import sparse

from cdvm.attribution.implicit import ImplicitAttribution
from cdvm.sampling import Design


def ridge_outcomes(features, labels, evaluation, evaluation_labels, members) -> np.ndarray:
    """Right or wrong of one ridge classifier per subset, in closed form."""
    n_classes = int(labels.max()) + 1
    both = np.concatenate([features, np.eye(n_classes, dtype=np.float32)[labels]], axis=1)
    d = features.shape[1]
    right = np.empty((members.shape[0], len(evaluation)), dtype=np.uint8)
    for k in range(members.shape[0]):
        part = both[members.indices[members.indptr[k] : members.indptr[k + 1]]]
        gram = part.T @ part
        coefficients = np.linalg.solve(gram[:d, :d] + np.eye(d, dtype=np.float32), gram[:d, d:])
        right[k] = (evaluation @ coefficients).argmax(axis=1) == evaluation_labels
    return right


def digits(n_models: int = 5000) -> np.ndarray:
    """1000 × 500: scikit-learn's digits."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(42).permutation(len(y))
    return _small(x[order] / 16.0, y[order], n_models)


def pol(n_models: int = 5000) -> np.ndarray | None:
    """1000 × 500: pol, where CDVM_DATA_HOME is there."""
    home = os.environ.get("CDVM_DATA_HOME")
    if not home or not (Path(home) / "pol.csv.gz").exists():
        return None
    import pandas as pd

    table = pd.read_csv(Path(home) / "pol.csv.gz").sample(1500, random_state=42)
    x = table.drop(columns=["foo", "binaryClass"]).to_numpy(dtype=float)
    x = (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-8)
    return _small(x, (table["binaryClass"] == "P").to_numpy().astype(int), n_models)


def _small(x: np.ndarray, y: np.ndarray, n_models: int) -> np.ndarray:
    x = np.c_[x, np.ones(len(x))].astype(np.float32)
    members = Design(1000, 0.03, seed=42).take(range(n_models)).members
    right = ridge_outcomes(x[:1000], y[:1000], x[1000:1500], y[1000:1500], members)
    return ImplicitAttribution(members, right).dense()


def fashion(
    n_rows: int = 60_000, n_models: int = 5000, n_evaluation: int = 5000
) -> tuple[str, ImplicitAttribution]:
    """Fashion-MNIST on 64 principal components, or generated clusters of its shape."""
    home = os.environ.get("CDVM_DATA_HOME")
    folder = Path(home or "") / "fashion-mnist"
    if home and folder.exists():
        name = "Fashion-MNIST"
        x, y = _idx(folder / "train-images-idx3-ubyte.gz"), _idx(folder / "train-labels-idx1-ubyte.gz")
        z, t = _idx(folder / "t10k-images-idx3-ubyte.gz"), _idx(folder / "t10k-labels-idx1-ubyte.gz")
        x, y, z, t = x[:n_rows], y[:n_rows], z[:n_evaluation], t[:n_evaluation]
        x, z = (a.reshape(len(a), -1).astype(np.float32) / 255 for a in (x, z))
        centre = x.mean(axis=0)
        axes = np.linalg.eigh((x - centre).T @ (x - centre))[1][:, -64:]
        x, z = (x - centre) @ axes, (z - centre) @ axes
    else:
        name = "generated clusters"
        rng = np.random.default_rng(0)
        centres = rng.normal(0, 0.8, (10, 64))
        y, t = rng.integers(0, 10, n_rows), rng.integers(0, 10, n_evaluation)
        x, z = (centres[a] + rng.normal(0, 1.5, (len(a), 64)) for a in (y, t))
    x, z = (np.c_[a, np.ones(len(a))].astype(np.float32) for a in (x, z))
    members = Design(len(x), 0.03, seed=0).take(range(n_models)).members
    return name, ImplicitAttribution(members, ridge_outcomes(x, y, z, t, members))


def generated(
    n_rows: int, n_models: int = 5000, n_evaluation: int = 5000, p: float = 0.03
) -> ImplicitAttribution:
    """Bernoulli(p) membership, drawn by its gaps, and random outcomes."""
    rng = np.random.default_rng(0)
    room = int(n_models * (p * n_rows + 6 * np.sqrt(p * n_rows) + 6))
    indices, indptr, end = np.empty(room, dtype=np.int32), np.zeros(n_models + 1, dtype=np.int32), 0
    for k in range(n_models):
        gaps = rng.geometric(p, int(p * n_rows + 6 * np.sqrt(p * n_rows) + 6))
        rows = np.cumsum(gaps) - 1
        rows = rows[rows < n_rows]
        indices[end : end + len(rows)] = rows
        end += len(rows)
        indptr[k + 1] = end
    ones = np.ones(end, dtype=np.int8)
    members = sparse.csr_array((ones, indices[:end], indptr), (n_models, n_rows))
    return ImplicitAttribution(members, rng.integers(0, 2, (n_models, n_evaluation), dtype=np.uint8))


def _idx(path: Path) -> np.ndarray:
    raw = gzip.decompress(path.read_bytes())
    shape = np.frombuffer(raw, ">u4", raw[3], 4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape)
