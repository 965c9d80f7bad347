"""Ours against the values that ``fixtures/make_pydvl.py`` recorded; it lists the conventions of both."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from cdvm.data.split import Split
from cdvm.valuation import value_rows

RECORDED = json.loads((Path(__file__).parent / "fixtures" / "pydvl.json").read_text())
NEAREST = KNeighborsClassifier(1)


def recorded_split(name):
    return Split.from_arrays(*(np.array(RECORDED[name][part]) for part in ("X", "y", "X_val", "y_val")))


@pytest.mark.parametrize("method", ["shapley", "banzhaf", "beta_shapley"])
def test_enumeration_equals_pydvl(method):
    ours = value_rows(recorded_split("small"), NEAREST, method, exact=True, n_jobs=1)
    assert np.allclose(ours.values, RECORDED["exact"][method]["values"], rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("method", "learner", "options"),
    [
        ("shapley", NEAREST, {"tolerance": 0.0, "n_models": 12_000}),
        ("beta_shapley", NEAREST, {"tolerance": 0.0, "n_models": 30_000}),
        ("banzhaf", NEAREST, {"n_models": 2000}),
        ("out_of_bag", LogisticRegression(), {"n_models": 1000}),
    ],
)
def test_samples_agree_with_pydvl(method, learner, options):
    theirs = {name: np.array(column) for name, column in RECORDED["sampled"][method].items()}
    ours = value_rows(recorded_split("large"), learner, method, n_jobs=1, **options)
    error = np.hypot(ours.stderr, theirs["stderr"])
    assert (np.abs(ours.values - theirs["values"]) <= 4 * error).all()
    spread, expected = (
        error * np.sqrt(counts)  # of one sample, of which ours may have more
        for error, counts in ((ours.stderr, ours.counts), (theirs["stderr"], theirs["counts"]))
    )
    uncertain = expected > 0
    assert 0.8 < np.median(spread[uncertain] / expected[uncertain]) < 1.25
    assert np.corrcoef(ours.values, theirs["values"])[0, 1] > 0.8


@pytest.mark.parametrize("k", [1, 3, 5])
def test_knn_shapley_equals_pydvl(k):
    ours = value_rows(recorded_split("large"), None, "knn_shapley", k=k)
    assert np.allclose(ours.values, RECORDED["knn_shapley"][str(k)]["values"], rtol=0, atol=1e-6)
