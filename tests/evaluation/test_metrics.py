"""Metrics, against scikit-learn's own."""

import numpy as np
import pytest
from sklearn import metrics
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from cdvm import CDVM, InputError, Split, compare_with_random, evaluate_sets, refine, score_sets
from cdvm.evaluation.metrics import METRICS, make_metric, metric_names
from cdvm.learners import SklearnLearner, make_learner
from cdvm.sampling import Subsets


@pytest.fixture(scope="module")
def split():
    rng = np.random.default_rng(0)
    y = np.repeat(["no", "yes"], [150, 30])
    X = rng.normal(size=(180, 3)) + (y == "yes")[:, None]
    order = rng.permutation(180)
    return Split.from_arrays(X[order], y[order], random_state=0)


@pytest.fixture(scope="module")
def three():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], [80, 40, 20])
    return Split.from_arrays(rng.normal(size=(140, 2)) + y[:, None], y, random_state=0)


SCORERS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced_accuracy",
    "f1_macro": "f1_macro",
    "roc_auc": "roc_auc_ovr",
    "log_loss": "neg_log_loss",
}


@pytest.mark.parametrize("metric", SCORERS)
@pytest.mark.parametrize("which", ["split", "three"])
def test_words_are_what_scikit_learn_means_by_them(metric, which, request):
    data = request.getfixturevalue(which)
    rows = np.arange(0, data.n_rows, 3)
    model = GaussianNB().fit(data.X[rows], data.y[rows])
    expected = metrics.get_scorer(SCORERS[metric])(model, data.X_val, data.y_val)
    for word in (metric, SCORERS[metric], metrics.get_scorer(SCORERS[metric])):
        found = evaluate_sets(
            data, SklearnLearner(GaussianNB()), [rows], data.evaluation, metric=word, n_jobs=1
        )
        assert found[0, 0, 0] == pytest.approx(expected, abs=1e-5)


def test_f1_is_of_the_second_of_two_classes(split, three):
    rows = np.arange(0, split.n_rows, 2)
    model = GaussianNB().fit(split.X[rows], split.y[rows])
    found = evaluate_sets(split, GaussianNB(), [rows], split.evaluation, metric="f1", n_jobs=1)
    assert found[0, 0, 0] == pytest.approx(metrics.f1_score(split.y_val, model.predict(split.X_val)))
    with pytest.raises(InputError, match="metric='f1' is for two classes, and there are 3: use 'f1_macro'"):
        score_sets(three, GaussianNB(), [rows[:40]], metric="f1")


def test_regression_has_words_of_its_own(rng):
    X = rng.normal(size=(90, 2))
    data = Split.from_arrays(X, X[:, 0] + rng.normal(size=90), task="regression", random_state=0)
    rows = np.arange(40)
    answers = Ridge().fit(data.X[rows], data.y[rows]).predict(data.X_val)
    for word, expected in {
        None: metrics.r2_score(data.y_val, answers),
        "mae": -metrics.mean_absolute_error(data.y_val, answers),
        "neg_median_absolute_error": -metrics.median_absolute_error(data.y_val, answers),
    }.items():
        found = evaluate_sets(data, Ridge(), [rows], data.evaluation, metric=word, n_jobs=1)
        assert found[0, 0, 0] == pytest.approx(expected)
        for metric in ("mae", "r2"):
            refined = refine(data.rows[:20], data, Ridge(), metric=metric, fits=100, n_jobs=1)
            assert np.isfinite(refined.score)
    with pytest.raises(
        InputError, match="metric='accuracy' does not fit a regression task: use 'r2' or 'mae'"
    ):
        score_sets(data, Ridge(), [rows], metric="accuracy")


@pytest.mark.parametrize("name", ["logistic", "neighbors", "forest", "boosting", "paper"])
@pytest.mark.parametrize("which", ["split", "three"])
def test_probabilities_add_up_and_agree_with_the_answers(name, which, request):
    if name in ("forest", "boosting"):
        pytest.importorskip("numba")
    data = request.getfixturevalue(which)
    two = np.flatnonzero(data.y < 2)[:40]
    sets = Subsets.of([np.arange(0, data.n_rows, 2), two, two[data.y[two] == 0]], data.n_rows)
    trainer = make_learner(name).bind(data, data.X_val)
    found = trainer.probabilities(sets)
    np.testing.assert_allclose(found.sum(axis=2), 1, atol=1e-5)
    sure = np.sort(found, axis=2)[..., -2:]
    clear = sure[..., 1] - sure[..., 0] > 1e-4
    np.testing.assert_array_equal(found.argmax(axis=2)[clear], trainer.predict(sets)[clear])
    assert (found[2, :, 0] == 1).all()


def test_probabilities_of_the_fast_logistic_learner_are_scikit_learns(split, three):
    for data in (split, three):
        rows = np.arange(0, data.n_rows, 2)
        model = LogisticRegression(tol=1e-8).fit(data.X[rows], data.y[rows])
        found = make_learner("logistic").bind(data, data.X_val).probabilities(Subsets.of([rows], data.n_rows))
        np.testing.assert_allclose(found[0], model.predict_proba(data.X_val), atol=2e-3)


