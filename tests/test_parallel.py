import os
import signal
from pathlib import Path

import pytest

from cdvm import InputError
from cdvm.parallel import stream


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
    assert dict(stream(square, tasks, shared=(10,), n_jobs=n_jobs)) == {k: 10 + k**2 for k in range(7)}
    assert dict(stream(square, [(10, 2)], n_jobs=n_jobs)) == {0: 14}
    assert list(stream(square, [], shared=(10,), n_jobs=n_jobs)) == []


def test_a_worker_process_that_dies_is_replaced(tmp_path):
    tasks = [(number,) for number in range(12)]
    results = list(stream(die_once, tasks, shared=(str(tmp_path),), n_jobs=2, prefer="processes"))
    assert sorted(results) == [(k, k) for k in range(12)]
    assert (tmp_path / "died").exists()


def test_workers_that_die_again_and_again_are_given_up():
    with pytest.raises(InputError, match="worker processes were killed 3 times in a row"):
        list(stream(die, [(1,), (2,)], n_jobs=2, prefer="processes"))
