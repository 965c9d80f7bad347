import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

from cdvm import CDVM as Pruner

CDVM = [sys.executable, "-m", "cdvm"]
PLAIN = ["--learner", "naive_bayes", "--jobs", "1"]
FAST = [*PLAIN, "--models", "60", "--effort", "low"]


@dataclass
class Done:
    stdout: str
    stderr: str


@pytest.fixture
def run(command):
    """What a command printed, with the exit code it must have."""

    def run_(*words, code=0):
        stopped, *printed = command(*words)
        done = Done(*printed)
        assert stopped == code, done.stderr + done.stdout
        return done

    return run_


@pytest.fixture(scope="module")
def wine_frame():
    X, y = load_wine(return_X_y=True, as_frame=True)
    frame = X.round(3)
    frame.insert(0, "id", [f"{i:04d}" for i in range(len(frame))])
    frame["note"] = ["", "a, b", 'say "x"'] * 59 + [""]
    frame["label"] = y.map({0: "red", 1: "white", 2: "rosé"})
    return frame


@pytest.fixture(scope="module")
def csv(wine_frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "wine.csv"
    wine_frame.to_csv(path, index=False)
    return path


IGNORE = ["--ignore", "id", "--ignore", "note"]


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        ([], {}),
        (["--tune"], {"tune": "grid"}),
        (["--refine", "--fits", "200"], {"refine": 200}),
        (["--no-scale"], {"scale": False}),
    ],
    ids=["plain", "tune", "refine", "no-scale"],
)
def test_the_command_line_and_python_keep_the_same_rows(run, csv, tmp_path, words, settings):
    given = ["--target", "label", "--keep", "10%", "--learner", "ridge", "--models", "60", "--jobs", "1"]
    run("prune", csv, *given, *IGNORE, *words, "--out", tmp_path)
    kept = pd.read_csv(tmp_path / "selection.csv").query("kept_10pct == 1")["row"]
    table = pd.read_csv(csv)
    pruner = Pruner("ridge", n_models=60, n_jobs=1, random_state=0, **settings)
    pruner.fit(table.drop(columns=["id", "note", "label"]), table["label"])
    assert pruner.select(0.1).indices.tolist() == kept.tolist()


def test_python_goes_on_from_a_store_of_the_command_line(run, csv, tmp_path):
    given = ["--target", "label", "--learner", "ridge", "--jobs", "1", "--store", tmp_path / "store"]
    run("outcomes", "run", csv, *given, "--models", "0:60", *IGNORE)
    table = pd.read_csv(csv)
    pruner = Pruner("ridge", n_models=60, n_jobs=1, random_state=0, store=tmp_path / "store")
    before = sorted((tmp_path / "store").iterdir())
    pruner.fit(table.drop(columns=["id", "note", "label"]), table["label"])
    assert sorted((tmp_path / "store").iterdir()) == before