def test_learners_without_probabilities_say_so(split):
    for learner in ("ridge", LinearSVC()):
        with pytest.raises(InputError, match=r"gives? no probabilities: use another metric"):
            score_sets(split, learner, [np.arange(50)], metric="log_loss", n_jobs=1)


@pytest.mark.parametrize("metric", metric_names("classification"))
def test_every_metric_compares_tunes_and_refines_out_of_bag(split, metric):
    pruner = CDVM("logistic", n_models=60, tune="grid", refine=60, metric=metric, n_jobs=1, random_state=0)
    pruner.fit_split(split.out_of_bag())
    keep = pruner.select(15)
    assert np.isfinite(keep.score)
    line = compare_with_random(pruner.split_, "logistic", [keep], metric=metric, draws=3, n_jobs=1)[0][
        "outside"
    ]
    best = 0.0 if metric == "log_loss" else 1.0
    assert all(value <= best for value in (line.kept, line.random, line.all_rows))


def test_rows_outside_a_set_are_scored_by_the_metric_itself(split):
    data, rows = split.out_of_bag(), np.arange(0, split.n_rows, 4)
    outside = np.setdiff1d(np.arange(data.n_rows), rows)
    model = GaussianNB().fit(data.X[rows], data.y[rows])
    expected = metrics.f1_score(data.y[outside], model.predict(data.X[outside]))
    assert score_sets(data, GaussianNB(), [rows], metric="f1", n_jobs=1)[0] == pytest.approx(expected)
    balanced = metrics.balanced_accuracy_score(data.y[outside], model.predict(data.X[outside]))
    found = score_sets(data, GaussianNB(), [rows], metric="balanced_accuracy", n_jobs=1)[0]
    assert found == pytest.approx(balanced, abs=0.02)  # classes weigh as in all rows
    expected = metrics.matthews_corrcoef(data.y[outside], model.predict(data.X[outside]))
    found = score_sets(data, GaussianNB(), [rows], metric="matthews_corrcoef", n_jobs=1)
    assert found[0] == pytest.approx(expected)
    line = compare_with_random(data, GaussianNB(), [rows], metric="matthews_corrcoef", draws=2, n_jobs=1)
    assert line[0]["outside"].kept == pytest.approx(expected)


def test_the_metric_has_the_last_word(split):
    """A scorer that finds every change worse sends a search back to where it began."""

    def spoiler(estimator, X, y):
        return -1.0 if spoiler.calls.pop(0) else 0.0

    data = split.out_of_bag()
    start = data.rows[:20]
    spoiler.calls = [True, False, False]
    assert refine(start, data, GaussianNB(), metric=spoiler, fits=200, n_jobs=1).indices.tolist() == [*start]
    spoiler.calls = [False, True, True]
    assert refine(start, data, GaussianNB(), metric=spoiler, fits=200, n_jobs=1).indices.tolist() != [*start]


def test_a_scorer_that_does_not_know_the_labels_says_so_in_one_line(split):
    with pytest.raises(
        InputError, match=r"metric='average_precision' cannot be used here \(.*pos_label.*\): use"
    ):
        evaluate_sets(
            split, "logistic", [np.arange(split.n_rows)], (split.X, split.y), metric="average_precision"
        )


def test_metrics_that_are_none():
    with pytest.raises(InputError, match="metric='acuracy' is unknown: did you mean 'accuracy'"):
        make_metric("acuracy")
    with pytest.raises(InputError, match="metric=3: use one of accuracy, balanced_accuracy"):
        make_metric(3)
    X, y = np.random.default_rng(0).normal(size=(40, 2)), [0, 1] * 20
    with pytest.raises(InputError, match="metric='f1' compares sets, and one is chosen: add tune='grid'"):
        CDVM(metric="f1", effort="low").fit(X, y)
    with pytest.raises(InputError, match="metric='mae' does not fit a classification task"):
        CDVM(metric="mae", refine=True).fit(X, y)


