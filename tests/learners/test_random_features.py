from __future__ import annotations

import numpy as np
import pytest
from cases import draw, peer_labels, split_of
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from cdvm.data.split import Split
from cdvm.errors import InputError
from cdvm.learners.random_features import RandomFeaturesLearner
from cdvm.sampling import Subsets


def features_of(split: Split, learner: RandomFeaturesLearner) -> FunctionTransformer:
    """The random features alone, found by asking: scikit-learn's peer sees what the learner's models see."""
    bound = learner.bind(split, split.X)
    d = split.X.shape[1]
    added = np.asarray(bound.split.X)[:, d:]
    assert np.array_equal(np.asarray(bound.split.X)[:, :d], split.X)
    known = {row.tobytes(): extra for row, extra in zip(split.X, added, strict=True)}
    asked = np.asarray(learner.bind(split, split.X_val).X)
    known |= {row.tobytes(): extra[d:] for row, extra in zip(split.X_val, asked, strict=True)}
    return FunctionTransformer(lambda X: np.hstack([X, [known[row.tobytes()] for row in X]]))


@pytest.mark.parametrize("name", ["wine", "breast_cancer"])
def test_models_are_logistic_regressions_of_the_features(name):
    split, subsets, learner = split_of(name), draw(40), RandomFeaturesLearner(32, C=0.5)
    peer = make_pipeline(features_of(split, learner), LogisticRegression(C=0.5, tol=1e-10, max_iter=10_000))
    found = learner.predict(split, subsets, split.X_val)
    assert np.mean(found == peer_labels(peer, split, subsets)) > 0.999


def test_regression_is_ridge_of_the_features():
    split, subsets = split_of("regression", "regression"), draw(10)
    learner = RandomFeaturesLearner(16, C=0.5, task="regression")
    peer = make_pipeline(features_of(split, learner), Ridge(alpha=2.0))
    found = learner.predict(split, subsets, split.X_val)
    np.testing.assert_allclose(found, peer_labels(peer, split, subsets), rtol=1e-4, atol=1e-3)


def test_features_are_rectified_and_standardised_over_the_training_rows():
    split = split_of("wine")
    added = np.asarray(RandomFeaturesLearner(64).bind(split, split.X_val).split.X)[:, split.X.shape[1] :]
    np.testing.assert_allclose(added.mean(axis=0), 0, atol=1e-9)
    spread = added.std(axis=0)
    assert np.all(np.isclose(spread, 1) | (spread == 0))
    # a rectified number has its least value for all rows below the kink
    assert (np.isclose(added, added.min(axis=0)).sum(axis=0) > 1).mean() > 0.9


def test_a_ring_is_told_from_its_inside_where_a_line_cannot():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    split = Split.from_arrays(
        X[:300], (X[:300] ** 2).sum(axis=1) < 1.4, X[300:], (X[300:] ** 2).sum(axis=1) < 1.4
    )
    subsets = Subsets.of([range(300)], 300)
    curved = RandomFeaturesLearner().predict(split, subsets, split.X_val)[0] == split.y_val
    line = RandomFeaturesLearner()._linear.predict(split, subsets, split.X_val)[0] == split.y_val
    assert curved.mean() > 0.9 > 0.75 > line.mean()


def test_sparse_rows_get_the_same_answers():
    split, subsets = split_of("wine"), draw(20)
    thin = Split.from_arrays(
        sparse.csr_array(split.X), split.y, sparse.csr_array(split.X_val), split.y_val, task="classification"
    )
    learner = RandomFeaturesLearner()
    assert np.array_equal(
        learner.predict(split, subsets, split.X_val), learner.predict(thin, subsets, thin.X_val)
    )


def test_of_a_wide_table_components_stand_for_the_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5)) @ rng.normal(size=(5, 200)) + 0.01 * rng.normal(size=(300, 200))
    y = X[:, 0] > 0
    split = Split.from_arrays(X[:200], y[:200], X[200:], y[200:])
    bound = RandomFeaturesLearner(16).bind(split, split.X_val)
    rows, answers = np.asarray(bound.split.X)[:, :-16], np.asarray(bound.X)[:, :-16]
    assert rows.shape == (200, 128)
    np.testing.assert_allclose(rows.var(axis=0, ddof=1).mean(), 1)
    centre = split.X.mean(axis=0)
    axes = np.linalg.svd(split.X - centre, full_matrices=False)[2][:5]
    for found, given in ((rows, split.X), (answers, split.X_val)):  # distances, but for the noise
        alike = np.linalg.norm(found[1:, :5] - found[:-1, :5], axis=1)
        peer = np.linalg.norm(((given - centre) @ axes.T)[1:] - ((given - centre) @ axes.T)[:-1], axis=1)
        np.testing.assert_allclose(alike / peer, alike[0] / peer[0], rtol=1e-6)
    subsets = Subsets.of([range(200)], 200)
    assert (RandomFeaturesLearner().predict(split, subsets, split.X_val)[0] == split.y_val).mean() > 0.9
    narrow = Split.from_arrays(X[:200, :128], y[:200], X[200:, :128], y[200:])
    assert np.array_equal(RandomFeaturesLearner(16).bind(narrow, narrow.X).split.X[:, :-16], narrow.X)


def test_no_features_are_refused():
    with pytest.raises(InputError, match="n_features"):
        RandomFeaturesLearner(0)
