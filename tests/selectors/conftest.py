import numpy as np
import pytest
from selector_cases import overlapping_classes
from sklearn.datasets import make_blobs

from cdvm import Split


@pytest.fixture(scope="session")
def clouds() -> Split:
    """Three classes of different sizes, one beside the other."""
    rng = np.random.default_rng(0)
    y = rng.choice(3, 90, p=[0.6, 0.3, 0.1])
    X = rng.standard_normal((90, 4)) + 2.0 * y[:, None]
    return Split.from_arrays(X, y, X[:30], y[:30])


@pytest.fixture(scope="session")
def mislabelled() -> Split:
    """Two blobs, with a wrong label at every twentieth row."""
    X, y = make_blobs(400, centers=[[-1.5, 0], [1.5, 0]], random_state=0)
    y[::20] = 1 - y[::20]
    return Split.from_arrays(X, y, validation="out_of_bag", random_state=0)


@pytest.fixture(scope="session")
def overlapping() -> Split:
    return overlapping_classes()


@pytest.fixture(scope="session")
def regression() -> Split:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = X @ [1.0, 2.0, 0.0] + rng.standard_normal(60)
    return Split.from_arrays(X, y, task="regression", validation="out_of_bag")
