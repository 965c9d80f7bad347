import numpy as np
import pytest
from condition_cases import random_program, relaxed_optimum, rows_of_program
from scipy.optimize import linprog

from cdvm import InputError, Program, swap_search, top_rows
from cdvm.optimize.conditions import Conditions


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"keep": [0, 1], "drop": [1]}, "keep and drop both name row 1"),
        ({"keep": [9]}, r"keep names a row outside 0\.\.5"),
        ({"drop": [6]}, r"drop names a row outside 0\.\.5"),
        ({"keep": [0.5]}, "keep: pass positions of rows"),
        ({"groups": list("ab")}, "groups has 2 labels: use one for each of 6 rows"),
        ({"together": list("ab")}, "together has 2 labels: use one for each of 6 rows"),
        ({"at_least": 1}, "name them with groups="),
        ({"groups": list("aaabbb"), "at_least": {"c": 1}}, "names group 'c', which no row belongs to"),
        ({"groups": list("aaabbb"), "at_least": 4}, "at_least=4 for group 'a', which has 3 rows"),
        ({"groups": list("aaabbb"), "at_least": 1.5}, "use a whole number of rows, or a fraction"),
        ({"groups": list("aaabbb"), "at_most": -1}, "at_most=-1 for group 'a': use at least 0 rows"),
        (
            {"groups": list("aaabbb"), "at_least": 2, "at_most": 1},
            "2 rows of group 'a' and at_most= allows 1",
        ),
        (
            {"groups": list("aaabbb"), "at_least": 2, "at_most": {"b": 1}},
            "2 rows of group 'b' and at_most= allows 1",
        ),
        ({"costs": [1, 2]}, "one number for each of 6 rows"),
        ({"costs": [1, 2, 3, 4, 5, -1]}, "row 5 costs -1.0; use finite numbers above 0"),
        ({"costs": [1, 2, 3, 4, 5, np.nan]}, "row 5 costs nan"),
        ({"costs": [1, 2, 3, 4, 0, 5]}, "row 4 costs 0.0"),
    ],
)
def test_a_condition_that_cannot_be_is_named(given, words):
    with pytest.raises(InputError, match=words):
        Conditions.of(6, **given)


def test_rows_that_go_together_cannot_be_kept_and_dropped():
    conditions = Conditions.of(4, together=["x", "x", None, None], keep=[0], drop=[1])
    with pytest.raises(InputError, match="row 0 must be kept and row 1 dropped, but they go together"):
        _ = conditions.fixed


@pytest.mark.parametrize("name", ["keep", "drop"])
def test_rows_are_named_by_position_or_by_a_mask(name):
    for given in ([2, 0], np.array([0, 2, 2], dtype=np.uint8), np.array([True, False, True])):
        mask = getattr(Conditions.of(3, **{name: given}), name)
        assert mask.dtype == np.bool_
        assert mask.tolist() == [True, False, True]
    # as many positions as rows are no mask
    assert getattr(Conditions.of(3, **{name: [1, 1, 1]}), name).tolist() == [False, True, False]
    assert getattr(Conditions.of(3), name).tolist() == [False, False, False]
    with pytest.raises(InputError, match=f"{name}: pass positions of rows, or a mask of 3 rows"):
        Conditions.of(3, **{name: [True, False]})
    with pytest.raises(InputError, match=f"{name} names a row outside"):
        Conditions.of(3, **{name: [-1]})


def test_blocks_have_the_rows_prices_and_groups_of_their_members():
    for seed in range(30):
        c = random_program(seed, most_rows=15).conditions
        blocks = [np.flatnonzero(c.block == b) for b in range(c.block.max() + 1)]
        costs = np.ones(c.n_rows) if c.costs is None else c.costs
        groups = c.membership.toarray()
        assert c.members.toarray().tolist() == [np.isin(range(c.n_rows), rows).tolist() for rows in blocks]
        np.testing.assert_allclose(c.prices, [costs[rows].sum() for rows in blocks])
        np.testing.assert_array_equal(c.counts, [groups[rows].sum(axis=0) for rows in blocks])
        assert c.exact == (c.costs is None and all(len(rows) == 1 for rows in blocks))
        kept, dropped = c.fixed
        assert kept.tolist() == [c.keep[rows].any() for rows in blocks]
        assert dropped.tolist() == [c.drop[rows].any() for rows in blocks]


def test_weights_fulfil_the_conditions_where_they_fulfil_each_of_them():
    told = []
    for seed in range(40):
        program = random_program(seed, most_rows=12)
        above, limits, equal, values, bounds = rows_of_program(program)
        (low, high), rng = np.array(bounds).T, np.random.default_rng(seed)
        found = linprog(
            rng.normal(size=program.n_rows),
            A_ub=np.array(above) if above else None,
            b_ub=limits or None,
            A_eq=np.array(equal) if equal else None,
            b_eq=values or None,
            bounds=bounds,
        )
        if found.x is None:
            continue
        for step in (0.0, 0.02, -0.02, 1.5, -1.5):
            w = found.x + step * np.eye(program.n_rows)[rng.integers(program.n_rows)]
            fulfilled = bool((w >= low - 1e-5).all() and (w <= high + 1e-5).all())
            fulfilled &= all(row @ w <= limit + 1e-5 for row, limit in zip(above, limits, strict=True))
            fulfilled &= all(abs(row @ w - value) < 1e-5 for row, value in zip(equal, values, strict=True))
            assert program.conditions.satisfied(w, program.budget) == fulfilled, seed
            told.append(fulfilled)
    assert 30 < sum(told) < len(told) - 30


