import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from valuation_games import blobs

from cdvm.attribution.base import MatrixAttribution
from cdvm.data.split import Split
from cdvm.errors import InputError
from cdvm.valuation import Values, detection_report, flip_labels, flip_split, p_values, suspects, value_rows


@given(st.lists(st.integers(0, 4), min_size=5, max_size=60), st.integers(0, 99))
def test_flips_move_exactly_the_share_to_other_classes(labels, seed):
    codes = np.array(labels)
    moved, flipped = flip_labels(codes, 0.3, n_classes=5, seed=seed)
    assert len(flipped) == max(1, round(0.3 * len(codes)))
    assert np.array_equal(np.flatnonzero(moved != codes), flipped)
    assert ((moved >= 0) & (moved < 5)).all()


def test_flips_reach_every_other_class_evenly():
    moved, flipped = flip_labels(np.zeros(4000, dtype=int), 0.5, n_classes=3, seed=0)
    assert np.bincount(moved[flipped], minlength=3) == pytest.approx([0, 1000, 1000], abs=120)


def test_flips_of_a_split_leave_the_validation_rows_alone():
    split = blobs()
    noisy, flipped = flip_split(split, 0.1, seed=2)
    assert np.array_equal(np.flatnonzero(noisy.y != split.y), flipped)
    assert noisy.y_val is split.y_val


@pytest.mark.parametrize("fraction", [0.0, 1.0, -1])
def test_flips_need_a_proper_share(fraction):
    with pytest.raises(InputError, match=f"fraction={fraction}"):
        flip_labels(np.zeros(10, dtype=int), fraction, n_classes=2)


def test_flips_need_classes():
    X = np.arange(10.0)[:, None]
    with pytest.raises(InputError, match="regression"):
        flip_split(Split.from_arrays(X, X[:, 0], X, X[:, 0], task="regression"), 0.1)
    with pytest.raises(InputError, match="n_classes=1"):
        flip_labels(np.zeros(10, dtype=int), 0.1)


def test_values_below_zero_are_suspected_at_the_stated_rate():
    rng = np.random.default_rng(0)
    error = rng.uniform(0.5, 2, 20_000)
    harmless = Values.of(20_000, error * rng.standard_normal(20_000), "banzhaf", stderr=error)
    for rate in (0.01, 0.1):
        assert len(suspects(harmless, rate=rate)) / 20_000 == pytest.approx(rate, rel=0.15)
    assert len(suspects(harmless)) == len(suspects(harmless, rate=0.01))


def test_a_value_without_doubt_or_without_error_is_decided_by_its_sign():
    values = Values.of(4, [-0.1, 0.1, 0.0, -1.0], "shapley", stderr=[0.0, 0.0, 0.0, np.nan])
    assert suspects(values).tolist() == [0]
    assert p_values(values).tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize(
    "source",
    [
        [0.5, -1.0],
        Values.of(2, [0.5, -1.0], "knn_shapley"),
        Values.of(2, [-0.5, -1.0], "out_of_bag", stderr=[0.1, 0.1]),  # squared errors are never above 0
        MatrixAttribution(np.diag([1.0, 0.1])),
    ],
    ids=["numbers", "no stderr", "no contribution", "attribution"],
)
def test_without_evidence_a_share_is_asked_for(source):
    with pytest.raises(InputError, match=r"fraction=0\.05, or use method='out_of_bag'"):
        suspects(source)
    assert suspects(source, 1).tolist() == [1]


def test_suspects_by_rate_or_by_share_not_both():
    values = Values.of(2, [0.5, -1.0], "banzhaf", stderr=[0.1, 0.1])
    with pytest.raises(InputError, match="use one"):
        suspects(values, 1, rate=0.1)
    with pytest.raises(InputError, match="goes with fraction="):
        suspects(values, side="low")
    for rate in (0, 1, -0.1, "1%"):
        with pytest.raises(InputError, match="rate of false alarms between 0 and 1"):
            suspects(values, rate=rate)


def test_suspects_come_from_values_attributions_and_numbers_alike():
    numbers = np.array([0.5, -1.0, 0.4, 0.6])
    attribution = MatrixAttribution(np.column_stack([numbers, numbers]))
    for source in (numbers, attribution, Values.of(4, numbers, "banzhaf")):
        assert suspects(source, 1).tolist() == [1]
    assert suspects(Values.of(4, numbers, "memorization"), 2).tolist() == [0, 3]
    assert suspects(numbers, 2, side="high").tolist() == [0, 3]
    with pytest.raises(InputError, match="side='up'"):
        suspects(numbers, side="up")


def test_report_counts_hits():
    report = detection_report([0, 1, 2, 3], [2, 3, 4])
    assert (report.precision, report.recall) == (0.5, 2 / 3)
    assert report.f1 == pytest.approx(2 * 0.5 * (2 / 3) / (0.5 + 2 / 3))
    assert detection_report([], [1]).f1 == 0
    with pytest.raises(InputError, match="flipped"):
        detection_report([1], [])


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("knn_shapley", {}),
        ("banzhaf", {"n_models": 500, "inclusion": 0.2}),
        ("out_of_bag", {"n_models": 60}),
        ("memorization", {"n_models": 60}),
    ],
)
def test_flipped_labels_of_an_easy_table_are_found(method, options):
    split, flipped = flip_split(blobs(60, gap=5.0, n_classes=3), 0.1, seed=3)
    values = value_rows(split, "neighbors", method, n_jobs=1, **options)
    found = detection_report(suspects(values, 0.1), flipped)
    assert found.f1 > 0.6  # chance is 0.1
    chance = detection_report(suspects(value_rows(split, None, "random"), 0.1), flipped)
    assert chance.f1 < found.f1
