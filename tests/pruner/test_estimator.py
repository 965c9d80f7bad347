import inspect

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from cdvm import CDVM, InputError, Program, Selection, Split, solve
from cdvm.attribution.base import Attribution
from cdvm.evaluation.scoring import score_sets
from cdvm.learners import RidgeLearner
from cdvm.pruner.settings import GRID_ALPHAS, GRID_KAPPAS


@pytest.fixture(scope="module")
def table():
    X, y = load_wine(return_X_y=True, as_frame=True)
    X.index = [f"bottle {i}" for i in range(len(X))]
    return X, y.map({0: "red", 1: "white", 2: "rose"})


@pytest.fixture(scope="module")
def pruner(table):
    return CDVM("naive_bayes", n_models=300, n_jobs=1, random_state=0).fit(*table)


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


def test_selection_says_what_was_chosen_and_how(table, pruner):
    keep = pruner.select(30)
    assert len(keep) == keep.mask.sum() == len(keep.indices) == 30
    assert (np.diff(keep.indices) > 0).all()
    assert keep.mask.shape == (178,)
    assert np.isin(keep.indices, keep.candidates).all()
    assert (keep.candidates[keep.rows] == keep.indices).all()
    assert keep.weights.sum() == pytest.approx(30)
    program = Program(pruner.attribution_.dense(), 30)
    assert keep.kappa == pytest.approx(program.kappa)
    chosen = np.isin(np.arange(program.n_rows), keep.rows).astype(float)
    assert keep.objective == pytest.approx(program.objective(chosen))
    assert keep.objective <= solve(program).objective + 1e-9 <= keep.bound + 2e-6
    assert keep.gap == pytest.approx((keep.bound - keep.objective) / keep.bound, abs=1e-9)
    assert "30 of" in repr(keep)


def test_a_refined_selection_says_so_and_shows_no_gap(pruner):
    plain = pruner.select(8)
    assert not plain.refined
    assert f"gap={plain.gap:.2%}" in repr(plain)
    refined = clone(pruner).set_params(refine=100).fit_outcomes(pruner.split_, pruner.outcomes_).select(8)
    assert refined.refined
    assert refined.gap is not None
    assert "gap" not in repr(refined)
    assert f"refined by {refined.fits} fits" in repr(refined)
    other = Selection.of_rows(pruner.split_, np.arange(5), method="banzhaf", seconds=0.0)
    assert repr(other) == "Selection(5 of 178 rows, method='banzhaf')"


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix])
def test_the_kept_rows_of_any_sparse_format(rng, kind, make):
    X = rng.normal(size=(178, 4))
    keep = Selection(np.arange(3, 40, 5), 178, np.arange(178), np.ones(178), "rows", 0.0)
    kept = keep.take(make(X).asformat(kind))
    assert kept.format == kind
    assert sparse.isspmatrix(kept) == (make is sparse.csr_matrix)
    assert (kept.toarray() == X[keep.indices]).all()


def test_the_kept_rows_of_other_frames_and_columns(pruner, table):
    keep, (X, y) = pruner.select(20), table
    values, names = X.to_numpy()[keep.indices], y.to_numpy()[keep.indices].tolist()
    arrow = pyarrow.Table.from_pandas(X, preserve_index=False)
    for frame in (arrow, polars.from_pandas(X.reset_index(drop=True)), arrow.to_batches()[0]):
        kept = keep.take(frame)
        assert type(kept) is type(frame)
        assert (kept.to_pandas().to_numpy() == values).all()
    for column in (
        pyarrow.array(y),
        pyarrow.chunked_array([y]),
        polars.Series(y.tolist()),
        list(y),
        tuple(y),
    ):
        assert list(map(str, keep.take(column))) == names
    assert keep.take(y.astype("category").array).tolist() == names


@pytest.mark.parametrize(
    "given", [None, 5, "x" * 178, {"a": [1] * 178}, set(range(178)), iter([]), np.float64(1.0)]
)
def test_what_has_no_rows_is_refused(given):
    keep = Selection(np.arange(5), 178, np.arange(178), np.ones(178), "rows", 0.0)
    with pytest.raises(InputError, match=f"table is a {type(given).__name__}: pass an array"):
        keep.take(given)


def test_resampling_takes_other_kinds_of_labels(table):
    X, y = table
    pruner = CDVM("ridge", n_models=20, n_jobs=1, random_state=0, budget=20)
    X_kept, y_kept = pruner.fit_resample(pyarrow.Table.from_pandas(X, preserve_index=False), pyarrow.array(y))
    assert (X_kept.num_rows, len(y_kept)) == (20, 20)
    assert pruner.feature_names_in_.tolist() == list(X.columns)


