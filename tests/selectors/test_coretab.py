from collections import defaultdict

import numpy as np
from selector_cases import sparse_of
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.utils import check_random_state

from cdvm.sampling import seed_of
from cdvm.selectors import coretab
from cdvm.selectors.coretab import regions_of_leaves


def regions_by_loops(leaves, y):
    region, groups, found = [-1] * len(y), [list(range(len(y)))], 0
    for column in leaves.T:
        smaller = defaultdict(list)
        for k, group in enumerate(groups):
            for i in group:
                smaller[k, column[i]].append(i)
        groups = []
        for group in smaller.values():
            if len(group) > 1 and len({int(y[i]) for i in group}) == 1:
                for i in group:
                    region[i] = found
                found += 1
            else:
                groups.append(group)
    return region


def test_regions_are_the_first_groups_of_one_class():
    rng = np.random.default_rng(1)
    leaves, y = rng.integers(0, 3, (200, 5)), rng.integers(0, 2, 200)
    ours, theirs = regions_of_leaves(leaves, y), regions_by_loops(leaves, y)
    pairs = set(zip(ours.tolist(), theirs, strict=True))
    assert len(pairs) == len(set(ours.tolist())) == len(set(theirs)) > 20
    assert ((ours < 0) == (np.array(theirs) < 0)).all()


def test_coretab_keeps_hard_rows_and_the_same_fraction_of_every_region(overlapping):
    rng = check_random_state(0)
    model = GradientBoostingClassifier(n_estimators=2, max_depth=6, random_state=seed_of(rng))
    region = regions_of_leaves(
        model.fit(overlapping.X, overlapping.y).apply(overlapping.X).reshape(240, -1)[:, :6], overlapping.y
    )
    hard = np.flatnonzero(region < 0)
    rows = coretab(overlapping, len(hard) + 60, trees=6, random_state=0)
    assert set(hard) <= set(rows)
    easy = region >= 0
    fraction = 60 / easy.sum()
    for r in np.unique(region[easy]):
        assert abs(np.isin(np.flatnonzero(region == r), rows).sum() - fraction * (region == r).sum()) <= 1
    few = coretab(overlapping, 6, trees=6, random_state=0)
    assert easy[few].sum() == min(6, round(0.03 * easy.sum()))


def test_sparse_features_keep_as_many_rows(overlapping):
    assert len(coretab(sparse_of(overlapping), 20, random_state=0)) == 20
