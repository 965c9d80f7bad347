import numpy as np
import pytest
from scipy.special import softmax
from selector_cases import sparse_of

from cdvm.selectors import glister


def glister_by_loops(split, size, rounds, step):
    X, y = np.column_stack([split.X, np.ones(split.n_rows)]), np.eye(split.n_classes)[split.y]
    model, chosen = np.zeros((X.shape[1], split.n_classes)), []
    for part in np.array_split(np.arange(size), rounds):
        each = [np.outer(X[i], softmax(X[i] @ model) - y[i]) for i in range(split.n_rows)]
        whole = sum(each)
        rest = [i for i in range(split.n_rows) if i not in chosen]
        chosen += sorted(rest, key=lambda i: -(each[i] * whole).sum())[: len(part)]
        model = model - step / (X**2).sum(axis=1).mean() * sum(each[i] for i in chosen) / len(chosen)
    return sorted(chosen)


@pytest.mark.parametrize(("size", "rounds"), [(7, 7), (30, 6)])
def test_glister_follows_the_gradient_of_the_evaluation_rows(overlapping, size, rounds):
    expected = glister_by_loops(overlapping, size, rounds, 0.5)
    assert glister(overlapping, size, rounds=rounds, step=0.5).tolist() == expected


def test_sparse_features_keep_the_same_rows(overlapping):
    assert glister(sparse_of(overlapping), 20).tolist() == glister(overlapping, 20).tolist()


def test_glister_knows_targets(regression):
    rows = glister(regression, 10)
    far = np.abs(regression.y - regression.y.mean())
    assert far[rows].mean() > far.mean()
