import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from valuation_games import LARGE, PAPER, UNEVEN, all_subsets, blobs, chance, with_one_and_two_jobs

from cdvm.attribution.implicit import ImplicitAttribution
from cdvm.data.split import Split
from cdvm.errors import InputError, InputWarning, StoreError
from cdvm.learners import make_learner
from cdvm.outcomes.recorded import Outcomes
from cdvm.outcomes.recording import record_outcomes
from cdvm.sampling import Design
from cdvm.valuation import RankStability, StandardError, banzhaf_from_outcomes
from cdvm.valuation.banzhaf import banzhaf


@pytest.mark.parametrize("game", [PAPER, UNEVEN])
@pytest.mark.parametrize("inclusion", [0.5, 0.1])
def test_exact_values_of_clusters_have_a_closed_form(game, inclusion):
    values = banzhaf(8, game, inclusion=inclusion)
    assert np.abs(values.values - game.banzhaf(inclusion)).max() < 1e-10
    assert values.meta["exact"]


@pytest.mark.parametrize("inclusion", [0.5, 0.2])
def test_sampled_values_lie_within_four_standard_errors(inclusion):
    values = banzhaf(20, LARGE, n_models=4000, inclusion=inclusion, seed=2)
    assert (np.abs(values.values - LARGE.banzhaf(inclusion)) < 4 * values.stderr).all()
    assert values.stderr.max() < 0.02
    assert not values.meta["exact"]


def naive(members, outcomes):
    """Mean outcome with the row less mean outcome without, row by row and model by model."""
    values = []
    for i in range(members.shape[1]):
        inside, outside = [], []
        for t in range(len(members)):
            (inside if members[t, i] else outside).append(outcomes[t].mean())
        values.append(np.mean(inside) - np.mean(outside))
    return np.array(values)


def test_agrees_with_a_double_loop():
    split = blobs(25, gap=1.0)
    design = Design(25, 0.3, seed=1)
    values = banzhaf(split, "naive_bayes", n_models=80, inclusion=0.3, seed=1, n_jobs=1)
    subsets = design.take(range(80))
    right = make_learner("naive_bayes").predict(split, subsets, split.X_val) == split.y_val
    assert np.allclose(values.values, naive(subsets.members.toarray(), right), atol=1e-6)
    assert np.array_equal(values.counts, subsets.members.sum(axis=0))


def test_existing_outcomes_give_the_same_values_for_free():
    split = blobs(25)
    learner = make_learner("naive_bayes")
    outcomes = record_outcomes(split, learner, Design(25, 0.3), range(60), n_jobs=1)
    free = banzhaf_from_outcomes(outcomes, split)
    attribution = ImplicitAttribution.from_outcomes(outcomes)
    assert np.array_equal(free.values, attribution.values())
    assert np.array_equal(free.stderr, attribution.values_stderr())
    trained = banzhaf(split, learner, n_models=60, inclusion=0.3, n_jobs=1)
    assert np.array_equal(free.values, trained.values)


def test_values_do_not_depend_on_jobs():
    split = blobs(25, gap=1.0)
    one, two = with_one_and_two_jobs(
        lambda jobs: banzhaf(split, "naive_bayes", n_models=120, n_jobs=jobs).values
    )
    assert np.array_equal(one, two)


def test_a_run_goes_on_from_its_store(tmp_path):
    split = blobs(25, gap=1.0)
    banzhaf(split, "naive_bayes", n_models=60, store=tmp_path / "s", n_jobs=1)
    longer = banzhaf(split, "naive_bayes", n_models=100, store=tmp_path / "s", n_jobs=1)
    at_once = banzhaf(split, "naive_bayes", n_models=100, n_jobs=1)
    assert np.array_equal(longer.values, at_once.values)
    assert Outcomes.load(tmp_path / "s").n_models == 100
    with pytest.raises(StoreError, match="inclusion"):
        banzhaf(split, "naive_bayes", inclusion=0.2, n_models=100, store=tmp_path / "s", n_jobs=1)


def test_stopping_rules_end_a_run_early(tmp_path):
    split = blobs(25, gap=1.0)
    rule = StandardError(0.03)
    short = banzhaf(split, "naive_bayes", n_models=5000, stop=rule, store=tmp_path / "s", n_jobs=1)
    assert short.meta["converged"]
    assert short.meta["fits"] < 5000
    assert short.stderr.max() <= 0.03
    fixed = banzhaf(split, "naive_bayes", n_models=short.meta["fits"], n_jobs=1)
    assert np.array_equal(short.values, fixed.values)
    assert banzhaf(20, LARGE, n_models=3000, stop=RankStability(0.9), seed=1).meta["converged"]
    assert banzhaf(20, LARGE, n_models=200, stop=StandardError(1e-6)).meta["converged"] is False


def test_ranks_of_pure_chance_are_never_stable():
    assert banzhaf(20, chance, n_models=500, stop=RankStability(0.8)).meta["converged"] is False


def test_exact_is_the_mean_over_all_subsets():
    worth = UNEVEN(all_subsets(8))
    inside = np.arange(256)[:, None] >> np.arange(8) & 1
    expected = [worth[inside[:, i] == 1].mean() - worth[inside[:, i] == 0].mean() for i in range(8)]
    assert np.allclose(banzhaf(8, UNEVEN, exact=True).values, expected)


def test_regression_is_valued_by_squared_error():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 1))
    y = 3 * X[:, 0]
    y[0] += 20
    split = Split.from_arrays(X, y, X, 3 * X[:, 0], task="regression")
    values = banzhaf(split, "ridge_regression", n_models=300, n_jobs=1)
    assert values.values.argmin() == 0


@pytest.mark.parametrize("inclusion", [0.0, 1.0, -0.5, 2.0])
def test_inclusion_must_be_a_proper_probability(inclusion):
    with pytest.raises(InputError, match=f"inclusion={inclusion}"):
        banzhaf(8, PAPER, inclusion=inclusion)


def test_few_existing_outcomes_are_used_with_a_warning(split):
    learner = make_learner("naive_bayes")
    few = record_outcomes(split, learner, Design(60, 0.5), range(4), n_jobs=1)
    with pytest.warns(InputWarning, match="rows are in all or in none"):
        banzhaf_from_outcomes(few)
    one = record_outcomes(split, learner, Design(60, 0.5), range(1), n_jobs=1)
    with pytest.raises(InputError, match="every row"):
        banzhaf_from_outcomes(one)


def test_a_utility_keeps_no_store(tmp_path):
    with pytest.raises(InputError, match="store="):
        banzhaf(20, LARGE, store=tmp_path / "s")


def test_margins_can_be_valued_and_need_scores():
    split = blobs(25, gap=1.0)
    options = {"n_models": 60, "outcome": "margin", "n_jobs": 1}
    margins = banzhaf(split, "naive_bayes", **options).values
    assert not np.allclose(margins, banzhaf(split, "naive_bayes", n_models=60, n_jobs=1).values)
    with pytest.raises(InputError, match="SignOnly has neither decision_function nor predict_proba"):
        banzhaf(split, SignOnly(), **options)


class SignOnly(ClassifierMixin, BaseEstimator):
    """A classifier without scores: the sign of the first feature."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[(X[:, 0] > 0).astype(int)]


def test_exact_values_are_of_accuracy_only():
    with pytest.raises(InputError, match="exact=True"):
        banzhaf(blobs(8), "naive_bayes", exact=True, outcome="margin")
