from dataclasses import replace

import numpy as np
import pytest
from valuation_games import PAPER, blobs, with_one_and_two_jobs

from cdvm.attribution.implicit import ImplicitAttribution
from cdvm.data.split import Split
from cdvm.errors import InputError
from cdvm.learners import make_learner
from cdvm.outcomes.recording import record_outcomes
from cdvm.sampling import Design
from cdvm.valuation import RankStability, StandardError, flip_split, record_bootstrap
from cdvm.valuation.out_of_bag import _estimate_oob, memorization, out_of_bag


@pytest.fixture(scope="module")
def noisy():
    return flip_split(blobs(40, gap=2.0), 0.1, seed=1)[0]


@pytest.fixture(scope="module")
def outcomes(noisy):
    return record_bootstrap(noisy, "neighbors", n_models=120, n_jobs=1)


def test_values_agree_with_a_loop_over_models_and_rows(noisy, outcomes):
    subsets = Design(40, 1.0, "bootstrap").take(range(120))
    right = make_learner("neighbors").predict(noisy, subsets, noisy.X) == noisy.y
    inside = subsets.members.toarray() > 0
    oob = np.array([right[~inside[:, i], i].mean() for i in range(40)])
    bag = np.array([right[inside[:, i], i].mean() for i in range(40)])
    found = out_of_bag(noisy, outcomes=outcomes)
    assert np.allclose(found.values, oob)
    assert np.array_equal(found.counts, (~inside).sum(axis=0))
    error = [right[~inside[:, i], i].std(ddof=1) / np.sqrt((~inside[:, i]).sum()) for i in range(40)]
    assert np.allclose(found.stderr, error)
    assert np.allclose(memorization(noisy, outcomes=outcomes).values, bag - oob)


def test_memorization_is_the_diagonal_of_the_attribution(noisy, outcomes):
    attribution = ImplicitAttribution.from_outcomes(outcomes)
    values = memorization(noisy, outcomes=outcomes)
    assert np.allclose(values.values, np.diag(attribution.dense()))
    assert np.allclose(values.stderr, np.diag(attribution.stderr()), equal_nan=True)


def test_one_store_serves_both(noisy, tmp_path, outcomes):
    options = {"n_models": 120, "store": tmp_path / "s", "n_jobs": 1}
    low = out_of_bag(noisy, "neighbors", **options)
    files = sorted(p.name for p in (tmp_path / "s").iterdir())
    high = memorization(noisy, "neighbors", **options)
    assert sorted(p.name for p in (tmp_path / "s").iterdir()) == files
    assert np.array_equal(low.values, out_of_bag(noisy, outcomes=outcomes).values)
    assert np.array_equal(high.values, memorization(noisy, outcomes=outcomes).values)


def test_halves_are_the_values_of_even_and_of_odd_models(noisy, outcomes):
    for k, half in enumerate(_estimate_oob(outcomes).halves):
        part = replace(outcomes, models=outcomes.models[k::2], data=outcomes.data[k::2])
        assert np.array_equal(half, out_of_bag(noisy, outcomes=part).values)


def test_values_do_not_depend_on_jobs(noisy):
    one, two = with_one_and_two_jobs(
        lambda jobs: out_of_bag(noisy, "naive_bayes", n_models=60, n_jobs=jobs).values
    )
    assert np.array_equal(one, two)


def test_stopping_rules_end_a_run_early(noisy):
    values = out_of_bag(noisy, "naive_bayes", n_models=5000, stop=StandardError(0.12), n_jobs=1)
    assert values.meta["converged"]
    assert values.meta["fits"] < 5000
    stable = memorization(noisy, "naive_bayes", n_models=1000, stop=RankStability(0.5), n_jobs=1)
    assert stable.meta["converged"]


def test_regression_values_are_negative_squared_errors():
    X = np.linspace(-1, 1, 30)[:, None]
    y = 2 * X[:, 0]
    y[3] = 9.0
    split = Split.from_arrays(X, y, X, y, task="regression")
    values = out_of_bag(split, "ridge_regression", n_models=60, n_jobs=1).values
    assert values.argmin() == 3
    assert values.max() <= 0


def test_too_few_models_are_refused_with_the_number_needed(noisy):
    with pytest.raises(InputError, match=r"n_models=2: .* at least \d+ models"):
        out_of_bag(noisy, "naive_bayes", n_models=2)


def test_outcomes_on_validation_rows_are_refused(noisy):
    learner = make_learner("naive_bayes")
    other = record_outcomes(blobs(40, n_val=30), learner, Design(40, 0.5), range(20), n_jobs=1)
    with pytest.raises(InputError, match="record_bootstrap"):
        out_of_bag(noisy, outcomes=other)


def test_a_game_has_no_single_rows_to_evaluate(noisy):
    with pytest.raises(InputError, match="pass a Split"):
        out_of_bag(noisy, PAPER)
    with pytest.raises(InputError, match="learner=None"):
        out_of_bag(noisy)
