from itertools import combinations
from math import comb

import numpy as np
import pytest
from scipy.stats import binom
from valuation_games import TableGame

from cdvm.valuation import Game
from cdvm.valuation.semivalues import banzhaf_weights, beta_weights, enumerate_values, position_weights


@pytest.mark.parametrize(("alpha", "beta"), [(1, 1), (16, 1), (1, 4)])
def test_weights_are_a_distribution(alpha, beta):
    sets = [comb(11, size) for size in range(12)]
    assert beta_weights(12, alpha, beta) @ sets == pytest.approx(1)
    assert position_weights(12, alpha, beta).mean() == pytest.approx(1)
    assert np.allclose(position_weights(12, alpha, beta), 12 * np.array(sets) * beta_weights(12, alpha, beta))


@pytest.mark.parametrize("inclusion", [0.03, 0.5])
def test_banzhaf_weights_are_the_chances_of_each_set(inclusion):
    weights = banzhaf_weights(12, inclusion)
    chances = [comb(11, size) * weight for size, weight in enumerate(weights)]
    np.testing.assert_allclose(chances, binom.pmf(range(12), 11, inclusion))


def test_enumeration_is_the_definition_for_any_weights(rng, monkeypatch):
    game, weights = TableGame(rng.standard_normal(32)), rng.random(5)
    expected = np.zeros(5)
    for i in range(5):
        others = [j for j in range(5) if j != i]
        for rows in (rows for size in range(5) for rows in combinations(others, size)):
            expected[i] += weights[len(rows)] * (game.of((*rows, i)) - game.of(rows))
    np.testing.assert_allclose(enumerate_values(Game(5, game), weights), expected)
    monkeypatch.setattr("cdvm.valuation.semivalues._AT_ONCE", 7)
    np.testing.assert_allclose(enumerate_values(Game(5, game), weights), expected)
