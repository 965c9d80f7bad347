import numpy as np
import pytest
from comparing import equal

from cdvm.errors import InputError
from cdvm.learners import make_learner
from cdvm.outcomes.recording import record_outcomes
from cdvm.sampling import Design
from cdvm.valuation.banzhaf import banzhaf
from cdvm.valuation.runs import models_needed, record
from cdvm.valuation.stopping import Estimate, StandardError


def test_too_few_models_are_refused_with_the_number_needed(split):
    with pytest.raises(
        InputError, match=r"n_models=3: \d+ of the 60 rows .* at least (\d+) models"
    ) as caught:
        banzhaf(split, "naive_bayes", n_models=3, n_jobs=1)
    needed = int(str(caught.value).split("at least ")[1].split()[0])
    assert len(banzhaf(split, "naive_bayes", n_models=needed, n_jobs=1)) == 60


@pytest.mark.parametrize("design", [Design(60, 0.5), Design(60, 0.03), Design(60, 0.9, kind="fixed")])
def test_models_needed_leave_a_row_in_doubt_once_in_a_hundred_runs(design):
    rarer, needed = max(design.inclusion, 1 - design.inclusion), models_needed(design)
    assert 2 * 60 * rarer**needed <= 0.01 < 2 * 60 * rarer ** (needed - 1)


def test_rows_that_are_in_every_set_are_not_asked_for():
    with pytest.raises(InputError, match="every row is in every training set"):
        models_needed(Design(3, 0.9, kind="fixed"))


def test_a_rule_ends_a_run_after_the_first_round_that_meets_it(split):
    learner, design, looks = make_learner("ridge"), Design(60, 0.5, seed=1), []

    def estimate(outcomes):
        looks.append(len(outcomes.models))
        ones = np.ones(60)
        return Estimate(ones, ones / len(outcomes.models), counts=100 * ones, halves=(ones, ones))

    options = {"n_jobs": 1, "progress": False}
    found, met = record(split, learner, design, 500, estimate, stop=StandardError(1 / 250), **options)
    assert (met, len(found.models), looks) == (True, 300, [100, 200, 300])
    assert equal(found, record_outcomes(split, learner, design, range(300), **options))
    whole, met = record(split, learner, design, 120, estimate, **options)
    assert met is None
    assert equal(whole, record_outcomes(split, learner, design, range(120), **options))
