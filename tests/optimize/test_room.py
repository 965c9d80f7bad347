"""What there is room for."""

import numpy as np
import pytest

from cdvm import InputError
from cdvm.optimize.conditions import Conditions
from cdvm.optimize.room import fill_blocks, random_sets_within


def test_what_limits_ask_for_comes_first_then_the_order():
    conditions = Conditions.of(6, groups=list("aaabbb"), at_least={"b": 1}, at_most={"a": 2})
    assert np.flatnonzero(fill_blocks(conditions, 4, np.arange(6))).tolist() == [0, 1, 3, 4]
    assert np.flatnonzero(fill_blocks(conditions, 1, np.arange(6))).tolist() == [3]


def test_the_group_that_lacks_most_is_named():
    conditions = Conditions.of(9, groups=list("aaabbbccc"), at_least={"a": 1, "b": 3, "c": 1})
    with pytest.raises(InputError, match="with 3 of group 'b'"):
        fill_blocks(conditions, 1, np.arange(9))


def test_random_sets_fulfil_the_conditions_and_follow_the_seed():
    conditions = Conditions.of(30, groups=np.arange(30) % 3, at_least=2, at_most=5, keep=[7], drop=[8])
    sets = random_sets_within(conditions, 12, 20, seed=1)
    for rows in sets:
        weights = np.zeros(30)
        weights[rows] = 1.0
        assert conditions.satisfied(weights, 12, 1e-9)
    again = random_sets_within(conditions, 12, 20, seed=1)
    assert [s.tolist() for s in sets] == [s.tolist() for s in again]
    assert len({tuple(s) for s in sets}) > 10


def test_at_least_so_many_of_each_label_or_as_many_as_may_be_kept():
    labels = np.array([0, 0, 0, 1, 1, 2])
    conditions = Conditions.of(6, groups=list("xxyyyy"), at_most={"y": 2}, drop=[5])
    more = conditions.with_least(labels, np.array([1, 2, 1]), ["zero", "one", "two"])
    assert more.names == ["x", "y", "zero", "one", "two"]
    assert more.low.tolist() == [0, 0, 1, 2, 0]
    assert more.high.tolist() == [2, 2, 3, 2, 1]
    assert more.counts[:, 2:].sum(axis=0).tolist() == [3, 2, 1]