def test_swaps_never_lower_the_objective(table, pruner):
    plain = clone(pruner).set_params(rounding="top").fit(*table)
    for budget in (5, 20, 60):
        top, swapped = plain.select(budget), pruner.select(budget)
        assert swapped.objective >= top.objective - 1e-12
        assert swapped.bound == pytest.approx(top.bound)


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
    settings = {"n_models": 50, "n_jobs": 1, "random_state": 0}
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
    pruner = CDVM("naive_bayes", n_models=50, n_jobs=1, random_state=0).fit(X, y, X[:60], y[:60])
    assert pruner.select(1.0).indices.tolist() == list(range(178))


def test_each_budget_is_solved_anew(pruner):
    small, large = pruner.select([0.1, 0.3])
    assert (len(small), len(large)) == (18, 53)
    assert pruner.select(0.1).indices.tolist() == small.indices.tolist()
    assert small.kappa != large.kappa


def test_the_same_rows_for_any_number_of_workers(table):
    runs = [
        CDVM("naive_bayes", n_models=150, n_jobs=jobs, random_state=3, tune="grid").fit(*table).select(0.1)
        for jobs in (1, 2)
    ]
    assert runs[0].indices.tolist() == runs[1].indices.tolist()
    assert runs[0].score == runs[1].score


def test_another_random_state_gives_other_models(table):
    first, second = (CDVM("naive_bayes", n_models=20, n_jobs=1, random_state=s).fit(*table) for s in (0, 1))
    assert (first.split_.rows.tolist(), first.outcomes_.data.tolist()) != (
        second.split_.rows.tolist(),
        second.outcomes_.data.tolist(),
    )


def test_grid_chooses_the_pair_best_on_the_validation_rows(table):
    settings = {"n_models": 150, "n_jobs": 1, "random_state": 0, "tune": "grid", "validation": "holdout"}
    pruner = CDVM("naive_bayes", **settings).fit(*table)
    keep = pruner.select(12)
    assert keep.alpha in GRID_ALPHAS
    assert keep.kappa in GRID_KAPPAS
    split = pruner.split_

    def accuracy(rows):
        return GaussianNB().fit(split.X[rows], split.y[rows]).score(split.X_val, split.y_val)

    assert keep.score == pytest.approx(accuracy(keep.rows))
    others = clone(pruner).set_params(tune=None)
    for alpha in GRID_ALPHAS:
        plain = clone(others).set_params(alpha=alpha, kappa=0.5).fit(*table).select(12)
        assert plain.score is None
        assert accuracy(plain.rows) <= keep.score + 1e-12


def test_without_validation_rows_the_grid_is_scored_outside_each_set(table, pruner):
    tuned = clone(pruner).set_params(tune="grid").fit(*table)
    keep = tuned.select(12)
    grid = [
        clone(pruner)
        .set_params(alpha=a, kappa=k)
        .fit_outcomes(pruner.split_, pruner.outcomes_)
        .select(12)
        .rows
        for a in GRID_ALPHAS
        for k in GRID_KAPPAS
    ]
    distinct = list({rows.tobytes(): rows for rows in grid}.values())
    scores = score_sets(tuned.split_, tuned.learner_, distinct, n_jobs=1)
    assert keep.score == pytest.approx(scores.max())
    assert keep.rows.tolist() == distinct[int(scores.argmax())].tolist()
    assert tuned.select(1.0).score is None


def test_resampling_in_the_manner_of_imbalanced_learn(table):
    X, y = table
    pruner = CDVM("naive_bayes", n_models=60, n_jobs=1, random_state=0, budget=20)
    X_kept, y_kept = pruner.fit_resample(X, y)
    assert X_kept.index.tolist() == X.index[pruner.sample_indices_].tolist()
    assert y_kept.index.tolist() == pruner.sample_indices_.tolist()
    assert pruner.get_support().sum() == 20
    assert (np.flatnonzero(pruner.get_support()) == pruner.get_support(indices=True)).all()
    pruner.set_params(budget=10)
    assert len(pruner.sample_indices_) == 10


def test_arrays_sparse_matrices_and_frames_choose_alike(table):
    X, y = table
    settings = {"n_models": 60, "n_jobs": 1, "random_state": 0}
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
    pruner = CDVM(LinearRegression(), n_models=200, inclusion=0.2, n_jobs=1, random_state=0).fit(X, y)
    assert not hasattr(pruner, "classes_")
    assert len(pruner.select(8)) == 8


def test_store_goes_on(table, tmp_path):
    settings = {"n_jobs": 1, "random_state": 0, "store": tmp_path / "s"}
    CDVM("naive_bayes", n_models=30, **settings).fit(*table)
    longer = CDVM("naive_bayes", n_models=60, **settings).fit(*table)
    plain = CDVM("naive_bayes", n_models=60, n_jobs=1, random_state=0).fit(*table)
    assert (longer.outcomes_.data == plain.outcomes_.data).all()


