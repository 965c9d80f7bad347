import pytest

from cdvm import Outcomes

WINE = ["--dataset", "wine", "--learner", "naive_bayes", "--jobs", "1"]


@pytest.fixture
def run(command):
    """What a command printed, with the exit code it must have."""

    def run_(*words, code=0):
        stopped, output, errors = command(*words)
        assert stopped == code, errors + output
        return errors if code else output

    return run_


def test_parts_of_a_run_serve_the_whole(run, tmp_path, monkeypatch):
    a, b, whole = (tmp_path / name for name in ("a", "b", "whole"))
    assert "Models 0 to 100 are in" in run("outcomes", "run", *WINE, "--models", "100", "--store", a)
    run("outcomes", "run", *WINE, "--models", "100:130", "--store", f"file://{b}")
    assert "holds 130 models" in run("outcomes", "merge", whole, b, a)
    assert run("outcomes", "status", whole) == f"{whole}: 130 of 130 models done\n"
    files = sorted(whole.iterdir())

    def refuse(*_, **__):
        raise AssertionError("a model was trained again")

    with monkeypatch.context() as patch:
        patch.setattr("cdvm.outcomes.recording._outcomes_of", refuse)
        run("prune", *WINE, "--models", "130", "--store", whole, "--keep", "12", "--effort", "low")
    assert sorted(whole.iterdir()) == files
    assert Outcomes.load(whole).n_models == 130


def test_status_says_what_is_missing_and_damaged(run, tmp_path):
    store = tmp_path / "s"
    run("outcomes", "run", *WINE, "--models", "150", "--store", store)
    file = sorted(store.glob("0*.npy"))[1]
    file.write_bytes(file.read_bytes()[:-1])
    told = run("outcomes", "status", store)
    assert f"{store}: 100 of 150 models done\nmissing: 50:100\n" in told
    assert f"computed again by the next run: {file.name}" in told
    assert " models a second: " in told
    run("outcomes", "run", *WINE, "--models", "150", "--store", store)
    told = run("outcomes", "status", store)
    assert "150 of 150 models done" in told
    assert f"set aside as damaged before: {file.name}.damaged" in told


def test_what_cannot_be_done_is_said_in_one_line(run, tmp_path):
    cases = [
        (["run", *WINE], "--store"),
        (["run", *WINE, "--store", tmp_path / "s", "--models", "5:5"], "FIRST:STOP such as 0:2500"),
        (["run", *WINE, "--store", tmp_path / "s", "--models", "all"], "FIRST:STOP such as 0:2500"),
        (["run", *WINE, "--store", "nowhere://x", "--models", "5"], "Protocol not known: nowhere"),
        (
            ["run", *WINE, "--store", tmp_path / "s", "--test", "t.csv"],
            "--test t.csv plays no part in training",
        ),
        (["run", *WINE, "--store", tmp_path / "s", "--seed", "-1"], "--seed -1: use a whole number"),
        (["status", tmp_path / "none"], "is no outcome store, it has no manifest.json: name another"),
        (["merge", tmp_path / "t", tmp_path / "none"], "is no outcome store"),
    ]
    for words, message in cases:
        told = run("outcomes", *words, code=2)
        assert message in told
        assert told.startswith("error: ")
        assert told.count("\n") == 1
    for command in ("run", "merge", "status"):
        assert f"cdvm outcomes {command}" in run("outcomes", command, "--help").split("Example:")[1]


def test_prune_and_value_take_a_cluster(run, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("cdvm._runtime.cluster._PATIENCE", 1)
    for command in ("prune", "value", "outcomes run --store unused"):
        told = run(*command.split(), *WINE, "--cluster", "tcp://127.0.0.1:9", code=2)
        assert "no Dask scheduler answers" in told
