"""Every learner says truthfully whether two fits on the same rows may differ."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import RBFSampler
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from cdvm import PaperLearner, Subsets, TorchLearner, learner_names, make_learner
from cdvm.learners.pipeline import PipelineLearner
from cdvm.pruner.memory_plan import MemoryPlan

TREE = DecisionTreeClassifier(max_features=2, random_state=0)


class Restless(ClassifierMixin, BaseEstimator):
    """Draws from the process's generator and says so."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.random.randint(2, size=len(X))  # noqa: NPY002


def search(cv):
    return GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2, 3, 5]}, cv=cv)


QUIET = {
    **{name: name for name in learner_names() if not name.endswith("_regression")},
    "tree": TREE,
    "forest": RandomForestClassifier(3, random_state=1),
    "network": MLPClassifier((4,), max_iter=5, random_state=2),
    "generator": DecisionTreeClassifier(max_features=2, random_state=np.random.RandomState(3)),
    "pipeline": make_pipeline(StandardScaler(), TREE),
    "fast pipeline": make_pipeline(Normalizer(), KNeighborsClassifier()),
    "random step": make_pipeline(RBFSampler(n_components=5, random_state=1), GaussianNB()),
    "folds": search(KFold(2, shuffle=True, random_state=1)),
    "plain folds": search(KFold(2)),
}
RANDOM = {
    "paper": PaperLearner(epochs=2),
    "tree": DecisionTreeClassifier(max_features=2),
    "pipeline": make_pipeline(StandardScaler(), DecisionTreeClassifier(max_features=2)),
    "random step": make_pipeline(RBFSampler(n_components=5), GaussianNB()),
    "folds": search(KFold(2, shuffle=True)),
    "paper in a pipeline": PipelineLearner(make_pipeline(Normalizer(), SVC()), PaperLearner(epochs=2)),
}


def answers(learner, split):
    """Of models on the same rows with other seeds and other numbers."""
    same = [np.arange(0, split.n_rows, 2)]
    found = [
        learner.predict(split, Subsets.of(same, split.n_rows, seed=seed, first=first), split.X_val)
        for seed, first in ((0, 0), (1, 0), (0, 7), (5, 3), (6, 2), (7, 1))
    ]
    return np.concatenate(found)


@pytest.mark.parametrize("name", QUIET)
def test_a_learner_without_randomness_gives_the_same_bits_for_every_seed(wine, name):
    learner = make_learner(QUIET[name])
    if learner.stochastic:
        assert name in learner_names()  # their random states are open; all others here must not say so
        return
    found = answers(learner, wine)
    assert (found == found[0]).all()


@pytest.mark.parametrize("name", RANDOM)
def test_randomness_that_follows_the_seed_is_declared(wine, name):
    learner = make_learner(RANDOM[name])
    assert learner.stochastic
    assert MemoryPlan(None, 1, models_at_once=3).bounded(learner).stochastic
    found = answers(learner, wine)
    assert (found != found[0]).any()
    assert (answers(learner, wine) == found).all()


def test_an_estimator_that_says_it_is_random_is_believed():
    assert make_learner(Restless()).stochastic


def test_frozen_randomness_is_none(wine):
    frozen = FrozenEstimator(RBFSampler(n_components=5).fit(wine.X))
    assert not make_learner(make_pipeline(frozen, GaussianNB())).stochastic


@pytest.mark.parametrize("settings", [{}, {"init_seed": 1, "batch_size": 8}], ids=["weights", "batches"])
def test_modules_of_pytorch_follow_the_seed_and_say_so(wine, settings):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install cdvm[torch]")
    torch.set_num_threads(1)
    learner = TorchLearner(lambda: torch.nn.Linear(13, 3), epochs=2, **settings)
    assert learner.stochastic
    found = answers(learner, wine)
    assert (found != found[0]).any()
