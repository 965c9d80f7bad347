import os
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.naive_bayes import GaussianNB

from cdvm import Design, SklearnLearner, record_outcomes, store_status
from cdvm.outcomes.status import _rate, _union
from cdvm.outcomes.store import Chunk, Store


@pytest.fixture
def store(wine, tmp_path):
    """Models 0 to 150 and 200 to 300 in files written two seconds apart, an hour's pause in the middle."""
    path, learner = tmp_path / "s", SklearnLearner(GaussianNB())
    design = Design(wine.n_rows, 0.1, seed=1)
    record_outcomes(wine, learner, design, range(150), n_jobs=1, store=path)
    record_outcomes(wine, learner, design, range(200, 300), n_jobs=1, store=path)
    (path / "requested-00000000-00000400").touch()
    for number, file in enumerate(sorted(path.glob("0*.npy"))):
        when = 1_000_000 + 2 * number + 3600 * (number > 2)
        os.utime(file, (when, when))
    return path


def test_status_counts_what_is_done_and_missing_and_how_long_it_will_take(store):
    status = store_status(store)
    assert status.path == store
    assert (status.done, status.requested) == (250, 400)
    assert status.missing == [(150, 200), (300, 400)]
    assert (status.damaged, status.set_aside) == ([], [])
    assert status.rate == pytest.approx(25)  # 50 models every two seconds
    assert status.seconds_left == pytest.approx(6)
    assert status.manifest["design"]["seed"] == 1


def test_status_of_files_is_told_from_their_names_and_times(tmp_path):
    manifest = {"design": {"n_rows": 9}}
    store, none = Store(tmp_path, manifest), np.empty(0, dtype=np.int64)
    for number, first in enumerate((0, 4, 20)):
        store.write(Chunk(first, first + 4, none, np.zeros((4, 1), dtype=np.uint8)))
        os.utime(tmp_path / store.files()[-1].name, (1000 + 2 * number,) * 2)
    store.request(0, 30)
    status = store_status(tmp_path)
    assert (status.path, status.manifest) == (tmp_path, manifest)
    assert (status.done, status.requested, status.missing) == (12, 30, [(8, 20), (24, 30)])
    assert (status.damaged, status.set_aside, status.foreign) == ([], [], [])
    assert (status.rate, status.seconds_left) == (2.0, 9.0)
    files = store.files()
    (tmp_path / files[0].name).unlink()
    assert not store.whole(files[0])
    (tmp_path / files[1].name).write_bytes(b"")
    assert not store.whole(files[1])
    assert store.whole(files[2])
    assert store_status(tmp_path).damaged == [files[1].name]
    assert store.requested() == [(0, 30)]
    store.request(5, 20)  # is asked for already
    store.request(25, 40)
    assert store.requested() == [(0, 30), (25, 40)]


def test_status_names_damaged_files_and_leaves_them(store):
    file = sorted(store.glob("0*.npy"))[1]
    file.write_bytes(file.read_bytes()[:-1])
    before = sorted(store.iterdir())
    status = store_status(store)
    assert status.damaged == [file.name]
    assert status.missing == [(50, 100), (150, 200), (300, 400)]
    assert status.done == 200
    assert sorted(store.iterdir()) == before
    file.rename(file.with_name(file.name + ".damaged"))
    assert store_status(store).set_aside == [file.name + ".damaged"]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 6)).map(lambda r: (r[0], sum(r))), max_size=8))
@settings(max_examples=80, deadline=None)
def test_ranges_unite_to_the_fewest_of_the_same_models(ranges):
    united = _union(ranges)
    assert [k for first, stop in united for k in range(first, stop)] == sorted(
        {k for first, stop in ranges for k in range(first, stop)}
    )
    assert all(stop < first for (_, stop), (first, _) in pairwise(united))  # none that touch


def test_ranges_that_touch_or_overlap_are_one():
    assert _union([]) == []
    assert _union([(5, 9), (0, 3), (2, 4), (4, 5), (12, 14), (6, 7)]) == [(0, 9), (12, 14)]
    assert _union([(0, 9), (1, 2), (20, 30), (21, 31)]) == [(0, 9), (20, 31)]


def test_the_rate_leaves_out_pauses_and_what_is_long_past():
    steady = [(2.0 * k, 10) for k in range(6)]
    assert _rate(steady) == pytest.approx(5.0)
    assert _rate(steady[::-1]) == pytest.approx(5.0)
    later = [(time + 40.0, models) for time, models in steady]  # a pause of 30, no more than 20 times 2
    assert _rate(steady + later) == pytest.approx(110 / 50)
    later = [(time + 50.0, models) for time, models in steady]  # just that
    assert _rate(steady + later) == pytest.approx(110 / 60)
    later = [(time + 51.0, models) for time, models in steady]
    assert _rate(steady + later) == pytest.approx(100 / 20)
    early = [(time - 500.0, 1000) for time, _ in steady]
    long = [(float(k), 3) for k in range(100)]
    assert _rate(early + long) == pytest.approx(3.0)
    assert _rate([(0.0, 1), (0.5, 4)]) == pytest.approx(8.0)
    assert _rate([]) is None
    assert _rate([(1.0, 10)]) is None
    assert _rate([(1.0, 10), (1.0, 20)]) is None
