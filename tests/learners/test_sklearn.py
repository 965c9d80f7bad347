from __future__ import annotations

import warnings
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import IsolationForest, RandomForestClassifier, StackingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_info, threadpool_limits

from cdvm.data.split import Split
from cdvm.errors import InputError
from cdvm.learners import make_learner, sklearn
from cdvm.learners.sklearn import SklearnLearner
from cdvm.sampling import Design, Subsets


@pytest.fixture(scope="module")
def digits() -> Split:
    X, y = load_digits(return_X_y=True)
    return Split.from_arrays(X[:600], y[:600], validation_size=0.3, random_state=0)


def test_each_model_is_the_estimator_fitted_on_its_rows(digits):
    subsets = Design(digits.n_rows, 0.2, "bootstrap", seed=1).take(range(5))
    answer = SklearnLearner(GaussianNB()).predict(digits, subsets, digits.X_val)
    for k in range(5):
        rows = subsets.rows(k)
        expected = GaussianNB().fit(digits.X[rows], digits.y[rows]).predict(digits.X_val)
        np.testing.assert_array_equal(answer[k], expected)
    assert answer.dtype == np.int32


def test_open_random_states_follow_from_the_models_number(digits):
    learner = SklearnLearner(DecisionTreeClassifier(max_features=3))
    subsets = Design(digits.n_rows, 0.3, seed=1).take(range(6))
    whole = learner.predict(digits, subsets, digits.X_val)
    np.testing.assert_array_equal(learner.predict(digits, subsets[[4, 1]], digits.X_val), whole[[4, 1]])
    same_rows = Subsets.of([subsets.rows(0)] * 4, digits.n_rows, seed=1)
    assert len(np.unique(learner.predict(digits, same_rows, digits.X_val), axis=0)) == 4
    other_seed = Subsets(subsets.members, subsets.models, seed=2)
    assert (learner.predict(digits, other_seed, digits.X_val) != whole).any()


def test_a_given_random_state_is_kept(digits):
    learner = SklearnLearner(DecisionTreeClassifier(max_features=3, random_state=0))
    same_rows = Subsets.of([range(300)] * 3, digits.n_rows)
    assert len(np.unique(learner.predict(digits, same_rows, digits.X_val), axis=0)) == 1


def test_random_states_inside_pipelines_are_set(digits):
    learner = SklearnLearner(make_pipeline(StandardScaler(), DecisionTreeClassifier(max_features=3)))
    same_rows = Subsets.of([range(300)] * 3, digits.n_rows)
    assert len(np.unique(learner.predict(digits, same_rows, digits.X_val), axis=0)) == 3
    assert learner.estimator.get_params()["decisiontreeclassifier__random_state"] is None


def test_sets_no_model_can_learn_from(digits):
    threes = np.flatnonzero(digits.y == 3)
    subsets = Subsets.of([[], threes[:1], threes, range(200)], digits.n_rows)
    trainer = SklearnLearner(LogisticRegression(max_iter=200)).bind(digits, digits.X_val)
    answer = trainer.predict(subsets)
    assert (answer[0] == np.bincount(digits.y).argmax()).all()
    assert (answer[1:3] == 3).all()
    assert len(np.unique(answer[3])) == 10
    scores = trainer.scores(subsets)
    np.testing.assert_array_equal(scores.argmax(axis=2), answer)
    np.testing.assert_array_equal(np.unique(scores[1]), [0, 1])


@pytest.mark.parametrize(
    "estimator", [LogisticRegression(max_iter=500), SVC(), DecisionTreeClassifier(random_state=0)]
)
def test_scores_rank_classes_as_predictions_do(digits, estimator):
    without_some = np.flatnonzero(digits.y < 7)
    subsets = Subsets.of([range(150), without_some[:150]], digits.n_rows)
    trainer = SklearnLearner(estimator).bind(digits, digits.X_val)
    scores = trainer.scores(subsets)
    assert scores.shape == (2, len(digits.y_val), 10)
    assert (scores.argmax(axis=2) == trainer.predict(subsets)).mean() > 0.98
    assert (scores[1, :, 7:] <= scores[1].min(axis=1, keepdims=True)).all()


