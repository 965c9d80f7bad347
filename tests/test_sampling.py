import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdvm import Design, InputError, Subsets

KINDS = ["bernoulli", "fixed", "bootstrap"]


def same(a: Subsets, b: Subsets) -> bool:
    return a.members.shape == b.members.shape and (a.members != b.members).nnz == 0


@pytest.mark.parametrize("kind", KINDS)
@given(
    n=st.integers(1, 60),
    seed=st.integers(0, 2**64 - 1),
    first=st.integers(0, 2**40),
    cut=st.integers(0, 12),
)
@settings(max_examples=40, deadline=None)
def test_members_do_not_depend_on_the_chunks_they_are_drawn_in(kind, n, seed, first, cut):
    design = Design(n, 0.4, kind, seed)
    models = np.arange(first, first + 12)
    whole = design.take(models)
    assert same(whole[slice(0, cut)], design.take(models[:cut]))
    assert same(whole[slice(cut, 12)], design.take(models[cut:]))
    shuffled = np.random.default_rng(0).permutation(12)
    assert same(whole[shuffled], design.take(models[shuffled]))


def test_different_seeds_and_models_give_different_members():
    drawn = {Design(200, 0.5, seed=s).take([t]).rows(0).tobytes() for s in range(5) for t in range(5)}
    assert len(drawn) == 25


@pytest.mark.parametrize("inclusion", [0.01, 0.03, 0.5, 0.9])
def test_bernoulli_includes_each_row_with_its_probability(inclusion):
    members = Design(500, inclusion, seed=3).take(range(4000)).members
    deviation = np.sqrt(inclusion * (1 - inclusion))
    assert abs(members.sum() / (500 * 4000) - inclusion) < 5 * deviation / np.sqrt(500 * 4000)
    counts = np.asarray(members.sum(axis=0))
    assert np.abs(counts / 4000 - inclusion).max() < 5 * deviation / np.sqrt(4000)
    # rows are independent: the variance of the size is that of a binomial
    assert members.sum(axis=1).var() == pytest.approx(500 * deviation**2, rel=0.15)


def test_fixed_size_takes_exactly_that_many_distinct_rows():
    subsets = Design(90, 0.3, "fixed", seed=1).take(range(3000))
    assert (subsets.sizes == 27).all()
    assert subsets.members.data.max() == 1
    frequency = np.asarray(subsets.members.sum(axis=0)) / 3000
    assert np.abs(frequency - 0.3).max() < 5 * np.sqrt(0.21 / 3000)


def test_bootstrap_draws_with_replacement():
    subsets = Design(50, 1.0, "bootstrap", seed=1).take(range(2000))
    assert (subsets.sizes == 50).all()
    out = 1 - (subsets.members.toarray() > 0).mean()
    assert out == pytest.approx((1 - 1 / 50) ** 50, abs=0.01)
    assert len(subsets.rows(0)) == 50
    assert (np.diff(subsets.rows(0)) >= 0).all()


def test_explicit_subsets_keep_repeats_and_may_be_empty():
    subsets = Subsets.of([[2, 0, 2], []], n_rows=4)
    assert subsets.rows(0).tolist() == [0, 2, 2]
    assert subsets.rows(1).tolist() == []
    assert subsets.sizes.tolist() == [3, 0]
    with pytest.raises(InputError, match=r"subset 1 names a row outside 0\.\.3"):
        Subsets.of([[0], [4]], n_rows=4)


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"inclusion": 0.0}, "inclusion=0.0"),
        ({"inclusion": 1.0}, "inclusion=1.0"),
        ({"inclusion": -1}, "inclusion=-1"),
        ({"kind": "other"}, "design='other'"),
        ({"n_rows": 0}, "n_rows=0"),
        ({"seed": -1}, "seed=-1"),
    ],
)
def test_impossible_designs_are_refused_by_name(settings_, message):
    with pytest.raises(InputError, match=message):
        Design(**{"n_rows": 10, **settings_})


def test_known_bits_stay_the_same_between_versions():
    known = [2, 5, 12, 14, 16, 18, 23, 28, 29, 31, 33, 36]
    assert Design(40, 0.2, seed=42).take([0, 7]).rows(1).tolist() == known
