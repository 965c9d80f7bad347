"""What the tests of several selectors share."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification

from cdvm import InputError, Split
from cdvm.sampling import seed_of
from cdvm.selectors import select_rows
from cdvm.selectors.base import allocate


def overlapping_classes(n=240, classes=3) -> Split:
    X, y = make_classification(
        n, 6, n_informative=4, n_classes=classes, flip_y=0.1, class_sep=0.8, random_state=0
    )
    return Split.from_arrays(X, y, validation="out_of_bag", random_state=0)


def sparse_of(split) -> Split:
    return Split.from_arrays(sparse.csr_matrix(split.X), split.y, validation="out_of_bag", random_state=0)


def agrees_with_a_loop(split, method, loop) -> None:
    """``loop(X, size)`` gives the sorted rows that the definition keeps."""
    for size in (1, 7, 20):
        assert select_rows(split, method, size, per_class=False).tolist() == loop(split.X, size)


def agrees_with_a_loop_in_every_class(split, method, loop) -> None:
    expected = []
    for k, size in enumerate(allocate(np.bincount(split.y), 18)):
        rows = np.flatnonzero(split.y == k)
        expected += rows[loop(split.X[rows], size)].tolist()
    assert select_rows(split, method, 18).tolist() == sorted(expected)


def takes_what_models_said_earlier(split, selector, name, ask) -> None:
    """What ``ask`` finds, given as ``name``, keeps the same rows, and nothing is trained."""
    said = ask(split, "logistic", seed=seed_of(4), n_jobs=1)
    given = selector(split, 24, random_state=4, learner="nothing that could be trained", **{name: said})
    assert given.tolist() == selector(split, 24, random_state=4).tolist()
    wrong = f"{name} is of 239 rows and there are 240 training rows: pass what {ask.__name__} finds"
    with pytest.raises(InputError, match=wrong):
        selector(split, 24, **{name: said[1:]})