def test_two_class_scores_have_two_columns(digits):
    two = digits.y < 2
    split = Split.from_arrays(digits.X[two], digits.y[two], random_state=0)
    trainer = SklearnLearner(LogisticRegression()).bind(split, split.X_val)
    scores = trainer.scores(Subsets.of([range(40)], split.n_rows))
    np.testing.assert_array_equal(scores[0, :, 0], -scores[0, :, 1])


def test_regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    split = Split.from_arrays(X, X @ [1.0, 2.0, 3.0], task="regression", random_state=0)
    answer = SklearnLearner(Ridge(alpha=1e-6)).predict(
        split, Subsets.of([range(30), []], split.n_rows), split.X_val
    )
    np.testing.assert_allclose(answer[0], split.y_val, atol=1e-4)
    np.testing.assert_allclose(answer[1], split.y.mean())


def test_what_cannot_be_done_is_named(digits):
    with pytest.raises(InputError, match=r"has no fit\(\)"):
        SklearnLearner(object())
    with pytest.raises(
        InputError, match=r"learner=Ridge\(\) is a regressor and does not fit a classification split"
    ):
        SklearnLearner(Ridge()).bind(digits, digits.X_val)
    subsets = Subsets.of([range(100)], digits.n_rows, first=12)
    pairs = SklearnLearner(SVC(decision_function_shape="ovo")).bind(digits, digits.X_val)
    with pytest.raises(InputError, match="decision_function_shape='ovr'"):
        pairs.scores(subsets)
    few = Subsets.of([[0, 1, 2, 3]], digits.n_rows, first=12)
    with pytest.raises(InputError, match=r"KNeighborsClassifier cannot be used on the 4 rows of model 12"):
        SklearnLearner(KNeighborsClassifier(9)).predict(digits, few, digits.X_val)


def test_scores_need_an_estimator_that_has_them(digits):
    class Silent(DummyClassifier):
        predict_proba = property()  # type: ignore[assignment]

    with pytest.raises(InputError, match=r"neither decision_function nor predict_proba"):
        SklearnLearner(Silent()).bind(digits, digits.X_val).scores(Subsets.of([range(50)], digits.n_rows))


