"""What sets are compared on."""

from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.datasets import make_moons

from cdvm import Split
from cdvm.errors import InputWarning
from cdvm.learners import make_learner
from cdvm.learners.relatives import as_numbers
from cdvm.pruner import portfolio
from cdvm.pruner.grounds import find_grounds
from cdvm.pruner.portfolio import Portfolio


@pytest.fixture(scope="module")
def rows():
    return make_moons(400, noise=0.15, random_state=0)


def test_all_rows_and_synthetic_ones(rows):
    split, proxy = Split.from_arrays(*rows, validation="out_of_bag", random_state=0), make_learner("ridge")
    numbers = as_numbers(split)
    found = find_grounds(split, numbers, proxy, n_jobs=1)
    assert found.evaluation == "all"
    assert found.given == 0
    assert len(found.split.y_val) == 400
    assert (found.split.X == split.X).all()
    # the same rows for the proxy, as it sees them
    assert (found.proxy_split.X == numbers.X).all()
    back = found.proxy_split.X_val * np.asarray(split.X).std(axis=0) + np.asarray(split.X).mean(axis=0)
    np.testing.assert_allclose(back, found.split.X_val)
    assert (found.proxy_split.y_val == found.split.y_val).all()
    assert find_grounds(split, split, proxy, n_jobs=1).proxy_split.X_val is not None


def test_given_validation_rows_are_counted(rows):
    X, y = rows
    split = Split.from_arrays(X[:300], y[:300], X[300:], y[300:])
    found = find_grounds(split, split, make_learner("ridge"), n_jobs=1)
    assert found.given == 100
    assert len(found.split.y_val) == 400
    real = Portfolio(found, make_learner("ridge"), make_learner("ridge"))._real(700)
    assert real[:100].all()
    assert not real[100:400].any()
    assert real[400:].all()


def test_validation_rows_of_another_kind_alone(rows):
    X, y = rows
    split = Split.from_arrays(X[:300], y[:300], X[300:] + 9, y[300:])
    with pytest.warns(InputWarning, match="another kind"):
        found = find_grounds(split, split, make_learner("ridge"), n_jobs=1)
    assert found.evaluation == "validation"
    assert found.given is None
    assert len(found.split.y_val) == 100


def test_targets_have_no_synthetic_rows():
    X = np.random.default_rng(0).normal(size=(100, 3))
    split = Split.from_arrays(X, X @ [1.0, 2.0, 3.0], task="regression", validation="out_of_bag")
    found = find_grounds(split, split, make_learner("ridge_regression"), n_jobs=1)
    assert found.given is None
    assert found.split is split


@pytest.mark.parametrize(("far", "training_rows"), [(0.0, 0), (9.0, 0), (None, 300)])
def test_fractions_are_learnt_on_synthetic_rows_where_there_are_some(rows, monkeypatch, far, training_rows):
    """Validation rows alone where they are of another kind, and rows outside for targets."""
    X, y = rows
    if far is None:
        split = Split.from_arrays(X[:300], X[:300, 0] ** 2, task="regression", validation="out_of_bag")
        proxy = make_learner("ridge_regression")
    else:
        split = Split.from_arrays(X[:300], y[:300], X[300:] + far, y[300:])
        proxy = make_learner("ridge")
    seen = []
    monkeypatch.setattr(portfolio, "learn_fractions", lambda scorer, *_, **__: seen.append(scorer) or [])
    with pytest.warns(InputWarning) if far else nullcontext():
        grounds = find_grounds(split, split, proxy, n_jobs=1)
    Portfolio(grounds, proxy, proxy)._by_fractions(20)
    assert len(seen[0].rows) == training_rows
    assert len(seen[0].y) == {0.0: 400, 9.0: 100, None: 300}[far]
