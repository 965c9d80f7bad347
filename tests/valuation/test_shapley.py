import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from valuation_games import LARGE, PAPER, UNEVEN, TableGame, blobs, chance, with_one_and_two_jobs

from cdvm.errors import InputError
from cdvm.valuation import RankStability, StandardError, value_rows
from cdvm.valuation.shapley import beta_shapley, shapley

tables = st.integers(1, 5).flatmap(
    lambda n: st.lists(st.floats(-10, 10, width=32), min_size=1 << n, max_size=1 << n)
)


@pytest.mark.parametrize("game", [PAPER, UNEVEN])
def test_exact_values_of_clusters_are_shares_of_their_utility(game):
    values = shapley(8, game)
    assert np.abs(values.values - game.shapley).max() < 1e-10
    assert values.stderr is None
    assert values.meta["fits"] == 256


@pytest.mark.parametrize("tolerance", [0.0, 0.01])
def test_sampled_values_lie_within_four_standard_errors(tolerance):
    values = shapley(20, LARGE, n_models=20 * 400, tolerance=tolerance, seed=5)
    error = np.maximum(values.stderr, 1e-9)
    assert (np.abs(values.values - LARGE.shapley) < 4 * error).all()
    assert values.stderr.max() < 0.02
    assert (values.counts >= 400).all()


def test_standard_errors_are_those_of_repeated_runs():
    runs = [shapley(20, LARGE, n_models=20 * 30, seed=seed) for seed in range(60)]
    spread = np.std([run.values for run in runs], axis=0, ddof=1)
    told = np.mean([run.stderr for run in runs], axis=0)
    assert told.mean() == pytest.approx(spread.mean(), rel=0.15)


@given(tables)
@settings(max_examples=60, deadline=None)
def test_values_share_out_exactly_what_all_rows_are_worth(table):
    game = TableGame(table)
    values = shapley(game.n_rows, game).values
    assert values.sum() == pytest.approx(game.table[-1] - game.table[0], abs=1e-9)
    assert np.allclose(values, game.shapley(), atol=1e-9)


@given(tables, st.data())
@settings(max_examples=40, deadline=None)
def test_rows_that_can_be_exchanged_are_worth_the_same(table, data):
    game = TableGame(table)
    n = game.n_rows
    i, j = data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, n - 1))
    masks = np.arange(1 << n)
    swapped = masks & ~((1 << i) | (1 << j)) | ((masks >> i & 1) << j) | ((masks >> j & 1) << i)
    game.table = (game.table + game.table[swapped]) / 2
    for values in (shapley(n, game), beta_shapley(n, game, alpha=4, beta=2)):
        assert values.values[i] == pytest.approx(values.values[j], abs=1e-9)


@given(tables)
@settings(max_examples=30, deadline=None)
def test_beta_one_one_is_shapley(table):
    game = TableGame(table)
    exact = beta_shapley(game.n_rows, game, alpha=1, beta=1).values
    assert np.allclose(exact, shapley(game.n_rows, game).values, atol=1e-12)


def test_sampled_beta_one_one_is_sampled_shapley():
    one = beta_shapley(20, LARGE, alpha=1, beta=1, n_models=600).values
    assert np.allclose(one, shapley(20, LARGE, n_models=600).values, atol=1e-10)


def test_sampled_beta_values_agree_with_exact_ones():
    exact = beta_shapley(8, UNEVEN, alpha=4, beta=1)
    sampled = beta_shapley(8, UNEVEN, alpha=4, beta=1, exact=False, n_models=8 * 600, tolerance=0)
    assert (np.abs(sampled.values - exact.values) < 4 * np.maximum(sampled.stderr, 1e-9)).all()
    assert np.abs(exact.values - UNEVEN.shapley).max() > 0.05


def test_large_alpha_leaves_out_the_ends_of_long_orders():
    whole, early = (
        beta_shapley(200, lambda s: s.sizes / 200.0, alpha=a, n_models=4000, tolerance=0) for a in (1, 16)
    )
    assert whole.meta["orders"] == 20
    assert early.meta["orders"] > 30
    # every row adds 1/200 wherever it stands, so all that is left out is the weight left out
    assert early.values.mean() == pytest.approx(1 / 200, rel=1e-3)


