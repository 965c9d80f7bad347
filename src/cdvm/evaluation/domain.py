"""Are validation rows of the same kind as the training rows?

A forest is asked to tell the two apart, labels included, each row by the trees that did not see it. Where it
can, the training rows outside a set say little of how good its model is where the validation rows come from.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.metrics import roc_auc_score

from cdvm.data.raw import stack_rows
from cdvm.data.split import Split

__all__ = ["told_apart"]

_ROWS = 1000  # of each kind, at most
_CLEARLY = 0.6  # area under the curve
_ERRORS = 4.0  # standard errors above that of chance


def told_apart(split: Split, *, seed: int = 0) -> float | None:
    """How well validation rows are told from training rows: an area under the ROC curve; None if not clearly.

    The features must be numbers. None also where there are no validation rows.

    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(300, 2)), rng.integers(0, 2, 300)
    >>> told_apart(Split.from_arrays(X[:200], y[:200], X[200:], y[200:])) is None
    True
    >>> round(told_apart(Split.from_arrays(X[:200], y[:200], X[200:] + 9, y[200:])), 1)
    1.0
    """
    if split.X_val is None or split.y_val is None:
        return None
    from sklearn.ensemble import RandomForestClassifier

    rng = np.random.default_rng([seed, 4])
    here, there = (rng.permutation(len(y))[:_ROWS] for y in (split.y, split.y_val))
    X = stack_rows([split.X[here], split.X_val[there]])
    y = np.concatenate([split.y[here], split.y_val[there]]).astype(np.float64)[:, None]
    X = sparse.csr_array(sparse.hstack([X, y])) if sparse.issparse(X) else np.hstack([X, y])
    kind = np.repeat([0, 1], [len(here), len(there)])
    # "balanced" would draw rows of the smaller kind so often that no tree is left which did not see them
    forest = RandomForestClassifier(
        100,
        min_samples_leaf=5,
        class_weight="balanced_subsample",
        oob_score=True,
        n_jobs=1,
        random_state=seed,
    )
    said = forest.fit(X, kind).oob_decision_function_[:, 1]
    seen = np.isfinite(said)
    area = float(roc_auc_score(kind[seen], said[seen]))
    error = np.sqrt((1 / len(here) + 1 / len(there)) / 12)  # of an area of one half
    return area if area > max(_CLEARLY, 0.5 + _ERRORS * error) else None
