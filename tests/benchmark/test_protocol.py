import json

import numpy as np
import pytest

from cdvm.benchmark.protocol import PROTOCOLS, SIX, Protocol, get_protocol
from cdvm.datasets import load_dataset
from cdvm.errors import InputError
from cdvm.learners.logistic import LogisticLearner
from cdvm.learners.paper import PaperLearner


@pytest.mark.parametrize("name", PROTOCOLS)
def test_saved_protocol_is_read_back(name):
    protocol = get_protocol(name)
    assert Protocol.from_dict(json.loads(json.dumps(protocol.to_dict()))) == protocol


def test_unknown_names_are_refused():
    with pytest.raises(InputError, match="paper"):
        get_protocol("papr")
    with pytest.raises(InputError, match="colour"):
        Protocol.from_dict(get_protocol("paper").to_dict() | {"colour": "red"})


def test_paper_keeps_split_and_noise_but_not_initial_weights():
    protocol = get_protocol("paper")
    first, second = protocol.split("digits", 0), protocol.split("digits", 1)
    assert first.fingerprint() == second.fingerprint()
    a, b = protocol.learner("digits", 0), protocol.learner("digits", 1)
    assert isinstance(a, PaperLearner)
    assert a.init_seed != b.init_seed


def test_clean_draws_a_new_split_each_time():
    protocol = get_protocol("clean")
    assert protocol.split("digits", 0).fingerprint() != protocol.split("digits", 1).fingerprint()
    assert protocol.split("digits", 1).fingerprint() == protocol.split("digits", 1).fingerprint()
    assert isinstance(protocol.learner("digits", 0), LogisticLearner)


def test_noise_moves_a_tenth_of_training_and_validation_labels_only():
    noisy = Protocol("x", noise=0.1, split_seed=3, scaling="table")
    clean = noisy.replace(noise=0.0)
    a, b = clean.split("digits", 0), noisy.split("digits", 0)
    assert (a.y != b.y).sum() == 100
    assert (a.y_val != b.y_val).sum() == 50
    np.testing.assert_array_equal(a.y_test, b.y_test)
    np.testing.assert_array_equal(a.X, b.X)


def test_parts_are_disjoint_rows_of_the_data_set():
    data = load_dataset("digits")
    parts = Protocol("x")._parts(len(data.y), seed=1)
    assert [len(p) for p in parts] == [1000, 500, 297]
    assert len(np.unique(np.concatenate(parts))) == 1797


def test_small_data_set_shrinks_all_parts_alike():
    sizes = [len(p) for p in Protocol("x", test=500)._parts(178, seed=0)]
    assert sizes == [89, 44, 44]


def test_scaling():
    table = Protocol("x", scaling="table", split_seed=0).split("wine", 0)
    train = Protocol("x", scaling="train", split_seed=0).split("wine", 0)
    whole = np.concatenate([table.X, table.X_val, table.X_test])
    assert np.abs(train.X.mean(axis=0)).max() < 1e-9
    assert np.abs(whole.mean(axis=0)).max() < 0.1
    assert np.abs(table.X.mean(axis=0)).max() > 1e-3
    raw = Protocol("x", scaling="tabular", split_seed=0).split("digits", 0)
    assert raw.X.max() == 16


@pytest.mark.data
@pytest.mark.parametrize(("dataset", "published"), [("pol", 0.668), ("nomao", 0.789), ("adult", 0.655)])
def test_random_rows_reach_the_published_accuracy(data_home, dataset, published):
    from cdvm.evaluation.comparison import random_sets
    from cdvm.evaluation.scoring import evaluate_sets

    protocol = get_protocol("paper")
    split = protocol.split(dataset, 0)
    scores = [
        evaluate_sets(
            split,
            protocol.learner(dataset, r),
            random_sets(1000, 50, 8, seed=r),
            (split.X_test, split.y_test),
        ).mean()
        for r in range(12)
    ]
    assert abs(np.mean(scores) - published) < 0.02


def test_the_six():
    assert len(set(SIX)) == 6
