"""The cluster game: closed forms against enumeration, and what they say about pruning."""

from itertools import combinations
from math import comb

import numpy as np
import pytest

from cdvm import InputError, Program, Split, Subsets, make_learner, solve
from cdvm.datasets import PAPER_CLUSTERS, ClusterGame, Clusters, load_dataset, make_clusters
from cdvm.datasets.clusters import ClusterLearner

MEMBER = [0, 0, 0, 1, 1, 2, 2, 3]
UTILITIES = [0.4, 0.1, 0.3, 0.2]


@pytest.fixture
def game() -> ClusterGame:
    return ClusterGame(MEMBER, UTILITIES)


def every_set(n: int) -> list[tuple[int, ...]]:
    return [s for size in range(n + 1) for s in combinations(range(n), size)]


def by_enumeration(game: ClusterGame, weight) -> np.ndarray:
    """Sum of weight(|S|) times the gain of row i over all S without i."""
    n = game.n_rows
    sets = every_set(n)
    worth = dict(zip(sets, game(Subsets.of(sets, n)), strict=True))
    values = np.zeros(n)
    for s in sets:
        for i in set(range(n)) - set(s):
            values[i] += weight(len(s)) * (worth[tuple(sorted((*s, i)))] - worth[s])
    return values


def test_worth_counts_a_cluster_once(game):
    sets = every_set(8)
    expected = [sum(UTILITIES[k] for k in {MEMBER[i] for i in s}) for s in sets]
    np.testing.assert_allclose(game(Subsets.of(sets, 8)), expected, atol=1e-15)


def test_worth_ignores_multiplicity(game):
    assert game(Subsets.of([[7, 7, 7]], 8)) == pytest.approx([0.2])


def test_shapley_closed_form_matches_enumeration(game):
    expected = by_enumeration(game, lambda size: 1 / (8 * comb(7, size)))
    np.testing.assert_allclose(game.shapley(), expected, atol=1e-12)
    assert game.shapley().sum() == pytest.approx(1.0)


@pytest.mark.parametrize("p", [0.5, 0.1])
def test_banzhaf_closed_form_matches_enumeration(game, p):
    expected = by_enumeration(game, lambda size: p**size * (1 - p) ** (7 - size))
    np.testing.assert_allclose(game.banzhaf(p), expected, atol=1e-12)


def test_banzhaf_default_is_the_papers_formula(game):
    np.testing.assert_allclose(game.banzhaf()[[0, 3, 5, 7]], [0.4 / 4, 0.1 / 2, 0.3 / 2, 0.2])


def test_beta_shapley_closed_form_matches_enumeration(game):
    from scipy.special import beta as B

    a, b = 4.0, 1.5
    expected = by_enumeration(game, lambda size: B(size + b, 7 - size + a) / B(b, a))
    np.testing.assert_allclose(game.beta_shapley(a, b), expected, atol=1e-12)
    np.testing.assert_allclose(game.beta_shapley(1, 1), game.shapley())


def test_leave_one_out_sees_only_singletons(game):
    whole = game(Subsets.of([range(8)], 8))[0]
    without = game(Subsets.of([[j for j in range(8) if j != i] for i in range(8)], 8))
    np.testing.assert_allclose(game.leave_one_out(), whole - without, atol=1e-15)
    assert np.flatnonzero(game.leave_one_out()).tolist() == [7]


def test_shapley_collapses_to_a_constant_when_train_and_test_agree():
    agreeing = ClusterGame.from_test_sizes(MEMBER, [30, 20, 20, 10])
    np.testing.assert_allclose(agreeing.shapley(), 1 / 8)
    assert np.ptp(agreeing.banzhaf()) > 0.03
    assert np.ptp(ClusterGame.from_test_sizes(MEMBER, [20, 20, 20, 20]).shapley()) > 0.1


def test_attribution_has_one_block_a_cluster(game):
    T = game.attribution([2, 1, 3, 1], tau=[0.1, 0.2, 0.3, 0.4]).dense()
    cluster = [0, 0, 1, 2, 2, 2, 3]
    for i, k in enumerate(MEMBER):
        for j, other in enumerate(cluster):
            assert T[i, j] == pytest.approx([0.1, 0.2, 0.3, 0.4][k] if k == other else 0.0)


@pytest.mark.parametrize("budget", range(1, 9))
def test_cdvm_keeps_as_many_clusters_as_the_budget_allows(game, budget):
    tau = np.array([0.1, 0.2, 0.3, 0.4])
    program = Program(game.attribution([25] * 4, tau), budget, alpha=0.5, kappa=float(tau.min()))
    kept = np.flatnonzero(solve(program, method="milp").weights > 0.5)
    assert len(kept) == budget
    assert len(set(np.array(MEMBER)[kept])) == min(budget, 4)


def test_nearest_center_accuracy_is_the_game():
    X, y, member = make_clusters(random_state=0)
    X_test, y_test, cluster = make_clusters(PAPER_CLUSTERS.resized([4, 1, 3, 2]), random_state=1)
    split = Split.from_arrays(X, y, X_test, y_test)
    subsets = Subsets.of(every_set(8), 8)
    answers = ClusterLearner().predict(split, subsets, split.X_val)
    game = ClusterGame.from_test_sizes(member, np.bincount(cluster))
    np.testing.assert_allclose((answers == split.y_val).mean(axis=1), game(subsets))


def test_mlp_learns_the_clusters():
    data = load_dataset("clusters")
    split = Split.from_arrays(
        data.table[["x1", "x2"]],
        data.table["target"],
        data.validation[["x1", "x2"]],
        data.validation["target"],
    )
    answers = make_learner("mlp").predict(split, Subsets.of([range(8)], 8), split.X_val)
    assert (answers == split.y_val).mean() > 0.9


def test_a_nearest_center_learner_refuses_other_data():
    split = Split.from_arrays(np.eye(6), [0, 1] * 3, np.eye(6), [0, 1] * 3)
    with pytest.raises(InputError, match="clusters data set only"):
        ClusterLearner().bind(split, split.X_val)


@pytest.mark.parametrize(
    ("member", "utilities"), [([0, 2], [1, 1, 1]), ([0, 1], [1]), ([-1, 0], [1]), ([], []), ([[0]], [1])]
)
def test_a_game_without_rows_for_each_cluster_is_refused(member, utilities):
    with pytest.raises(InputError, match="cluster"):
        ClusterGame(member, utilities)


def test_uneven_declarations_are_refused(game):
    with pytest.raises(InputError, match="one of each"):
        Clusters(((0.0, 0.0),), (1, 2), ("a",))
    with pytest.raises(InputError, match="4 clusters"):
        game.attribution([1, 2])
    with pytest.raises(InputError, match="test_sizes"):
        ClusterGame.from_test_sizes(MEMBER, [0, 0, 0, 0])
