"""Influence against retraining without the row."""

import numpy as np
import pytest
from scipy.special import log_softmax
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from valuation_games import classes_split, regression_split

from cdvm import InputError, Split
from cdvm.valuation.influence import influence, influence_attribution, influence_vectors


def logistic_loss(model, X, y):
    scores = model.decision_function(X)
    scores = np.column_stack([np.zeros(len(X)), scores]) if scores.ndim == 1 else scores
    return -log_softmax(scores, axis=1)[np.arange(len(y)), y]


def retrained(split, make, loss):
    """Rise of each evaluation row's loss when each row is left out; the penalty stays that of all rows."""
    rest = [np.delete(np.arange(split.n_rows), i) for i in range(split.n_rows)]
    before = loss(make().fit(split.X, split.y), split.X_val, split.y_val)
    return np.array(
        [loss(make().fit(split.X[r], split.y[r]), split.X_val, split.y_val) - before for r in rest]
    )


def half_square(model, X, y):
    return 0.5 * (model.predict(X) - y) ** 2


def test_ridge_influence_ranks_like_retraining():
    split = regression_split()
    truth = retrained(split, lambda: Ridge(alpha=2.0), half_square)
    values = influence(split, Ridge(alpha=2.0), damping=0.0).values
    assert spearmanr(values, truth.mean(axis=1)).statistic > 0.99
    # the scale agrees too, but for leverages of 5 parameters on 150 rows
    assert np.polyfit(values, truth.mean(axis=1), 1)[0] == pytest.approx(1.04, abs=0.06)


@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_influence_ranks_like_retraining(classes):
    split = classes_split(classes=classes)
    truth = retrained(split, lambda: LogisticRegression(solver="newton-cg", tol=1e-8), logistic_loss)
    damping = 0.0 if classes == 2 else 1e-9
    values = influence(split, LogisticRegression(), damping=damping).values
    assert spearmanr(values, truth.mean(axis=1)).statistic > 0.97
    T = influence_attribution(split, "logistic", damping=damping).dense()
    assert spearmanr(T.ravel(), truth.ravel()).statistic > 0.97


def test_ridge_classifier_counts_every_class():
    split = classes_split(n=150, classes=3)
    signs = 2.0 * np.eye(3) - 1.0

    def loss(model, X, y):
        return 0.5 * ((model.decision_function(X) - signs[y]) ** 2).sum(axis=1)

    truth = retrained(split, RidgeClassifier, loss)
    assert spearmanr(influence(split, "ridge", damping=0.0).values, truth.mean(axis=1)).statistic > 0.99


def test_values_are_the_mean_of_the_attribution():
    for split in (classes_split(classes=4), classes_split(n=20, d=30, classes=3)):
        T = influence_attribution(split)
        np.testing.assert_allclose(T.values(), influence(split).values, rtol=1e-7, atol=1e-14)


def test_vectors_are_the_parameter_changes_of_a_newton_step():
    split = classes_split(d=3)
    model = LogisticRegression(tol=1e-12, max_iter=5000).fit(split.X, split.y)
    X = np.column_stack([split.X, np.ones(split.n_rows)])
    p = model.predict_proba(split.X)[:, 1]
    hessian = (X * (p * (1 - p))[:, None]).T @ X / 60 + np.diag([1 / 60] * 3 + [0.0]) + 0.01 * np.eye(4)
    expected = np.linalg.solve(hessian, (X * (p - split.y)[:, None]).T).T / 60
    np.testing.assert_allclose(influence_vectors(split), expected, rtol=1e-5, atol=1e-9)


def test_an_evaluation_row_with_an_unseen_label_does_not_count():
    split = classes_split()
    with pytest.warns(UserWarning, match="never seen"):
        odd = Split.from_arrays(split.X, split.y, split.X_val, [*split.y_val[:-1], 9])
    T, plain = influence_attribution(odd).dense(), influence_attribution(split).dense()
    assert not T[:, -1].any()
    np.testing.assert_array_equal(T[:, :-1], plain[:, :-1])


def test_flipped_labels_get_the_lowest_values():
    split = classes_split(n=200, seed=3)
    flipped = np.arange(0, 200, 10)
    y = split.y.copy()
    y[flipped] = 1 - y[flipped]
    values = influence(Split.from_arrays(split.X, y, split.X_val, split.y_val)).values
    assert np.median(values[flipped]) < np.quantile(values, 0.15)


@pytest.mark.parametrize(
    "learner",
    ["random_forest", LogisticRegression(class_weight="balanced"), Ridge(alpha=[1.0, 2.0])],
)
def test_models_without_derivatives_are_refused(learner):
    split = regression_split() if isinstance(learner, Ridge) else classes_split()
    with pytest.raises(InputError, match=r"known for linear models.*TorchLearner"):
        influence(split, learner)


def test_bad_arguments_are_named():
    with pytest.raises(InputError, match="damping=-1"):
        influence(classes_split(), damping=-1)
    with pytest.raises(InputError, match="tolerance=nan"):
        influence(classes_split(), tolerance=float("nan"))
    with pytest.raises(InputError, match="max_iterations=0"):
        influence(classes_split(), max_iterations=0)
    with pytest.raises(InputError, match="regression split"):
        influence(regression_split(), "logistic")
    with pytest.raises(InputError, match="classification split"):
        influence(classes_split(), "ridge_regression")
