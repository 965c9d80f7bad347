import pytest
from valuation_games import blobs

from cdvm.valuation import detection, flip_split, suspects, value_rows
from cdvm.valuation.detection import detect, detect_with_each


@pytest.fixture(scope="module")
def noisy():
    return flip_split(blobs(40, gap=3.0), 0.1, seed=1)


def test_each_method_is_scored_at_the_known_number_of_flips(noisy):
    split, flipped = noisy
    found = list(detect_with_each(split, "neighbors", flipped, ["random", "knn_shapley"], k=3, seed=2))
    assert [line.method for line in found] == ["random", "knn_shapley"]
    assert found[1].known.n_suspects == len(flipped)
    assert found[1].known.f1 > found[0].known.f1
    values = value_rows(split, None, "knn_shapley", k=3)
    assert detect(values, flipped).known == found[1].known
    assert found[1].automatic is None  # exact values hold no evidence
    asked = detect(value_rows(split, "neighbors", "out_of_bag", n_models=60), flipped, rate=0.05)
    again = suspects(value_rows(split, "neighbors", "out_of_bag", n_models=60), rate=0.05)
    assert asked.automatic.n_suspects == len(again) > 0


def test_out_of_bag_and_memorization_share_their_models(noisy, monkeypatch):
    runs = []

    def record(*args, **options):
        runs.append(options)
        return detection_record(*args, **options)

    detection_record = detection.record_bootstrap
    monkeypatch.setattr(detection, "record_bootstrap", record)
    split, flipped = noisy
    methods = ["out_of_bag", "memorization"]
    found = list(detect_with_each(split, "neighbors", flipped, methods, n_models=60, inclusion=0.5, n_jobs=1))
    assert runs == [{"n_models": 60, "n_jobs": 1}]
    assert [(line.method, line.fits) for line in found] == [("out_of_bag", 60), ("memorization", 60)]


def test_a_method_that_does_not_fit_says_why(noisy):
    split, flipped = noisy
    found = list(detect_with_each(split, "neighbors", flipped, ["banzhaf", "random"], n_models=2))
    assert "n_models=2" in found[0].skipped
    assert found[1].known is not None
