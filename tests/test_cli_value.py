import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def run(command):
    """Exit code, output and error lines of a command."""

    def call(*words):
        code, output, errors = command(*words, columns=120)
        return code, output, errors.strip().splitlines()

    return call


def draw(n, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    features = {"a": (6 * y + rng.standard_normal(n)).round(3), "b": rng.standard_normal(n).round(3)}
    return pd.DataFrame(features | {"label": np.where(y, "yes", "no"), "id": [f"{i:03d}" for i in range(n)]})


@pytest.fixture
def table(tmp_path):
    draw(60, 0).to_csv(tmp_path / "train.csv", index=False)
    draw(40, 1).to_csv(tmp_path / "validation.csv", index=False)
    return tmp_path / "train.csv"


@pytest.fixture
def words(table):
    """A table with its own validation rows, an id and a label."""
    known = ("--validation", table.with_name("validation.csv"), "--ignore", "id", "--target", "label")
    return ("value", table, *known, "--jobs", 1)


def shown_rows(output):
    """Rows of the printed table: lines of a number, a label and a value."""
    lines = [line.split() for line in output.splitlines()]
    return [int(line[0]) for line in lines if len(line) > 2 and line[1] in ("yes", "no")]


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("shapley", [1 / 3, 1 / 3, 1 / 3, 1 / 2, 1 / 2, 1 / 2, 1 / 2, 1]),
        ("banzhaf", [1 / 4, 1 / 4, 1 / 4, 1 / 2, 1 / 2, 1 / 2, 1 / 2, 1]),
        ("leave_one_out", [0, 0, 0, 0, 0, 0, 0, 1]),
    ],
)
def test_values_of_the_papers_clusters_are_closed_forms(run, method, expected):
    code, output, errors = run("value", "--dataset", "clusters", "--method", method, "--jobs", 1)
    assert (code, errors) == (0, [])
    shown = [line.split() for line in output.splitlines() if " red " in line or " blue " in line]
    values = [float(words[2]) for words in shown]
    assert values == pytest.approx(np.array(expected) / 4, abs=5e-5)


def test_values_are_written_beside_the_rows(run, table, tmp_path):
    out = tmp_path / "values.csv"
    options = ("--target", "label", "--ignore", "id", "--learner", "naive_bayes", "--models", 60, "--jobs", 1)
    code, output, _ = run("value", table, *options, "--out", out, "--top", 3)
    assert code == 0
    assert "Written to" in output
    assert len(shown_rows(output)) == 6
    written, given = pd.read_csv(out, dtype=str), pd.read_csv(table, dtype=str)
    assert list(written.columns) == ["a", "b", "label", "id", "value", "stderr", "count"]
    assert len(written) == 48  # a tenth of the table is held out twice
    rows = written["id"].astype(int)
    assert written[["a", "b", "label"]].equals(given.loc[rows, ["a", "b", "label"]].reset_index(drop=True))


def test_a_column_of_the_same_name_is_kept(run, table, tmp_path):
    draw(60, 0).drop(columns="id").rename(columns={"a": "value"}).to_csv(table, index=False)
    out = tmp_path / "v.parquet"
    code, _, _ = run("value", table, "--target", "label", "--method", "knn_shapley", "--out", out)
    assert code == 0
    assert list(pd.read_parquet(out).columns) == ["value", "b", "label", "knn_shapley_value"]


def test_noise_report_finds_flips(run, words):
    code, output, _ = run(*words, "--flip", 0.1, "--report", "noise", "--method", "knn_shapley")
    assert code == 0
    line = next(line.split() for line in output.splitlines() if "knn_shapley" in line)
    assert float(line[1]) > 0.7


def test_noise_report_compares_all_methods(run, words, tmp_path):
    options = ("--learner", "naive_bayes", "--models", 64, "--store", tmp_path / "stores")
    code, output, _ = run(*words, *options, "--flip", 0.1, "--report", "noise", "--method", "all")
    assert code == 0
    f1 = {line[0]: line[1] for line in map(str.split, output.splitlines()) if len(line) == 8}
    for method in ("random", "leave_one_out", "shapley", "beta_shapley", "banzhaf", "memorization"):
        assert 0 <= float(f1[method]) <= 1
    assert float(f1["out_of_bag"]) > 0.5 > float(f1["random"])
    assert sorted(p.name for p in (tmp_path / "stores").iterdir()) == ["banzhaf", "bootstrap"]
    assert "influence was left out" in output  # naive Bayes has no Hessian


def test_noise_report_without_known_flips_names_suspects(run, table, words):
    frame = draw(60, 0)
    frame.loc[[5, 6], "label"] = frame.loc[[6, 5], "label"].to_numpy()
    frame.to_csv(table, index=False)
    options = ("--method", "out_of_bag", "--learner", "naive_bayes", "--models", 60)
    code, output, _ = run(*words, *options, "--report", "noise")
    assert code == 0
    assert sorted(shown_rows(output)) == [5, 6]


def test_a_stopping_rule_is_reported(run, words):
    options = ("--learner", "naive_bayes", "--models", 200, "--method", "out_of_bag")
    assert "the goal was reached" in run(*words, *options, "--error", 0.2)[1]
    assert "the goal was not reached" in run(*words, *options, "--stable", 0.999)[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "shaply"], "did you mean 'shapley'"),
        (["--method", "leave_one_out", "--models", "10"], "--models has no meaning"),
        (["--method", "shapley", "--inclusion", "0.5"], "--inclusion has no meaning"),
        (["--inclusion", "0"], "inclusion=0.0"),
        (["--inclusion", "1"], "inclusion=1.0"),
        (["--models", "2"], "at least"),
        (["--flip", "2"], "share=2.0"),
        (["--method", "all"], "--flip 0.1 --report noise"),
        (["--report", "rumour"], "--report 'rumour'"),
        (["--out", "values.txt"], "no known ending"),
        (["--out", "nowhere/values.csv"], "directory that exists"),
        (["--error", "-1"], "target=-1.0"),
        (["--method", "knn_shapley", "--neighbors", "0"], "k=0"),
        (["--target", "nothing"], "--target 'nothing'"),
    ],
)
def test_mistakes_are_one_line_and_code_2(run, words, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    code, _, errors = run(*words, "--learner", "naive_bayes", *options)
    assert code == 2
    assert len(errors) == 1
    assert errors[0].startswith("error: ")
    assert message in errors[0]