def test_prune_writes_the_kept_rows_as_they_stood_in_the_file(run, csv, tmp_path):
    out = tmp_path / "kept"
    done = run(
        "prune", csv, "--target", "label", "--keep", "10%", "--keep", "20", "--out", out, *IGNORE, *FAST
    )
    lines = csv.read_text().splitlines()
    table = pd.read_csv(out / "selection.csv")
    for name, rows in {"10pct": 18, "20rows": 20}.items():
        kept = (out / f"kept-{name}.csv").read_text().splitlines()
        assert kept[0] == lines[0]
        assert len(kept) == rows + 1
        assert set(kept[1:]) <= set(lines[1:])  # leading zeros, quotes and accents unchanged
        positions = table.loc[table[f"kept_{name}"] == 1, "row"]
        assert kept[1:] == [lines[1 + p] for p in positions]
        assert table[f"weight_{name}"].sum() == pytest.approx(rows)
    summary = json.loads((out / "summary.json").read_text())
    assert summary["candidates"] == summary["n_evaluation"] == len(table) == 178
    assert summary["evaluation"] == "out_of_bag"
    line = summary["budgets"]["10pct"]
    assert {"gap", "seconds", "kappa"} <= set(line)
    assert f"{line['evaluated_with']['naive_bayes']['outside']['kept']:.3f}" in done.stdout
    assert "All 178 rows were candidates" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("words", "candidates", "parts", "told"),
    [
        (
            ["--validation", "holdout"],
            106,
            {"validation", "test"},
            "36 were held out to choose with and 36 to report on",
        ),
        (["--method", "knn_shapley"], 106, {"validation", "test"}, "36 were held out to choose with"),
        (
            ["--validation", "out_of_bag", "--test", "20%"],
            142,
            {"outside", "test"},
            "36 were held out to report on",
        ),
        (
            ["--test", "{csv}"],
            178,
            {"outside", "test"},
            "All 178 rows were candidates. There were 178 others to report on.",
        ),
    ],
    ids=["holdout", "knn_shapley", "test fraction", "test table"],
)
def test_rows_are_held_out_where_that_is_needed_or_asked_for(
    run, csv, tmp_path, words, candidates, parts, told
):
    out = tmp_path / "out"
    given = [w.format(csv=csv) for w in words]
    fast = PLAIN if "--method" in words else FAST
    done = run("prune", csv, "--target", "label", "--keep", "12", "--out", out, *given, *IGNORE, *fast)
    assert told in " ".join(done.stdout.split())
    summary = json.loads((out / "summary.json").read_text())
    assert summary["candidates"] == candidates
    assert set(summary["budgets"]["12rows"]["evaluated_with"]["naive_bayes"]) == parts


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_other_formats_keep_types_and_index(run, wine_frame, tmp_path, kind):
    frame = wine_frame.assign(when=pd.Timestamp("2020-01-01"), label=wine_frame["label"].astype("category"))
    frame["count"] = pd.array([1, None] * 89, dtype="Int64")
    if kind == "parquet":
        frame.index = pd.Index([f"bottle {i}" for i in range(len(frame))], name="bottle")
    path, out = tmp_path / f"wine.{kind}", tmp_path / "kept"
    getattr(frame, f"to_{kind}")(path)
    ignore = [*IGNORE, "--ignore", "when", "--ignore", "count"]
    run("prune", path, "--target", "label", "--keep", "15", "--out", out, *ignore, *FAST)
    kept = getattr(pd, f"read_{kind}")(out / f"kept-15rows.{kind}")
    rows = pd.read_csv(out / "selection.csv").query("kept_15rows == 1")["row"].to_numpy()
    expected = frame.iloc[rows]
    if kind == "feather":
        expected = expected.reset_index(drop=True)
    pd.testing.assert_frame_equal(kept, expected)


def test_lists_with_commas_name_budgets_and_columns(run, csv, tmp_path):
    out = tmp_path / "kept"
    words = ["--keep", "5%,10%", "--keep", "30", "--ignore", "id,note", "--out", out]
    run("prune", csv, "--target", "label", *words, *FAST)
    assert {path.name for path in out.glob("kept-*")} == {
        "kept-5pct.csv",
        "kept-10pct.csv",
        "kept-30rows.csv",
    }
    mixed = run("prune", csv, "--target", "label", "--keep", "2,5%", code=2)
    assert "--keep '2,5%' mixes fractions and numbers of rows" in mixed.stderr


def test_with_own_validation_and_test_rows_every_row_is_a_candidate(run, wine_frame, tmp_path):
    for name, part in {
        "train": slice(0, None, 2),
        "val": slice(1, None, 4),
        "test": slice(3, None, 4),
    }.items():
        wine_frame.iloc[part].to_csv(tmp_path / f"{name}.csv", index=False)
    out = tmp_path / "out"
    done = run(
        "prune", tmp_path / "train.csv", "--target", "label", "--validation", tmp_path / "val.csv",
        "--test", tmp_path / "test.csv", "--keep", "100%", "--out", out, *IGNORE, *FAST,
    )  # fmt: skip
    assert "All 89 rows were candidates" in " ".join(done.stdout.split())
    assert (out / "kept-100pct.csv").read_text() == (tmp_path / "train.csv").read_text()


