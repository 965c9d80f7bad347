from __future__ import annotations

import numpy as np
import pytest
from pages import a_run

from cdvm import Split, Subsets, make_learner
from cdvm.report.html.breakdown import by_class, by_group


@pytest.mark.parametrize("held", [0.0, 0.25])
def test_classes_and_groups_are_scored_where_the_set_is_not(held):
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], [80, 60, 20])
    X = rng.standard_normal((160, 4)) + 3 * np.eye(4)[y]
    split = Split.from_arrays(X, y, validation="out_of_bag", test_size=held, random_state=0)
    few = np.flatnonzero(split.y != 2)[::5]
    run = a_run(split, [few, np.arange(split.n_rows)])
    found = by_class(run)
    counts = np.bincount(split.y)
    assert found.rows == counts.tolist()
    assert found.kept == [np.bincount(split.y[few], minlength=3).tolist(), counts.tolist()]
    assert found.after[0][2] == 0.0  # a class that no row is kept of is never answered
    assert found.before[2] > 0.5
    assert found.part == ("held-out rows" if held else "rows outside each set")
    assert (found.after[1] == [None] * 3) == (not held)  # nothing is outside all rows
    if held:
        assert found.after[1] == found.before
    groups = np.where(np.arange(160) % 2, "a", None)
    grouped = by_group(run, groups, "side")
    assert grouped.names == ["(none)", "a"]
    assert sum(grouped.kept[0]) == len(few)
    weights = np.array(grouped.rows) - np.array(grouped.kept[0])
    right = np.average(grouped.after[0], weights=weights)
    outside = np.setdiff1d(np.arange(split.n_rows), few)
    said = make_learner("ridge").predict(split, Subsets.of([few], split.n_rows), split.X[outside])[0]
    assert right == pytest.approx((said == split.y[outside]).mean())
