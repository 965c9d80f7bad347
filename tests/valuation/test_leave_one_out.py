import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from valuation_games import PAPER, UNEVEN, blobs, with_one_and_two_jobs

from cdvm.valuation.leave_one_out import leave_one_out


@pytest.mark.parametrize("game", [PAPER, UNEVEN])
def test_only_rows_alone_in_their_cluster_have_a_value(game):
    values = leave_one_out(8, game)
    assert np.abs(values.values - game.leave_one_out).max() < 1e-10
    assert values.meta["fits"] == 9


def test_agrees_with_training_one_model_after_another():
    split = blobs(30, gap=1.0)
    accuracy = [
        (GaussianNB().fit(split.X[rows], split.y[rows]).predict(split.X_val) == split.y_val).mean()
        for rows in [np.arange(30), *(np.delete(np.arange(30), i) for i in range(30))]
    ]
    values = leave_one_out(split, "naive_bayes", n_jobs=1).values
    assert np.allclose(values, accuracy[0] - np.array(accuracy[1:]))
    assert values.any()


def test_values_do_not_depend_on_jobs_or_batches(monkeypatch):
    split = blobs(gap=1.0)
    one, two = with_one_and_two_jobs(lambda jobs: leave_one_out(split, "naive_bayes", n_jobs=jobs).values)
    monkeypatch.setattr("cdvm.valuation.leave_one_out._ENTRIES_AT_ONCE", 400)
    batches = leave_one_out(split, "naive_bayes", n_jobs=1).values
    assert np.array_equal(one, two)
    assert np.array_equal(one, batches)
