"""What ``cdvm value`` shows and writes."""

import numpy as np
import pandas as pd
import pytest

from cdvm.datasets.source import load_source
from cdvm.report.values import Suspicion, print_suspects, print_values, write_values
from cdvm.valuation import Values


@pytest.fixture
def source(tmp_path):
    frame = pd.DataFrame({"a": np.arange(8) / 7, "suspect": 1.5 * np.arange(8), "y": ["p", "q"] * 4}).round(3)
    frame.to_csv(tmp_path / "t.csv", index=False)
    return load_source(
        tmp_path / "t.csv", "y", dataset="", validation="out_of_bag", own_validation=True, test=None, uses={},
        learner="ridge", scale=None, seed=0, reporting=False,
    )  # fmt: skip


def valued(source, method="out_of_bag", **more):
    values = np.array([0.5, -0.2, 0.9, 0.1, -0.7, 0.3, 0.2, 0.4])
    return Values.of(source.split, values, method, **more)


def test_suspects_are_those_of_small_p_values_the_most_surprising_first(source):
    p = np.array([0.5, 0.005, 0.9, 0.001, 0.005, 0.3, 0.2, 0.4])
    found = Suspicion.of(valued(source, p_values=p), 0.01, None)
    assert found.rows.tolist() == [3, 4, 1]  # of equal p-values the lower value
    assert found.p_values is p
    assert found.sentence.startswith("3 rows are suspected: were labels drawn as the models")
    assert "at most 0.01 of them (0.08 of 8) would be" in found.sentence
    one = Suspicion.of(valued(source, p_values=p), 0.002, None)
    assert one.sentence.startswith("1 row is suspected")


def test_of_a_known_fraction_the_lowest_values_are_suspected_or_the_most_memorised(source):
    low = Suspicion.of(valued(source, "knn_shapley"), 0.01, 3)
    assert (low.rows.tolist(), low.p_values) == ([4, 1, 3], None)
    assert "as many as there are known to be wrong" in low.sentence
    assert Suspicion.of(valued(source, "memorization"), 0.01, 3).rows.tolist() == [2, 0, 7]


def test_values_below_0_by_more_than_chance_are_suspected(source):
    found = Suspicion.of(valued(source, "banzhaf", stderr=np.full(8, 0.2)), 0.01, None)
    assert found.rows.tolist() == [4]
    assert "their values are below 0" in found.sentence


def test_columns_are_written_beside_the_rows_and_never_over_theirs(source, tmp_path):
    values = valued(source, "banzhaf", stderr=np.full(8, 0.2))
    write_values(tmp_path / "v.csv", source, values, Suspicion.of(values, 0.01, None))
    written = pd.read_csv(tmp_path / "v.csv")
    assert list(written.columns) == [
        "a",
        "suspect",
        "y",
        "row",
        "value",
        "stderr",
        "p_value",
        "banzhaf_suspect",
    ]
    np.testing.assert_allclose(written["value"], values.values)
    assert written.index[written["banzhaf_suspect"] == 1].tolist() == [4]
    pd.testing.assert_frame_equal(written[["a", "suspect", "y"]], source.table.frame)


def test_the_ends_are_shown_and_of_few_rows_all(source, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    values = valued(source, "banzhaf", stderr=np.full(8, 0.2), fits=30, converged=True)

    def rows(top):
        print_values(source, source.split, values, top, None)
        said = capsys.readouterr().out
        shown = [int(line.split()[0]) for line in said.splitlines() if "0.2000" in line]
        return shown, " ".join(said.split())

    assert rows(2)[0] == [2, 0, 1, 4]
    shown, said = rows(4)
    assert shown == list(range(8))
    assert f"8 rows: mean 0.1875, standard deviation {values.values.std():.4f}, 2 below 0." in said
    assert "ridge: 30 fits; the goal was reached." in said
    print_suspects(source, values, Suspicion.of(values, 0.3, None), 1, None)
    said = " ".join(capsys.readouterr().out.split())
    assert "4 p -0.7000 0.00023" in said
    assert "The 1 worst are shown." in said
