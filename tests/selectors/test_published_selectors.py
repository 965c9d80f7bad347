"""Selectors of other papers, against plain loops over their definitions."""

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from scipy.special import softmax
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.utils import check_random_state

from cdvm import InputError, Split
from cdvm.evaluation.difficulty import ease_of_rows, errors_of_rows, residuals_of_rows
from cdvm.sampling import Design, seed_of
from cdvm.selectors import (
    coretab,
    coverage_centric,
    craig,
    el2n,
    forgetting,
    glister,
    hardest_right,
    margin,
    select_rows,
)
from cdvm.selectors.coretab import regions_of_leaves
from cdvm.selectors.forgetting import count_forgotten


def make_split(n=240, classes=3, seed=0, **options) -> Split:
    X, y = make_classification(
        n, 6, n_informative=4, n_classes=classes, flip_y=0.1, class_sep=0.8, random_state=seed
    )
    return Split.from_arrays(X, y, validation="out_of_bag", random_state=0, **options)


@pytest.fixture(scope="module")
def split() -> Split:
    return make_split()


@pytest.fixture(scope="module")
def regression() -> Split:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = X @ [1.0, 2.0, 0.0] + rng.standard_normal(60)
    return Split.from_arrays(X, y, task="regression", validation="out_of_bag")


def residuals_by_loops(split, seed):
    """The residual of every row by each model of half of the rows that did not see it."""
    found = defaultdict(list)
    subsets = Design(split.n_rows, 0.5, seed=seed).take(range(20))
    for k in range(20):
        rows = subsets.rows(k)
        model = LogisticRegression(max_iter=2000, tol=1e-8).fit(split.X[rows], split.y[rows])
        chances = model.predict_proba(split.X)
        for i in set(range(split.n_rows)) - set(rows.tolist()):
            found[i].append(chances[i] - (np.arange(split.n_classes) == split.y[i]))
    return [found[i] for i in range(split.n_rows)]


@pytest.mark.parametrize("classes", [2, 3])
def test_errors_are_the_mean_lengths_of_residuals_and_residuals_their_means(classes):
    split = make_split(120, classes)
    each = residuals_by_loops(split, 5)
    lengths = [np.mean([np.linalg.norm(r) for r in rows]) for rows in each]
    np.testing.assert_allclose(errors_of_rows(split, "logistic", seed=5, n_jobs=1), lengths, atol=1e-3)
    means = [np.mean(rows, axis=0) for rows in each]
    np.testing.assert_allclose(residuals_of_rows(split, "logistic", seed=5, n_jobs=1), means, atol=1e-3)


def test_errors_of_targets_are_absolute(regression):
    errors = errors_of_rows(regression, "ridge_regression", n_jobs=1)
    residuals = residuals_of_rows(regression, "ridge_regression", n_jobs=1)
    assert residuals.shape == (60, 1)
    assert (errors >= np.abs(residuals[:, 0]) - 1e-12).all()
    assert el2n(regression, 6, learner="ridge_regression", random_state=0).tolist() == sorted(
        np.argsort(-errors_of_rows(regression, "ridge_regression", seed=seed_of(0)))[:6]
    )


def test_el2n_keeps_the_largest_errors(split):
    errors = errors_of_rows(split, "logistic", seed=seed_of(0), n_jobs=1)
    rows = el2n(split, 30, random_state=0)
    assert errors[rows].min() >= np.delete(errors, rows).max()


def test_margin_keeps_the_rows_nearest_to_the_boundary(split):
    doubt = np.abs(ease_of_rows(split, "logistic", seed=seed_of(0), n_jobs=1))
    rows = margin(split, 30, random_state=0)
    assert doubt[rows].max() <= np.delete(doubt, rows).min()


@pytest.mark.parametrize(
    ("selector", "name", "ask"),
    [
        (margin, "ease", ease_of_rows),
        (hardest_right, "ease", ease_of_rows),
        (coverage_centric, "ease", ease_of_rows),
        (el2n, "errors", errors_of_rows),
        (craig, "residuals", residuals_of_rows),
    ],
)
def test_what_models_said_earlier_gives_the_same_rows(split, selector, name, ask):
    said = ask(split, "logistic", seed=seed_of(4), n_jobs=1)
    given = selector(split, 24, random_state=4, learner="nothing that could be trained", **{name: said})
    assert given.tolist() == selector(split, 24, random_state=4).tolist()
    wrong = f"{name} is of 239 rows and there are 240 training rows: pass what {ask.__name__} finds"
    with pytest.raises(InputError, match=wrong):
        selector(split, 24, **{name: said[1:]})


def test_el2n_needs_probabilities(split):
    with pytest.raises(InputError, match="give no probabilities"):
        el2n(split, 10, learner="ridge")


def test_forgetting_counts_right_then_wrong():
    right = np.random.default_rng(0).random((12, 50)) < 0.5
    right[:, 7] = False
    times = [sum(a and not b for a, b in pairwise(r)) for r in right.T]
    times[7] = 12
    assert count_forgotten(right).tolist() == times


def test_forgetting_keeps_what_the_network_forgets_most(split):
    rng = check_random_state(3)
    network = MLPClassifier(random_state=seed_of(rng))
    right = []
    for _ in range(10):
        network.partial_fit(split.X, split.y, classes=[0, 1, 2])
        right.append(network.predict(split.X) == split.y)
    times = count_forgotten(np.array(right))
    never = int((times == 10).sum())
    rows = forgetting(split, never + 5, passes=10, random_state=3)
    assert sorted(times[rows])[:6] == [1] * 5 + [10]
    assert 0 < never < never + 5 < (times > 0).sum()