def test_truncation_saves_trainings(monkeypatch):
    monkeypatch.setattr("cdvm.valuation.shapley._AT_ONCE", 20)
    cut, whole = (shapley(20, LARGE, tolerance=t) for t in (0.01, 0.0))
    assert np.allclose(cut.values, whole.values)
    assert cut.meta["fits"] < 0.9 * whole.meta["fits"]


def test_an_order_is_cut_where_it_comes_close():
    # the first 5 rows of any order are worth all but 0.005
    def game(subsets):
        return np.minimum(subsets.sizes, 5) / 5 + 0.005 * (subsets.sizes == 40)

    assert shapley(40, game, tolerance=0.01).values.sum() == pytest.approx(1.0)
    assert shapley(40, game, tolerance=0).values.sum() == pytest.approx(1.005)


def test_what_cuts_save_buys_more_orders(monkeypatch):
    monkeypatch.setattr("cdvm.valuation.shapley._AT_ONCE", 10)
    values = shapley(40, lambda s: np.minimum(s.sizes, 5) / 5, n_models=400)
    assert values.meta["orders"] > 40  # not 400 / 40
    assert values.meta["fits"] <= 402


def test_values_of_a_learner_do_not_depend_on_jobs(split):
    one, two = with_one_and_two_jobs(
        lambda jobs: value_rows(split, "naive_bayes", "shapley", n_models=240, n_jobs=jobs, seed=1)
    )
    assert np.array_equal(one.values, two.values)
    assert np.array_equal(one.stderr, two.stderr)


def test_batches_do_not_change_values(monkeypatch):
    before = shapley(20, LARGE)
    monkeypatch.setattr("cdvm.valuation.shapley._AT_ONCE", 7)
    monkeypatch.setattr("cdvm.valuation.shapley._ROUND", 3)
    after = shapley(20, LARGE)
    assert np.allclose(after.values, before.values, atol=1e-12)


def test_stopping_rules_end_before_the_maximum():
    target = shapley(20, LARGE, n_models=20 * 5000, stop=StandardError(0.03))
    assert target.meta["converged"]
    assert target.stderr.max() <= 0.03
    assert 30 <= target.meta["orders"] < 1000
    stable = shapley(20, uneven, n_models=20 * 5000, stop=RankStability(0.9))
    assert stable.meta["converged"]
    assert stable.meta["orders"] < 5000
    short = shapley(20, LARGE, n_models=20 * 12, stop=StandardError(1e-6))
    assert short.meta["converged"] is False
    assert short.meta["orders"] == 12


def test_ranks_of_pure_chance_are_never_stable():
    values = shapley(20, chance, n_models=20 * 60, tolerance=0, stop=RankStability(0.8))
    assert values.meta["converged"] is False


def uneven(subsets):
    return subsets.members @ np.linspace(0, 1, 20) + 0.1 * np.cos(subsets.members @ np.arange(20))


def test_exact_enumeration_of_many_rows_says_what_to_use():
    with pytest.raises(InputError, match=r"17 rows.*exact=False"):
        shapley(17, lambda s: s.sizes * 1.0, exact=True)


@pytest.mark.parametrize(
    ("options", "word"),
    [({"tolerance": -1}, "tolerance=-1"), ({"n_models": 1}, "n_models=1")],
)
def test_bad_options_are_named(options, word):
    with pytest.raises(InputError, match=word):
        shapley(3, lambda s: s.sizes * 1.0, **options)


def test_beta_refuses_parameters_that_are_not_positive():
    with pytest.raises(InputError, match="alpha=0"):
        beta_shapley(3, lambda s: s.sizes * 1.0, alpha=0)


def test_a_random_learner_gives_the_same_values_twice():
    split = blobs(12, gap=1.0)
    one, two = (shapley(split, "decision_tree", exact=False, n_models=60, n_jobs=1, seed=3) for _ in range(2))
    assert np.array_equal(one.values, two.values)
