import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

from cdvm import CDVM, InputError


@pytest.fixture(scope="module")
def frame():
    X, y = load_wine(return_X_y=True, as_frame=True)
    X.index = [f"bottle {k}" for k in range(178)]
    return X, y.to_numpy()


@pytest.fixture(scope="module")
def pruner(frame):
    return CDVM("ridge", effort="low", n_models=500, random_state=0, n_jobs=1).fit(*frame)


def test_rows_are_those_of_the_table_by_position_mask_or_label(pruner):
    mask = np.zeros(178, dtype=bool)
    mask[[3, 100]] = True
    by_position = pruner.select(15, keep=[3, 100], drop=[5])
    by_mask, by_label = (
        pruner.select(15, keep=mask, drop=[5]),
        pruner.select(15, keep=["bottle 3", "bottle 100"], drop=["bottle 5"]),
    )
    assert np.isin([3, 100], by_position.indices).all()
    assert 5 not in by_position.indices
    assert by_position.indices.tolist() == by_mask.indices.tolist() == by_label.indices.tolist()


def test_conditions_go_with_rows_that_are_held_out(frame):
    pruner = CDVM("ridge", effort="low", n_models=300, validation="holdout", random_state=0, n_jobs=1).fit(
        *frame
    )
    region = np.arange(178) % 4
    keep = pruner.select(20, groups=region, at_least=4, keep=pruner.split_.rows[:2])
    assert (np.bincount(region[keep.indices]) >= 4).all()
    assert np.isin(pruner.split_.rows[:2], keep.indices).all()
    held = np.setdiff1d(np.arange(178), pruner.split_.rows)[0]
    with pytest.raises(InputError, match=f"keep names row {held}, which was held out"):
        pruner.select(20, keep=[held])
    assert held not in pruner.select(20, drop=[held]).indices


def test_several_budgets_groups_as_a_series_and_refining(frame, pruner):
    region = pd.Series(np.where(np.arange(178) < 20, "north", "south"), index=frame[0].index)
    for found in pruner.select([10, 30], groups=region, at_least={"north": 3}, at_most={"north": 4}):
        assert 3 <= (found.indices < 20).sum() <= 4
    refined = CDVM(**pruner.get_params() | {"refine": 300}).fit(*frame)
    for budget in (12, 0.07):  # the same number of the rows that are not held out
        found = refined.select(budget, groups=region, at_least={"north": 3}, at_most={"north": 4})
        assert 3 <= (found.indices < 20).sum() <= 4
        assert found.refined
        assert len(found) == 12


def test_random_rows_beside_it_keep_to_the_conditions_too(frame):
    pruner = CDVM("ridge", n_models=300, random_state=0, n_jobs=1, effort="medium").fit(*frame)
    region = np.arange(178) % 4
    found = pruner.select(16, groups=region, at_most=4)
    assert np.bincount(region[found.indices]).tolist() == [4, 4, 4, 4]
    assert {line.name for line in found.leaderboard} >= {"random", "program"}
    with pytest.raises(InputError, match="effort='medium' has no use for costs and together:"):
        pruner.select(16.0, costs=np.ones(178))


def test_a_metric_decides_within_conditions_or_is_refused(frame):
    settings = {"n_models": 200, "random_state": 0, "n_jobs": 1}
    region, price = np.arange(178) % 4, np.ones(178)
    plain = CDVM("ridge", **settings).fit(*frame)
    assert plain.select(16, groups=region, at_most=4).leaderboard is None  # the program alone
    asked = CDVM("ridge", metric="balanced_accuracy", **settings).fit(*frame)
    found = asked.select(16, groups=region, at_most=4)
    assert {line.name for line in found.leaderboard} >= {"random", "program"}
    assert np.bincount(region[found.indices]).tolist() == [4, 4, 4, 4]
    with pytest.raises(InputError, match=r"metric='balanced_accuracy' compares ways.*costs and together are"):
        asked.select(16.0, costs=price)
    with pytest.raises(InputError, match="and weights are for the program alone: leave it out, or add tune="):
        asked.select(16, weights=np.ones(178))
    assert asked.set_params(tune="grid").select(16.0, costs=price).score is not None
    with pytest.raises(InputError, match="effort='high' has no use for costs and together"):
        plain.set_params(effort="high").smallest(0.1, costs=price)


def test_costs_and_rows_that_go_together(pruner):
    patient = np.arange(178) // 3
    found = pruner.select(31, together=patient)
    assert len(found) <= 31
    assert all(np.isin(np.flatnonzero(patient == p), found.indices).all() for p in patient[found.indices])
    price = 1.0 + np.arange(178) % 3
    assert price[pruner.select(20.0, costs=price).indices].sum() <= 20
    with pytest.raises(InputError, match="budget is missing: where rows have costs"):
        pruner.select(costs=price)


def test_weights_are_of_evaluation_rows(frame, pruner):
    y = frame[1]
    found = pruner.select(12, weights=np.where(y == 2, 5.0, 1.0))
    assert (y[found.indices] == 2).sum() >= (y[pruner.select(12).indices] == 2).sum()
    with pytest.raises(InputError, match="weights has shape"):
        pruner.select(12, weights=[1.0, 2.0])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"groups": [1, 2]}, "groups has 2 entries: use one for each of the table's 178 rows"),
        ({"keep": ["bottle 999"]}, "keep names 'bottle 999', which is no label"),
        ({"keep": [178]}, "keep names a row outside 0..177"),
        ({"keep": [0.5]}, "keep names 0.5, which is no label"),
        ({"keep": np.ones(5, dtype=bool)}, "keep is a mask of 5 rows: use one of 178"),
        ({"at_least": 2}, "name them with groups="),
        ({"groups": np.arange(178) % 2, "at_least": 10}, "cannot be met|no set of rows"),
        ({"keep": np.arange(20)}, "cannot be met|budget"),
    ],
)
def test_what_cannot_be_is_named(pruner, given, words):
    with pytest.raises(InputError, match=words):
        pruner.select(12, **given)


def test_limits_that_bind_say_what_a_row_more_or_fewer_would_add(frame, pruner, tmp_path):
    from cdvm import Program, Selection, solve
    from cdvm.optimize.conditions import Conditions

    region = np.where(np.arange(178) < 20, "north", "south")
    given = {"groups": region, "at_least": {"north": 12}, "at_most": {"south": 30}}
    found = pruner.select(20, **given)
    (limit,) = found.limits
    assert (limit.group, limit.limit, limit.rows) == ("north", "at_least", 12)
    T = pruner.attribution_.dense()
    at = [
        solve(
            Program(
                T, 20, 0.5, found.kappa, conditions=Conditions.of(178, groups=region, at_least={"north": k})
            )
        ).objective
        for k in (11, 12, 13)
    ]
    assert at[1] - at[2] >= limit.price - 1e-6 * abs(at[1])
    assert limit.price >= at[0] - at[1] - 1e-6 * abs(at[1])
    assert limit.price > 0.01 * abs(at[1]) / 20
    assert str(limit).startswith("at least 12 of 'north': one fewer would add ")
    assert Selection.load(found.save(tmp_path / "kept.npz")).limits == found.limits
    assert pruner.select(20, groups=region, at_most=19).limits == ()
    most = pruner.select(20, groups=pd.Series(region), at_most={"south": 10}).limits
    assert [(one.group, one.limit, one.rows) for one in most] == [("south", "at_most", 10)]
