import json
from pathlib import Path

import numpy as np
import pytest
from selector_cases import agrees_with_a_loop, agrees_with_a_loop_in_every_class

from cdvm import Split
from cdvm.selectors import facility_location


def by_loops(X, size):
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    chosen = []
    while len(chosen) < size:
        rest = [i for i in range(len(X)) if i not in chosen]
        # of two rows nearest to each other either saves the same
        chosen.append(min(rest, key=lambda i: round(D[:, [*chosen, i]].min(axis=1).sum(), 9)))
    return sorted(chosen)


def test_matches_a_plain_loop(clouds):
    agrees_with_a_loop(clouds, "facility_location", by_loops)


def test_per_class_matches_a_plain_loop_in_every_class(clouds):
    agrees_with_a_loop_in_every_class(clouds, "facility_location", by_loops)


def test_facility_location_keeps_what_apricot_keeps():
    record = json.loads((Path(__file__).parent / "fixtures" / "apricot.json").read_text())
    X = np.array(record["X"])
    split = Split.from_arrays(X, np.arange(len(X)) % 2, X[:4], [0, 1, 0, 1])
    served = np.linalg.norm(X[:, None] - X[None], axis=2)
    for size in range(1, 13):
        kept, theirs = facility_location(split, size, per_class=False), record["ranking"][:size]
        assert served[:, kept].min(axis=1).sum() == pytest.approx(served[:, theirs].min(axis=1).sum())
        if size <= 8:  # then come rows nearest to each other, of which either may be kept
            assert kept.tolist() == sorted(theirs)


def test_facility_location_in_blocks_keeps_the_same(clouds, monkeypatch):
    import importlib

    module = importlib.import_module("cdvm.selectors.facility_location")
    whole = facility_location(clouds, 25, per_class=False)
    monkeypatch.setattr(module, "_CACHED_ENTRIES", 1000)
    monkeypatch.setattr(module, "_LOOK_AGAIN", 3)
    np.testing.assert_array_equal(facility_location(clouds, 25, per_class=False), whole)
