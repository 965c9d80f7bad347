import numpy as np
import pytest
from sklearn.datasets import load_wine

from cdvm import Design, ImplicitAttribution, InputError, Split, make_learner, record_outcomes
from cdvm.errors import InputWarning
from cdvm.optimize.conditions import Conditions
from cdvm.pruner.by_budget import build_program, select_by_budget


@pytest.fixture(scope="module")
def fitted():
    split = Split.from_arrays(*load_wine(return_X_y=True), validation="out_of_bag").standardized()
    learner = make_learner("ridge")
    outcomes = record_outcomes(split, learner, Design(178, 0.1, seed=0), range(600), n_jobs=1)
    return split, learner, build_program(ImplicitAttribution.from_outcomes(outcomes))


def select(fitted, budgets, **options):
    split, learner, program = fitted
    base = {"alphas": (0.5,), "kappas": ("auto",), "n_jobs": 1, "progress": False}
    return select_by_budget(program, budgets, split=split, learner=learner, **(base | options))


@pytest.mark.parametrize("refining", [None, {"fits": 300}])
@pytest.mark.parametrize("solver", ["auto", "first_order"])
def test_conditions_hold_for_every_budget_and_class(fitted, solver, refining):
    split = fitted[0]
    regions = np.arange(178) % 5
    conditions = Conditions.of(178, groups=regions, at_least=2, keep=[4], drop=[0, 1])
    for found in select(fitted, [12, 40], conditions=conditions, solver=solver, refining=refining):
        chosen = np.zeros(178)
        chosen[found.rows] = 1.0
        assert conditions.satisfied(chosen, len(found))
        assert (np.bincount(split.y[found.rows], minlength=3) >= 2).all()
        assert np.isin([4], found.rows).all()
        assert found.bound >= found.objective


def test_spending_buys_more_of_cheap_rows(fitted):
    costs = np.where(np.arange(178) % 2, 1.0, 9.0)
    (found,) = select(fitted, [30.0], conditions=Conditions.of(178, costs=costs))
    assert costs[found.rows].sum() <= 30
    assert (costs[found.rows] == 1).mean() > 0.9
    assert len(found) >= 22


def test_important_evaluation_rows_are_served_first(fitted):
    split = fitted[0]
    (plain,) = select(fitted, [12])
    (found,) = select(fitted, [12], importance=np.where(split.y == 2, 10.0, 0.1), rounding="top")
    assert (split.y[found.rows] == 2).sum() > (split.y[plain.rows] == 2).sum()


def test_classes_without_room_are_told_of(fitted):
    split = fitted[0]
    conditions = Conditions.of(178, groups=split.y, at_most={0: 0})
    with pytest.warns(InputWarning, match="no room for some rows of every class"):
        (found,) = select(fitted, [12], conditions=conditions)
    assert (split.y[found.rows] != 0).all()


def test_budgets_that_cannot_be_are_refused(fitted):
    with pytest.raises(InputError, match="budget=0: use at least 1 row"):
        select(fitted, [0])
    crowded = Conditions.of(178, groups=np.arange(178) % 5, at_least=4)
    with pytest.raises(InputError, match=r"cannot be met|no set of rows"):
        select(fitted, [12], conditions=crowded)
