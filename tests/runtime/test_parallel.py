import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cdvm import InputError
from cdvm._runtime.parallel import run_tasks


def square(base, number):
    return base + number**2


def die_once(directory, number):
    """Kill the worker process the first time task 3 is run."""
    if number == 3:
        try:
            Path(directory, "died").touch(exist_ok=False)
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    return number


def die(number):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_come_with_the_number_of_their_task(n_jobs):
    tasks = [(number,) for number in range(7)]
    assert dict(run_tasks(square, tasks, shared=(10,), n_jobs=n_jobs)) == {k: 10 + k**2 for k in range(7)}
    assert dict(run_tasks(square, [(10, 2)], n_jobs=n_jobs)) == {0: 14}
    assert list(run_tasks(square, [], shared=(10,), n_jobs=n_jobs)) == []


def test_a_worker_process_that_dies_is_replaced(tmp_path):
    tasks = [(number,) for number in range(12)]
    results = list(run_tasks(die_once, tasks, shared=(str(tmp_path),), n_jobs=2, prefer="processes"))
    assert sorted(results) == [(k, k) for k in range(12)]
    assert (tmp_path / "died").exists()


def test_workers_that_die_again_and_again_are_given_up():
    with pytest.raises(InputError, match="worker processes were killed 3 times in a row"):
        list(run_tasks(die, [(1,), (2,)], n_jobs=2, prefer="processes"))


INTERRUPTED = """
import os, sys, time
import numpy as np
from cdvm._runtime.parallel import run_tasks

def work(shared, number):
    time.sleep(0.05)
    return os.getpid(), int(shared[0])

big = np.zeros(1_000_000)  # passed to the workers through shared memory
tasks = [(k,) for k in range(10_000)]
for _, (worker, _) in run_tasks(work, tasks, shared=(big,), n_jobs=2, prefer="processes"):
    print(worker, flush=True)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_worker_and_no_shared_memory_outlives_the_run(sent):
    run = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    workers = set()
    while len(workers) < 2:
        workers.add(int(run.stdout.readline()))

    def left():
        shared = [
            name for name in os.listdir("/dev/shm") if str(run.pid) in name.replace("-", "_").split("_")
        ]
        return [worker for worker in workers if Path(f"/proc/{worker}").exists()], shared

    assert all(left()), "nothing to clean up"
    run.send_signal(sent)
    run.communicate()
    deadline = time.monotonic() + 60
    while any(left()):
        assert time.monotonic() < deadline, left()
        time.sleep(0.05)


@pytest.mark.filterwarnings("error")
def test_a_consumer_that_fails_leaves_no_worker_at_work(tmp_path):
    results = run_tasks(
        note, [(k,) for k in range(200)], shared=(str(tmp_path),), n_jobs=2, prefer="processes"
    )
    next(results)
    results.close()
    done = len(list(tmp_path.iterdir()))
    time.sleep(0.3)
    assert len(list(tmp_path.iterdir())) <= done + 2 < 200


def note(directory, number):
    time.sleep(0.02)
    Path(directory, str(number)).touch()
    return number
