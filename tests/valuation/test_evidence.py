"""P-values of labels, from votes of models that did not see their rows."""

import numpy as np
import pytest
from valuation_games import blobs

from cdvm import Design, Split, record_outcomes
from cdvm.learners import make_learner
from cdvm.valuation import flip_split, record_bootstrap, suspects, value_rows
from cdvm.valuation.evidence import count_votes, surprise


def drawn(n, n_classes, exponent, seed, fraction=0.0):
    """Votes whose sharpened fractions are beliefs, for labels drawn from these but for some wrong ones."""
    rng = np.random.default_rng(seed)
    beliefs = rng.dirichlet(np.full(n_classes, 0.15), size=n)
    labels = np.array([rng.choice(n_classes, p=b) for b in beliefs])
    wrong = rng.random(n) < fraction
    labels[wrong] = (labels[wrong] + rng.integers(1, n_classes, wrong.sum())) % n_classes
    fractions = beliefs ** (1 / exponent)
    votes = np.round(400 * fractions / fractions.sum(axis=1, keepdims=True))
    turned = np.array([np.roll(v, -label) for v, label in zip(votes, labels, strict=True)])
    return turned, wrong


@pytest.mark.parametrize(("n_classes", "exponent"), [(2, 1.0), (2, 0.5), (10, 1.0), (10, 2.0)])
def test_of_labels_drawn_as_believed_no_more_than_the_rate_are_suspected(n_classes, exponent):
    votes, _ = drawn(4000, n_classes, exponent, seed=n_classes)
    p, fraction = surprise(votes)
    assert fraction < 0.02
    for rate in (0.01, 0.05):
        assert (p <= rate).mean() <= 1.3 * rate


@pytest.mark.parametrize("n_classes", [2, 10])
def test_wrong_labels_do_not_soften_the_beliefs(n_classes):
    votes, wrong = drawn(4000, n_classes, 1.0, seed=3, fraction=0.1)
    p, fraction = surprise(votes)
    assert fraction == pytest.approx(0.1, abs=0.03)
    assert (p[~wrong] <= 0.01).mean() <= 0.015
    assert (p[wrong] <= 0.01).mean() > 0.3


def test_votes_are_those_of_models_without_the_row():
    split = blobs(30, gap=2.0, n_classes=3)
    run = record_bootstrap(split, "neighbors", n_models=40, n_jobs=1)
    members = run.design.take(run.models).members.toarray() > 0
    whole = Split.from_arrays(split.X, split.y, split.X, split.y)
    trainer = make_learner("neighbors").bind(whole, split.X)
    answers = trainer.predict(run.design.take(run.models))
    expected = np.zeros((split.n_rows, 3))
    for model, row in np.argwhere(~members):
        expected[row, (answers[model, row] - split.y[row]) % 3] += 1
    np.testing.assert_array_equal(count_votes(run, split), expected)


def test_right_and_wrong_are_votes_where_there_are_two_classes():
    two, three = blobs(20, gap=2.0), blobs(20, gap=2.0, n_classes=3)
    for split, told in ((two, True), (three, False)):
        own_rows = Split.from_arrays(split.X, split.y, split.X, split.y)
        design = Design(split.n_rows, 1.0, "bootstrap", 0)
        bits = record_outcomes(own_rows, make_learner("neighbors"), design, range(60), n_jobs=1)
        values = value_rows(split, None, "out_of_bag", outcomes=bits)
        assert (values.p_values is not None) == told
    answers = value_rows(two, "neighbors", "out_of_bag", n_models=60, n_jobs=1)
    bits = record_outcomes(
        Split.from_arrays(two.X, two.y, two.X, two.y),
        make_learner("neighbors"),
        Design(two.n_rows, 1.0, "bootstrap", 0),
        range(60),
        n_jobs=1,
    )
    same = value_rows(two, None, "out_of_bag", outcomes=bits)
    np.testing.assert_array_equal(same.p_values, answers.p_values)
    np.testing.assert_array_equal(same.values, answers.values)


@pytest.mark.parametrize("method", ["out_of_bag", "memorization"])
def test_clean_digits_raise_few_alarms_and_flipped_ones_are_found(method, digits):
    options = {"n_models": 100, "n_jobs": 1}
    clean = suspects(value_rows(digits, "neighbors", method, **options))
    assert len(clean) / digits.n_rows <= 0.02
    noisy, flipped = flip_split(digits, 0.1, seed=0)
    found = suspects(value_rows(noisy, "neighbors", method, **options))
    assert np.isin(found, flipped).mean() > 0.8
    assert np.isin(flipped, found).mean() > 0.5


def test_p_values_are_saved(tmp_path):
    values = value_rows(blobs(20, gap=2.0), "neighbors", "out_of_bag", n_models=40, n_jobs=1)
    again = type(values).load(values.save(tmp_path / "v"))
    np.testing.assert_array_equal(again.p_values, values.p_values)
    assert list(values.to_frame().columns) == ["row", "value", "stderr", "count", "p_value"]
