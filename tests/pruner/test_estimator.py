import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from cdvm import CDVM, InputError, Split
from cdvm.learners import RidgeLearner


def test_a_frame_keeps_columns_and_index(table, pruner):
    X, y = table
    keep = pruner.select(0.2)
    kept = keep.take(X)
    assert list(kept.columns) == list(X.columns)
    assert kept.index.tolist() == X.index[keep.indices].tolist()
    assert (kept.to_numpy() == X.to_numpy()[keep.indices]).all()
    assert keep.take(list(y)) == y.iloc[keep.indices].tolist()
    with pytest.raises(InputError, match="5 rows, but rows were chosen out of 178"):
        keep.take(X[:5])


def test_without_validation_rows_every_row_is_a_candidate_and_an_evaluation_row(table, pruner):
    assert pruner.select(1.0).indices.tolist() == list(range(178))
    T = pruner.attribution_.dense()
    assert T.shape == (178, 178)
    assert (np.diag(T) == 0).all()
    seen = pruner.outcomes_.design.take(pruner.outcomes_.models).members.toarray() > 0
    right = pruner.outcomes_.values().astype(float)
    mean = np.array([right[~seen[:, j], j].mean() for j in range(178)])
    right[seen] = np.broadcast_to(mean, right.shape)[seen]
    expected = [right[seen[:, i]].mean(axis=0) - right[~seen[:, i]].mean(axis=0) for i in range(178)]
    assert np.allclose(T, expected, atol=1e-6)


def test_held_out_rows_are_never_kept(table):
    settings = {"effort": "low", "n_models": 50, "n_jobs": 1, "random_state": 0}
    pruner = CDVM("naive_bayes", validation="holdout", **settings).fit(*table)
    all_rows = pruner.select(1.0)
    assert len(all_rows) == pruner.split_.n_rows == 178 - len(pruner.split_.y_val) < 178
    assert set(all_rows.indices) == set(pruner.split_.rows)
    again = CDVM("naive_bayes", **settings).fit(*table, validation="holdout")
    assert (again.outcomes_.data == pruner.outcomes_.data).all()
    with pytest.raises(InputError, match="leave out X_val"):
        CDVM("naive_bayes", **settings).fit(*table, *table, validation="out_of_bag")


def test_own_validation_rows_make_every_row_a_candidate(table):
    X, y = table
    pruner = CDVM("naive_bayes", effort="low", n_models=50, n_jobs=1, random_state=0).fit(
        X, y, X[:60], y[:60]
    )
    assert pruner.select(1.0).indices.tolist() == list(range(178))


def test_the_same_rows_for_any_number_of_workers(table):
    runs = [
        CDVM("naive_bayes", n_models=150, n_jobs=jobs, random_state=3, tune="grid").fit(*table).select(0.1)
        for jobs in (1, 2)
    ]
    assert runs[0].indices.tolist() == runs[1].indices.tolist()
    assert runs[0].score == runs[1].score


def test_another_random_state_gives_other_models(table):
    first, second = (
        CDVM("naive_bayes", effort="low", n_models=20, n_jobs=1, random_state=s).fit(*table) for s in (0, 1)
    )
    assert (first.split_.rows.tolist(), first.outcomes_.data.tolist()) != (
        second.split_.rows.tolist(),
        second.outcomes_.data.tolist(),
    )


def test_arrays_sparse_matrices_and_frames_choose_alike(table):
    X, y = table
    settings = {"effort": "low", "n_models": 60, "n_jobs": 1, "random_state": 0}
    frame = CDVM(GaussianNB(), **settings).fit(X, y).select(20).indices
    array = CDVM(GaussianNB(), **settings).fit(X.to_numpy(), y.tolist()).select(20).indices
    assert frame.tolist() == array.tolist()
    kept = CDVM("logistic", **settings).fit(sparse.csr_array(X.to_numpy()), y).select(20)
    assert kept.take(sparse.csr_array(X.to_numpy())).shape == (20, 13)


def test_fitted_attributes(table, pruner):
    X, _ = table
    assert pruner.classes_.tolist() == ["red", "rose", "white"]
    assert pruner.n_features_in_ == 13
    assert pruner.feature_names_in_.tolist() == list(X.columns)
    assert pruner.outcomes_.n_models == 300
    assert pruner.attribution_.shape == (pruner.split_.n_rows, len(pruner.split_.evaluation[1]))


