"""What the tests of trees and of the code that grows them share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cdvm.data.split import Split
from cdvm.sampling import Subsets


def table(X, y, X_val=None, task="classification"):
    """A split whose validation rows are the training rows, unless told otherwise."""
    X = np.asarray(X, dtype=float)
    X_val = X if X_val is None else np.asarray(X_val, dtype=float)
    kept = Split.from_arrays(X, y, X, y, task=task)
    return replace(kept, X_val=X_val, y_val=np.zeros(len(X_val)))


def whole(split):
    return Subsets.of([range(split.n_rows)], split.n_rows)


def cuts(X):
    for f in range(X.shape[1]):
        for value in np.unique(X[:, f])[:-1]:
            yield X[:, f] <= value
