import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification

from cdvm import CDVM
from cdvm.evaluation.curve import Curve

FAST = ["--target", "label", "--learner", "ridge", "--models", "100", "--jobs", "1"]


@pytest.fixture(scope="module")
def rows():
    X, y = make_classification(240, 6, n_informative=4, class_sep=1.5, flip_y=0.02, random_state=0)
    return pd.DataFrame(X.round(4), columns=list("abcdef")), np.where(y == 1, "yes", "no")


@pytest.fixture(scope="module")
def csv(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "rows.csv"
    rows[0].assign(label=rows[1], region=np.arange(240) % 3).to_csv(path, index=False)
    return path


def test_the_smallest_set_is_that_of_python_and_says_what_it_promises(rows, csv, command, tmp_path):
    ask = ["--within", "4%", "--confidence", "97%", "--ignore", "region", "--out", tmp_path / "out"]
    code, out, err = command("prune", csv, *FAST, *ask)
    assert code == 0, err
    pruner = CDVM("ridge", n_models=100, random_state=0, n_jobs=1, progress=False).fit(*rows)
    found = pruner.smallest(0.04, confidence=0.97)
    written = pd.read_csv(tmp_path / "out" / "selection.csv")
    assert np.flatnonzero(written["kept_smallest"]).tolist() == found.selection.indices.tolist()
    assert len(pd.read_csv(tmp_path / "out" / "kept-smallest.csv")) == len(found.selection) < 250
    told = json.loads((tmp_path / "out" / "summary.json").read_text())["smallest"]
    assert told["told"] == str(found)
    assert (told["rows"], told["confidence"]) == (len(found.selection), 0.97)
    assert told["loss"] == pytest.approx(found.point.loss)
    assert told["loss_error"] == pytest.approx(found.point.loss_error)
    assert "are within 4 points of all rows with confidence 97%" in " ".join(out.split())
    assert Curve.load(tmp_path / "out" / "curve.csv") == found.curve
    assert (tmp_path / "out" / "curve.svg").read_text().count("<path") > 5


def test_refining_can_be_left_out(rows, csv, command, tmp_path):
    ask = ["--within", "4%", "--no-refine", "--ignore", "region", "--out", tmp_path / "out"]
    code, _, err = command("prune", csv, *FAST, *ask)
    assert code == 0, err
    pruner = CDVM("ridge", n_models=100, random_state=0, n_jobs=1, progress=False).fit(*rows)
    found = pruner.smallest(0.04, refine=False)
    written = pd.read_csv(tmp_path / "out" / "selection.csv")
    assert np.flatnonzero(written["kept_smallest"]).tolist() == found.selection.indices.tolist()
    assert not found.selection.refined


def test_the_cheapest_set_where_rows_have_prices(rows, command, tmp_path):
    price = np.where(np.arange(240) % 4 == 0, 9.5, 1.0)
    rows[0].assign(label=rows[1], price=price).to_csv(tmp_path / "priced.csv", index=False)
    ask = [
        "--within",
        "20%",
        "--cost",
        "price",
        "--ignore",
        "price",
        "--no-refine",
        "--out",
        tmp_path / "out",
    ]
    code, out, err = command("prune", tmp_path / "priced.csv", *FAST, *ask)
    assert code == 0, err
    pruner = CDVM("ridge", n_models=100, random_state=0, n_jobs=1, progress=False).fit(*rows)
    found = pruner.smallest(0.2, costs=price, refine=False)
    kept = np.flatnonzero(pd.read_csv(tmp_path / "out" / "selection.csv")["kept_smallest"])
    assert kept.tolist() == found.selection.indices.tolist()
    assert price[kept].sum() <= found.point.fraction * price.sum()
    assert f"for {found.point.fraction:.1%} of the costs" in " ".join(out.split())


def test_where_no_budget_is_good_enough_there_is_the_curve_and_no_set(csv, command, tmp_path):
    code, out, err = command("prune", csv, *FAST, "--score", 0.999, "--out", tmp_path / "out")
    assert code == 0, err
    said = " ".join(out.split())
    assert "No set of at most 80% of the rows is known to reach an accuracy of 0.999" in said
    assert "80.0%" in said
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"summary.json", "curve.csv", "curve.svg"}
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["smallest"]["rows"] is None
    assert summary["budgets"] == {}


def test_a_curve_over_the_budgets_asked_for(csv, command, tmp_path):
    given = [
        "--keep",
        "20%",
        "--keep",
        "60",
        "--curve",
        "--groups",
        "region",
        "--at-least",
        "15",
        "--metric",
        "f1",
    ]
    code, out, err = command("prune", csv, *FAST, *given, "--out", tmp_path / "out")
    assert code == 0, err
    curve = Curve.load(tmp_path / "out" / "curve.csv")
    assert [point.fraction for point in curve.points] == [0.25, 0.2]
    assert curve.metric == "f1"
    assert "f1 on rows that had no part in choosing" in " ".join(out.split())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--within", "1%", "--keep", "5%"], "--within finds how many rows to keep: leave out --keep"),
        (["--score", "0.9", "--spend", "5"], "--score finds how many rows to keep: leave out --spend"),
        (["--within", "1%", "--score", "0.9"], "leave one of them out"),
        (["--within", "much"], "--within 'much': use a number such as 1% or 0.01"),
        (["--within", "100%"], "--within 1.0: use"),
        (["--within", "1%", "--confidence", "40%"], "--confidence 0.4: use a probability from 0.5"),
        (["--confidence", "90%"], "--confidence is that of --within or --score"),
        (["--within", "1%", "--method", "banzhaf"], "--within has no meaning for --method banzhaf"),
        (["--curve", "--method", "banzhaf"], "--curve has no meaning for --method banzhaf"),
        (["--curve", "--within", "1%"], "--curve is part of what --within and --score report"),
        (["--curve", "--cost", "a", "--spend", "5"], "--curve is over numbers of rows"),
    ],
)
def test_what_does_not_go_together_is_refused(csv, command, given, words):
    code, _, err = command("prune", csv, *FAST, *given)
    assert code == 2
    assert words in err
