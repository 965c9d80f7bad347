import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits

from cdvm import Split
from cdvm.evaluation.domain import told_apart


def test_validation_rows_of_the_same_kind_are_not_told_apart():
    X, y = load_digits(return_X_y=True)
    turned = np.rot90(X.reshape(-1, 8, 8), axes=(1, 2)).reshape(-1, 64)
    assert told_apart(Split.from_arrays(X[::2], y[::2], X[1::2], y[1::2])) is None
    assert told_apart(Split.from_arrays(X[::2], y[::2], turned[1::2], y[1::2])) > 0.9


def test_rows_that_differ_by_their_labels_alone_are_told_apart():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 3))
    y = (X[:, 0] > 0).astype(int)
    y[400:] = 1 - y[400:]
    assert told_apart(Split.from_arrays(X[:400], y[:400], X[400:], y[400:])) > 0.8
    thin = [sparse.csr_array(X[:400]), y[:400], sparse.csr_array(X[400:]), y[400:]]
    assert told_apart(Split.from_arrays(*thin)) > 0.8