def test_limits_are_numbers_or_fractions_of_a_group():
    conditions = Conditions.of(10, groups=["a"] * 8 + ["b"] * 2, at_least=0.25, at_most={"a": 5})
    assert conditions.low.tolist() == [2, 0]  # a quarter of two rows is rounded to even
    assert conditions.high.tolist() == [5, 2]
    ends = Conditions.of(10, groups=["a"] * 8 + ["b"] * 2, at_least={"a": 1.0, "b": 0.0}, at_most={"b": 0.0})
    assert ends.low.tolist() == [8, 0]
    assert ends.high.tolist() == [8, 0]


def test_a_missing_label_belongs_to_no_group_and_stands_for_itself():
    conditions = Conditions.of(5, groups=["a", None, "a", np.nan, "b"], together=["x", None, "x", None, None])
    assert conditions.membership.toarray().tolist() == [[1, 0], [0, 0], [1, 0], [0, 0], [0, 1]]
    assert len(np.unique(conditions.block)) == 4
    assert conditions.block[0] == conditions.block[2]


def test_rounded_and_exchanged_rows_fulfil_the_conditions():
    tried = gained = 0
    for seed in range(80):
        program = random_program(seed)
        if relaxed_optimum(program) is None:
            continue
        conditions = program.conditions
        weights = np.random.default_rng(seed).random(program.n_rows)
        try:
            rows = top_rows(program, weights)
        except InputError:  # a greedy way to blocks of several groups may end nowhere
            continue
        better = swap_search(program, rows)
        tried += 1
        for found in (rows, better):
            chosen = np.zeros(program.n_rows)
            chosen[found] = 1.0
            assert conditions.satisfied(chosen, program.budget), seed
        values = [program.objective(np.isin(np.arange(program.n_rows), r) * 1.0) for r in (rows, better)]
        assert values[1] >= values[0]
        gained += values[1] > values[0]
    assert tried > 40
    assert gained > tried / 2


def test_what_is_spent_is_what_may_be():
    for wrong in (np.inf, np.nan, True, "all"):
        with pytest.raises(InputError, match=f"budget={wrong!r}: where rows have costs"):
            Program(np.eye(3), wrong, conditions=Conditions.of(3, costs=[1.0, 2.0, 3.0]))
    with pytest.raises(InputError, match="budget=0: where rows have costs, use what may be spent"):
        Program(np.eye(3), 0, conditions=Conditions.of(3, costs=[1, 2, 3]))
    assert Program(np.eye(3), 3.5, conditions=Conditions.of(3, costs=[1, 2, 3])).n_needed == 2


def test_conditions_on_some_rows_are_those_of_these_rows():
    for seed in range(30):
        c, rng = random_program(seed, most_rows=15).conditions, np.random.default_rng(seed)
        rows = np.sort(rng.permutation(c.n_rows)[: 1 + c.n_rows // 2])
        part = c.restricted(rows)
        assert part.n_rows == len(rows)
        assert part.keep.tolist() == c.keep[rows].tolist()
        assert part.drop.tolist() == c.drop[rows].tolist()
        assert (part.costs is None) == (c.costs is None)
        assert part.costs is None or part.costs.tolist() == c.costs[rows].tolist()
        same = c.block[rows][:, None] == c.block[rows]
        assert (same == (part.block[:, None] == part.block)).all()
        assert sorted(set(part.block.tolist())) == list(range(part.block.max() + 1))
        groups = c.membership.toarray()[rows]
        assert part.membership.toarray().tolist() == groups.tolist()
        for g in range(len(c.names)):
            free, kept = groups[~part.drop, g].sum(), groups[part.keep, g].sum()
            fraction = len(rows) / c.n_rows
            assert part.low[g] == min(int(fraction * c.low[g] + 1e-12), free)
            assert part.high[g] == max(int(np.ceil(fraction * c.high[g] - 1e-12)), kept)


def test_a_large_budget_may_be_missed_by_as_much_more():
    conditions = Conditions.of(3, costs=[1e6, 1e6, 1e6])
    weights = np.array([1.0, 1.0, 0.0])
    assert conditions.satisfied(weights, 2e6 - 0.1)
    assert not conditions.satisfied(weights, 2e6 - 0.3)
    small = Conditions.of(3, costs=[1e-3, 1e-3, 1e-3])  # of a small one no less than of 1
    assert small.satisfied(weights, 2e-3 - 0.9e-7)
    assert not small.satisfied(weights, 2e-3 - 1.2e-7)
