import numpy as np
import pytest
from valuation_games import PAPER

from cdvm import Design, ImplicitAttribution, make_learner, record_outcomes
from cdvm.errors import InputError
from cdvm.valuation import needs_validation, valuation_names, valuation_options, value_rows
from cdvm.valuation.banzhaf import banzhaf


def test_every_method_has_a_name():
    expected = (
        "random leave_one_out shapley beta_shapley banzhaf out_of_bag memorization knn_shapley influence"
    )
    assert valuation_names() == expected.split()


def test_a_name_calls_its_function():
    by_name = value_rows(8, PAPER, "banzhaf", inclusion=0.2)
    assert by_name.method == "banzhaf"
    assert np.array_equal(by_name.values, banzhaf(8, PAPER, inclusion=0.2).values)


def test_methods_without_randomness_take_a_seed_and_do_not_mind():
    one, two = (value_rows(8, PAPER, "random", n_jobs=jobs, seed=1).values for jobs in (1, 2))
    assert np.array_equal(one, two)


def test_an_unknown_name_brings_the_nearest():
    with pytest.raises(InputError, match="did you mean 'shapley'"):
        value_rows(8, PAPER, "shaply")


def test_an_unknown_option_brings_those_there_are():
    with pytest.raises(InputError, match=r"leave_one_out has no option 'inclusion': it has seed"):
        value_rows(8, PAPER, "leave_one_out", inclusion=0.3)
    assert "store" in valuation_options("out_of_bag")


@pytest.mark.parametrize("method", valuation_names())
def test_without_validation_rows_a_method_works_or_says_that_it_needs_some(split, method):
    own = split.out_of_bag()
    options = {"n_models": 200} if "n_models" in valuation_options(method) else {}
    if needs_validation(method):
        with pytest.raises(InputError, match="there are no validation rows, and this method needs some"):
            value_rows(own, "logistic", method, n_jobs=1, progress=False, **options)
    else:
        values = value_rows(own, "logistic", method, n_jobs=1, progress=False, **options)
        assert np.isfinite(values.values).all()


def test_banzhaf_out_of_bag_gives_a_row_nothing_for_itself(split):
    own = split.out_of_bag()
    design = Design(own.n_rows, 0.5, seed=0)
    outcomes = record_outcomes(own, make_learner("logistic"), design, range(200), n_jobs=1, progress=False)
    T = ImplicitAttribution.from_outcomes(outcomes).dense()
    assert (np.diag(T) == 0).all()
    values = value_rows(own, "logistic", "banzhaf", n_models=200, n_jobs=1, progress=False)
    assert np.allclose(values.values, T.mean(axis=1), atol=1e-6)


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("banzhaf", {"n_models": "a"}, "n_models='a': use"),
        ("banzhaf", {"n_models": True}, "n_models=True: use"),
        ("banzhaf", {"inclusion": 2}, "inclusion=2: use a probability"),
        ("banzhaf", {"design": "half"}, "design='half': use 'bernoulli', 'fixed' or 'bootstrap'"),
        ("banzhaf", {"exact": "yes"}, "exact='yes'"),
        ("banzhaf", {"stop": 0.01}, "stop=0.01: use None, or a rule such as"),
        ("banzhaf", {"store": 5}, "store=5: use None, or a path"),
        ("banzhaf", {"outcome": 5}, "outcome=5"),
        ("shapley", {"tolerance": "a"}, "tolerance='a'"),
        ("beta_shapley", {"alpha": -1}, "alpha=-1: use a positive number"),
        ("knn_shapley", {"k": 2.5}, "k=2.5: use a whole number"),
        ("influence", {"damping": "a"}, "damping='a'"),
        ("random", {"seed": -1}, "seed=-1"),
        ("random", {"n_jobs": "a"}, "n_jobs='a'"),
        ("leave_one_out", {"progress": "x"}, "progress='x'"),
    ],
)
def test_options_of_the_wrong_kind_are_refused(wine, method, options, message):
    with pytest.raises(InputError, match=message):
        value_rows(wine, "ridge", method, **options)
