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


@pytest.fixture
def alone(table):
    """The same table without validation rows."""
    return ("value", table, "--ignore", "id", "--target", "label", "--jobs", 1)


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


@pytest.mark.parametrize(
    ("method", "held_out", "columns"),
    [
        ("banzhaf", 0, ["stderr", "count", "p_value", "suspect"]),
        ("out_of_bag", 0, ["stderr", "count", "p_value", "suspect"]),
        ("knn_shapley", 12, []),
    ],
)
def test_values_are_written_beside_the_rows(run, alone, table, tmp_path, method, held_out, columns):
    out = tmp_path / "values.csv"
    learner = () if method == "knn_shapley" else ("--learner", "naive_bayes", "--models", 60)
    code, output, errors = run(*alone, "--method", method, *learner, "--out", out, "--top", 3)
    assert (code, errors) == (0, [])
    assert "Written to" in output
    assert len(shown_rows(output)) == 6
    assert ("held out" in output) == bool(held_out)
    written, given = pd.read_csv(out, dtype=str), pd.read_csv(table, dtype=str)
    assert list(written.columns) == ["a", "b", "label", "id", "row", "value", *columns]
    assert len(written) == 60 - held_out
    rows = written["row"].astype(int)
    assert (rows == written["id"].astype(int)).all()
    assert written[["a", "b", "label"]].equals(given.loc[rows, ["a", "b", "label"]].reset_index(drop=True))


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather"])
def test_every_format_can_be_written_from_every_other(run, alone, table, tmp_path, kind):
    frame = draw(60, 0)
    for given in ("csv", "parquet", "feather"):
        path, out = tmp_path / f"t.{given}", tmp_path / f"from-{given}.{kind}"
        frame.to_csv(path, index=False) if given == "csv" else getattr(frame, f"to_{given}")(path)
        code, _, errors = run("value", path, *alone[2:], "--method", "random", "--out", out)
        assert (code, errors) == (0, [])
        written = getattr(pd, f"read_{kind}")(out)
        assert list(written.columns) == ["a", "b", "label", "id", "row", "value"]
        np.testing.assert_allclose(written["a"], frame["a"])


def test_a_column_of_the_same_name_is_kept(run, table, tmp_path):
    draw(60, 0).drop(columns="id").rename(columns={"a": "value"}).to_csv(table, index=False)
    out = tmp_path / "v.parquet"
    code, _, _ = run("value", table, "--target", "label", "--method", "knn_shapley", "--out", out)
    assert code == 0
    assert list(pd.read_parquet(out).columns) == ["value", "b", "label", "row", "knn_shapley_value"]


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


def test_noise_report_without_known_flips_names_suspects(run, table, alone, tmp_path):
    frame = draw(60, 0)
    frame.loc[[5, 6], "label"] = frame.loc[[6, 5], "label"].to_numpy()
    frame.to_csv(table, index=False)
    out = tmp_path / "v.csv"
    options = ("--learner", "naive_bayes", "--models", 400, "--report", "noise")
    code, output, _ = run(*alone, *options, "--out", out)
    assert code == 0
    assert "suspected labels by out_of_bag" in output
    assert sorted(shown_rows(output)) == [5, 6]
    said = " ".join(output.split())
    assert "2 rows are suspected: were labels drawn as the models that did not see their rows believe" in said
    assert "at most 0.01 of them (0.6 of 60) would be" in said
    written = pd.read_csv(out)
    assert written.index[written["suspect"] == 1].tolist() == [5, 6]
    assert (written.loc[[5, 6], "p_value"] <= 0.01).all()


def test_as_many_rows_are_suspected_as_labels_are_known_to_be_wrong(run, alone):
    options = ("--report", "noise", "--method", "knn_shapley")
    code, output, errors = run(*alone, *options)
    assert (code, output) == (2, "")
    assert "say what --fraction of the labels is wrong" in errors[0]
    code, output, _ = run(*alone, *options, "--fraction", "4")
    assert code == 0
    assert "4 rows are suspected: as many as there are known to be" in output
    code, output, _ = run(*alone, *options, "--fraction", "10%")
    assert "5 rows are suspected" in output


def test_a_stopping_rule_is_reported(run, alone):
    options = ("--learner", "naive_bayes", "--models", 200, "--method", "out_of_bag")
    assert "the goal was reached" in run(*alone, *options, "--error", 0.2)[1]
    assert "the goal was not reached" in run(*alone, *options, "--stable", 0.999)[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "shaply"], "did you mean 'shapley'"),
        (["--method", "leave_one_out", "--models", "10"], "--models has no meaning"),
        (["--method", "shapley", "--inclusion", "0.5"], "--inclusion has no meaning"),
        (["--method", "knn_shapley"], "--learner has no meaning for --method knn_shapley"),
        (["--method", "out_of_bag"], "--validation has no meaning for --method out_of_bag"),
        (["--method", "influence", "--cluster", "tcp://x"], "--cluster has no meaning"),
        (["--inclusion", "0"], "--inclusion 0.0"),
        (["--inclusion", "1"], "--inclusion 1.0"),
        (["--models", "2"], "at least"),
        (["--flip", "2", "--report", "noise"], "--flip 2.0"),
        (["--flip", "0.1"], "add --report noise"),
        (["--flip", "0.1", "--report", "noise", "--out", "v.csv"], "--out has no meaning with --flip"),
        (["--flip", "0.1", "--report", "noise", "--top", "3"], "--top has no meaning with --flip"),
        (["--flip", "0.1", "--report", "noise", "--fraction", "3"], "--fraction has no meaning with --flip"),
        (["--fraction", "3"], "--fraction is about suspected labels"),
        (["--false-alarms", "1%"], "--false-alarms is about suspected labels"),
        (["--fraction", "3", "--false-alarms", "1%", "--out", "v.csv"], "use one"),
        (["--false-alarms", "100%", "--out", "v.csv"], "--false-alarms 1.0"),
        (["--false-alarms", "few", "--out", "v.csv"], "--false-alarms 'few'"),
        (["--top", "0"], "--top 0"),
        (["--force"], "add --out"),
        (["--method", "all"], "--flip 0.1 --report noise"),
        (["--report", "rumour"], "--report 'rumour'"),
        (["--out", "values.txt"], "no known ending"),
        (["--out", "nowhere/values.csv"], "directory that exists"),
        (["--error", "-1"], "--error -1.0"),
        (["--target", "nothing"], "--target 'nothing'"),
        (["--ignore", "label"], "--ignore 'label' is the label"),
        (["--seed", "-1"], "--seed -1: use a whole number from 0"),
        (["--seed", str(2**40)], "--seed 1099511627776"),
        (["--jobs", "-5"], "--jobs -5: use 1 or more"),
    ],
)
def test_mistakes_are_one_line_and_code_2(run, words, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    code, _, errors = run(*words, "--learner", "naive_bayes", *options)
    assert code == 2
    assert len(errors) == 1
    assert errors[0].startswith("error: ")
    assert message in errors[0]


def test_neighbours_are_a_flag(run, alone):
    code, _, errors = run(*alone, "--method", "knn_shapley", "--neighbors", "0")
    assert code == 2
    assert "--neighbors 0" in errors[0]
