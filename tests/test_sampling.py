import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdvm import Design, InputError, Subsets
from cdvm.sampling import RandomStream, default_inclusion, draw_words, seed_of

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
    assert same(whole[slice(0, 12, 2)], design.take(models[::2]))


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


def test_fixed_size_takes_the_rows_with_the_smallest_words():
    subsets = Design(400, 0.2, "fixed", seed=5).take(range(3, 20))
    words = draw_words(5, RandomStream.MEMBERS, 3, 17, 400)
    for number, row in enumerate(np.argsort(words, axis=1)[:, :80]):
        assert subsets.rows(number).tolist() == sorted(row.tolist())


def test_a_probability_that_rounds_to_one_takes_every_row():
    assert Design(10, 1 - 1e-12).take([0]).rows(0).tolist() == list(range(10))


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


@given(st.lists(st.lists(st.integers(0, 199), max_size=60), max_size=6))
@settings(max_examples=60, deadline=None)
def test_explicit_subsets_count_every_row(sets):
    subsets = Subsets.of(sets, n_rows=200, seed=3, first=7)
    assert len(subsets) == len(sets)
    assert subsets.members.shape == (len(sets), 200)
    for counts, rows in zip(subsets.members.toarray(), sets, strict=True):
        assert counts.tolist() == [rows.count(i) for i in range(200)]
    assert subsets.models.tolist() == list(range(7, 7 + len(sets)))
    assert subsets.seed == 3


def test_part_of_the_subsets_keeps_its_models_and_seed():
    part = Design(30, 0.5, seed=11).take(range(4, 9))[slice(1, 3)]
    assert len(part) == 2
    assert part.models.tolist() == [5, 6]
    assert part.seed == 11


def test_models_may_be_any_iterable_even_empty():
    design = Design(30, 0.5, seed=2)
    assert same(design.take(iter([3, 5])), design.take([3, 5]))
    assert same(design.take({3}), design.take(np.array([3])))
    assert design.take([]).members.shape == (0, 30)
    assert design.grown(4).without(np.array([2])).take([]).members.shape == (0, 33)


def test_a_description_makes_the_design_again():
    design = Design(30, 0.25, "fixed", 2**64 - 1)
    assert design.describe() == {"n_rows": 30, "inclusion": 0.25, "kind": "fixed", "seed": 2**64 - 1}
    assert Design(**design.describe()) == design
    recent = Design(30, 0.25, recent=4, recent_inclusion=0.5)
    changed = recent.grown(3).without(np.array([1, 31]))
    for one in (recent, changed, Design(30, 0.25).grown(2)):
        assert Design(**one.describe()) == one
        assert Design(**json.loads(json.dumps(one.describe()))) == one
    since = {"recent": 4, "recent_inclusion": 0.5, "gone": [1], "later": 2}
    assert changed.describe() == {"n_rows": 31, "inclusion": 0.25, "kind": "bernoulli", "seed": 0, **since}


CHANGES = st.lists(
    st.integers(0, 5) | st.lists(st.integers(0, 10**6), max_size=4, unique=True), min_size=1, max_size=5
)


@pytest.mark.parametrize("kind", KINDS)
@given(changes=CHANGES)
@settings(max_examples=40, deadline=None)
def test_rows_that_come_and_go_leave_the_draws_of_the_others_alone(kind, changes):
    design = first = Design(12, 0.4, kind, seed=3)
    table = list(range(12))  # rows by their number at first, None where they came later
    for change in changes:
        if isinstance(change, int):
            design, table = design.grown(change), table + [None] * change
            continue
        gone = sorted({number % len(table) for number in change})[: len(table) - 1]
        design = design.without(np.array(gone, dtype=np.int64))
        table = [row for place, row in enumerate(table) if place not in gone]
    assert (design.n_rows, design.n_drawn) == (len(table), 12)
    drawn = first.take(range(6)).members.toarray()
    expected = [[0 if row is None else int(draw[row]) for row in table] for draw in drawn]
    assert design.take(range(6)).members.toarray().tolist() == expected


