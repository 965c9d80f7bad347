"""Counts on the page of ``python -m perf.models``, of a few lines whose counts are known."""

import io
import json
from pathlib import Path

import pandas as pd
import pytest
from scipy.stats import ttest_1samp

from cdvm.benchmark.claims import claims_of
from perf import pages

WHOLE = 0.9


def lines(budget, *, cdvm, random, noise=0.0, herding=None, splits=4):
    setting = {"dataset": "pol", "rows": 5000, "noise": noise, "model": "forest"}
    for split in range(splits):
        luck = 0.001 * split
        at = setting | {"split": split}
        yield at | {"budget": 1.0, "method": "all", "accuracy": WHOLE}
        told = {"way": "mining", "seconds": 1.0}
        yield at | {"budget": budget, "method": "cdvm", "accuracy": cdvm + luck} | told
        yield at | {"budget": budget, "method": "random", "accuracy": random + 2 * luck}
        if herding is not None and split < 3:  # still to come for the last
            yield at | {"budget": budget, "method": "herding", "accuracy": herding + luck}


@pytest.fixture
def place(tmp_path):
    measured = [
        *lines(0.01, cdvm=0.85, random=0.70, herding=0.86),
        *lines(0.05, cdvm=0.80, random=0.86, herding=0.79),
        *lines(0.3, cdvm=0.91, random=0.8985),
        *lines(0.05, cdvm=0.95, random=0.80, noise=0.1),
    ]
    at = tmp_path / "models"
    at.mkdir()
    unique = {json.dumps(line): None for line in measured}
    (at / "results.jsonl").write_text("".join(f"{line}\n" for line in unique))
    return at


def test_settings_are_counted_and_short_ways_left_out(place):
    found = pages.summary(pages.wide_of(place))["5000"]
    assert (found["settings"], found["splits"]) == (3, [4, 4])
    assert (found["above_random"], found["won_against_random"], found["lost_to_random"]) == (2, 2, 1)
    assert (found["above_others"], found["compared"]) == (1, 2)  # none of the others was tried at 30 %
    assert found["short"] == pytest.approx(0.01)
    assert (found["above_all_rows"], found["won_against_all_rows"]) == (1, 1)
    assert found["lost_to_all_rows"] == 2
    assert found["points"]["1%"] == pytest.approx(100 * (0.8515 - 0.703))
    assert list(found["way"]) == ["1%", "5%"]  # at 30 % all rows are .0015 - .0015 above random rows
    length = WHOLE - 0.703
    assert found["way"]["1%"] == pytest.approx((0.8515 - 0.703) / length)


def test_fewer_than_three_splits_decide_nothing(tmp_path):
    measured = list(lines(0.05, cdvm=0.8, random=0.7, splits=2))
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in measured))
    found = pages.summary(pages.wide_of(tmp_path))["5000"]
    assert (found["above_random"], found["won_against_random"]) == (1, 0)
    assert "the run is under way" in pages.page(tmp_path)


def test_claims_are_those_of_the_page(place):
    pages.write(place)
    text = (place / "README.md").read_text()
    claims = claims_of(place.parent)
    assert claims["models.5000.above.random"] == "2 of 3"
    assert claims["models.5000.against.random"] == "2 / 1 / 0"
    assert (claims["models.5000.others"], claims["models.5000.above.others"]) == ("1", "1 of 2")
    assert claims["models.5000.way.1"] == "75%"
    assert claims["models.5000.points.1"] == "14.8"
    assert claims["models.5000.noisy.above.all_rows"] == "1 of 1"
    assert "random rows in 2 of 3 (67%), significantly in 2, significantly below in 1;" in text
    assert "above every other method in 1 of 2 (50%), 0.0100 short of the best of them in the rest;" in text
    assert "## 5,000 rows, 10% of the labels wrong" in text
    assert (place / "gain_5000.svg").exists()


def test_every_setting_has_a_line_with_its_best_rival(place):
    pages.write(place)
    found = pd.read_csv(place / "settings.csv").set_index(["noise", "budget"])
    assert len(found) == 4
    line = found.loc[(0.0, 0.01)]
    assert (line.splits, line.best_other, line.its_splits) == (4, "herding", 3)
    assert (line.its_mean, line.ahead) == (pytest.approx(0.861), pytest.approx(-0.01))
    assert (line.cdvm, line.random) == (pytest.approx(0.8515), pytest.approx(0.703))
    assert line["all"] == WHOLE
    gains = [0.15 - 0.001 * k for k in range(4)]
    assert line.p_random == pytest.approx(ttest_1samp(gains, 0).pvalue, rel=1e-3)
    assert found.loc[(0.1, 0.05)].isna()[["best_other", "its_mean", "ahead"]].all()
    text = (place / "README.md").read_text()
    assert "| 30% | +0.0100 | 0 |  | 1 of 1 |" in text


def test_the_settings_are_those_of_the_lines():
    place = Path(__file__).parents[1] / "results" / "models"
    stated = pd.read_csv(place / "settings.csv")
    assert stated.equals(settings_as_written(pages.settings(pages.wide_of(place)))), "perf.models --table"


def settings_as_written(found):
    return pd.read_csv(io.StringIO(found.to_csv(index=False, float_format="%.4g")))
