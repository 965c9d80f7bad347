"""Tables that several tests refine sets of."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from cdvm import CDVM, Split


@pytest.fixture(scope="module")
def noisy():
    """400 rows, every third with the wrong label, clean test rows."""
    X, y = make_classification(1600, 10, n_informative=4, class_sep=1.5, flip_y=0.0, random_state=1)
    wrong = np.arange(400) % 3 == 0
    split = Split.from_arrays(
        X[:400], np.where(wrong, 1 - y[:400], y[:400]), X[400:600], y[400:600], X[600:], y[600:]
    )
    return split, np.flatnonzero(wrong)


@pytest.fixture(scope="module")
def rare():
    """1,000 rows, 20 of them of the class that matters."""
    X, y = make_classification(3000, 6, n_informative=4, weights=[0.98], flip_y=0, random_state=3)
    return Split.from_arrays(X[:1000], y[:1000], None, None, X[1000:], y[1000:], validation="out_of_bag")


@pytest.fixture(scope="module")
def rows():
    """600 rows of two classes, few of them with the wrong label."""
    return make_classification(600, 8, n_informative=4, class_sep=1.5, flip_y=0.02, random_state=0)


@pytest.fixture(scope="module")
def pruner(rows):
    """What curves are drawn of."""
    return CDVM("ridge", effort="low", n_models=200, random_state=0, n_jobs=1, progress=False).fit(*rows)
