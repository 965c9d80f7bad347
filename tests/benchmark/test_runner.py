import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from benchmark_frames import TINY

from cdvm.benchmark import runner as runner_module
from cdvm.benchmark.results import ORDER, Results
from cdvm.benchmark.runner import run_benchmark
from cdvm.errors import InputError
from cdvm.evaluation.scoring import evaluate_sets

TIMES = ["seconds_prepare", "seconds_optimise"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    out = tmp_path_factory.mktemp("whole") / "r"
    return run_benchmark(TINY, ["wine"], ["CDVM", "Random", "Banzhaf"], out, n_jobs=1)


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
        split, learner = TINY.split("wine", row.repetition), TINY.learner("wine", row.repetition)
        parts = (split.X_test, split.y_test), split.evaluation
        again = evaluate_sets(split, learner, [row.kept], *parts, seed=row.seed)
        np.testing.assert_allclose([row.accuracy, row.validation], again[:, 0, 0])


def test_results_do_not_depend_on_workers(whole, tmp_path):
    other = run_benchmark(TINY, ["wine"], ["CDVM", "Random", "Banzhaf"], tmp_path / "r", n_jobs=2)
    same(whole.frame, other.frame)


def test_methods_and_repetitions_can_be_added_later(whole, tmp_path):
    out = tmp_path / "r"
    run_benchmark(TINY.replace(repetitions=1), ["wine"], ["Random"], out, n_jobs=1)
    first = Results.open(out).frame
    run_benchmark(TINY, ["wine"], ["CDVM", "Random", "Banzhaf"], out, n_jobs=1)
    again = Results.open(out).frame
    same(whole.frame, again)
    old = again.merge(first, on=[*ORDER, *TIMES])
    assert len(old) == len(first)


def test_a_run_that_is_stopped_has_all_data_sets_alike(tmp_path, monkeypatch):
    order = []
    monkeypatch.setattr(runner_module, "run_tasks", lambda f, tasks, **options: order.extend(tasks) or [])
    run_benchmark(TINY.replace(repetitions=2), ["wine", "digits"], ["All"], tmp_path / "out")
    assert [task[1:3] for task in order] == [("wine", 0), ("digits", 0), ("wine", 1), ("digits", 1)]


def test_directory_of_another_protocol_is_refused(whole):
    with pytest.raises(InputError, match=r"noise is 0\.1 there and 0\.0 here"):
        run_benchmark(TINY.replace(noise=0.0), ["wine"], ["Random"], whole.path)


_SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
from cdvm.benchmark.protocol import Protocol
from cdvm.benchmark.runner import run_benchmark
run_benchmark(Protocol.from_dict({protocol!r}), ["wine"], ["CDVM", "Random", "Banzhaf"], {out!r}, n_jobs=1)
"""


def test_killed_run_goes_on_to_the_same_table(whole, tmp_path):
    out = tmp_path / "r"
    code = _SCRIPT.format(tests=".", protocol=TINY.to_dict(), out=str(out))
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
    run_benchmark(TINY, ["wine"], ["CDVM", "Random", "Banzhaf"], out, n_jobs=1)
    same(whole.frame, Results.open(out).frame)
    assert os.listdir(out / "parts") == [] if (out / "parts").exists() else True
