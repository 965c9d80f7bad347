import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from cdvm.benchmark import runner as runner_module
from cdvm.benchmark import task as task_module
from cdvm.benchmark.methods import PAPER_METHODS, get_method
from cdvm.benchmark.presets import PRESETS
from cdvm.benchmark.protocol import Protocol, get_protocol
from cdvm.benchmark.results import ORDER, Results
from cdvm.benchmark.runner import run_benchmark
from cdvm.benchmark.task import Task
from cdvm.cli.main import app
from cdvm.errors import InputError
from cdvm.evaluation.scoring import evaluate_sets
from cdvm.selectors import InfluenceProgram
from cdvm.selectors.baselines import select_with
from cdvm.valuation import value_rows
from cdvm.valuation.influence import influence_vectors

SMALL = Protocol(
    "small",
    train=80,
    validation=40,
    test=40,
    noise=0.1,
    scaling="table",
    model="paper",
    budgets=(8, 16),
    repetitions=3,
    random_draws=2,
)
TIMES = ["seconds_prepare", "seconds_optimise"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    out = tmp_path_factory.mktemp("whole") / "r"
    return run_benchmark(SMALL, ["wine"], ["CDVM", "Random", "Banzhaf"], out, n_jobs=1)


def same(a: pd.DataFrame, b: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(a.drop(columns=TIMES), b.drop(columns=TIMES))


def test_one_row_per_data_set_method_budget_repetition_and_draw(whole):
    frame = whole.frame
    assert len(frame) == 3 * 2 * (1 + 2 + 1)
    assert not frame.duplicated(ORDER).any()
    assert (frame.kept.map(len) == frame.budget).all()
    assert frame.accuracy.between(0, 1).all()
    assert (frame.worst_class <= frame.accuracy).all()
    assert (frame.query("method == 'Banzhaf'").seconds_prepare > 0).all()
    assert frame.query("method == 'CDVM'").gap.notna().all()


def test_accuracy_is_that_of_a_model_on_the_kept_rows(whole):
    for row in whole.frame.query("method == 'CDVM'").itertuples():
        split, learner = SMALL.split("wine", row.repetition), SMALL.learner("wine", row.repetition)
        parts = (split.X_test, split.y_test), split.evaluation
        again = evaluate_sets(split, learner, [row.kept], *parts, seed=row.seed)
        np.testing.assert_allclose([row.accuracy, row.validation], again[:, 0, 0])


def test_worst_class_against_a_loop(whole):
    task = Task(SMALL, "wine", 0)
    rows = np.arange(30)
    answers = task.learner.predict(task.split, _subsets([rows], task), task.split.X_test)[0]
    expected = min((answers[task.split.y_test == k] == k).mean() for k in np.unique(task.split.y_test))
    assert task.scored([rows])["worst_class"][0] == pytest.approx(expected)


def _subsets(sets, task):
    from cdvm.sampling import Subsets

    return Subsets.of(sets, task.split.n_rows, seed=task.seed)


def test_results_do_not_depend_on_workers(whole, tmp_path):
    other = run_benchmark(SMALL, ["wine"], ["CDVM", "Random", "Banzhaf"], tmp_path / "r", n_jobs=2)
    same(whole.frame, other.frame)


def test_methods_and_repetitions_can_be_added_later(whole, tmp_path):
    out = tmp_path / "r"
    run_benchmark(SMALL.replace(repetitions=1), ["wine"], ["Random"], out, n_jobs=1)
    first = Results.open(out).frame
    run_benchmark(SMALL, ["wine"], ["CDVM", "Random", "Banzhaf"], out, n_jobs=1)
    again = Results.open(out).frame
    same(whole.frame, again)
    old = again.merge(first, on=[*ORDER, *TIMES])
    assert len(old) == len(first)


def test_models_are_trained_once_and_shared():
    task = Task(SMALL, "wine", 0)
    five, _ = task.outcomes(500, 0.1)
    ten, _ = task.outcomes(1000, 0.1)
    again, _ = task.outcomes(500, 0.1)
    np.testing.assert_array_equal(five.data, ten.data[:500])
    np.testing.assert_array_equal(five.data, again.data)
    assert [len(piece.models) for piece, _ in task._recorded[0.1]] == [500, 500]


@pytest.mark.parametrize(("name", "by"), [("InfOpt", "accuracy"), ("InfOpt-val", "validation")])
def test_influence_optimisation_is_the_best_of_its_sets(name, by):
    task = Task(get_protocol("paper").replace(budgets=(20, 40), train=80, validation=40, test=40), "wine", 0)
    program = InfluenceProgram(influence_vectors(task.split, "logistic", damping=0.01))
    choices, _ = get_method(name).run(task)
    for choice in choices:
        sets = [
            program.solve(size).keep(choice.budget, reverse=reverse, seed=task.seed)
            for size in (20, 40)
            for reverse in (False, True)
        ]
        scores = task.scored([choice.rows, *sets])[by]
        assert len(choice.rows) == choice.budget
        assert scores[0] == scores[1:].max()
        assert len(np.unique(scores[1:])) > 1


@pytest.mark.parametrize(
    "name", [*PAPER_METHODS, "CDVM+refine", "DataOOB-high", "CDVM1k-p10", "CDVM1k@20", "herding"]
)
def test_every_method_answers_for_every_budget(name):
    task = Task(SMALL, "wine", 0)
    method = get_method(name)
    choices, seconds = method.run(task)
    wanted = [80] if name == "All" else [8, 16]
    assert sorted({c.budget for c in choices}) == wanted
    assert all(len(np.unique(c.rows)) == c.budget for c in choices)
    assert seconds >= 0


def test_data_oob_from_both_ends_keeps_other_rows():
    task = Task(SMALL, "wine", 0)
    low, high = (get_method(name).run(task)[0][0].rows for name in ("DataOOB", "DataOOB-high"))
    assert not set(low) & set(high)


def test_methods_that_rank_by_the_same_values_compute_them_once(monkeypatch):
    asked = []

    def noting(*args, **options):
        asked.append(args[2])
        return value_rows(*args, **options)

    monkeypatch.setattr(task_module, "value_rows", noting)
    task = Task(SMALL, "wine", 0)
    choices = [get_method(name).run(task)[0] for name in ("DataOOB", "DataOOB-high", "Banzhaf")]
    assert asked == ["out_of_bag", "banzhaf"]
    alone = select_with(task.split, task.learner, "out_of_bag", task.budgets, seed=task.seed, n_models=1000)
    assert [c.rows.tolist() for c in choices[0]] == [s.rows.tolist() for s in alone]


def test_repetitions_on_one_split_share_their_influence_program(monkeypatch):
    asked = []

    def noting(split, *args, **options):
        asked.append(split)
        return influence_vectors(split, *args, **options)

    monkeypatch.setattr("cdvm.valuation.influence.influence_vectors", noting)
    fixed, anew = SMALL.replace(split_seed=7, name="fixed"), SMALL.replace(name="anew")
    for protocol, expected in ((fixed, 1), (anew, 2)):
        asked.clear()
        for repetition in (0, 1):
            get_method("InfOpt").run(Task(protocol, "wine", repetition))
        assert len(asked) == expected


def test_a_run_that_is_stopped_has_all_data_sets_alike(tmp_path, monkeypatch):
    order = []
    monkeypatch.setattr(runner_module, "run_tasks", lambda f, tasks, **options: order.extend(tasks) or [])
    run_benchmark(SMALL.replace(repetitions=2), ["wine", "digits"], ["All"], tmp_path / "out")
    assert [task[1:3] for task in order] == [("wine", 0), ("digits", 0), ("wine", 1), ("digits", 1)]


def test_followed_set_contains_the_smaller_and_lies_in_the_larger():
    task = Task(SMALL.replace(budgets=(4, 8, 16, 40)), "wine", 0)
    kept = [set(c.rows) for c in get_method("CDVM1k@10").run(task)[0]]
    assert kept[0] < kept[1] < kept[2] < kept[3]


def test_presets_name_known_methods():
    for preset in PRESETS.values():
        for name in preset.methods:
            assert get_method(name).name == name


def test_unknown_method_names_the_nearest():
    with pytest.raises(InputError, match="Banzhaf"):
        get_method("Banzaf")


def test_directory_of_another_protocol_is_refused(whole):
    with pytest.raises(InputError, match=r"noise is 0\.1 there and 0\.0 here"):
        run_benchmark(SMALL.replace(noise=0.0), ["wine"], ["Random"], whole.path)


def test_directory_without_results(tmp_path):
    with pytest.raises(InputError, match="cdvm benchmark run"):
        Results.open(tmp_path)
    (tmp_path / "other.parquet").write_bytes(b"x")
    with pytest.raises(InputError, match="name another"):
        Results.create(tmp_path, SMALL)
    (tmp_path / "protocol.json").write_text("{")
    with pytest.raises(InputError, match="cannot be read"):
        Results.open(tmp_path)


def test_run_under_way_can_be_read(tmp_path):
    results = Results.create(tmp_path / "r", SMALL)
    with pytest.raises(InputError, match="no finished repetition"):
        _ = results.frame
    results.write(("wine", "CDVM5k@5", 0), [{"dataset": "wine", "method": "CDVM5k@5", **_KEY}])
    assert results.done() == {("wine", "CDVM5k@5", 0)}
    assert len(results.frame) == 1
    results.join()
    results.join()
    assert results.done() == {("wine", "CDVM5k@5", 0)}


_KEY = {"budget": 8, "repetition": 0, "draw": 0, "kept": [1, 2]}

_SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
from cdvm.benchmark.protocol import Protocol
from cdvm.benchmark.runner import run_benchmark
run_benchmark(Protocol.from_dict({protocol!r}), ["wine"], ["CDVM", "Random", "Banzhaf"], {out!r}, n_jobs=1)
"""


def test_killed_run_goes_on_to_the_same_table(whole, tmp_path):
    out = tmp_path / "r"
    code = _SCRIPT.format(tests=".", protocol=SMALL.to_dict(), out=str(out))
    for wanted in (1, 4):
        process = subprocess.Popen([sys.executable, "-c", code])
        try:
            deadline = time.monotonic() + 120
            while process.poll() is None and time.monotonic() < deadline:
                if len(list((out / "parts").glob("*.parquet"))) >= wanted:
                    process.send_signal(signal.SIGKILL)
                    break
                time.sleep(0.01)
        finally:
            process.kill()
            process.wait()
        assert process.returncode == -signal.SIGKILL
        assert not (out / "results.parquet").exists()
    run_benchmark(SMALL, ["wine"], ["CDVM", "Random", "Banzhaf"], out, n_jobs=1)
    same(whole.frame, Results.open(out).frame)
    assert os.listdir(out / "parts") == [] if (out / "parts").exists() else True


def test_command_line(tmp_path):
    out = tmp_path / "r"
    options = ["--protocol", "clean", "--datasets", "wine", "--methods", "Random, k_center"]
    answer = CliRunner().invoke(
        app, ["benchmark", "run", *options, "--repetitions", "1", "--out", str(out), "--jobs", "1"]
    )
    assert answer.exit_code == 0, answer.output
    assert set(Results.open(out).frame.method) == {"Random", "k_center"}
    wrong = CliRunner().invoke(app, ["benchmark", "run", "--datasets", "wein", "--out", str(out)])
    assert wrong.exit_code == 2
    assert "wine" in wrong.output