def test_an_estimator_that_predicts_once_it_is_fitted(digits):
    stack = StackingClassifier(
        [("tree", DecisionTreeClassifier(random_state=0)), ("naive", GaussianNB())], cv=3
    )
    assert not hasattr(stack, "predict")
    rows = np.arange(200)
    trainer = make_learner(stack).bind(digits, digits.X_val)
    fitted = clone(stack).fit(digits.X[rows], digits.y[rows])
    subsets = Subsets.of([rows], digits.n_rows)
    np.testing.assert_array_equal(trainer.predict(subsets)[0], fitted.predict(digits.X_val))
    expected = fitted.decision_function(digits.X_val)
    np.testing.assert_allclose(trainer.scores(subsets)[0], expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(
        trainer.probabilities(subsets)[0], fitted.predict_proba(digits.X_val), atol=1e-4
    )


def test_spec_describes_nested_estimators_by_their_parameters():
    spec = SklearnLearner(make_pipeline(StandardScaler(), SVC(C=2.0))).spec()
    assert spec["params"]["svc__C"] == "2.0"
    assert spec == SklearnLearner(make_pipeline(StandardScaler(), SVC(C=2.0))).spec()
    assert spec != SklearnLearner(make_pipeline(StandardScaler(), SVC(C=3.0))).spec()


class Strict(ClassifierMixin, BaseEstimator):
    """Nearest class mean that, like some libraries, takes labels 0 to k - 1 only and warns of each fit."""

    def fit(self, X, y):
        if set(y) != set(range(len(set(y)))):
            raise RuntimeError(f"labels must be 0..k-1\nnot {sorted(set(y))}")
        warnings.warn("few rows", RuntimeWarning, stacklevel=1)
        self.classes_ = np.unique(y)
        self.means_ = np.stack([X[y == c].mean(axis=0) for c in self.classes_])
        return self

    def predict_proba(self, X):
        near = 1 / (1e-9 + ((X[:, None] - self.means_) ** 2).sum(axis=2))
        warnings.warn("a guess", UserWarning, stacklevel=1)
        return near / near.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


def test_labels_are_counted_anew_where_a_subset_lacks_classes(digits):
    some = np.flatnonzero(np.isin(digits.y, [2, 5, 9]))[:60]
    trainer = SklearnLearner(Strict()).bind(digits, digits.X_val)
    answer = trainer.predict(Subsets.of([some, range(200)], digits.n_rows))
    means = {c: digits.X[some][digits.y[some] == c].mean(axis=0) for c in (2, 5, 9)}
    nearest = [min(means, key=lambda c: ((x - means[c]) ** 2).sum()) for x in digits.X_val]
    assert answer[0].tolist() == nearest
    assert len(np.unique(answer[1])) == 10
    scores = trainer.scores(Subsets.of([some], digits.n_rows))[0]
    assert (scores.argmax(axis=1) == nearest).all()
    assert (scores[:, [0, 1, 3, 4, 6, 7, 8]] == 0).all()


def test_weights_of_classes_keep_their_classes(digits):
    some = np.flatnonzero(np.isin(digits.y, [1, 8]))[:40]
    heavy = {c: 1e4 if c == 8 else 1e-4 for c in range(10)}
    answer = SklearnLearner(LogisticRegression(class_weight=heavy)).predict(
        digits, Subsets.of([some], digits.n_rows), digits.X_val
    )
    assert (answer == 8).all()


def test_warnings_of_single_fits_are_not_shown(digits):
    learner = SklearnLearner(Strict())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trainer = learner.bind(digits, digits.X_val)
        trainer.predict(Subsets.of([range(100)], digits.n_rows))
        trainer.scores(Subsets.of([range(100)], digits.n_rows))


def test_an_error_of_another_library_names_the_model_in_one_line(digits):
    class Proud(GaussianNB):
        def fit(self, X, y):
            raise KeyError("no\nstack trace, please")

    with pytest.raises(InputError, match=r"Proud cannot be used on the 30 rows of model 4: 'no") as caught:
        SklearnLearner(Proud()).predict(digits, Subsets.of([range(30)], digits.n_rows, first=4), digits.X_val)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (KMeans(3), r"learner=KMeans\(n_clusters=3\) is a clusterer: pass a classifier or a regressor"),
        (make_pipeline(StandardScaler(), KMeans(3)), "is a clusterer"),
        (IsolationForest(), "is an outlier detector"),
        (GaussianMixture(), "is a density estimator"),
        (StandardScaler(), r"learner=StandardScaler\(\) has no predict\(\)"),
        (make_pipeline(StandardScaler(), PCA()), r"has no predict\(\)"),
        (None, r"learner=None has no fit\(\)"),
    ],
    ids=lambda e: type(e).__name__ if not isinstance(e, str) else "",
)
def test_what_does_not_predict_classes_or_targets_is_refused(estimator, message):
    with pytest.raises(InputError, match=message) as caught:
        make_learner(estimator)
    assert "\n" not in str(caught.value)


def test_an_estimator_without_scikit_learns_base_classes_is_a_classifier(digits):
    class Plain:
        def get_params(self, deep=True):
            return {}

        def set_params(self, **params):
            return self

        def fit(self, X, y):
            self.most_ = np.bincount(y).argmax()
            return self

        def predict(self, X):
            return np.full(len(X), self.most_)

    learner = SklearnLearner(Plain())
    assert learner.task == "classification"
    sevens = np.flatnonzero(digits.y == 7)[:20]
    answer = learner.predict(digits, Subsets.of([[*sevens, 0]], digits.n_rows), digits.X_val)
    assert (answer == 7).all()


def test_estimators_get_one_thread_each(digits):
    forest = make_pipeline(StandardScaler(), RandomForestClassifier(2, n_jobs=2))
    trainer = SklearnLearner(forest).bind(digits, digits.X_val)
    assert trainer.estimator.get_params()["randomforestclassifier__n_jobs"] == 1
    assert forest.get_params()["randomforestclassifier__n_jobs"] == 2


class Threads(ClassifierMixin, BaseEstimator):
    """Notes how many threads libraries may use while it learns."""

    seen: ClassVar[list[int]] = []

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.seen.append(max(library["num_threads"] for library in threadpool_info()))
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


@pytest.mark.parametrize(("few", "threads"), [(sklearn._FEW, 1), (100, 2)])
def test_a_model_of_few_numbers_has_one_thread_also_alone(digits, monkeypatch, few, threads):
    monkeypatch.setattr(sklearn, "_FEW", few)
    Threads.seen.clear()
    with threadpool_limits(2):
        SklearnLearner(Threads()).predict(digits, Subsets.of([range(100)], digits.n_rows), digits.X_val)
    assert Threads.seen == [threads]