def test_equally_forgotten_rows_are_drawn():
    X = np.repeat([[-5.0], [5.0]], 40, axis=0)
    split = Split.from_arrays(X, np.repeat([0, 1], 40), validation="out_of_bag")
    kept = {tuple(forgetting(split, 8, passes=3, random_state=k)) for k in range(3)}
    assert len(kept) == 3


@pytest.mark.parametrize("classes", [2, 3])
def test_craig_is_facility_location_among_gradients(classes):
    split = make_split(60, classes)
    residuals = residuals_of_rows(split, "logistic", seed=seed_of(0), n_jobs=1)
    gradients = np.array([np.outer(r, [*x, 1]).ravel() for r, x in zip(residuals, split.X, strict=True)])
    distance = np.linalg.norm(gradients[:, None] - gradients[None], axis=2)
    chosen: list[int] = []
    while len(chosen) < 9:
        rest = [i for i in range(60) if i not in chosen]
        chosen.append(min(rest, key=lambda i: round(distance[:, [*chosen, i]].min(axis=1).sum(), 9)))
    assert craig(split, 9, per_class=False, random_state=0).tolist() == sorted(chosen)


def glister_by_loops(split, size, rounds, step):
    X, y = np.column_stack([split.X, np.ones(split.n_rows)]), np.eye(split.n_classes)[split.y]
    model, chosen = np.zeros((X.shape[1], split.n_classes)), []
    for part in np.array_split(np.arange(size), rounds):
        each = [np.outer(X[i], softmax(X[i] @ model) - y[i]) for i in range(split.n_rows)]
        whole = sum(each)
        rest = [i for i in range(split.n_rows) if i not in chosen]
        chosen += sorted(rest, key=lambda i: -(each[i] * whole).sum())[: len(part)]
        model = model - step / (X**2).sum(axis=1).mean() * sum(each[i] for i in chosen) / len(chosen)
    return sorted(chosen)


@pytest.mark.parametrize(("size", "rounds"), [(7, 7), (30, 6)])
def test_glister_follows_the_gradient_of_the_evaluation_rows(split, size, rounds):
    expected = glister_by_loops(split, size, rounds, 0.5)
    assert glister(split, size, rounds=rounds, step=0.5).tolist() == expected


def test_glister_and_craig_read_sparse_features(split):
    thin = Split.from_arrays(sparse.csr_matrix(split.X), split.y, validation="out_of_bag", random_state=0)
    assert glister(thin, 20).tolist() == glister(split, 20).tolist()
    said = residuals_of_rows(split, "logistic", n_jobs=1)
    assert craig(thin, 20, residuals=said).tolist() == craig(split, 20, residuals=said).tolist()
    assert len(coretab(thin, 20, random_state=0)) == 20


def test_glister_knows_targets(regression):
    rows = glister(regression, 10)
    far = np.abs(regression.y - regression.y.mean())
    assert far[rows].mean() > far.mean()


def regions_by_loops(leaves, y):
    region, groups, found = [-1] * len(y), [list(range(len(y)))], 0
    for column in leaves.T:
        smaller = defaultdict(list)
        for k, group in enumerate(groups):
            for i in group:
                smaller[k, column[i]].append(i)
        groups = []
        for group in smaller.values():
            if len(group) > 1 and len({int(y[i]) for i in group}) == 1:
                for i in group:
                    region[i] = found
                found += 1
            else:
                groups.append(group)
    return region


def test_regions_are_the_first_groups_of_one_class():
    rng = np.random.default_rng(1)
    leaves, y = rng.integers(0, 3, (200, 5)), rng.integers(0, 2, 200)
    ours, theirs = regions_of_leaves(leaves, y), regions_by_loops(leaves, y)
    pairs = set(zip(ours.tolist(), theirs, strict=True))
    assert len(pairs) == len(set(ours.tolist())) == len(set(theirs)) > 20
    assert ((ours < 0) == (np.array(theirs) < 0)).all()


def test_coretab_keeps_hard_rows_and_the_same_fraction_of_every_region(split):
    rng = check_random_state(0)
    model = GradientBoostingClassifier(n_estimators=2, max_depth=6, random_state=seed_of(rng))
    region = regions_of_leaves(model.fit(split.X, split.y).apply(split.X).reshape(240, -1)[:, :6], split.y)
    hard = np.flatnonzero(region < 0)
    rows = coretab(split, len(hard) + 60, trees=6, random_state=0)
    assert set(hard) <= set(rows)
    easy = region >= 0
    fraction = 60 / easy.sum()
    for r in np.unique(region[easy]):
        assert abs(np.isin(np.flatnonzero(region == r), rows).sum() - fraction * (region == r).sum()) <= 1
    few = coretab(split, 6, trees=6, random_state=0)
    assert easy[few].sum() == min(6, round(0.03 * easy.sum()))


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
def test_options_out_of_range_are_named_with_their_cure(split, method, option, value, cure):
    with pytest.raises(InputError, match=f"^{option}={value}: use {cure}$"):
        select_rows(split, method, 10, **{option: value})
