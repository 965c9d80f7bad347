"""``--metric``, and what a report says of rare classes."""

import json

import numpy as np
import pandas as pd
import pytest

FAST = ["--target", "y", "--models", "60", "--jobs", "1", "--keep", "20,40", "--test", "25%"]


@pytest.fixture(scope="module")
def rare(tmp_path_factory):
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.06
    frame = pd.DataFrame(rng.normal(size=(400, 3)) + y[:, None], columns=[*"abc"])
    path = tmp_path_factory.mktemp("tables") / "rare.csv"
    frame.assign(y=np.where(y, "ill", "well")).to_csv(path, index=False)
    return path


def test_rare_classes_are_told_of_without_being_asked(command, rare, tmp_path):
    code, printed, errors = command("prune", rare, *FAST, "--out", tmp_path / "kept", columns=200)
    assert code == 0, errors
    summary = json.loads((tmp_path / "kept" / "summary.json").read_text())
    assert summary["metric"] == "accuracy"
    for name, line in summary["budgets"].items():
        kept = pd.read_csv(tmp_path / "kept" / f"kept-{name}.csv")["y"].value_counts()
        assert {label: c["kept"] for label, c in line["classes"].items()} == kept.to_dict()
        found, ill = line["balanced_accuracy"]["test"], line["classes"]["ill"]
        assert f"the {line['rows']} kept rows have {ill['kept']} of {ill['rows']} rows of 'ill'" in printed
        assert f"balanced accuracy {found['kept']:.3f}, random rows {found['random']:.3f}" in printed


@pytest.mark.parametrize(
    "more", [[], ["--refine", "--fits", "60"], ["--tune"], ["--method", "random", "--refine"]]
)
def test_a_metric_goes_all_the_way_to_the_report(command, rare, tmp_path, more):
    fast = [word for word in FAST if "random" not in more or word not in ("--models", "60")]
    code, printed, errors = command("prune", rare, *fast, "--metric", "f1", *more, "--out", tmp_path / "kept")
    assert code == 0, errors
    assert "f1 of logistic" in " ".join(printed.split())
    summary = json.loads((tmp_path / "kept" / "summary.json").read_text())
    assert summary["metric"] == "f1"
    assert "balanced_accuracy" in summary["budgets"]["20rows"]


def test_balanced_accuracy_is_not_told_twice(command, rare, tmp_path):
    code, printed, _ = command("prune", rare, *FAST, "--metric", "balanced_accuracy", columns=200)
    assert code == 0
    assert "rows of 'ill'." in printed


@pytest.mark.parametrize(
    ("word", "message"),
    [("aucc", "--metric aucc is unknown"), ("mae", "--metric mae does not fit a classification task")],
)
def test_metrics_that_do_not_fit(command, rare, word, message):
    code, _, errors = command("prune", rare, *FAST, "--metric", word)
    assert code == 2
    assert message in errors