@pytest.mark.parametrize("which", ["split", "three"])
def test_scores_of_any_answers_are_scikit_learns(which, request, rng):
    data = request.getfixturevalue(which)
    k, y = data.n_classes, rng.integers(0, data.n_classes, 50)
    labels = rng.integers(0, k, (3, 50))
    chances = rng.dirichlet(np.ones(k), (3, 50))

    def by_model(function, answers):
        return pytest.approx([function(y, one) for one in answers])

    def score(name, answers):
        return make_metric(name, data).score(data, y, answers)

    assert score("accuracy", labels) == by_model(metrics.accuracy_score, labels)
    assert score("balanced_accuracy", labels) == by_model(metrics.balanced_accuracy_score, labels)
    assert score("f1_macro", labels) == by_model(lambda y, a: metrics.f1_score(y, a, average="macro"), labels)
    assert score("matthews_corrcoef", labels) == by_model(metrics.matthews_corrcoef, labels)
    assert score("log_loss", chances) == by_model(lambda y, a: -metrics.log_loss(y, a), chances)
    if k == 2:
        assert score("f1", labels) == by_model(metrics.f1_score, labels)
        apart = chances[..., 1] - chances[..., 0]
        assert score("roc_auc", chances) == pytest.approx([metrics.roc_auc_score(y, a) for a in apart])
        scorer = metrics.get_scorer("roc_auc")
        assert make_metric(scorer).needs == "scores"
        assert score(scorer, chances) == pytest.approx([metrics.roc_auc_score(y, a) for a in apart])
    else:
        expected = [metrics.roc_auc_score(y, a, multi_class="ovr") for a in chances]
        assert score("roc_auc", chances) == pytest.approx(expected)
        assert score("roc_auc_ovr", chances) == pytest.approx(expected)


def test_scores_of_any_targets_are_scikit_learns(rng):
    data = Split.from_arrays(rng.normal(size=(40, 2)), rng.normal(size=40), task="regression", random_state=0)
    y, answers = 3 * rng.normal(size=30), rng.normal(size=(4, 30))
    for name, function, sign in (
        ("r2", metrics.r2_score, 1),
        ("mae", metrics.mean_absolute_error, -1),
        ("neg_root_mean_squared_error", metrics.root_mean_squared_error, -1),
    ):
        found = make_metric(name, data).score(data, y, answers)
        assert found == pytest.approx([sign * function(y, one) for one in answers])


def test_a_label_never_trained_on_is_never_right(split):
    y = np.array([0, -1, 1, -1])
    found = make_metric("accuracy", split).score(split, y, np.array([[0, 0, 1, 1]]))
    assert found == pytest.approx([0.5])
    chances = np.array([[[0.9, 0.1], [0.5, 0.5], [0.2, 0.8], [1.0, 0.0]]])
    worst = -np.log(np.finfo(np.float32).eps)
    expected = -np.mean([-np.log(0.9), worst, -np.log(0.8), worst])
    assert make_metric("log_loss", split).score(split, y, chances) == pytest.approx([expected])
    # three labels, each of which counts the same: one right, one never, one right
    assert make_metric("balanced_accuracy", split).score(split, y, np.array([[0, 0, 1, 1]])) == pytest.approx(
        [2 / 3]
    )
    # a scorer is shown the others
    assert make_metric("matthews_corrcoef", split).score(split, y, np.array([[0, 0, 1, 1]])) == [1.0]


def test_scorers_have_names(three):
    def mine(estimator, X, y):
        return 0.0

    assert make_metric(mine).name == "mine"
    scorer = metrics.get_scorer("accuracy")
    assert make_metric(scorer).name == " ".join(repr(scorer).split())
    assert make_metric("matthews_corrcoef").name == "matthews_corrcoef"
    assert make_metric(METRICS["mae"]) is METRICS["mae"]
    with pytest.raises(InputError, match="metric='f1' is for two classes"):
        make_metric("f1", three)  # before anything is trained


def test_scores_are_enough_for_an_area(split):
    rows = np.arange(0, split.n_rows, 2)
    model = LinearSVC().fit(split.X[rows], split.y[rows])  # no probabilities
    expected = metrics.roc_auc_score(split.y_val, model.decision_function(split.X_val))
    for metric in ("roc_auc", metrics.get_scorer("roc_auc")):
        found = evaluate_sets(split, LinearSVC(), [rows], split.evaluation, metric=metric, n_jobs=1)
        assert found.item() == pytest.approx(expected, abs=1e-3)


def test_a_scorer_sees_the_scores_of_every_class(three, rng):
    y, scores = rng.integers(0, 3, 50), rng.normal(size=(2, 50, 3))
    found = make_metric("top_k_accuracy", three).score(three, y, scores)
    assert found == pytest.approx([metrics.top_k_accuracy_score(y, one, k=2) for one in scores])


def test_classes_that_do_not_occur_do_not_count(three, rng):
    for y, said in ([0, 0, 1], [0, 0, 0]), ([0, 0, 0], [0, 0, 1]), ([0, 0, 0], [0, 0, 0]):
        found = make_metric("f1_macro", three).score(three, np.array(y), np.array([said]))
        assert found == pytest.approx([metrics.f1_score(y, said, average="macro", zero_division=0)])
    area = make_metric("roc_auc", three)
    assert (area.name, area.needs, area.balanced) == ("roc_auc", "probabilities", True)
    y, chances = np.array([0, 1, 1, 1, 1]), rng.dirichlet(np.ones(3), (2, 5))
    expected = [np.mean([metrics.roc_auc_score(y == k, one[:, k]) for k in (0, 1)]) for one in chances]
    assert area.score(three, y, chances) == pytest.approx(expected)
    assert np.isnan(area.score(three, np.zeros(5, dtype=int), chances)).all()
