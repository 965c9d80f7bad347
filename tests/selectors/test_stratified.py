import numpy as np

from cdvm.selectors import stratified
from cdvm.selectors.base import allocate


def test_stratified_draws_every_row_equally_often(clouds):
    counts = np.zeros(90)
    for seed in range(400):
        counts[stratified(clouds, 30, random_state=seed)] += 1
    for k in range(3):
        mine = clouds.y == k
        expected = 400 * allocate(np.bincount(clouds.y), 30)[k] / mine.sum()
        deviation = np.sqrt(expected * (1 - expected / 400))
        assert np.abs(counts[mine] - expected).max() < 5 * deviation