def test_recent_rows_are_drawn_with_their_own_probability():
    counts = Design(60, 0.1, seed=1, recent=20, recent_inclusion=0.4).take(range(4000)).members.sum(axis=0)
    expected = np.repeat([0.1, 0.4], [40, 20])
    assert np.abs(counts / 4000 - expected).max() < 5 * np.sqrt(0.24 / 4000)
    # rows before them are drawn as if there were no others
    whole, old = (
        Design(60, 0.1, seed=1, **s).take(range(50)) for s in ({"recent": 1, "recent_inclusion": 0.4}, {})
    )
    assert (whole.members[:, :59] != old.members[:, :59]).nnz == 0


def test_large_tables_are_drawn_in_pieces(monkeypatch):
    whole = [Design(50, 0.3, kind, seed=4).take(range(9)) for kind in KINDS]
    monkeypatch.setattr("cdvm.sampling._WORDS_AT_ONCE", 60)
    for kind, drawn in zip(KINDS, whole, strict=True):
        assert same(Design(50, 0.3, kind, seed=4).take(range(9)), drawn)


@pytest.mark.parametrize(
    ("n_rows", "n_classes", "inclusion"),
    [
        (100_000, 10, 0.03),  # the paper's
        (200, 2, 10 / 200),  # ten rows
        (200, 4, 12 / 200),  # three of each class
        (200, 8, 24 / 200),
        (12, 2, 0.5),  # half of them at most
    ],
)
def test_default_inclusion_leaves_enough_rows_of_each_class(n_rows, n_classes, inclusion):
    assert default_inclusion(n_rows, n_classes) == inclusion


def test_default_inclusion_leaves_enough_rows_to_learn():
    assert default_inclusion(1000, 2, 160) == 0.16
    assert default_inclusion(100_000, 2, 160) == 0.03


def test_a_random_state_gives_one_seed_an_int_and_the_next_of_a_generator():
    assert seed_of(5) == seed_of(np.random.RandomState(5)) == seed_of(5)
    generator = np.random.RandomState(5)
    seeds = [seed_of(generator) for _ in range(50)]
    assert len(set(seeds)) == 50
    assert 2**30 < max(seeds) < 2**31
    assert len({seed_of(None) for _ in range(3)}) > 1


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"inclusion": 0.0}, "inclusion=0.0"),
        ({"inclusion": 1.0}, "inclusion=1.0"),
        ({"inclusion": -1}, "inclusion=-1"),
        ({"inclusion": 1.5, "kind": "bootstrap"}, "inclusion=1.5"),
        ({"kind": "other"}, "design='other'"),
        ({"n_rows": 0}, "n_rows=0"),
        ({"recent": 2}, "recent_inclusion=0.0"),
        ({"recent": 2, "recent_inclusion": 1.0}, "recent_inclusion=1.0"),
        ({"recent": 2, "recent_inclusion": 0.5, "kind": "fixed"}, "and the bernoulli design"),
        ({"seed": -1}, "seed=-1"),
        ({"seed": 2**64}, "seed=18446744073709551616"),
    ],
)
def test_impossible_designs_are_refused_by_name(settings_, message):
    with pytest.raises(InputError, match=message):
        Design(**{"n_rows": 10, **settings_})


def test_known_bits_stay_the_same_between_versions():
    known = [2, 5, 12, 14, 16, 18, 23, 28, 29, 31, 33, 36]
    assert Design(40, 0.2, seed=42).take([0, 7]).rows(1).tolist() == known


def test_models_two_apart_are_drawn_each_by_its_number():
    design = Design(30, 0.2, seed=3)
    whole = design.take(range(8)).members.toarray()
    for numbers in ([0, 2], [1, 3, 5, 6], [7, 5]):
        np.testing.assert_array_equal(design.take(numbers).members.toarray(), whole[numbers])


def test_a_set_of_fixed_size_has_the_rows_of_the_smallest_keys():
    keys = draw_words(4, RandomStream.MEMBERS, 0, 5, 3000)
    subsets = Design(3000, 0.25, "fixed", seed=4).take(range(5))
    for k in range(5):
        assert subsets.rows(k).tolist() == sorted(np.argsort(keys[k])[:750].tolist())
