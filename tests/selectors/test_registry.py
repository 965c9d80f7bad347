"""What all selectors promise: exact budgets, the same rows for the same seed, and options that are named."""

import numpy as np
import pytest
from scipy import sparse

from cdvm import InputError, Split
from cdvm.selectors import (
    coretab,
    coverage_centric,
    craig,
    el2n,
    forgetting,
    glister,
    hardest_right,
    margin,
    moderate,
    select_rows,
    selector_names,
)
from cdvm.selectors.base import allocate

BY_FEATURES = ["stratified", "k_center", "herding", "facility_location"]
BY_MODELS_OR_CENTRES = [
    coverage_centric,
    hardest_right,
    moderate,
    margin,
    el2n,
    forgetting,
    craig,
    glister,
    coretab,
]


@pytest.mark.parametrize("method", BY_FEATURES)
@pytest.mark.parametrize("per_class", [True, False])
@pytest.mark.parametrize("budget", [1, 2, 3, 10, 0.25, 89, 90])
def test_the_budget_is_met_exactly(clouds, method, per_class, budget):
    kept = select_rows(clouds, method, budget, per_class=per_class, random_state=0)
    size = budget if isinstance(budget, int) else round(budget * 90)
    assert len(kept) == len(set(kept.tolist())) == size
    assert (np.diff(kept) > 0).all()
    assert kept.min() >= 0
    assert kept.max() < 90
    if per_class:
        expected = allocate(np.bincount(clouds.y), size)
        np.testing.assert_array_equal(np.bincount(clouds.y[kept], minlength=3), expected)


@pytest.mark.parametrize("method", BY_FEATURES)
def test_the_same_seed_keeps_the_same_rows(clouds, method):
    first, again = (select_rows(clouds, method, 20, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize("method", BY_FEATURES)
def test_duplicate_rows_can_all_be_kept(method):
    X = np.zeros((12, 2))
    split = Split.from_arrays(X, [0, 1] * 6, X[:2], [0, 1])
    for size in (3, 12):
        kept = select_rows(split, method, size, per_class=False, random_state=0)
        assert len(set(kept.tolist())) == size


@pytest.mark.parametrize("method", BY_FEATURES[1:])
def test_sparse_features_keep_the_same_rows(clouds, method):
    thin = Split.from_arrays(
        sparse.csr_array(clouds.X), clouds.y, sparse.csr_array(clouds.X_val), clouds.y_val
    )
    np.testing.assert_array_equal(select_rows(thin, method, 15), select_rows(clouds, method, 15))


def test_regression_has_no_classes_to_divide_by(regression):
    for method in BY_FEATURES:
        with pytest.raises(InputError, match="per_class=False"):
            select_rows(regression, method, 5, per_class=True)
        assert len(select_rows(regression, method, 5)) == 5


@pytest.mark.parametrize("budget", [0, -1, 91, 1.5, "ten", True])
@pytest.mark.parametrize("method", BY_FEATURES)
def test_bad_budgets_are_refused(clouds, method, budget):
    with pytest.raises(InputError, match="budget="):
        select_rows(clouds, method, budget)


def test_unknown_names_and_options_are_answered_with_known_ones(clouds):
    with pytest.raises(InputError, match="did you mean 'k_center'"):
        select_rows(clouds, "k_centre", 5)
    with pytest.raises(InputError, match="it has per_class, random_state"):
        select_rows(clouds, "herding", 5, kernel="rbf")
    others = ["influence_pruning", "moderate", "hardest_right", "coverage_centric"]
    others += ["margin", "el2n", "forgetting", "craig", "glister", "coretab"]
    assert selector_names() == [*BY_FEATURES, *others]


@pytest.mark.parametrize("selector", BY_MODELS_OR_CENTRES)
@pytest.mark.parametrize("budget", [1, 0.1, 399, 1.0])
def test_exactly_as_many_rows_as_asked_for(mislabelled, selector, budget):
    rows = selector(mislabelled, budget, random_state=0)
    size = budget if isinstance(budget, int) else int(400 * budget)
    assert len(np.unique(rows)) == len(rows) == size
    assert (np.diff(rows) > 0).all()
    assert rows.tolist() == selector(mislabelled, budget, random_state=0).tolist()


@pytest.mark.parametrize("method", ["margin", "forgetting", "coretab"])
def test_what_needs_classes_refuses_targets(regression, method):
    with pytest.raises(InputError, match=f"{method} needs classes, and this is a regression split"):
        select_rows(regression, method, 10)


@pytest.mark.parametrize(
    ("method", "option", "value", "cure"),
    [
        ("forgetting", "passes", 1, "a whole number of at least 2"),
        ("glister", "rounds", 0, "a whole number of at least 1"),
        ("glister", "step", -1.0, "a number above 0"),
        ("coretab", "trees", 0, "a whole number of at least 1"),
        ("coretab", "least", 2, "a fraction from 0 to 1"),
        ("coverage_centric", "hardest", -0.1, "a fraction from 0 to 1"),
    ],
)
def test_options_out_of_range_are_named_with_their_cure(overlapping, method, option, value, cure):
    with pytest.raises(InputError, match=f"^{option}={value}: use {cure}$"):
        select_rows(overlapping, method, 10, **{option: value})