@pytest.mark.parametrize(
    "words",
    [
        ["--method", "banzhaf", "--models", "60"],
        ["--method", "out_of_bag", "--remove", "high", "--models", "60"],
        ["--method", "k_center", "--overall"],
        ["--method", "herding"],
        ["--method", "random"],
    ],
    ids=lambda words: words[1],
)
def test_other_methods_are_one_flag_apart(run, csv, tmp_path, words):
    out = tmp_path / "out"
    done = run("prune", csv, "--target", "label", "--keep", "12", "--out", out, *words, *IGNORE, *PLAIN)
    assert f"trained on {words[1]}'s rows" in " ".join(done.stdout.split())
    summary = json.loads((out / "summary.json").read_text())
    assert summary["method"] == words[1]
    assert summary["budgets"]["12rows"]["gap"] is None
    assert len(pd.read_csv(out / "kept-12rows.csv")) == 12


@pytest.mark.parametrize("method", ["cdvm", "random"])
def test_rows_can_be_refined_by_retraining(run, csv, tmp_path, method):
    kept = {}
    for name, extra in {"plain": [], "refined": ["--refine", "--fits", "120"]}.items():
        words = ["--method", method, "--keep", "12", "--out", tmp_path / name, *extra]
        run("prune", csv, "--target", "label", *words, *IGNORE, *(FAST if method == "cdvm" else PLAIN))
        line = json.loads((tmp_path / name / "summary.json").read_text())["budgets"]["12rows"]
        kept[name] = line, (tmp_path / name / "kept-12rows.csv").read_text().splitlines()
    line, rows = kept["refined"]
    assert len(rows) == 13
    assert line["method"].endswith("+refine")
    assert line["fits"] <= 120
    assert rows != kept["plain"][1]
    assert "fits" not in kept["plain"][0]


def test_removing_high_values_first_keeps_other_rows(run, csv, tmp_path):
    for name in ("low", "high"):
        words = ["--method", "out_of_bag", "--remove", name, "--keep", "20", "--out", tmp_path / name]
        run("prune", csv, "--target", "label", *words, *IGNORE, *PLAIN, "--models", "60")
    low, high = (
        set((tmp_path / n / "kept-20rows.csv").read_text().splitlines()[1:]) for n in ("low", "high")
    )
    assert len(low - high) > 5


def test_other_models_evaluate_the_kept_rows(run, csv, tmp_path):
    evaluation = ["--evaluate-with", "decision_tree", "--evaluate-with", "ExtraTreeClassifier"]
    out = tmp_path / "out"
    done = run("prune", csv, "--target", "label", "--keep", "40", "--out", out, *evaluation, *IGNORE, *FAST)
    line = json.loads((out / "summary.json").read_text())["budgets"]["40rows"]
    assert list(line["evaluated_with"]) == ["naive_bayes", "decision_tree", "ExtraTreeClassifier"]
    for name, parts in line["evaluated_with"].items():
        assert f"accuracy of {name}" in " ".join(done.stdout.split())
        assert 0 < parts["outside"]["kept"] <= 1


@pytest.mark.parametrize("name", ["digits", "breast_cancer", "wine", "clusters", "mixture", "imbalanced"])
def test_bundled_data_sets(run, name):
    keep = "4" if name == "clusters" else "10%"
    part = "validation" if name == "clusters" else "other rows"
    assert part in run("prune", "--dataset", name, "--keep", keep, *FAST).stdout


def test_several_ways_are_told_of(run, csv, tmp_path):
    words = ["--learner", "naive_bayes", "--proxy", "ridge", "--effort", "medium", "--seconds", "1"]
    printed = run("prune", csv, "--target", "label", *IGNORE, *FAST, *words, "--out", tmp_path / "out").stdout
    assert "ways to choose" in printed
    assert "60 ridge models" in printed
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    line = summary["budgets"]["10pct"]
    assert summary["proxy"] == "ridge"
    assert summary["effort"] == "medium"
    assert {"random", "program", "fractions"} < {way["name"] for way in line["leaderboard"]}
    assert sum(way["kept"] for way in line["leaderboard"]) == 1
    assert -1 <= line["agreement"] <= 1


def test_a_data_set_has_its_own_target(run):
    done = run("prune", "--dataset", "wine", "--target", "colour", *FAST, code=2)
    assert "the label of --dataset wine is 'target'" in one_line(done)


def test_the_same_seed_keeps_the_same_rows(run, csv, tmp_path):
    for out, seed in [("a", 1), ("b", 1), ("c", 2)]:
        run("prune", csv, "--target", "label", "--out", tmp_path / out, "--seed", seed, *IGNORE, *FAST)
    a, b, c = ((tmp_path / out / "kept-10pct.csv").read_text() for out in "abc")
    assert a == b != c


