import numpy as np
import pytest

from cdvm.errors import InputError
from cdvm.valuation.stopping import (
    Estimate,
    RankStability,
    StandardError,
    at_most,
    in_rounds,
    make_rule,
    rank_correlation,
)


def estimate(stderr=0.1, count=100, halves=None):
    ramp = np.arange(5.0)
    return Estimate(ramp, np.full(5, stderr), np.full(5, count), halves or (ramp, ramp))


def test_no_variance_at_the_start_is_no_convergence():
    assert StandardError(0.01).completion(estimate(stderr=0.0, count=3)) == pytest.approx(0.1)
    assert RankStability(0.9).completion(estimate(count=6)) == pytest.approx(0.2)
    assert StandardError(0.01).completion(estimate(stderr=0.0, count=30)) == 1
    assert RankStability(0.9).completion(estimate(count=30)) == 1


def test_the_worst_row_decides():
    good = estimate(stderr=0.001)
    assert StandardError(0.01).completion(good) == 1
    good.stderr[2] = 0.1
    assert StandardError(0.01).completion(good) == pytest.approx(0.01)
    good.stderr[3] = np.nan
    assert StandardError(0.01).completion(good) == 0


def test_rank_stability_looks_at_ranks_only():
    ramp = np.arange(5.0)
    assert RankStability(0.9).completion(estimate(halves=(ramp, np.exp(ramp)))) == 1
    assert RankStability(0.9).completion(estimate(halves=(ramp, -ramp))) == 0
    assert RankStability(0.9).completion(estimate(halves=(ramp, np.zeros(5)))) == 0


def test_rank_correlation_agrees_with_scipy():
    from scipy.stats import spearmanr

    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 6, 40) * 1.0, rng.standard_normal(40)
    assert rank_correlation(a, b) == pytest.approx(spearmanr(a, b).statistic)


def test_rules_combine():
    met, unmet = StandardError(1.0), StandardError(1e-3)
    assert (met | unmet).completion(estimate()) == 1
    assert (met & unmet).completion(estimate()) < 1


def test_rounds_end_when_the_rule_is_met_or_samples_run_out():
    taken = []

    def sample(first, last):
        taken.append((first, last))

    def so_far():
        return estimate(stderr=1 / taken[-1][1], count=taken[-1][1])

    options = {"plan": at_most(95, 20), "what": "models", "progress": False}
    assert in_rounds(sample, so_far, stop=StandardError(0.02), **options) == (60, True)
    assert taken == [(0, 20), (20, 40), (40, 60)]
    taken.clear()
    assert in_rounds(sample, so_far, stop=StandardError(1e-4), **options) == (95, False)
    assert taken[-1] == (80, 95)
    assert in_rounds(sample, so_far, stop=None, **options) == (95, None)


def test_rules_are_made_from_their_goals():
    assert make_rule() is None
    assert make_rule(error=0.1) == StandardError(0.1)
    assert make_rule(stable=0.8) == RankStability(0.8)
    assert make_rule(1.0, 0.8).completion(estimate(halves=(np.arange(5.0), -np.arange(5.0)))) == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: StandardError(0.0),
        lambda: StandardError(0.1, burn_in=1),
        lambda: RankStability(1.0),
        lambda: RankStability(0.9, burn_in=0),
    ],
)
def test_goals_that_cannot_be_met_are_refused(make):
    with pytest.raises(InputError, match="use"):
        make()
