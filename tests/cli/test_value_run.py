"""From the words of ``cdvm value`` to values and files."""

import numpy as np
import pandas as pd
import pytest

from cdvm import InputError, Split
from cdvm.cli.value_run import ValueRequest, run_value
from cdvm.valuation import value_rows
from cdvm.valuation.stopping import StandardError


@pytest.fixture
def table(tmp_path, rng):
    y = np.arange(40) % 2
    frame = pd.DataFrame({"a": y + rng.standard_normal(40), "b": rng.standard_normal(40), "y": y}).round(3)
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def request(table, **given):
    usual = {
        "table": table, "target": "y", "dataset": "", "method": "out_of_bag", "validation": None, "uses": {},
        "learner": "", "models": None, "inclusion": None, "neighbors": None, "error": None, "stable": None,
        "flip": None, "report": "values", "false_alarms": "", "fraction": "", "top": None, "out": None,
        "force": False, "store": None, "scale": None, "seed": 0, "jobs": 1, "cluster": None,
    }  # fmt: skip
    return ValueRequest(**(usual | given))


def test_only_what_was_said_is_passed_on(table):
    assert request(table).options == {}
    said = request(table, models=30, neighbors=3, error=0.1, store="s").options
    assert said == {"n_models": 30, "k": 3, "stop": StandardError(0.1), "store": "s"}


@pytest.mark.parametrize(("method", "needs"), [("out_of_bag", False), ("knn_shapley", True), ("all", True)])
def test_rows_are_held_out_where_a_method_needs_some(table, tmp_path, capsys, method, needs):
    assert request(table, method=method).needs_validation is needs
    if method != "all":
        said = {} if needs else {"learner": "ridge", "models": 60}
        run_value(request(table, method=method, out=tmp_path / "v.csv", **said))
        assert len(pd.read_csv(tmp_path / "v.csv")) == (32 if needs else 40)
        assert ("8 of 40 rows were held out" in capsys.readouterr().out) is needs


def test_what_is_written_are_the_values_of_python(table, tmp_path, capsys):
    run_value(request(table, learner="ridge", models=80, seed=3, out=tmp_path / "v.csv"))
    assert f"Written to {tmp_path / 'v.csv'}." in "".join(capsys.readouterr().out.splitlines())
    frame = pd.read_csv(table)
    split = Split.from_arrays(frame[["a", "b"]], frame["y"], validation="out_of_bag").standardized()
    expected = value_rows(split, "ridge", "out_of_bag", n_models=80, seed=3, n_jobs=1)
    written = pd.read_csv(tmp_path / "v.csv")
    np.testing.assert_allclose(written["value"], expected.values)
    np.testing.assert_allclose(written["p_value"], expected.p_values)


def test_nothing_is_read_where_words_contradict_each_other(tmp_path):
    with pytest.raises(InputError, match="--method all compares methods at finding flipped labels"):
        run_value(request(tmp_path / "nothing.csv", method="all"))
    with pytest.raises(InputError, match="use one"):
        run_value(request(tmp_path / "nothing.csv", report="noise", fraction="3", false_alarms="1%"))
