"""What there is room for."""

import numpy as np
import pytest
from condition_cases import random_program, relaxed_optimum

from cdvm import InputError
from cdvm.optimize.conditions import Conditions
from cdvm.optimize.room import Room, fill_blocks, random_sets_within


def within(conditions, budget, chosen, low):
    """Whether chosen blocks keep to the budget, to what may not be kept, and to limits, counted by rows."""
    rows = np.isin(conditions.block, np.flatnonzero(chosen))
    spent = rows.sum() if conditions.costs is None else conditions.costs[rows].sum()
    counts = conditions.membership.toarray()[rows].sum(axis=0)
    least = (counts >= conditions.low).all() if low else True
    return bool(
        spent <= budget + 1e-9
        and not (rows & conditions.drop).any()
        and (counts <= conditions.high).all()
        and least
    )


def test_a_block_is_admitted_where_the_set_still_keeps_to_everything():
    told = []
    for seed in range(40):
        program = random_program(seed, most_rows=14)
        c, rng = program.conditions, np.random.default_rng(seed)
        every = np.arange(c.members.shape[0])
        room = Room(c, program.budget, c.fixed[0])
        for block in rng.permutation(every):  # a set that keeps to everything, grown and shrunk
            if room.admits(np.array([block]))[0] and rng.random() < 0.7:
                room.add(block)
        for block in rng.permutation(np.flatnonzero(room.chosen & ~c.fixed[0]))[:1]:
            room.remove(block)
        for leaving in [None, *np.flatnonzero(room.chosen).tolist()[:4]]:
            admitted = room.admits(every, leaving)
            for block in every:
                after = room.chosen.copy()
                if leaving is not None:
                    after[leaving] = False
                after[block] = True
                expected = not room.chosen[block] and within(c, program.budget, after, leaving is not None)
                assert admitted[block] == expected, (seed, leaving, block)
                told.append(expected)
    assert 0.1 < np.mean(told) < 0.9


def test_filling_takes_what_must_be_and_leaves_no_room():
    tried = 0
    for seed in range(60):
        program = random_program(seed, most_rows=14)
        c = program.conditions
        if relaxed_optimum(program) is None:
            continue
        every = np.arange(c.members.shape[0])
        try:
            chosen = fill_blocks(c, program.budget, np.random.default_rng(seed).permutation(every))
        except InputError:  # of blocks of several groups, one in order may shut out the others
            continue
        tried += 1
        assert chosen[c.fixed[0]].all()
        assert within(c, program.budget, chosen, True)
        for block in np.flatnonzero(~chosen):
            more = chosen | (every == block)
            assert not within(c, program.budget, more, True), seed
    assert tried > 25


def test_blocks_are_taken_in_the_order_given():
    conditions = Conditions.of(5, costs=[2.0, 4.0, 1.0, 3.0, 1.0])
    assert np.flatnonzero(fill_blocks(conditions, 6.0, np.array([3, 1, 0, 4, 2]))).tolist() == [0, 3, 4]
    # and those that a limit asks for, too: the group that has least to spare first
    groups = Conditions.of(6, groups=list("aaabbb"), at_least=1, at_most=2)
    assert np.flatnonzero(fill_blocks(groups, 2, np.array([2, 1, 0, 5, 4, 3]))).tolist() == [2, 5]
    assert np.flatnonzero(fill_blocks(groups, 4, np.array([1, 0, 2, 5, 4, 3]))).tolist() == [0, 1, 4, 5]


def test_what_limits_ask_for_comes_first_then_the_order():
    conditions = Conditions.of(6, groups=list("aaabbb"), at_least={"b": 1}, at_most={"a": 2})
    assert np.flatnonzero(fill_blocks(conditions, 4, np.arange(6))).tolist() == [0, 1, 3, 4]
    assert np.flatnonzero(fill_blocks(conditions, 1, np.arange(6))).tolist() == [3]


def test_the_group_that_lacks_most_is_named():
    conditions = Conditions.of(9, groups=list("aaabbbccc"), at_least={"a": 1, "b": 3, "c": 1})
    with pytest.raises(InputError, match="with 3 of group 'b'"):
        fill_blocks(conditions, 1, np.arange(9))
    served = Conditions.of(6, groups=list("aaabbb"), at_least={"a": 3, "b": 2})
    with pytest.raises(InputError, match="with 2 of group 'b'"):
        fill_blocks(served, 3, np.arange(6))


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
    pairs = Conditions.of(30, together=np.arange(30) // 2)
    assert all((rows[::2] + 1 == rows[1::2]).all() for rows in random_sets_within(pairs, 12, 20))
    usual, zero = random_sets_within(conditions, 12, 3), random_sets_within(conditions, 12, 3, seed=0)
    assert [s.tolist() for s in usual] == [s.tolist() for s in zero]


def test_at_least_so_many_of_each_label_or_as_many_as_may_be_kept():
    labels = np.array([0, 0, 0, 1, 1, 2])
    conditions = Conditions.of(6, groups=list("xxyyyy"), at_most={"y": 2}, drop=[5])
    more = conditions.with_least(labels, np.array([1, 2, 1]), ["zero", "one", "two"])
    assert more.names == ["x", "y", "zero", "one", "two"]
    assert more.low.tolist() == [0, 0, 1, 2, 0]
    assert more.high.tolist() == [2, 2, 3, 2, 1]
    assert more.counts[:, 2:].sum(axis=0).tolist() == [3, 2, 1]


def test_the_group_with_least_to_spare_is_served_first():
    # one row fits, and only the first is of both groups
    conditions = Conditions.of(4, groups=[0, None, None, None], at_least=1)
    conditions = conditions.with_least(np.zeros(4, dtype=np.int64), np.array([1]), ["all"])
    assert np.flatnonzero(fill_blocks(conditions, 1, np.array([1, 2, 3, 0]))).tolist() == [0]
