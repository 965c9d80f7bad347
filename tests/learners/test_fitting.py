"""The loop that trains models and notes what they answer."""

from __future__ import annotations

from functools import partial

import numpy as np
from cases import draw, split_of

from cdvm.learners import make_learner
from cdvm.learners.fitting import fit_models


def right(trainer, subsets, y, times):
    return times * (trainer.predict(subsets) == y).mean(axis=1)


def test_parts_are_noted_by_their_place_whoever_trains_them():
    split, subsets = split_of("wine"), draw(12)
    trainer = make_learner("ridge").bind(split, split.X_val)
    expected = 2.0 * (trainer.predict(subsets) == split.y_val).mean(axis=1)
    drawn = partial(subsets.__getitem__, slice(4, 9))  # drawn where it is used
    for jobs in (1, 2):
        parts = [subsets[:4], drawn, subsets[9:]]
        found = dict(fit_models(trainer, parts, right, split.y_val, 2.0, n_jobs=jobs))
        assert sorted(found) == [0, 1, 2]
        np.testing.assert_array_equal(np.concatenate([found[k] for k in range(3)]), expected)


def test_training_waits_until_answers_are_asked_for():
    asked = []
    split = split_of("wine")
    trainer = make_learner("ridge").bind(split, split.X_val)
    found = fit_models(trainer, [draw(2), draw(3)], lambda _, subsets: asked.append(len(subsets)), n_jobs=1)
    assert asked == []
    next(found)
    assert asked == [2]
    assert [k for k, _ in found] == [1]
