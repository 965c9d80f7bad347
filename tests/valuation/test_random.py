import numpy as np

from cdvm.valuation.random import random


def test_random_values_follow_from_the_seed_alone():
    assert np.array_equal(random(50, seed=4).values, random(50, "anything", seed=4).values)
    assert not np.array_equal(random(50, seed=4).values, random(50, seed=5).values)
    assert 0.4 < random(5000).values.mean() < 0.6