def test_selection_is_saved_and_read_back(pruner, tmp_path):
    keep = pruner.select(9)
    loaded = Selection.load(keep.save(tmp_path / "keep"))
    assert loaded.indices.tolist() == keep.indices.tolist()
    assert (loaded.weights == keep.weights).all()
    assert (loaded.gap, loaded.kappa, loaded.score, loaded.n_rows) == (keep.gap, keep.kappa, None, 178)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_models": 1}, "n_models=1"),
        ({"n_models": 10.5}, "n_models=10.5"),
        ({"alpha": 2}, "alpha=2"),
        ({"kappa": -1}, "kappa=-1"),
        ({"kappa": "many"}, "kappa='many'"),
        ({"tune": "random"}, "tune='random'"),
        ({"rounding": "up"}, "rounding='up'"),
        ({"inclusion": 0}, "inclusion=0"),
        ({"inclusion": "some"}, "inclusion='some'"),
        ({"design": "half"}, "design='half'"),
        ({"learner": "logistik"}, "did you mean 'logistic'"),
        ({"learner": object()}, "has no fit"),
        ({"validation_size": 1.5, "validation": "holdout"}, "validation_size=1.5: use a fraction"),
        ({"validation_size": 2}, "validation_size=2: use a fraction"),
        ({"validation_size": 0.3}, "validation_size=0.3 has no effect with validation='out_of_bag'"),
        ({"validation": "oob"}, "validation='oob': use 'auto', 'out_of_bag' or 'holdout'"),
        ({"outcome": "loss"}, "outcome='loss'"),
        ({"outcome": 3}, "outcome=3"),
        ({"budget": [5, 10]}, r"budget=\[5, 10\]: use"),
        ({"budget": True}, "budget=True"),
        ({"alpha": True}, "alpha=True"),
        ({"solver": "simplex"}, "solver='simplex': use 'auto', "),
        ({"scale": "yes"}, "scale='yes': use 'auto', True or False"),
        ({"scale": 1}, "scale=1: use"),
        ({"n_jobs": "a"}, "n_jobs='a': use a number of workers such as 2, or -1 for every core"),
        ({"n_jobs": 0}, "n_jobs=0: use"),
        ({"n_jobs": 1.5}, "n_jobs=1.5: use"),
        ({"progress": "x"}, "progress='x': use None, True or False"),
        ({"random_state": "a"}, "random_state='a': use"),
        ({"random_state": -1}, "random_state=-1: use"),
        ({"store": 5}, "store=5: use"),
        ({"refine": "yes"}, "refine='yes': use"),
        ({"tune": "grid", "alpha": 0.3}, "alpha=0.3 has no effect with tune='grid'"),
        ({"tune": "grid", "kappa": 1.0}, "kappa=1.0 has no effect with tune='grid'"),
        ({"attribution": "similarity"}, "n_models=10 has no effect with attribution='similarity'"),
        ({"attribution": "similarity", "n_models": 5000, "store": "runs"}, "store='runs' has no effect"),
    ],
)
def test_parameters_are_checked_before_any_model_is_trained(table, settings, message):
    with pytest.raises(InputError, match=message):
        CDVM(**{"n_models": 10, "n_jobs": 1, **settings}).fit(*table)


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
        return CDVM(learner, n_models=n_models, **settings, **words).fit(X, y)

    for pruner in (fitted("naive_bayes"), fitted("GaussianNB"), fitted(GaussianNB(), scale=True)):
        assert pruner.split_.scaled
        assert np.allclose(pruner.split_.X, seen)
    for pruner in (fitted(GaussianNB()), fitted("naive_bayes", scale=False)):
        assert not pruner.split_.scaled
        assert np.array_equal(pruner.split_.X, X)
    by_name = fitted("ridge", 60)
    by_hand = CDVM(RidgeLearner(), n_models=60, **settings).fit(seen, y)
    assert by_name.select(20).indices.tolist() == by_hand.select(20).indices.tolist()
    again = clone(by_name).fit_split(by_name.split_)  # not standardised twice
    assert (again.split_.X == by_name.split_.X).all()


def test_validation_rows_are_standardised_by_the_training_rows(table):
    X, y = table
    a, b = slice(0, None, 2), slice(1, None, 2)
    pruner = CDVM("ridge", n_models=4, n_jobs=1, random_state=0).fit(X[a], y[a], X[b], y[b])
    assert np.allclose(pruner.split_.X_val, StandardScaler().fit(X[a]).transform(X[b]))


