"""A request gives the rows that the same settings give in Python."""

from contextlib import nullcontext

import numpy as np
import pytest

from cdvm import CDVM, InputError, make_learner
from cdvm.evaluation.refinement.refine import refine
from cdvm.outcomes.recorded import Outcomes
from cdvm.pruner.request import Request, choose_rows, placed, record_models
from cdvm.selectors.baselines import select_with

BUDGETS = {"a": 10, "b": 0.2}
LOW = {"effort": "low", "models": 80, "jobs": 1}


@pytest.fixture
def learner():
    return make_learner("ridge")


def rows(chosen):
    return {name: s.indices.tolist() for name, s in chosen.selections.items()}


@pytest.mark.parametrize(
    ("given", "settings"),
    [
        ({"alpha": 0.2, "kappa": 0.1, "inclusion": 0.2, "seed": 4},
         {"alpha": 0.2, "kappa": 0.1, "inclusion": 0.2, "random_state": 4}),
        ({"refine": True, "fits": 60}, {"refine": {"fits": 60}}),
    ],
)  # fmt: skip
def test_rows_are_those_of_the_pruner(wine, learner, given, settings):
    chosen = choose_rows(wine, learner, BUDGETS, Request(**LOW, **given))
    settings = {"random_state": 0, **settings}
    pruner = CDVM(learner, effort="low", n_models=80, n_jobs=1, **settings).fit_split(wine)
    expected = pruner.select(BUDGETS.values())
    assert rows(chosen) == {n: s.indices.tolist() for n, s in zip(BUDGETS, expected, strict=True)}
    assert chosen.method == "cdvm"
    assert chosen.details["models"] == 80
    assert chosen.attribution is None


def test_conditions_hold_and_what_explains_rows_is_kept_where_it_is_asked_for(wine, learner):
    chosen = choose_rows(wine, learner, {"a": 10}, Request(**LOW, explain=True), {"keep": wine.rows[:3]})
    assert set(wine.rows[:3]) <= set(rows(chosen)["a"])
    assert chosen.attribution.shape[0] == wine.n_rows
    assert sum(o.n_models for o in chosen.evidence) == 80


def test_other_methods_choose_as_they_do_alone_and_may_be_refined(wine, learner):
    request = Request(method="banzhaf", remove="high", models=60, seed=2, jobs=1)
    alone = select_with(wine, learner, "banzhaf", [10, 0.2], remove="high", n_models=60, seed=2, n_jobs=1)
    chosen = choose_rows(wine, learner, BUDGETS, request)
    assert rows(chosen) == {n: s.indices.tolist() for n, s in zip(BUDGETS, alone, strict=True)}
    assert (chosen.method, chosen.details) == ("banzhaf", {"remove": "high"})
    (plain,) = select_with(wine, learner, "k_center", [10], n_jobs=1)
    better = refine(plain, wine, learner, fits=60, seed=0, n_jobs=1)
    request = Request(method="k_center", refine=True, fits=60, jobs=1)
    assert rows(choose_rows(wine, learner, {"a": 10}, request)) == {"a": better.indices.tolist()}


def test_models_recorded_before_are_those_a_run_would_train(wine, learner, tmp_path):
    store = str(tmp_path / "store")
    record_models(wine, learner, range(80), inclusion=None, store=store, seed=0, jobs=1)
    before = Outcomes.load(store)
    chosen = choose_rows(wine, learner, BUDGETS, Request(**LOW, store=store, explain=True))
    (found,) = chosen.evidence
    np.testing.assert_array_equal(found.data, before.data)
    assert rows(chosen) == rows(choose_rows(wine, learner, BUDGETS, Request(**LOW)))


def test_budgets_and_conditions_are_looked_at_before_a_model_is_trained(wine):
    with pytest.raises(InputError, match="budget=0"):
        choose_rows(wine, None, {"a": 5, "b": 0}, Request())
    with pytest.raises(InputError, match="at_least"):
        choose_rows(wine, None, {"a": 5}, Request(), {"at_least": 3})


def test_searches_and_places():
    assert [Request(**given).searches for given in ({}, {"within": 0.0}, {"at_score": 0.5})] == [
        False,
        True,
        True,
    ]
    assert isinstance(placed(None), nullcontext)
