"""Batches of training sets, inner products and answers, against plain NumPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from cdvm.data.split import Split
from cdvm.learners.batched import linear
from cdvm.learners.batched.linear import Geometry, batches, fill_absent, winners
from cdvm.sampling import Subsets


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 29), min_size=1, max_size=25), max_size=12),
    st.sampled_from([4, 8]),
    st.booleans(),
)
def test_every_set_is_in_one_batch_with_its_rows_and_how_often_they_occur(sets, step, wide):
    whole = 9 if wide else np.inf
    seen = {}
    for batch in batches(
        Subsets.of(sets, 30), lambda width: linear.MEMORY_LIMIT // 2, step=step, whole=whole
    ):
        assert len(batch.models) <= 2  # as many as memory allows
        for k, model in enumerate(batch.models.tolist()):
            inside = batch.counts[k] > 0
            assert model not in seen
            seen[model] = sorted(
                np.repeat(batch.rows[k][inside], batch.counts[k][inside].astype(int)).tolist()
            )
            distinct = len(set(sets[model]))
            if distinct >= whole:
                assert batch.width == 30
            else:
                assert distinct < batch.width + 1 <= distinct + step
                assert (batch.width + 1) % step == 0
            assert not batch.rows[k][~inside].any()
    assert seen == {k: sorted(rows) for k, rows in enumerate(sets)}


@pytest.fixture
def split(rng):
    X, y = rng.standard_normal((40, 6)) + 2.0, np.arange(40) % 2
    X[rng.random((40, 6)) < 0.4] = 0.0
    X[:, 3] = 1.5  # says nothing
    return Split.from_arrays(X[:30], y[:30], X[30:], y[30:])


@pytest.mark.parametrize("memory", [linear.MEMORY_LIMIT, 1])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_products_and_answers_are_those_of_centred_rows(rng, split, form, center, memory, monkeypatch):
    (batch,) = batches(Subsets.of([[4, 9, 9], [1, 2, 28]], 30), lambda width: 1, step=4)
    assert batch.width == 3
    monkeypatch.setattr(linear, "MEMORY_LIMIT", memory)
    thin = replace(split, X=form(split.X), X_val=form(split.X_val))
    geometry = Geometry(thin, thin.X_val, center=center)
    mean = split.X.mean(axis=0) if center else 0.0
    X, X_val = split.X - mean, split.X_val - mean
    varies = X.any(axis=0) if form is np.asarray else slice(None)
    np.testing.assert_allclose(geometry.rows(batch), X[batch.rows][:, :, varies], atol=1e-12)
    np.testing.assert_allclose(
        geometry.gram(batch), X[batch.rows] @ X[batch.rows].transpose(0, 2, 1), atol=1e-9
    )
    intercepts = rng.standard_normal((2, 3))
    dual, primal = rng.standard_normal((2, 3, 3)), rng.standard_normal((2, 3, geometry.n_features))
    assert geometry.is_dual(3)
    for model in range(2):
        weights = dual[model] @ X[batch.rows[model]]
        expected = weights @ X_val.T + intercepts[model][:, None]
        np.testing.assert_allclose(geometry.answers(batch, dual, intercepts)[model], expected, atol=1e-9)
        expected = primal[model] @ X_val[:, varies].T + intercepts[model][:, None]
        found = geometry.answers(batch, primal, intercepts, dual=False)[model]
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_few_features_are_kept_as_weights_and_many_as_coefficients_of_rows(split):
    geometry = Geometry(split, split.X_val, center=True)
    assert geometry.n_features == 5  # one of the six does not vary
    assert [geometry.is_dual(width) for width in (5, 6)] == [True, False]
    assert geometry.table.shape == (30, 5)


def test_winners_are_the_largest_scores_and_absent_classes_come_last(rng):
    scores = rng.integers(-3, 3, (7, 4, 50)).astype(float)
    np.testing.assert_array_equal(winners(scores), scores.argmax(axis=1))
    present = rng.random((7, 4)) < 0.6
    present[:, 1] = True
    filled = scores.copy()
    fill_absent(filled, present)
    for model in range(7):
        seen = scores[model][present[model]]
        np.testing.assert_array_equal(filled[model][present[model]], seen)
        absent = filled[model][~present[model]]
        np.testing.assert_array_equal(absent, np.broadcast_to(seen.min(axis=0) - 1, absent.shape))