def test_regression(rng):
    X = rng.normal(size=(80, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=80)
    pruner = CDVM(
        LinearRegression(), effort="low", n_models=200, inclusion=0.2, n_jobs=1, random_state=0
    ).fit(X, y)
    assert not hasattr(pruner, "classes_")
    assert len(pruner.select(8)) == 8


def test_store_goes_on(table, tmp_path):
    settings = {"n_jobs": 1, "random_state": 0, "store": tmp_path / "s"}
    CDVM("naive_bayes", effort="low", n_models=30, **settings).fit(*table)
    longer = CDVM("naive_bayes", effort="low", n_models=60, **settings).fit(*table)
    plain = CDVM("naive_bayes", effort="low", n_models=60, n_jobs=1, random_state=0).fit(*table)
    assert (longer.outcomes_.data == plain.outcomes_.data).all()


def test_words_on_evaluation_rows_are_refused_where_there_are_some(table, pruner):
    X, y = table
    settings = {"learner": "naive_bayes", "n_models": 10, "n_jobs": 1}
    with pytest.raises(InputError, match="validation='holdout' goes without validation rows"):
        CDVM(validation="holdout", **settings).fit(X, y, X, y)
    with pytest.raises(InputError, match=r"validation_size=0\.3 has no effect with X_val"):
        CDVM(validation_size=0.3, **settings).fit(X, y, X, y)
    for words in ({"validation": "holdout"}, {"validation_size": 0.3}):
        with pytest.raises(
            InputError, match="has no effect with a split, which has its features and evaluation rows"
        ):
            CDVM(**words, **settings).fit_split(pruner.split_)
        with pytest.raises(
            InputError, match="has no effect with a split, which has its features and evaluation rows"
        ):
            CDVM(**words, **settings).fit_outcomes(pruner.split_, pruner.outcomes_)
    with pytest.raises(InputError, match="no use for outcomes"):
        CDVM(attribution="similarity").fit_outcomes(pruner.split_, pruner.outcomes_)


def test_a_learner_by_name_gets_standardised_features_and_an_object_the_users(table):
    X, y = table
    settings = {"n_jobs": 1, "random_state": 0}
    seen = StandardScaler().fit_transform(X)

    def fitted(learner, n_models=4, **words):
        return CDVM(learner, effort="low", n_models=n_models, **settings, **words).fit(X, y)

    for pruner in (fitted("naive_bayes"), fitted("GaussianNB"), fitted(GaussianNB(), scale=True)):
        assert pruner.split_.scaled
        assert np.allclose(pruner.split_.X, seen)
    for pruner in (fitted(GaussianNB()), fitted("naive_bayes", scale=False)):
        assert not pruner.split_.scaled
        assert np.array_equal(pruner.split_.X, X)
    by_name = fitted("ridge", 60)
    by_hand = CDVM(RidgeLearner(), effort="low", n_models=60, **settings).fit(seen, y)
    assert by_name.select(20).indices.tolist() == by_hand.select(20).indices.tolist()
    again = clone(by_name).fit_split(by_name.split_)  # not standardised twice
    assert (again.split_.X == by_name.split_.X).all()


def test_validation_rows_are_standardised_by_the_training_rows(table):
    X, y = table
    a, b = slice(0, None, 2), slice(1, None, 2)
    pruner = CDVM("ridge", effort="low", n_models=4, n_jobs=1, random_state=0).fit(X[a], y[a], X[b], y[b])
    assert np.allclose(pruner.split_.X_val, StandardScaler().fit(X[a]).transform(X[b]))


def test_outcomes_fit_the_split_as_it_is_or_as_models_saw_it(table):
    X, y = table[0].to_numpy(), table[1]
    split = Split.from_arrays(X, y, validation="out_of_bag")
    first = CDVM("ridge", effort="low", n_models=60, n_jobs=1, random_state=0).fit(X, y)
    for form in (split, first.split_):
        again = clone(first).fit_outcomes(form, first.outcomes_)
        assert again.split_.scaled
        assert again.select(9).indices.tolist() == first.select(9).indices.tolist()
    with pytest.raises(InputError, match="other rows"):
        clone(first).set_params(scale=False).fit_outcomes(split, first.outcomes_)


def test_nothing_of_an_earlier_fit_is_left(table, rng):
    X, y = table
    pruner = CDVM("naive_bayes", effort="low", n_models=20, n_jobs=1, random_state=0).fit(X, y)
    _ = pruner.sample_indices_
    assert {"classes_", "feature_names_in_", "outcomes_", "_kept", "_base"} <= set(vars(pruner))
    numbers = rng.normal(size=(60, 2))
    pruner.set_params(learner="ridge_regression").fit(numbers, numbers[:, 0])
    left = {"classes_", "feature_names_in_", "_kept", "_base"} & set(vars(pruner))
    assert not left
    assert len(pruner.sample_indices_) == 6
    pruner.set_params(attribution="similarity", n_models=5000).fit(numbers, numbers[:, 0])
    assert not hasattr(pruner, "outcomes_")


def test_a_fit_that_fails_leaves_the_earlier_one_whole(table, rng):
    X, y = table
    pruner = CDVM("naive_bayes", effort="low", n_models=20, n_jobs=1, random_state=0).fit(X, y)
    before = dict(vars(pruner))
    with pytest.raises(InputError, match="NaN"):
        pruner.fit(np.full((20, 2), np.nan), [0, 1] * 10)

    def interrupt(labels, scores):
        raise KeyboardInterrupt

    pruner.outcome = interrupt
    with pytest.raises(KeyboardInterrupt):
        pruner.fit(rng.normal(size=(40, 2)), [0, 1] * 20)
    pruner.outcome = None
    assert vars(pruner) == before


def test_data_errors_reach_the_user(table):
    X, y = table
    with pytest.raises(InputError, match="NaN in row 'bottle 3'"):
        CDVM(effort="low", n_models=5, prepare=False).fit(X.mask(np.eye(178, 13, k=-3).astype(bool)), y)
    with pytest.raises(InputError, match="one class only"):
        CDVM(effort="low", n_models=5).fit(X, pd.Series(["red"] * 178))


@parametrize_with_checks(
    [
        CDVM(
            DecisionTreeClassifier(max_depth=2),
            effort="low",
            n_models=4,
            inclusion=0.5,
            n_jobs=1,
            random_state=0,
        )
    ]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_no_class_is_left_out_where_the_budget_allows():
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    few = np.concatenate(
        [np.flatnonzero(y == 0)[:40], np.flatnonzero(y == 1)[:40], np.flatnonzero(y == 2)[:3]]
    )
    evaluation = np.flatnonzero(y != 2)[-40:]
    options = {"n_models": 300, "kappa": 5.0, "n_jobs": 1, "random_state": 0}
    paper, ours = (
        CDVM("ridge", rounding=rounding, **options)
        .fit(X[few], y[few], X[evaluation], y[evaluation])
        .select(3)
        for rounding in ("top", "swap")
    )
    assert 2 not in y[few][paper.indices]  # nobody asks for it
    assert set(y[few][ours.indices]) == {0, 1, 2}
    assert ours.gap > 0
