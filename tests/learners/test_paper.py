"""The batched model of the paper against a plain PyTorch loop, one model at a time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, make_classification

from cdvm.data.split import Split
from cdvm.errors import InputError
from cdvm.learners.batched.batches import epoch_orders, initial_weights
from cdvm.learners.paper import PaperLearner
from cdvm.sampling import Design, Subsets


def two_class_split() -> Split:
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return Split.from_arrays(X, y, validation_size=0.2, random_state=0)


def ten_class_split() -> Split:
    X, y = load_digits(return_X_y=True)
    return Split.from_arrays(X / 16, y, validation_size=0.4, random_state=0)


def torch_loop(split, subsets, X, *, lr=0.01, epochs=15, batch_size=250, init_seed=None):
    """The protocol as one would write it for a single model; weights and predictions of each."""
    torch = pytest.importorskip("torch", reason="the reference is a PyTorch loop: pip install cdvm[torch]")
    torch.set_num_threads(1)
    K, d = split.n_classes, split.X.shape[1]
    features = torch.tensor(np.asarray(split.X), dtype=torch.float32)
    codes = torch.tensor(split.y)
    one_hot = torch.eye(K)[codes]
    initial = torch.tensor(initial_weights(subsets.seed if init_seed is None else init_seed, K, d))
    weights, labels = [], []
    for k in range(len(subsets)):
        layer = torch.nn.Linear(d, K)
        with torch.no_grad():
            layer.weight.copy_(initial[:, :-1])
            layer.bias.copy_(initial[:, -1])
        optimizer = torch.optim.Adam(layer.parameters(), lr=lr)
        for order in torch.tensor(epoch_orders(subsets, k, epochs), dtype=torch.int64):
            for rows in torch.split(order, batch_size):
                optimizer.zero_grad()
                if K == 2:
                    p = torch.sigmoid(layer(features[rows]))
                    loss = torch.nn.functional.binary_cross_entropy(p, one_hot[rows])
                else:
                    p = torch.softmax(layer(features[rows]), dim=1)
                    loss = torch.nn.functional.cross_entropy(p, codes[rows])
                loss.backward()
                optimizer.step()
        with torch.no_grad():
            weights.append(torch.cat([layer.weight, layer.bias[:, None]], dim=1).numpy())
            labels.append(layer(torch.tensor(np.asarray(X), dtype=torch.float32)).argmax(dim=1).numpy())
    return np.array(weights), np.array(labels)


def assert_same_models(split, subsets, **options):
    weights, labels = torch_loop(split, subsets, split.X_val, **options)
    learner = PaperLearner(**{"learning_rate" if k == "lr" else k: v for k, v in options.items()})
    trainer = learner.bind(split, split.X_val)
    assert np.abs(trainer.weights(subsets) - weights).max() < 1e-4
    assert (trainer._labels(subsets) == labels).mean() >= 0.999
    assert len(np.unique(labels)) > 1


@pytest.mark.parametrize("split", [two_class_split(), ten_class_split()], ids=["K=2", "K=10"])
@pytest.mark.parametrize(
    ("kind", "inclusion", "n_models"),
    [("bernoulli", 0.05, 60), ("fixed", 0.4, 12), ("bernoulli", 0.7, 8), ("bootstrap", 1.0, 8)],
)
def test_same_models_as_a_pytorch_loop(split, kind, inclusion, n_models):
    design = Design(split.n_rows, inclusion, kind, seed=3)
    assert_same_models(split, design.take(range(n_models)))


@pytest.mark.parametrize("size", [249, 250, 251, 266, 499, 500, 501])
def test_sizes_around_the_batch_size(size):
    X, y = make_classification(700, 12, n_informative=6, n_classes=3, random_state=0)
    split = Split.from_arrays(X, y, random_state=0)
    assert_same_models(split, Design(split.n_rows, size / split.n_rows, "fixed", seed=size).take(range(3)))


def test_other_settings_and_initial_weights():
    split = two_class_split()
    subsets = Design(split.n_rows, 0.2, seed=1).take(range(10))
    assert_same_models(split, subsets, lr=0.1, epochs=4, batch_size=17, init_seed=99)


def test_saturated_outputs_follow_pytorch():
    split = two_class_split()
    split = Split.from_arrays(split.X * 60, split.y, split.X_val * 60, split.y_val)
    subsets = Design(split.n_rows, 0.1, seed=4).take(range(20))
    weights, labels = torch_loop(split, subsets, split.X_val)
    trainer = PaperLearner().bind(split, split.X_val)
    assert np.abs(trainer.weights(subsets) - weights).max() < 1e-3
    assert (trainer._labels(subsets) == labels).mean() >= 0.999


def test_repeated_rows_count_as_often_as_they_occur():
    split = two_class_split()
    sets = [[0, 0, 0, 5, 9, 30], [0, 5, 9, 30], [0, 5, 9, 30] * 2]
    weights = PaperLearner().bind(split, split.X_val).weights(Subsets.of(sets, split.n_rows))
    assert np.abs(weights[0] - weights[1]).max() > 1e-3
    np.testing.assert_allclose(weights[2], weights[1], atol=1e-5)


@pytest.mark.parametrize("inclusion", [0.05, 0.8])
def test_a_model_is_the_same_in_every_chunk(inclusion, monkeypatch):
    split = ten_class_split()
    subsets = Design(split.n_rows, inclusion, seed=5).take(range(40))
    trainer = PaperLearner().bind(split, split.X_val)
    whole = trainer.predict(subsets)
    alone = np.vstack([trainer.predict(subsets[k : k + 1]) for k in range(40)])
    shuffled = np.random.default_rng(0).permutation(40)
    np.testing.assert_array_equal(alone, whole)
    np.testing.assert_array_equal(trainer.predict(subsets[shuffled]), whole[shuffled])
    monkeypatch.setattr("cdvm.learners.paper._CHUNK_BYTES", 1)
    np.testing.assert_array_equal(trainer.predict(subsets), whole)


def test_initial_weights_are_shared_and_follow_the_seed():
    split = two_class_split()
    start = initial_weights(7, 2, 30)
    assert start.shape == (2, 31)
    assert np.abs(start).max() <= 30**-0.5
    assert np.abs(start).max() > 0.9 * 30**-0.5
    subsets = Design(split.n_rows, 0.1, seed=7).take(range(4))
    one_step = PaperLearner(epochs=1).bind(split, split.X_val).weights(subsets)
    assert np.abs(one_step - start).max() <= 0.01 + 1e-6
    other = PaperLearner(init_seed=8).bind(split, split.X_val).weights(subsets)
    same = PaperLearner(init_seed=7).bind(split, split.X_val).weights(subsets)
    default = PaperLearner().bind(split, split.X_val).weights(subsets)
    np.testing.assert_array_equal(same, default)
    assert np.abs(other - default).max() > 0.01


def test_sets_no_model_can_learn_from():
    split = ten_class_split()
    row_of = [int(np.flatnonzero(split.y == c)[0]) for c in range(10)]
    sets = [[], [row_of[4]] * 3, [row_of[4], row_of[7]], np.flatnonzero(split.y == 2)]
    trainer = PaperLearner().bind(split, split.X_val)
    subsets = Subsets.of(sets, split.n_rows)
    answer = trainer.predict(subsets)
    assert (answer[0] == np.bincount(split.y).argmax()).all()
    assert (answer[1] == 4).all()
    assert (answer[3] == 2).all()
    assert np.isfinite(trainer.weights(subsets[[2]])).all()
    assert trainer.scores(subsets).shape == (4, len(split.y_val), 10)


def test_constant_and_duplicate_columns():
    split = two_class_split()
    X = np.column_stack([split.X, np.full(split.n_rows, 3.0), np.zeros(split.n_rows), split.X[:, 0]])
    wide = Split.from_arrays(X, split.y, X[:50], split.y[:50])
    assert_same_models(wide, Design(split.n_rows, 0.1, seed=6).take(range(10)))


def test_scores_agree_with_labels():
    for split in (two_class_split(), ten_class_split()):
        subsets = Design(split.n_rows, 0.1, seed=8).take(range(5))
        trainer = PaperLearner().bind(split, split.X_val)
        np.testing.assert_array_equal(trainer.scores(subsets).argmax(axis=2), trainer.predict(subsets))


def test_sparse_features_give_the_same_models():
    split = ten_class_split()
    thin = Split.from_arrays(sparse.csr_array(split.X), split.y, sparse.csr_array(split.X_val), split.y_val)
    subsets = Design(split.n_rows, 0.05, seed=9).take(range(10))
    dense = PaperLearner().predict(split, subsets, split.X_val)
    assert (PaperLearner().predict(thin, subsets, thin.X_val) == dense).mean() > 0.999


def test_wrong_settings_are_named():
    with pytest.raises(InputError, match="epochs=0"):
        PaperLearner(epochs=0)
    with pytest.raises(InputError, match="learning_rate=-1"):
        PaperLearner(learning_rate=-1)
    numbers = Split.from_arrays(np.eye(6), np.arange(6.0), task="regression", random_state=0)
    with pytest.raises(InputError, match="ridge_regression"):
        PaperLearner().bind(numbers, numbers.X_val)
