import numpy as np
import pytest
from selector_cases import takes_what_models_said_earlier

from cdvm import InputError
from cdvm.evaluation.difficulty import errors_of_rows, residuals_of_rows
from cdvm.sampling import seed_of
from cdvm.selectors import el2n


def test_errors_of_targets_are_absolute(regression):
    errors = errors_of_rows(regression, "ridge_regression", n_jobs=1)
    residuals = residuals_of_rows(regression, "ridge_regression", n_jobs=1)
    assert residuals.shape == (60, 1)
    assert (errors >= np.abs(residuals[:, 0]) - 1e-12).all()
    assert el2n(regression, 6, learner="ridge_regression", random_state=0).tolist() == sorted(
        np.argsort(-errors_of_rows(regression, "ridge_regression", seed=seed_of(0)))[:6]
    )


def test_el2n_keeps_the_largest_errors(overlapping):
    errors = errors_of_rows(overlapping, "logistic", seed=seed_of(0), n_jobs=1)
    rows = el2n(overlapping, 30, random_state=0)
    assert errors[rows].min() >= np.delete(errors, rows).max()


def test_el2n_needs_probabilities(overlapping):
    with pytest.raises(InputError, match="give no probabilities"):
        el2n(overlapping, 10, learner="ridge")


def test_what_models_said_earlier_gives_the_same_rows(overlapping):
    takes_what_models_said_earlier(overlapping, el2n, "errors", errors_of_rows)