def test_outcomes_fit_the_split_as_it_is_or_as_models_saw_it(table):
    X, y = table[0].to_numpy(), table[1]
    split = Split.from_arrays(X, y, validation="out_of_bag")
    first = CDVM("ridge", n_models=60, n_jobs=1, random_state=0).fit(X, y)
    for form in (split, first.split_):
        again = clone(first).fit_outcomes(form, first.outcomes_)
        assert again.split_.scaled
        assert again.select(9).indices.tolist() == first.select(9).indices.tolist()
    with pytest.raises(InputError, match="other rows"):
        clone(first).set_params(scale=False).fit_outcomes(split, first.outcomes_)


@pytest.mark.parametrize(
    "change",
    [
        {"alpha": 0.0},
        {"kappa": 0.01},
        {"budget": 20},
        {"rounding": "top"},
        {"solver": "first_order"},
        {"tune": "grid"},
        {"refine": 200},
        {"refine": {"fits": 200}},
    ],
)
def test_the_rows_kept_follow_every_setting(table, pruner, change):
    settings = {"alpha": 0.9, "kappa": "auto", "budget": 0.05}
    if "tune" in change:
        settings = {"budget": 0.05}
    changed = clone(pruner).set_params(**settings).fit_outcomes(pruner.split_, pruner.outcomes_)
    before = changed.sample_indices_
    assert changed.sample_indices_ is before  # chosen once
    changed.set_params(**change)
    expected = (
        clone(pruner)
        .set_params(**(settings | change))
        .fit_outcomes(pruner.split_, pruner.outcomes_)
        .select()
        .indices
    )
    assert changed.sample_indices_.tolist() == expected.tolist()


def test_a_dict_of_options_changed_in_place_is_noticed(pruner):
    options = {"fits": 100}
    own = clone(pruner).set_params(refine=options, budget=8)
    own.refine = options
    own.fit_outcomes(pruner.split_, pruner.outcomes_)
    first = own.sample_indices_
    options["metric"] = "balanced_accuracy"
    assert own.sample_indices_ is not first


def test_settings_changed_after_fit_are_checked(pruner):
    fitted = clone(pruner).fit_outcomes(pruner.split_, pruner.outcomes_).set_params(alpha=7)
    with pytest.raises(InputError, match="alpha=7"):
        fitted.select(5)


def test_nothing_of_an_earlier_fit_is_left(table, rng):
    X, y = table
    pruner = CDVM("naive_bayes", n_models=20, n_jobs=1, random_state=0).fit(X, y)
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
    pruner = CDVM("naive_bayes", n_models=20, n_jobs=1, random_state=0).fit(X, y)
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


def test_a_display_never_computes(pruner):
    class NoTable(Attribution):  # any product with T, and so any program, would say so
        shape = pruner.attribution_.shape

        def __getattribute__(self, name):
            if name in ("matvec", "rmatvec", "dense", "row_sums", "rows", "columns", "max"):
                raise AssertionError("a display computed")
            return super().__getattribute__(name)

    NoTable.__abstractmethods__ = frozenset()
    shown = clone(pruner).fit_outcomes(pruner.split_, pruner.outcomes_)
    shown.attribution_ = NoTable()
    with pytest.raises(AssertionError, match="a display computed"):
        _ = shown.sample_indices_
    assert "CDVM" in shown._repr_html_()
    assert "CDVM" in repr(shown._repr_mimebundle_())
    assert "CDVM" in repr(shown)
    assert "sample_indices_" not in dir(shown)
    assert "sample_indices_" not in dict(inspect.getmembers(shown))
    assert "select" in dir(shown)


def test_a_display_shows_rows_that_are_known(pruner):
    shown = clone(pruner).fit_outcomes(pruner.split_, pruner.outcomes_)
    _ = shown.sample_indices_
    assert "sample_indices_" in dir(shown)
    assert "sample_indices_" in shown._repr_html_()


@pytest.mark.parametrize("budget", [0, -1, 1000, 0.0, 1.5, "5%", None.__class__])
def test_budgets_that_cannot_be_met(pruner, budget):
    with pytest.raises(InputError, match="budget"):
        pruner.select(budget)


def test_select_before_fit():
    with pytest.raises(NotFittedError):
        CDVM().select(5)


def test_data_errors_reach_the_user(table):
    X, y = table
    with pytest.raises(InputError, match="NaN in row 'bottle 3'"):
        CDVM(n_models=5, prepare=False).fit(X.mask(np.eye(178, 13, k=-3).astype(bool)), y)
    with pytest.raises(InputError, match="one class only"):
        CDVM(n_models=5).fit(X, pd.Series(["red"] * 178))


@parametrize_with_checks(
    [CDVM(DecisionTreeClassifier(max_depth=2), n_models=4, inclusion=0.5, n_jobs=1, random_state=0)]
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