def one_line(done):
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("error: ")
    return lines[0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--target", "colour"], "--target 'colour' is no column: there are 'id', 'alcohol'"),
        (["--ignore", "nothing"], "--ignore 'nothing' is no column"),
        (["--columns", "alcohol", "--text", "ash"], "--text ash is not among columns"),
        (["--keep", "0"], "--keep 0:"),
        (["--method", "shaply"], "did you mean 'shapley'"),
        (["--method", "k_center", "--remove", "high"], "--remove has no meaning for --method k_center"),
        (["--remove", "high"], "--remove has no meaning for --method cdvm: leave it out"),
        (["--remove", "low"], "--remove has no meaning for --method cdvm"),
        (["--per-class"], "--per-class has no meaning for --method cdvm"),
        (["--overall"], "--per-class has no meaning for --method cdvm"),
        (["--method", "banzhaf", "--alpha", "0.3"], "--alpha has no meaning for --method banzhaf"),
        (["--method", "banzhaf", "--kappa", "1"], "--kappa has no meaning for --method banzhaf"),
        (["--method", "banzhaf", "--tune"], "--tune has no meaning for --method banzhaf"),
        (["--method", "banzhaf", "--memory-limit", "4GB"], "--memory-limit has no meaning"),
        (["--method", "shapley", "--inclusion", "0.3"], "--inclusion has no meaning for --method shapley"),
        (["--method", "shapley", "--store", "s"], "--store has no meaning for --method shapley"),
        (["--method", "herding", "--models", "60"], "--models has no meaning for --method herding"),
        (["--method", "herding", "--cluster", "tcp://x"], "--cluster has no meaning for --method herding"),
        (["--tune", "--alpha", "0.5"], "--alpha 0.5 is fixed and --tune chooses it"),
        (["--tune", "--kappa", "2"], "--kappa 2 is fixed and --tune chooses it"),
        (["--ignore", "label"], "--ignore 'label' is the label"),
        (["--force"], "--force is about a directory"),
        (["--out", "same", "--store", "same"], "--out same is the place of --store"),
        (["--jobs", "0"], "--jobs 0: use 1 or more, or -1 for all cores"),
        (["--jobs", "-5"], "--jobs -5: use 1 or more, or -1 for all cores"),
        (["--seed", "-1"], "--seed -1: use a whole number from 0 to 4294967295"),
        (["--seed", "99999999999"], "--seed 99999999999: use a whole number"),
        (["--fits", "200"], "--fits says how long to refine: add --refine"),
        (["--no-refine"], "--no-refine is about --within and --score"),
        (["--refine", "--fits", "2"], "--fits 2: use a whole number of at least 50"),
        (["--evaluate-with", "random_forrest"], "did you mean 'random_forest'"),
        (["--effort", "much"], "--effort much: use low, medium or high"),
        (["--effort", "medium", "--refine"], "--refine is part of --effort medium: leave it out"),
        (["--effort", "high", "--tune"], "--tune is part of --effort high: leave it out"),
        (["--seconds", "5", "--refine"], "--seconds bounds searches, and there are none with --refine"),
        (["--seconds", "5", "--alpha", "0"], "--seconds bounds searches, and there are none with --alpha"),
        (
            ["--seconds", "5", "--effort", "low"],
            "--seconds bounds searches, and there are none with --effort low",
        ),
        (["--effort", "medium", "--seconds", "-1"], "--seconds -1.0: use a positive number"),
        (["--proxy", "forrest"], "did you mean 'forest'"),
        (["--method", "herding", "--effort", "medium"], "--effort has no meaning for --method herding"),
        (["--keep", "0%"], "--keep 0.0"),
        (["--keep", "-5%"], "--keep -0.05"),
        (["--keep", "1000"], "at most the 178"),
        (["--keep", "101%"], "--keep 1.01"),
        (["--keep", "some"], "--keep 'some'"),
        (["--alpha", "1.5"], "--alpha 1.5"),
        (["--kappa", "-1"], "--kappa -1"),
        (["--models", "0"], "--models 0"),
        (["--inclusion", "1.5"], "--inclusion 1.5"),
        (["--learner", "woods"], "--learner woods is unknown"),
        (["--dataset", "wine"], "name one table"),
        (["--validation", "nowhere.csv"], "nowhere.csv is not a file"),
        (["--validation", "out_of_bag", "--method", "shapley"], "there are no validation rows"),
        (["--test", "150%"], "--test '150%': use a fraction between 0 and 1"),
        (
            ["--test", "20%", "--validation", "{csv}"],
            "--test 0.2 holds rows out where no table is given as --validation: name a table",
        ),
        (["--out", "{csv}"], "is a file"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(run, csv, words, message):
    if words == ["--target", "label"]:
        given = [*words, "--ignore", "id"]
    else:
        given = [*IGNORE, *(w.format(csv=csv) for w in words)]
        if "--target" not in words:
            given += ["--target", "label"]
    fast = PLAIN if "--method" in words else [*PLAIN, "--models", "60"]
    given += [] if {"--learner", "--models", "--jobs"} & {*words} else fast
    assert message in one_line(run("prune", csv, *given, code=2))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("a,label\n", "has no rows"),
        ('a,label\n1,"x\n', "cannot be read"),
        ("a,label\n,x\n,y\n,x\n,y\n", "the table has no column to learn from: 'a' no values"),
        ("a,label\n7,x\n7,y\n7,x\n7,y\n", "the table has no column to learn from: 'a' constant: always 7"),
        ("a,label\n" + "1,x\n2,x\n" * 9, "one class only"),
        ("label\nx\ny\n", "no column besides"),
        ("a,label\n" + "1,x\n2,\n" * 9, "NaN, infinity or None in row 1"),
    ],
)
def test_tables_that_cannot_be_used(run, tmp_path, content, message):
    path = tmp_path / "bad.csv"
    path.write_text(content)
    assert message in one_line(run("prune", path, "--target", "label", code=2))


