"""Selectors that look at the features: against plain loops, and exact budgets."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from cdvm import InputError, Split
from cdvm.selectors import facility_location, herding, k_center, select_rows, selector_names, stratified
from cdvm.selectors.base import allocate

METHODS = ["stratified", "k_center", "herding", "facility_location"]


def make_split(n=90, d=4, seed=0, fractions=(0.6, 0.3, 0.1)) -> Split:
    rng = np.random.default_rng(seed)
    y = rng.choice(len(fractions), n, p=fractions)
    X = rng.standard_normal((n, d)) + 2.0 * y[:, None]
    return Split.from_arrays(X, y, X[:30], y[:30])


@pytest.fixture(scope="module")
def split() -> Split:
    return make_split()


@pytest.fixture(scope="module")
def regression() -> Split:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    return Split.from_arrays(X, X[:, 0], X[:5], X[:5, 0], task="regression")


def naive_k_center(X, size):
    chosen = [int(np.argmin(((X - X.mean(axis=0)) ** 2).sum(axis=1)))]
    while len(chosen) < size:
        nearest = [min(np.linalg.norm(x - X[c]) for c in chosen) for x in X]
        chosen.append(int(np.argmax(nearest)))
    return sorted(chosen)


def naive_herding(X, size):
    chosen, mean = [], X.mean(axis=0)
    while len(chosen) < size:
        rest = [i for i in range(len(X)) if i not in chosen]
        chosen.append(min(rest, key=lambda i: np.linalg.norm(X[[*chosen, i]].mean(axis=0) - mean)))
    return sorted(chosen)


def naive_facility_location(X, size):
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    chosen = []
    while len(chosen) < size:
        rest = [i for i in range(len(X)) if i not in chosen]
        # of two rows nearest to each other either saves the same
        chosen.append(min(rest, key=lambda i: round(D[:, [*chosen, i]].min(axis=1).sum(), 9)))
    return sorted(chosen)


NAIVE = {"k_center": naive_k_center, "herding": naive_herding, "facility_location": naive_facility_location}


@pytest.mark.parametrize("method", NAIVE)
def test_matches_a_plain_loop(split, method):
    for size in (1, 7, 20):
        kept = select_rows(split, method, size, per_class=False)
        assert kept.tolist() == NAIVE[method](split.X, size)


@pytest.mark.parametrize("method", NAIVE)
def test_per_class_matches_a_plain_loop_in_every_class(split, method):
    fractions = allocate(np.bincount(split.y), 18)
    expected = []
    for k, fraction in enumerate(fractions):
        rows = np.flatnonzero(split.y == k)
        expected += rows[NAIVE[method](split.X[rows], fraction)].tolist()
    assert select_rows(split, method, 18).tolist() == sorted(expected)


def test_facility_location_keeps_what_apricot_keeps():
    record = json.loads((Path(__file__).parent / "fixtures" / "apricot.json").read_text())
    X = np.array(record["X"])
    split = Split.from_arrays(X, np.arange(len(X)) % 2, X[:4], [0, 1, 0, 1])
    served = np.linalg.norm(X[:, None] - X[None], axis=2)
    for size in range(1, 13):
        kept, theirs = facility_location(split, size, per_class=False), record["ranking"][:size]
        assert served[:, kept].min(axis=1).sum() == pytest.approx(served[:, theirs].min(axis=1).sum())
        if size <= 8:  # then come rows nearest to each other, of which either may be kept
            assert kept.tolist() == sorted(theirs)


def test_facility_location_in_blocks_keeps_the_same(split, monkeypatch):
    import importlib

    module = importlib.import_module("cdvm.selectors.facility_location")
    whole = facility_location(split, 25, per_class=False)
    monkeypatch.setattr(module, "_CACHED_ENTRIES", 1000)
    monkeypatch.setattr(module, "_LOOK_AGAIN", 3)
    np.testing.assert_array_equal(facility_location(split, 25, per_class=False), whole)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("per_class", [True, False])
@pytest.mark.parametrize("budget", [1, 2, 3, 10, 0.25, 89, 90])
def test_the_budget_is_met_exactly(split, method, per_class, budget):
    kept = select_rows(split, method, budget, per_class=per_class, random_state=0)
    size = budget if isinstance(budget, int) else round(budget * 90)
    assert len(kept) == len(set(kept.tolist())) == size
    assert (np.diff(kept) > 0).all()
    assert kept.min() >= 0
    assert kept.max() < 90
    if per_class:
        expected = allocate(np.bincount(split.y), size)
        np.testing.assert_array_equal(np.bincount(split.y[kept], minlength=3), expected)


@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_keeps_the_same_rows(split, method):
    first, again = (select_rows(split, method, 20, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize("method", METHODS)
def test_duplicate_rows_can_all_be_kept(method):
    X = np.zeros((12, 2))
    split = Split.from_arrays(X, [0, 1] * 6, X[:2], [0, 1])
    for size in (3, 12):
        kept = select_rows(split, method, size, per_class=False, random_state=0)
        assert len(set(kept.tolist())) == size


@pytest.mark.parametrize("method", NAIVE)
def test_sparse_features_keep_the_same_rows(split, method):
    thin = Split.from_arrays(sparse.csr_array(split.X), split.y, sparse.csr_array(split.X_val), split.y_val)
    np.testing.assert_array_equal(select_rows(thin, method, 15), select_rows(split, method, 15))


def test_stratified_draws_every_row_equally_often(split):
    counts = np.zeros(90)
    for seed in range(400):
        counts[stratified(split, 30, random_state=seed)] += 1
    for k in range(3):
        mine = split.y == k
        expected = 400 * allocate(np.bincount(split.y), 30)[k] / mine.sum()
        deviation = np.sqrt(expected * (1 - expected / 400))
        assert np.abs(counts[mine] - expected).max() < 5 * deviation


def test_k_center_halves_the_radius_of_random_rows(split):
    def radius(rows):
        return np.linalg.norm(split.X[:, None] - split.X[rows][None], axis=2).min(axis=1).max()

    chance = np.mean([radius(stratified(split, 12, per_class=False, random_state=s)) for s in range(20)])
    assert radius(k_center(split, 12, per_class=False)) < 0.75 * chance


def test_herding_keeps_the_mean(split):
    def miss(rows):
        return np.linalg.norm(split.X[rows].mean(axis=0) - split.X.mean(axis=0))

    chance = np.mean([miss(stratified(split, 12, per_class=False, random_state=s)) for s in range(20)])
    assert miss(herding(split, 12, per_class=False)) < 0.2 * chance


@pytest.mark.parametrize(("counts", "budget"), [([7, 2, 1], 8), ([98, 1, 1], 4), ([5, 5], 3), ([4, 4, 4], 2)])
def test_allocation_is_within_one_of_the_quota_or_saves_a_class(counts, budget):
    fractions = allocate(np.array(counts), budget)
    assert fractions.sum() == budget
    assert (fractions <= counts).all()
    if budget >= len(counts):
        assert fractions.min() >= 1


def test_regression_has_no_classes_to_divide_by(regression):
    for method in METHODS:
        with pytest.raises(InputError, match="per_class=False"):
            select_rows(regression, method, 5, per_class=True)
        assert len(select_rows(regression, method, 5)) == 5


@pytest.mark.parametrize("budget", [0, -1, 91, 1.5, "ten", True])
@pytest.mark.parametrize("method", METHODS)
def test_bad_budgets_are_refused(split, method, budget):
    with pytest.raises(InputError, match="budget="):
        select_rows(split, method, budget)


def test_unknown_names_and_options_are_answered_with_known_ones(split):
    with pytest.raises(InputError, match="did you mean 'k_center'"):
        select_rows(split, "k_centre", 5)
    with pytest.raises(InputError, match="it has per_class, random_state"):
        select_rows(split, "herding", 5, kernel="rbf")
    others = ["influence_pruning", "moderate", "hardest_right", "coverage_centric"]
    others += ["margin", "el2n", "forgetting", "craig", "glister", "coretab"]
    assert selector_names() == [*METHODS, *others]
