"""What every trainer does with training sets that no model can learn from."""

from __future__ import annotations

import numpy as np
import pytest
from cases import draw, split_of
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from cdvm.errors import InputError
from cdvm.learners import make_learner
from cdvm.learners.base import class_counts, constant_models, degenerate
from cdvm.sampling import Subsets


@pytest.fixture
def split():
    return split_of("wine")


@pytest.fixture
def sets(split):
    """A set of all classes, one of two, one of one class, and none."""
    two = np.flatnonzero(split.y != 1)[:20]
    return Subsets.of([range(60), two, np.flatnonzero(split.y == 2)[:5], []], split.n_rows)


def test_rows_of_each_class_are_counted_as_often_as_they_occur(split):
    subsets = draw(8, kind="bootstrap")
    expected = [np.bincount(split.y[subsets.rows(k)], minlength=3) for k in range(8)]
    np.testing.assert_array_equal(class_counts(split, subsets), expected)


def test_sets_without_two_classes_answer_with_the_only_or_the_most_frequent(split, sets):
    constant, free = degenerate(split, sets)
    assert free.tolist() == [True, True, False, False]
    assert constant[2:].tolist() == [2, np.bincount(split.y).argmax()]
    assert degenerate(split, sets[:2]) is None
    trainer = make_learner("ridge").bind(split, split.X_val)
    labels, scores = trainer.predict(sets), trainer.scores(sets)
    np.testing.assert_array_equal(labels[:2], trainer.predict(sets[:2]))
    for k in (2, 3):
        assert set(labels[k]) == {constant[k]}
        np.testing.assert_array_equal(scores[k], np.eye(3)[[constant[k]] * len(split.X_val)])


def test_targets_need_one_row_and_get_the_mean_without():
    split = split_of("regression", "regression")
    constant, free = degenerate(split, Subsets.of([[3], []], split.n_rows))
    assert free.tolist() == [True, False]
    np.testing.assert_allclose(constant, split.y.mean())
    assert degenerate(split, Subsets.of([[3]], split.n_rows)) is None


def test_models_that_answer_all_rows_alike_have_learnt_nothing(split, sets):
    trainer = make_learner("ridge").bind(split, split.X_val)
    labels = trainer.predict(sets)
    assert constant_models(trainer, sets, labels).tolist() == [False, False, True, True]
    labels[1] = 2
    assert constant_models(trainer, sets, labels).tolist() == [False, True, True, True]
    # of one row nothing can be told but from the set
    assert constant_models(trainer, sets, labels[:, :1]).tolist() == [False, False, True, True]
    scores = trainer.scores(sets)
    assert constant_models(trainer, sets, scores).tolist() == [False, False, True, True]


def test_probabilities_are_those_of_the_scores_and_0_for_a_class_never_seen(split, sets):
    trainer = make_learner("logistic").bind(split, split.X_val)
    found = trainer.probabilities(sets)
    np.testing.assert_allclose(found.sum(axis=2), 1, rtol=1e-5)
    np.testing.assert_allclose(found[0], softmax(trainer.scores(sets)[0], axis=1), rtol=1e-4, atol=1e-6)
    rows = sets.rows(1)
    peer = LogisticRegression(tol=1e-8, max_iter=2000).fit(split.X[rows], split.y[rows])
    np.testing.assert_allclose(found[1][:, [0, 2]], peer.predict_proba(split.X_val), atol=1e-3)
    assert found[1][:, 1].max() < 1e-6
    with pytest.raises(InputError, match="ridge models give no probabilities"):
        make_learner("ridge").bind(split, split.X_val).probabilities(sets)
