import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier
from valuation_games import PAPER, blobs, with_one_and_two_jobs

from cdvm.data.split import Split
from cdvm.errors import InputError, StoreError
from cdvm.evaluation.scoring import evaluate_sets
from cdvm.learners import make_learner
from cdvm.sampling import Design, Subsets
from cdvm.valuation import Game, Values, utilities


def values(numbers, **fields):
    return Values.of(len(numbers), np.array(numbers), "test", **fields)


def test_top_keeps_the_highest_and_prefers_the_earlier_of_equals():
    assert values([0.1, 0.5, 0.5, 0.5]).top(2).tolist() == [1, 2]
    assert values([0.5, 0.1, 0.1, 0.1]).top(2, remove="high").tolist() == [1, 2]
    assert values([0.3, 0.2, 0.9, 0.1]).top(0.5).tolist() == [0, 2]
    many = values(np.tile([0.0, 1.0, 2.0], 100))
    assert many.top(150).tolist() == sorted([*range(2, 300, 3), *range(1, 150, 3)])


def test_top_refuses_what_makes_no_sense():
    with pytest.raises(InputError, match="remove='best'"):
        values([1.0, 2.0]).top(1, remove="best")
    with pytest.raises(InputError, match="budget=3"):
        values([1.0, 2.0]).top(3)


def test_values_know_the_rows_of_the_users_table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((40, 2)), index=[f"r{i}" for i in range(40)])
    split = Split.from_arrays(frame, [0, 1] * 20, random_state=0)
    found = Values.of(split, np.arange(split.n_rows), "test", stderr=np.ones(split.n_rows)).to_frame()
    assert list(found.columns) == ["row", "value", "stderr"]
    assert [f"r{row}" for row in found["row"]] == list(found.index)


def test_values_survive_a_file(tmp_path):
    before = Values.of(blobs(), np.linspace(0, 1, 60), "test", counts=np.full(60, 7), fits=3, exact=False)
    after = Values.load(before.save(tmp_path / "values"))
    assert np.array_equal(after.values, before.values)
    assert np.array_equal(after.counts, before.counts)
    assert (after.method, after.meta, after.stderr, after.index) == ("test", before.meta, None, None)


def test_text_labels_survive_a_file_without_pickle(tmp_path):
    labels = np.array(["a", "b"], dtype=object)
    before = Values(np.zeros(2), "test", np.arange(2), index=labels)
    assert Values.load(before.save(tmp_path / "v.npz")).index.tolist() == ["a", "b"]


def test_a_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / "v.npz").write_bytes(b"nothing")
    with pytest.raises(StoreError, match="values"):
        Values.load(tmp_path / "v.npz")


def test_utilities_equal_the_scores_of_evaluate(split):
    subsets = Design(split.n_rows, 0.2, seed=3).take(range(20))
    sets = [subsets.rows(k) for k in range(20)]
    learner = make_learner("naive_bayes")
    expected = evaluate_sets(split, learner, sets, split.evaluation, n_jobs=1)[0, :, 0]
    assert np.array_equal(utilities(split, learner, subsets, n_jobs=1), expected)


def test_utilities_do_not_depend_on_jobs():
    split = blobs(gap=1.0)
    subsets = Design(split.n_rows, 0.2).take(range(120))  # more than one task
    one, two = with_one_and_two_jobs(lambda jobs: utilities(split, "naive_bayes", subsets, n_jobs=jobs))
    assert np.array_equal(one, two)
    assert len(set(one)) > 2


def test_regression_is_scored_by_r2():
    X = np.linspace(0, 1, 30)[:, None]
    split = Split.from_arrays(X, 2 * X[:, 0], X, 2 * X[:, 0], task="regression")
    empty, both = utilities(split, LinearRegression(), Subsets.of([[], [0, 29]], 30), n_jobs=1)
    assert empty == pytest.approx(0.0, abs=1e-12)
    assert both == pytest.approx(1.0)


def test_a_game_counts_what_it_is_asked():
    game = Game(8, PAPER)
    game(Subsets.of([[0], [1]], 8))
    game(Subsets.of([[]], 8))
    assert game.evaluations == 3


def test_a_utility_of_the_wrong_shape_is_refused():
    with pytest.raises(InputError, match="one number per subset"):
        Game(3, lambda subsets: np.zeros(1))(Subsets.of([[0], [1]], 3))


def test_a_number_of_rows_is_not_enough_for_a_learner():
    with pytest.raises(InputError, match="pass a Split"):
        Game(3, KNeighborsClassifier())
