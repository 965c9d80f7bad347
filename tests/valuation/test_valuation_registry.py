import numpy as np
import pytest
from valuation_games import PAPER

from cdvm.errors import InputError
from cdvm.valuation import valuation_names, valuation_options, value_rows
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
