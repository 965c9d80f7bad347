"""Any valuation or selector as a way to choose rows."""

import numpy as np
import pytest

from cdvm import InputError
from cdvm.selectors import herding, learn_of_rows, margin, select_rows
from cdvm.selectors.baselines import baseline_names, select_with
from cdvm.valuation import value_rows


def test_a_valuation_keeps_its_highest_values_or_its_lowest(overlapping):
    values = value_rows(overlapping, "ridge", "banzhaf", seed=3, n_models=100, n_jobs=1).values
    options = {"seed": 3, "n_models": 100, "n_jobs": 1}
    order = np.argsort(values)
    for remove, best in (("low", order[::-1]), ("high", order)):
        for kept in select_with(overlapping, "ridge", "banzhaf", [5, 0.25], remove=remove, **options):
            assert sorted(values[kept.rows]) == sorted(values[best[: len(kept)]])
            assert kept.method == "banzhaf"


def test_a_selector_gets_the_learner_and_the_seed_where_it_has_them(overlapping):
    (kept,) = select_with(overlapping, "ridge", "margin", [12], seed=5, n_jobs=1, progress=False)
    assert kept.rows.tolist() == margin(overlapping, 12, learner="ridge", random_state=5).tolist()
    (kept,) = select_with(overlapping, "ridge", "herding", [12], per_class=False)
    assert kept.rows.tolist() == herding(overlapping, 12, per_class=False).tolist()


@pytest.mark.parametrize(
    ("method", "what", "options"),
    [
        ("margin", "ease", {}),
        ("hardest_right", "ease", {}),
        ("el2n", "errors", {}),
        ("craig", "residuals", {}),
        ("coretab", "regions", {"trees": 4}),
        ("forgetting", "forgotten", {"passes": 5}),
    ],
)
def test_what_a_selector_learns_of_rows_is_learnt_once_for_all_budgets(
    overlapping, monkeypatch, method, what, options
):
    alone = [select_rows(overlapping, method, n, random_state=5, **options).tolist() for n in (6, 12)]
    asked = []

    def counted(split, what, **own):
        asked.append((what, own["n_jobs"]))
        return learn_of_rows(split, what, **own)

    monkeypatch.setattr("cdvm.selectors.baselines.learn_of_rows", counted)
    kept = select_with(overlapping, "logistic", method, [6, 12], seed=5, n_jobs=1, **options)
    assert [s.rows.tolist() for s in kept] == alone
    assert asked == [(what, 1)]
    learnt = {what: learn_of_rows(overlapping, what, learner="logistic", random_state=5, **options)}
    kept = select_with(overlapping, "nothing that could be trained", method, [6, 12], seed=5, **learnt)
    assert [s.rows.tolist() for s in kept] == alone
    assert len(asked) == 1


def test_nothing_is_learnt_for_an_option_there_is_not(overlapping):
    with pytest.raises(InputError, match="margin has no option 'n_models'"):
        select_with(overlapping, "nothing that could be trained", "margin", [5], n_models=5)
    with pytest.raises(InputError, match="hardest=2: use a fraction"):
        select_with(overlapping, "nothing that could be trained", "coverage_centric", [5], hardest=2)
    with pytest.raises(InputError, match="what='easy' is unknown: did you mean 'ease'"):
        learn_of_rows(overlapping, "easy")


def test_budgets_are_looked_at_before_anything_is_valued(overlapping):
    with pytest.raises(InputError, match="budget=241"):
        select_with(overlapping, "nothing that could be trained", "banzhaf", [5, 241])


def test_names_are_all_known(overlapping):
    assert {"banzhaf", "herding"} <= set(baseline_names())
    assert len(set(baseline_names())) == len(baseline_names())


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("k_center", {"n_models": 5}, "k_center has no option 'n_models'"),
        ("banzhaf", {"per_class": True}, "banzhaf has no option 'per_class'"),
        ("random", {"n_models": 5}, "random has no option 'n_models'"),
        ("k_center", {"per_class": "yes"}, "per_class='yes': use None, True or False"),
        ("k_center", {"remove": "high"}, "remove='high' needs values"),
        ("banzhaf", {"remove": "both"}, "remove='both': use 'low' or 'high'"),
        ("banzhaf", {"n_jobs": "a"}, "n_jobs='a'"),
        ("k_center", {"progress": "x"}, "progress='x'"),
        ("stratified", {"seed": "a"}, "seed='a'"),
        ("k_centre", {}, "did you mean 'k_center'"),
    ],
)
def test_choosing_refuses_what_a_method_does_not_have(wine, method, options, message):
    with pytest.raises(InputError, match=message):
        select_with(wine, "ridge", method, [5], **options)


@pytest.mark.parametrize("method", ["random", "knn_shapley", "k_center", "influence_pruning"])
def test_choosing_by_any_method_takes_names_workers_and_progress(wine, method):
    kept = select_with(wine, "logistic", method, (b for b in (5, 9)), n_jobs=1, progress=False)
    assert [len(s) for s in kept] == [5, 9]
