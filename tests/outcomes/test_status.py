import os

import pytest
from sklearn.naive_bayes import GaussianNB

from cdvm import Design, SklearnLearner, record_outcomes, store_status


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
    assert (status.done, status.requested) == (250, 400)
    assert status.missing == [(150, 200), (300, 400)]
    assert (status.damaged, status.set_aside) == ([], [])
    assert status.rate == pytest.approx(25)  # 50 models every two seconds
    assert status.seconds_left == pytest.approx(6)
    assert status.manifest["design"]["seed"] == 1


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