@pytest.mark.parametrize("name", ["bad.parquet", "bad.feather", "bad.xlsx", "missing.csv"])
def test_files_that_cannot_be_read(run, tmp_path, name):
    if not name.startswith("missing"):
        (tmp_path / name).write_bytes(b"not a table")
    one_line(run("prune", tmp_path / name, code=2))


def test_unseen_validation_labels_are_a_warning(run, wine_frame, tmp_path):
    wine_frame.to_csv(tmp_path / "train.csv", index=False)
    wine_frame.assign(label=["new"] * 2 + wine_frame["label"].tolist()[2:]).to_csv(
        tmp_path / "val.csv", index=False
    )
    done = run(
        "prune", tmp_path / "train.csv", "--target", "label", "--validation", tmp_path / "val.csv",
        *IGNORE, *FAST,
    )  # fmt: skip
    assert "warning: 2 of 178 rows of the labels of --validation carry labels never seen" in done.stderr


def test_nothing_is_overwritten_without_force(run, csv, tmp_path):
    (tmp_path / "precious.txt").write_text("mine")
    words = ["prune", csv, "--target", "label", "--out", tmp_path, *IGNORE, *FAST]
    assert "is not empty" in one_line(run(*words, code=2))
    assert [p.name for p in tmp_path.iterdir()] == ["precious.txt"]
    run(*words, "--force")
    assert (tmp_path / "precious.txt").read_text() == "mine"
    assert (tmp_path / "kept-10pct.csv").exists()


def test_interrupt_leaves_a_usable_store_and_says_how_to_go_on(csv, tmp_path):
    store = tmp_path / "store"
    words = [
        "prune", str(csv), "--target", "label", "--learner", "decision_tree", "--models", "100000",
        "--jobs", "1", "--store", str(store), *IGNORE,
    ]  # fmt: skip
    process = subprocess.Popen(
        [*CDVM, *words], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 300
    while len(list(store.glob("0*.npy")) if store.exists() else []) < 1:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stderr.strip() == (
        "interrupted: finished models are in the store; run the same command again to go on"
    )
    from cdvm import Outcomes

    assert 0 < Outcomes.load(store).n_models < 100_000


def test_every_public_name_can_be_imported():
    import cdvm

    assert all(getattr(cdvm, name) is not None for name in cdvm.__all__)
    assert set(cdvm.__all__) <= set(dir(cdvm))
    with pytest.raises(AttributeError, match="nonsense"):
        _ = cdvm.nonsense
    assert np.isscalar(cdvm.__version__)
