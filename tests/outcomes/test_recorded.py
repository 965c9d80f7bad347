"""Outcomes of some models: parts of them, together with others, and through a store."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdvm import Design, InputError, Outcomes, StoreError, merge_stores
from cdvm.outcomes.recorded import gather_chunks
from cdvm.outcomes.store import Chunk, Store

DESIGN = Design(20, 0.3, seed=1)
MANIFEST = {"design": DESIGN.describe(), "n_evaluation": 11, "learner": {"name": "x"}}


def outcomes(models, kind="bits", manifest=MANIFEST):
    """Outcomes that tell which model they are of; every third model is degenerate."""
    models = np.array(sorted(models))
    values = models[:, None] + np.arange(11)
    data = {
        "bits": lambda: np.packbits(values % 3 == 0, axis=1),
        "answers": lambda: (values % 5).astype(np.int8),
        "scores": lambda: values.astype(np.float32),
    }[kind]()
    return Outcomes(DESIGN, models, data, 11, models[models % 3 == 0], manifest)


def assert_same(a, b):
    assert a.models.tolist() == b.models.tolist()
    assert a.degenerate_models.tolist() == b.degenerate_models.tolist()
    assert a.data.dtype == b.data.dtype
    assert (a.data == b.data).all()
    assert (a.design, a.n_evaluation, a.manifest) == (b.design, b.n_evaluation, b.manifest)


@pytest.mark.parametrize("kind", ["bits", "answers", "scores"])
def test_values_are_right_or_wrong_or_scores(kind):
    found = outcomes([0, 4], kind).values()
    numbers = np.array([0, 4])[:, None] + np.arange(11)
    expected = {"bits": numbers % 3 == 0, "answers": numbers % 5 == 0, "scores": numbers}[kind]
    assert (found == expected).all()
    assert found.dtype == (np.float32 if kind == "scores" else np.uint8)


@pytest.mark.parametrize("kind", ["bits", "answers", "scores"])
@pytest.mark.parametrize("models", [[0], [3, 4, 5], [0, 1, 5, 7, 8, 9, 40]])
def test_models_with_gaps_go_through_a_store(kind, models, tmp_path):
    made = outcomes(models, kind)
    assert_same(Outcomes.load(made.save(tmp_path / "store")), made)


@given(st.sets(st.integers(0, 30), min_size=1), st.data())
@settings(max_examples=40, deadline=None)
def test_parts_put_together_are_the_whole(models, data):
    some = data.draw(st.sets(st.sampled_from(sorted(models))))
    whole = outcomes(models)
    if some and some != models:
        assert_same(outcomes(some).merge(outcomes(models - some)), whole)
    count = data.draw(st.integers(1, len(models)))
    assert_same(whole.first(count), outcomes(sorted(models)[:count]))


def test_models_in_both_or_of_other_runs_cannot_be_put_together():
    with pytest.raises(StoreError, match=r"both hold model 2 \(2 in all\)"):
        outcomes([1, 2, 3]).merge(outcomes([2, 3, 4]))
    with pytest.raises(StoreError, match="different designs"):
        outcomes([1]).merge(outcomes([2], manifest=MANIFEST | {"learner": {"name": "y"}}))
    for count in (0, 4):
        with pytest.raises(InputError, match=f"n_models={count}: use 1 to the 3 there are"):
            outcomes([1, 2, 3]).first(count)


def chunk(first, stop):
    part = outcomes(range(first, stop))
    return Chunk(first, stop, part.degenerate_models, part.data)


def test_overlapping_ranges_of_several_writers_count_once():
    chunks = [chunk(4, 9), chunk(0, 3), chunk(2, 5), chunk(20, 22)]
    assert_same(gather_chunks(MANIFEST, chunks, where="here"), outcomes([*range(9), 20, 21]))
    for only in (range(1, 6), range(3, 21), range(21, 30)):
        expected = outcomes({*range(9), 20, 21} & set(only))
        assert_same(gather_chunks(MANIFEST, chunks, where="here", only=only), expected)


@pytest.mark.parametrize(
    "manifest", [{}, MANIFEST | {"n_evaluation": "x"}, MANIFEST | {"design": {"rows": 3}}]
)
def test_a_store_that_describes_no_run_says_so(manifest):
    with pytest.raises(StoreError, match="here describes no usable run"):
        gather_chunks(manifest, [chunk(0, 2)], where="here")


def test_chunks_that_do_not_fit_are_named():
    wide = Chunk(2, 4, np.empty(0, dtype=np.int64), np.zeros((2, 3), dtype=np.uint8))
    other = Chunk(2, 4, np.empty(0, dtype=np.int64), np.zeros((2, 11), dtype=np.float32))
    for wrong in (wide, other):
        with pytest.raises(StoreError, match="here holds outcomes of models 2 to 4 that do not fit its 11"):
            gather_chunks(MANIFEST, [chunk(0, 2), wrong], where="here")


def test_rows_evaluated_out_of_bag_are_all_or_those_listed():
    assert outcomes([0]).evaluation_rows is None
    everyone = outcomes([0], manifest=MANIFEST | {"evaluation_rows": "all"})
    assert everyone.evaluation_rows.tolist() == list(range(11))
    assert outcomes([0], manifest=MANIFEST | {"evaluation_rows": [3, 5]}).evaluation_rows.tolist() == [3, 5]


@pytest.mark.parametrize("kind", ["bits", "answers", "scores"])
@pytest.mark.parametrize("asked", [None, "all", [1, 3, 4, 7, 8, 9, 12, 13, 15, 18, 19]])
def test_models_that_saw_rows_leave_with_them(kind, asked):
    design = Design(11 if asked == "all" else 20, 0.12, seed=1)
    manifest = (
        MANIFEST | {"design": design.describe()} | ({} if asked is None else {"evaluation_rows": asked})
    )
    made = replace(outcomes(range(40), kind, manifest), design=design)
    gone = np.array([7, 2, 8])
    left = made.without(gone)
    members = design.take(made.models).members.toarray()
    stay = [model for model in range(40) if not members[model, gone].any()]
    assert 10 < len(stay) < 35
    assert left.models.tolist() == stay
    assert left.degenerate_models.tolist() == [model for model in stay if model % 3 == 0]
    assert left.design == design.without(gone)
    seen = left.design.take(left.models).members.toarray()
    assert (seen == np.delete(members[stay], gone, axis=1)).all()
    rows = made.evaluation_rows
    kept = [j for j in range(11) if rows is None or rows[j] not in gone]
    assert left.n_evaluation == len(kept) == (11 if asked is None else 8 if asked == "all" else 9)
    assert (left.values() == made.values()[np.ix_(stay, kept)]).all()
    assert left.data.dtype == made.data.dtype
    if rows is None:
        assert left.evaluation_rows is None
    else:  # the same rows, where they are now
        table = [row for row in range(design.n_rows) if row not in gone]
        assert [table[row] for row in left.evaluation_rows] == [rows[j] for j in kept]
        assert (left.manifest["evaluation_rows"] == "all") == (asked == "all")
    expected = manifest | {"design": left.design.describe(), "n_evaluation": len(kept)}
    assert {**left.manifest, "evaluation_rows": None} == {**expected, "evaluation_rows": None}
    assert made.manifest == manifest


def test_rows_that_come_were_seen_by_none():
    grown = outcomes([1, 2, 5]).grown(3)
    assert grown.design == DESIGN.grown(3)
    assert grown.manifest == MANIFEST | {"design": grown.design.describe()}
    assert (grown.values() == outcomes([1, 2, 5]).values()).all()
    assert grown.design.take(grown.models).members[:, 20:].nnz == 0
    again = grown.without(np.array([21]))  # nobody saw it
    assert again.models.tolist() == [1, 2, 5]
    assert again.design.n_rows == 22


def test_how_many_models_answered_with_a_constant():
    made = outcomes(range(7))
    assert (made.n_models, made.degenerate) == (7, 3)
    assert made.binary
    assert made.answers is None
    assert not outcomes([0], "scores").binary
    assert outcomes([0], "answers").answers is not None
    assert outcomes([0], "scores").answers is None


def test_stores_merge_where_no_two_of_them_share_a_model(tmp_path):
    parts = [range(4), range(4, 6), range(9, 12)]
    paths = [outcomes(part).save(tmp_path / str(k)) for k, part in enumerate(parts)]
    merged = merge_stores(tmp_path / "all", *paths, progress=False)
    assert_same(merged, outcomes([*range(6), 9, 10, 11]))
    assert Store(tmp_path / "all").requested() == [(0, 4), (4, 6), (9, 12)]
    assert_same(merge_stores(tmp_path / "one", paths[1], progress=False), outcomes(range(4, 6)))
    again = outcomes([2]).save(tmp_path / "again")  # shares a model with the first, not with the second
    with pytest.raises(StoreError, match="both hold model 2"):
        merge_stores(tmp_path / "none", paths[0], paths[1], again)
    other = outcomes([30], manifest=MANIFEST | {"learner": {"name": "y"}}).save(tmp_path / "other")
    with pytest.raises(StoreError, match=f"{tmp_path}/other belongs to another run: learner.name is 'y'"):
        merge_stores(tmp_path / "none", *paths, other)
    with pytest.raises(InputError, match="name at least one store to merge"):
        merge_stores(tmp_path / "none")
    Store(tmp_path / "empty", MANIFEST)
    with pytest.raises(StoreError, match=f"{tmp_path}/empty holds no outcomes yet"):
        Outcomes.load(tmp_path / "empty")
