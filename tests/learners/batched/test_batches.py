from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from cdvm.learners.batched.batches import epoch_orders, initial_weights, padded_sizes
from cdvm.sampling import Design


def test_orders_differ_between_epochs_and_models():
    subsets = Design(400, 1.0, "bootstrap", seed=2).take(range(3))
    orders = [epoch_orders(subsets, k, 5) for k in range(3)]
    for k, order in enumerate(orders):
        np.testing.assert_array_equal(np.sort(order, axis=1), np.tile(subsets.rows(k), (5, 1)))
        assert len(np.unique(order, axis=0)) == 5
    np.testing.assert_array_equal(epoch_orders(subsets[[2]], 0, 5), orders[2])


def test_initial_weights_are_uniform_and_follow_the_seed():
    start = initial_weights(7, 20, 400)
    assert start.shape == (20, 401)
    assert kstest(start.ravel() * 20, "uniform", args=(-1, 2)).pvalue > 0.01
    np.testing.assert_array_equal(start, initial_weights(7, 20, 400))
    assert (start != initial_weights(8, 20, 400)).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 700), st.integers(1, 300))
def test_only_the_last_batch_is_padded_and_only_a_little(size, batch):
    (padded,) = padded_sizes(np.array([size]), batch)
    whole, rest = divmod(size, batch)
    assert size <= padded < size + 64
    assert -(-padded // batch) == -(-size // batch)
    assert rest or padded == size
    if not whole and size <= 64:
        assert padded == min(batch, -(-size // 8) * 8)
