"""Several ways to choose, decided by the model the rows are for."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_wine, make_moons
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from cdvm import CDVM, Selection, Split
from cdvm.errors import InputError
from cdvm.evaluation.difficulty import Difficulty
from cdvm.learners import make_learner
from cdvm.pruner import portfolio
from cdvm.pruner.grounds import Grounds, find_grounds
from cdvm.pruner.portfolio import Portfolio, Proposal, _leaderboard


class Counted(ClassifierMixin, BaseEstimator):
    """Logistic regression that counts its fits."""

    fits = 0

    def fit(self, X, y):
        Counted.fits += 1
        self.model_ = LogisticRegression().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def decision_function(self, X):
        return self.model_.decision_function(X)


def grounds_of(split):
    """All rows evaluate, and are the harder the earlier they come."""
    n = split.n_rows
    return Grounds(
        split, split, Difficulty(np.arange(float(n)), np.arange(n) % 4, np.arange(4.0 * n).reshape(4, n))
    )


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(300, noise=0.25, random_state=0)
    wrong = np.random.default_rng(0).random(300) < 0.1
    return X, np.where(wrong, 1 - y, y)


@pytest.fixture(scope="module")
def fitted(moons):
    pruner = CDVM(
        Counted(), proxy="logistic", effort="medium", seconds=None, n_models=300, n_jobs=1, random_state=0
    )
    Counted.fits = 0
    pruner.fit(*moons)
    assert Counted.fits == 1  # to see that it can be trained
    return pruner, pruner.select(20)


def test_the_learner_itself_trains_tens_and_the_proxy_thousands(fitted):
    _, keep = fitted
    # once tried, eight random sets, the program's, three by fractions, three mined, one mined on, one refined
    assert Counted.fits == 1 + 17 + 32
    assert sum(line.fits for line in keep.leaderboard) > 1000


def test_the_leaderboard_has_random_rows_and_one_answer_which_is_the_best(fitted):
    _, keep = fitted
    names = [line.name for line in keep.leaderboard]
    assert {"random", "program", "fractions", "mining", "own mining"} < set(names)
    assert len(names) == 6
    assert any(name.endswith("+refine") for name in names)
    assert [line.kept for line in keep.leaderboard].count(True) == 1
    best = next(line for line in keep.leaderboard if line.kept)
    random = next(line for line in keep.leaderboard if line.name == "random")
    assert keep.score == best.score == max(line.score for line in keep.leaderboard)
    assert best.score > random.score + random.standard_error
    assert len(keep) == 20
    assert -1 <= keep.agreement <= 1


def test_a_leaderboard_is_saved_and_loaded(fitted, tmp_path):
    _, keep = fitted
    again = Selection.load(keep.save(tmp_path / "keep"))
    assert again.leaderboard == keep.leaderboard
    assert again.agreement == keep.agreement


def test_the_answer_does_not_depend_on_the_workers(fitted, moons):
    pruner, keep = fitted
    other = CDVM(**(pruner.get_params() | {"n_jobs": 2})).fit(*moons).select(20)
    assert (other.indices == keep.indices).all()
    assert [line.score for line in other.leaderboard] == [line.score for line in keep.leaderboard]


def test_a_learner_that_trains_many_at_once_is_its_own_proxy():
    X, y = load_wine(return_X_y=True)
    pruner = CDVM("ridge", effort="medium", n_models=200, n_jobs=1, random_state=0).fit(X, y)
    assert pruner.proxy_ is pruner.learner_
    keep = pruner.select(9)
    assert keep.agreement is None
    assert keep.leaderboard[0].score >= keep.leaderboard[-1].score
    assert len(pruner.select(len(y))) == len(y)


@pytest.mark.parametrize(
    ("learner", "proxy"),
    [(SVC(), "random_features"), (GaussianNB(), "sklearn"), (LogisticRegression(), "logistic")],
)
def test_thousands_are_trained_by_a_relative(moons, learner, proxy):
    X, y = moons
    pruner = CDVM(learner, n_models=20, n_jobs=1, random_state=0).fit(1000 * X, y)
    assert pruner.outcomes_.manifest["learner"]["name"] == pruner.proxy_.name == proxy
    assert (pruner.split_.X == 1000 * X).all()
    assert pruner.learner_.task == "classification"


def test_a_proxy_gets_numbers_of_columns_and_missing_values(moons):
    pd = pytest.importorskip("pandas")
    X, y = moons
    table = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "high", "low")})
    table.loc[::7, "a"] = np.nan
    pruner = CDVM(
        HistGradientBoostingClassifier(), proxy="ridge", effort="medium", seconds=1, n_models=50, n_jobs=1
    )
    keep = pruner.fit(table, y).select(60)
    assert len(keep.take(table)) == 60
    assert np.isnan(pruner.split_.X.table["a"]).any()
    missing = np.where(np.arange(300)[:, None] % 7 == 0, np.nan, X)
    assert len(pruner.fit(missing, y).select(60)) == 60


def test_no_proxy_means_the_learner_itself(moons):
    X, y = moons
    pruner = CDVM(SVC(), proxy=None, n_models=4, n_jobs=1, random_state=0).fit(X[:60], y[:60])
    assert pruner.proxy_ is pruner.learner_
    assert pruner.outcomes_.manifest["learner"]["name"] == "sklearn"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"effort": "medium", "refine": True}, "refine=True"),
        ({"effort": "high", "tune": "grid"}, "tune='grid'"),
        (
            {"seconds": 3, "refine": True},
            "seconds=3 has no effect with refine=True, which means effort='low'",
        ),
        ({"seconds": 3, "effort": "low"}, "seconds=3 has no effect with effort='low'"),
        ({"effort": "medium", "seconds": 0}, "seconds=0: use a positive number"),
        ({"effort": "much"}, "effort='much': use None, 'low', 'medium' or 'high'"),
        ({"proxy": "ridge_regression"}, "proxy='ridge' is for regression"),
        ({"proxy": "logistik"}, "logistik"),
    ],
)
def test_settings_without_meaning_are_refused(moons, options, message):
    with pytest.raises(InputError, match=message):
        CDVM("logistic", n_models=4, **options).fit(*moons)


@pytest.mark.parametrize(
    ("options", "effort"),
    [
        ({}, "medium"),
        ({"seconds": 3}, "medium"),
        ({"metric": "balanced_accuracy"}, "medium"),
        ({"solver": "highs"}, "medium"),
        ({"alpha": 0.0}, "low"),
        ({"kappa": 1.0}, "low"),
        ({"tune": "grid"}, "low"),
        ({"rounding": "top"}, "low"),
        ({"refine": 50}, "low"),
        ({"refine": 50, "effort": "low"}, "low"),
        ({"alpha": 0.0, "effort": "high"}, "high"),
    ],
)
def test_ways_are_compared_unless_settings_say_how_to_choose(options, effort):
    assert CDVM(**options)._effort == effort


def test_by_default_ways_are_compared_but_not_where_conditions_are_given(moons):
    pruner = CDVM("ridge", n_models=100, n_jobs=1, random_state=0).fit(*moons)
    assert {"random", "program"} < {line.name for line in pruner.select(20).leaderboard}
    for given in ({"keep": [3]}, {"costs": np.ones(300)}, {"weights": np.ones(300)}):
        assert pruner.select(20, **given).leaderboard is None
    asked = CDVM("ridge", effort="medium", n_models=100, n_jobs=1, random_state=0).fit(*moons)
    assert 3 in asked.select(20, keep=[3]).indices
    assert asked.select(20, keep=[3]).leaderboard


def test_ways_are_compared_by_the_metric():
    """One row in twenty is of the class that classes of one size make half of the score."""
    rng = np.random.default_rng(0)
    y = (rng.random(3300) < 0.05).astype(int)
    X = rng.normal(size=(3300, 3)) + y[:, None]
    found = {}
    for metric in (None, "balanced_accuracy"):
        pruner = CDVM("logistic", metric=metric, n_models=200, n_jobs=1, random_state=0).fit(X[:300], y[:300])
        kept = pruner.select(30).indices
        found[metric] = LogisticRegression().fit(X[kept], y[kept]).predict(X[300:])[y[300:] == 1].mean()
    assert found["balanced_accuracy"] > found[None]


def test_no_class_is_left_out():
    """Of 300 rows three are of a class; most random sets of 12 have none of it."""
    rng = np.random.default_rng(0)
    y = np.r_[np.zeros(150, int), np.ones(147, int), np.full(3, 2)]
    X = rng.normal(size=(300, 3)) + y[:, None]
    pruner = CDVM("ridge", n_models=100, n_jobs=1, random_state=0).fit(X, y)
    grounds = find_grounds(pruner.split_, pruner.split_, pruner.proxy_, n_jobs=1)
    ways = Portfolio(grounds, pruner.learner_, pruner.proxy_)
    proposals = ways.propose(pruner.select(12))
    assert all(np.bincount(y[p.selection.indices], minlength=3).min() >= 2 for p in proposals)
    assert np.bincount(y[pruner.select(12).indices], minlength=3).min() >= 2


def test_scores_of_a_regression_are_r2():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = X @ [3.0, 2.0, 1.0, 0.0] + rng.normal(size=200)
    keep = CDVM("ridge_regression", n_models=100, n_jobs=1, random_state=0).fit(X, y).select(60)
    assert 0.8 < keep.score < 1


def test_time_is_kept_about(moons):
    pruner = CDVM("neighbors", effort="high", seconds=0.2, n_models=100, n_jobs=1, random_state=0)
    keep = pruner.fit(*moons).select(30)
    unhurried = sum(line.fits for line in keep.leaderboard)
    assert unhurried < 4 * (480 + 3000)


@pytest.mark.parametrize(
    ("principal", "effort", "size", "seconds", "fits", "each"),
    [
        (SVC(), "medium", 100, None, [520, 192, 32], None),
        (SVC(), "medium", 100, 9.0, [520, 192, 32], 1.0),
        (SVC(), "high", 100, None, [2080, 768, 128], None),
        (SVC(), "medium", 5000, None, [292, 107, 32], None),  # two million rows in all,
        (SVC(), "medium", 10**6, None, [93, 34, 32], None),  # or a few models all the same
        (LogisticRegression(), "medium", 100, 9.0, [520, 192], 1.5),  # its proxy is of its kind
    ],
)
def test_mining_trains_as_many_models_as_their_rows_allow(
    moons, monkeypatch, principal, effort, size, seconds, fits, each
):
    asked = []

    class Recorded:
        def __init__(self, scorer, learner, difficulty, **options):
            self.fits = 10 if learner is proxy else 5

        def choose(self, size, *, fits, seconds):
            asked.append((fits, seconds))
            return np.arange(300)

        def draw(self, among, size, draws, *, fits, seconds):
            asked.append((fits, seconds))
            return [np.arange(k, k + 30) for k in range(draws)]

        def go_on(self, rows, among, *, fits, seconds):
            asked.append((fits, seconds))
            return rows + 10

    monkeypatch.setattr(portfolio, "Miner", Recorded)
    split = Split.from_arrays(*moons, validation="out_of_bag", random_state=0)
    proxy = make_learner("logistic")
    ways = Portfolio(grounds_of(split), make_learner(principal), proxy, effort, seconds)
    found = ways._mined(size)
    assert asked == [(number, each) for number in fits]
    assert [(p.name, p.fits) for p in found] == [("mining", 10)] * 3 + [("own mining", 15)] * (len(fits) - 2)
    assert [p.selection.rows[0] for p in found] == [0, 1, 2, 10][: len(found)]


def test_scorers_of_a_learner_share_what_it_prepares_and_count_their_own_models(moons, monkeypatch):
    made = []
    init = portfolio.HeldOutScorer.__init__

    def counted(self, split, learner, **options):
        made.append((learner.name, options["evaluation"]))
        init(self, split, learner, **options)

    monkeypatch.setattr(portfolio.HeldOutScorer, "__init__", counted)
    split = Split.from_arrays(*moons, validation="out_of_bag", random_state=0)
    ways = Portfolio(grounds_of(split), make_learner("ridge"), make_learner("logistic"), n_jobs=1)
    first = ways._scorer(ways.proxy)
    first.score_rows(np.arange(40).reshape(2, 20))
    second, third = ways._scorer(ways.proxy), ways._scorer(ways.principal)
    assert made == [("logistic", "all"), ("ridge", "all")]
    assert (first.fits, second.fits, third.fits) == (2, 0, 0)
    first.steepness = 5.0
    assert ways._scorer(ways.proxy).steepness == second.steepness != 5.0


def proposals_of(split, *methods):
    sets = (np.arange(k, k + 5) for k in range(len(methods)))
    return [
        Proposal(Selection.of_rows(split, rows, method=method, seconds=0.0))
        for rows, method in zip(sets, methods, strict=True)
    ]


def test_where_nothing_is_better_random_rows_are_kept(moons):
    split = Split.from_arrays(*moons, validation="out_of_bag", random_state=0)
    scores = np.array([0.7] * 7 + [0.8, 0.6])
    board = _leaderboard(proposals_of(split, *["random"] * 8, "fractions"), scores, np.zeros(9))
    assert [(line.name, line.kept) for line in board] == [("random", True), ("fractions", False)]
    assert board[0].score == pytest.approx(0.7125)


@pytest.mark.parametrize(("effort", "refined"), [("medium", [10]), ("high", [10, 8])])
def test_ways_are_compared_by_the_mean_of_their_sets(moons, effort, refined):
    """One lucky set of eight does not make chance the best way."""
    split = Split.from_arrays(*moons, validation="out_of_bag", random_state=0)
    proposals = proposals_of(split, *["random"] * 8, "program", "fractions", "fractions", "mining")
    scores = np.array([0.5] * 7 + [0.9, 0.65, 0.7, 0.8, 0.6])
    learner = make_learner("ridge")
    ways = Portfolio(grounds_of(split), learner, learner, effort)
    assert ways._to_refine(proposals, scores) == refined
    board = _leaderboard(proposals, scores, np.zeros(12))
    assert [line.name for line in board] == ["fractions", "program", "mining", "random"]
    assert [line.score for line in board] == pytest.approx([0.75, 0.65, 0.6, 0.55])


@pytest.mark.parametrize(
    ("proxy", "effort", "fits", "refined"),
    [
        ("forest", "medium", 60, 1),
        ("forest", "medium", 59, 0),
        ("tree", "medium", 59, 0),
        ("boosting", "medium", 59, 0),
        ("boosting", "high", 15, 2),
        ("ridge", "medium", 59, 1),
    ],
)
def test_a_search_by_fewer_trees_than_rows_is_left(moons, monkeypatch, proxy, effort, fits, refined):
    split = Split.from_arrays(*moons, validation="out_of_bag", random_state=0)
    learner = make_learner(proxy)
    ways = Portfolio(grounds_of(split), learner, learner, effort, n_jobs=1, progress=False)
    monkeypatch.setattr(Portfolio, "_affordable", lambda self, all_fits, size: fits)
    drawn = (np.sort(np.random.default_rng(k).permutation(300)[:60]) for k in range(10))
    proposals = [
        Proposal(Selection.of_rows(split, rows, method=name, seconds=0.0))
        for rows, name in zip(drawn, [*["random"] * 8, "program", "fractions"], strict=True)
    ]
    assert len(ways._to_refine(proposals, np.arange(10.0))) == refined
    names = [line.name for line in ways.decide(proposals).leaderboard]
    assert sum("refine" in name for name in names) == refined


def test_of_the_best_way_the_best_set_is_kept(moons, monkeypatch):
    """Refining makes it worse here."""
    split = Split.from_arrays(*moons, validation="out_of_bag", random_state=0)
    learner = make_learner("logistic")
    ways = Portfolio(grounds_of(split), learner, learner, n_jobs=1, progress=False)
    worst = np.argsort(split.X[:, 0])[:20]  # of one class but for some
    spoilt = Proposal(Selection.of_rows(split, np.sort(worst), method="program+refine", seconds=0.0))
    monkeypatch.setattr(Portfolio, "_refined", lambda self, start: spoilt)
    good = [np.sort(np.random.default_rng(k).permutation(300)[:40]) for k in range(10)]
    named = [*["random"] * 8, "fractions", "fractions"]
    sets = [
        Selection.of_rows(split, rows, method=n, seconds=0.0) for rows, n in zip(good, named, strict=True)
    ]
    kept = ways.decide([Proposal(s) for s in sets])
    assert kept.leaderboard[-1].name == "program+refine"
    assert kept.method == kept.leaderboard[0].name
    assert kept.score == kept.leaderboard[0].score


@pytest.mark.parametrize(
    ("proxy", "size", "fits"),
    [
        ("ridge", 100_000, 3000),  # rows of a linear model hardly cost anything
        ("forest", 100, 3000),
        ("forest", 250, 1600),  # 400,000 rows in all
        ("naive_bayes", 250, 1000),  # not trained together
        ("forest", 1500, 500),  # as many models all the same,
        ("forest", 8000, 250),  # as long as they have two million rows
        ("forest", 100_000, 128),
    ],
)
def test_searches_take_as_many_models_as_their_rows_allow(moons, proxy, size, fits):
    split, learner = Split.from_arrays(*moons, validation="out_of_bag", random_state=0), make_learner(proxy)
    ways = Portfolio(grounds_of(split), learner, learner)
    assert ways._affordable(3000, size) == fits
