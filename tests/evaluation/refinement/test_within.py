import numpy as np
import pytest
from sklearn.datasets import load_wine

from cdvm import InputError, Split, refine
from cdvm.evaluation.refinement.refine import _with_classes
from cdvm.evaluation.refinement.within import exchange_within
from cdvm.optimize.conditions import Conditions
from cdvm.optimize.room import fill_blocks
from cdvm.optimize.rounding import class_floors


@pytest.fixture(scope="module")
def wine():
    return Split.from_arrays(*load_wine(return_X_y=True), validation="out_of_bag").standardized()


@pytest.mark.parametrize(
    ("given", "budget"),
    [
        ({"groups": np.arange(178) % 4, "at_least": 3, "at_most": 6}, 20),
        ({"keep": [3, 50, 170], "drop": np.arange(0, 178, 7)[1:]}, 20),
        ({"together": np.arange(178) // 2}, 20),
        ({"costs": np.where(np.arange(178) % 3, 1.0, 4.0)}, 24.0),
    ],
    ids=["groups", "keep and drop", "together", "costs"],
)
def test_refined_rows_keep_to_the_conditions(wine, given, budget):
    conditions = Conditions.of(178, **given)
    order = np.random.default_rng(0).permutation(conditions.members.shape[0])
    start = np.flatnonzero(fill_blocks(conditions, budget, order)[conditions.block])
    found = refine(start, wine, "ridge", fits=600, n_jobs=1, conditions=conditions, budget=budget)
    chosen = np.zeros(178)
    chosen[found.rows] = 1.0
    assert len(found) == len(start)
    assert conditions.satisfied(chosen, budget)
    assert not np.array_equal(found.rows, start)
    counts = [np.bincount(wine.y[rows], minlength=3) for rows in (start, found.rows)]
    assert (counts[1] >= np.minimum(counts[0], 2)).all()


def test_the_first_row_that_is_admitted_takes_the_place():
    conditions = Conditions.of(6, groups=list("aabbcc"), at_most=1)
    rows = exchange_within(conditions, 2, np.array([0, 2]), np.array([1]), np.array([1, 5, 3]))
    assert rows.tolist() == [0, 5]  # row 1 would be the second of its group
    kept = Conditions.of(6, keep=[0])
    assert exchange_within(kept, 2, np.array([0, 2]), np.array([0]), np.array([1])).tolist() == [0, 2]


@pytest.mark.parametrize(
    ("given", "budget", "words"),
    [
        (None, 3, "budget=3 has no effect without conditions"),
        ({"costs": np.ones(178)}, None, "budget is missing"),
        ({"costs": np.ones(178)}, 2.0, "does not fulfil the conditions"),
        ({"drop": [1]}, None, "does not fulfil the conditions"),
    ],
)
def test_a_start_that_does_not_fulfil_them_is_refused(wine, given, budget, words):
    conditions = None if given is None else Conditions.of(178, **given)
    with pytest.raises(InputError, match=words):
        refine([0, 1, 2], wine, "ridge", fits=100, n_jobs=1, conditions=conditions, budget=budget)


def exchanged(conditions, budget, start, leaving, entering):
    """The same by trying one set after the other."""
    rows, block = set(start.tolist()), conditions.block

    def keeps_to_all(chosen):
        w = np.isin(np.arange(conditions.n_rows), list(chosen)).astype(float)
        spent = w.sum() if conditions.costs is None else w @ conditions.costs
        counts = w @ conditions.membership.toarray()
        limits = (counts >= conditions.low).all() and (counts <= conditions.high).all()
        return spent <= budget + 1e-9 and limits and not w[conditions.drop].any() and w[conditions.keep].all()

    for place in leaving:
        own = set(np.flatnonzero(block == block[start[place]]).tolist())
        if not own <= rows:
            continue
        for row in entering:
            new = set(np.flatnonzero(block == block[row]).tolist())
            if len(new) == len(own) and not new & rows and keeps_to_all((rows - own) | new):
                rows = (rows - own) | new
                break
    return sorted(rows)


@pytest.mark.parametrize("kind", ["groups", "together", "costs", "keep and drop"])
def test_exchanges_are_those_of_trying_one_set_after_the_other(kind):
    changed = 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        given = {
            "groups": {"groups": rng.integers(0, 3, 24), "at_least": 1, "at_most": 4},
            "together": {"together": rng.integers(0, 14, 24)},
            "costs": {"costs": rng.uniform(0.5, 3, 24)},
            "keep and drop": {"keep": [2, 5], "drop": [7, 11, 13]},
        }[kind]
        conditions = Conditions.of(24, **given)
        budget = 12.0 if kind == "costs" else 8
        order = rng.permutation(conditions.members.shape[0])
        start = np.flatnonzero(fill_blocks(conditions, budget, order)[conditions.block])
        leaving = rng.permutation(len(start))[:5]
        entering = rng.permutation(np.setdiff1d(np.arange(24), start))
        found = exchange_within(conditions, budget, start, leaving, entering)
        assert len(np.unique(found)) == len(start)
        assert sorted(found.tolist()) == exchanged(conditions, budget, start, leaving, entering), seed
        changed += not np.array_equal(np.sort(found), start)
        stay = np.isin(found, start)
        assert (found[stay] == start[stay]).all()  # rows that stay are where they were
    assert changed > 15


def test_classes_are_limits_of_their_own(wine):
    conditions = Conditions.of(178, groups=np.arange(178) % 2, at_most={0: 12})
    start = np.r_[np.flatnonzero(wine.y == 0)[:14], np.flatnonzero(wine.y == 1)[:5], [175]]
    made = _with_classes(conditions, wine, start)
    assert made.names == [0, 1, "class 0", "class 1", "class 2"]
    assert made.low.tolist() == [0, 0, *np.minimum(class_floors(wine.y, 20), [14, 5, 1])]
    assert made.high.tolist() == [12, 89, *np.bincount(wine.y)]
    assert _with_classes(None, wine, start) is None
