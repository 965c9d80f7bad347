import json
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import joblib
import pytest
from comparing import equal
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_info, threadpool_limits

import cdvm
from cdvm import (
    CDVM,
    Design,
    InputError,
    InputWarning,
    Outcomes,
    SklearnLearner,
    Subsets,
    on_cluster,
    record_outcomes,
    utilities,
)
from cdvm._runtime.cluster import _single_thread
from cdvm._runtime.parallel import run_tasks

pytest.importorskip("distributed")

PATIENCE = 120  # seconds until a test gives up


class Processes:
    """A scheduler and workers, each a process of its own that nothing restarts."""

    def __init__(self, directory, **environment):
        self.file, self.running = directory / "scheduler.json", []
        self.environment = {**os.environ, **environment}
        self.scheduler = self._start("dask_scheduler", "--port", "0", "--host", "127.0.0.1", "--no-dashboard")
        wait_until(lambda: self.file.exists() and self.file.read_text().endswith("}"))
        self.address = json.loads(self.file.read_text())["address"]

    def start_worker(self, **environment):
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard"]
        return self._start("dask_worker", *options, **environment)

    def _start(self, kind, *options, **environment):
        command = [sys.executable, "-m", f"distributed.cli.{kind}", "--scheduler-file", str(self.file)]
        with open(self.file.with_name(f"{len(self.running)}.log"), "w") as log:
            process = subprocess.Popen(
                [*command, *options], stdout=log, stderr=subprocess.STDOUT, env=self.environment | environment
            )
        self.running.append(process)
        return process

    def stop(self):
        for process in self.running:
            process.kill()
            process.wait()


def wait_until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "gave up waiting"
        time.sleep(0.01)


@pytest.fixture
def processes(tmp_path):
    directory = tmp_path / "cluster"
    directory.mkdir()
    started = []

    def start(**environment):
        started.append(Processes(directory, **environment))
        return started[-1]

    yield start
    for cluster in started:
        cluster.stop()


@pytest.fixture(scope="module")
def tree():
    return SklearnLearner(DecisionTreeClassifier(splitter="random"))  # random, seeded by the model's number


@pytest.fixture(scope="module")
def design(wine):
    return Design(wine.n_rows, 0.1, seed=1)


@pytest.fixture(scope="module")
def serial(wine, tree, design):
    return record_outcomes(wine, tree, design, range(1200), n_jobs=1)


def chunks_in(store):
    return len(list(store.glob("0*.npy")))


@pytest.mark.filterwarnings("ignore:.*has no workers yet")
def test_workers_that_die_cost_no_model_and_no_bit(wine, tree, design, serial, processes, tmp_path):
    """Two workers; one is killed in mid-run, then a third comes and the second is killed as well.

    In the end no process is left that had ever been sent the data at the start.
    """
    store, cluster = tmp_path / "store", processes()
    first, second = cluster.start_worker(), cluster.start_worker()
    seen = []

    def disturb():
        wait_until(lambda: chunks_in(store) >= 2)
        first.kill()  # SIGKILL
        seen.append(chunks_in(store))
        third = cluster.start_worker()
        wait_until(lambda: chunks_in(store) >= 6)
        second.kill()
        seen.append(chunks_in(store))
        assert third.poll() is None

    saboteur = threading.Thread(target=disturb)
    with on_cluster(cluster.address) as client:
        client.wait_for_workers(2, timeout=PATIENCE)
        saboteur.start()
        outcomes = record_outcomes(wine, tree, design, range(1200), store=store)
        saboteur.join()
        assert len(client.ncores()) == 1
    assert len(seen) == 2
    assert max(seen) < 24, "the run was over before the workers were killed"
    assert chunks_in(store) == 24
    assert equal(outcomes, serial)
    assert equal(Outcomes.load(store), serial)


@pytest.mark.filterwarnings("ignore:.*has no workers yet")
def test_a_cluster_takes_what_is_trained_and_nothing_else(wine, tree, design, serial, processes):
    cluster = processes()
    with pytest.warns(InputWarning, match="has no workers yet"), on_cluster(cluster.address):
        pass
    worker = cluster.start_worker().pid
    sets = Subsets.of([[0, 60, 130], [1, 61, 131]] * 30, wine.n_rows)
    here = utilities(wine, tree, sets, n_jobs=1)
    with on_cluster(cluster.address) as client:
        client.wait_for_workers(1, timeout=PATIENCE)
        assert dict(run_tasks(os.getpid, [(), ()], shared=())) == {0: worker, 1: worker}
        assert dict(run_tasks(os.getpid, [(), ()])) == {0: os.getpid(), 1: os.getpid()}
        assert (utilities(wine, tree, sets) == here).all()
        with pytest.raises(InputError, match="outcome returned an array of shape"):
            record_outcomes(wine, tree, design, range(60), outcome=lambda y, s: s[:, 0, 0])
        with joblib.parallel_config("dask", client=client):
            pruner = CDVM(tree, effort="low", n_models=100, inclusion=0.1, random_state=0).fit(wine.X, wine.y)
        assert len(pruner.select(10)) == 10
    alone = CDVM(tree, effort="low", n_models=100, inclusion=0.1, random_state=0, n_jobs=1).fit(
        wine.X, wine.y
    )
    assert equal(pruner.outcomes_, alone.outcomes_)


@pytest.mark.filterwarnings("ignore:.*has no workers yet")
def test_a_task_that_kills_its_workers_and_a_scheduler_that_dies_end_in_one_line(processes, monkeypatch):
    logged = []
    for name in ("distributed.client", "tornado.application"):
        monkeypatch.setattr(logging.getLogger(name), "callHandlers", logged.append)
    cluster = processes(DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0")
    cluster.start_worker()
    with on_cluster(cluster.address) as client:
        client.wait_for_workers(1, timeout=PATIENCE)
        with pytest.raises(InputError, match="have they memory enough"):
            list(run_tasks(os._exit, [(1,)], shared=()))
        cluster.start_worker()
        client.wait_for_workers(1, timeout=PATIENCE)
        results = run_tasks(time.sleep, [(0.05,)] * 1000, shared=())
        next(results)
        cluster.scheduler.kill()
        logging.getLogger("tornado.application").error("a result was not gathered")  # now and then it says so
        with pytest.raises(InputError, match=r"has gone away: .* run the same command again"):
            list(results)
    assert logged == []


def test_no_scheduler_is_said_with_the_address(monkeypatch):
    monkeypatch.setattr("cdvm._runtime.cluster._PATIENCE", 1)
    with pytest.raises(InputError, match=r"cluster='tcp://127.0.0.1:9': no Dask scheduler answers"):
        on_cluster("tcp://127.0.0.1:9").__enter__()


@pytest.mark.parametrize("says", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_whoever_listens_but_is_no_scheduler_is_said_to_be_none(says, monkeypatch):
    monkeypatch.setattr("cdvm._runtime.cluster._PATIENCE", 1)
    taken = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def listen():
            with suppress(OSError):
                while True:
                    taken.append(server.accept()[0])
                    taken[-1].sendall(says)

        threading.Thread(target=listen, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(InputError, match=rf"cluster='{address}': no Dask scheduler answers there"):
            on_cluster(address).__enter__()
        server.shutdown(socket.SHUT_RDWR)
    for connection in taken:
        connection.close()


@pytest.fixture
def other(tmp_path):
    """Directories that, put on PYTHONPATH, make cdvm missing or of another version."""
    source = Path(cdvm.__file__).parent
    code = {
        "missing": "raise ModuleNotFoundError(\"No module named 'cdvm'\", name='cdvm')",
        "older": f"__path__ = [{str(source)!r}]\n"
        f"exec(open({str(source / '__init__.py')!r}).read())\n__version__ = '0.0.1'",
    }
    for name, lines in code.items():
        package = tmp_path / name / "cdvm"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(lines)
    return {name: str(tmp_path / name) for name in code}


@pytest.mark.filterwarnings("ignore:.*has no workers yet")
def test_workers_that_would_compute_something_else_are_named(wine, tree, design, processes, other, tmp_path):
    """At the start of a run or later, without the package or with another version of it."""
    cluster, none = processes(), tmp_path / "s"
    alone = cluster.start_worker(PYTHONPATH=other["missing"])
    with on_cluster(cluster.address) as client:
        with pytest.raises(
            InputError, match=r"worker tcp://\S+ has no cdvm: install there what is here, python"
        ):
            record_outcomes(wine, tree, design, range(100), store=none)
        alone.kill()
        wait_until(lambda: not client.ncores())
        first = cluster.start_worker()
        client.wait_for_workers(1, timeout=PATIENCE)
        results = run_tasks(time.sleep, [(0.05,)] * 3000, shared=())
        next(results)
        late = cluster.start_worker(PYTHONPATH=other["older"])
        older = r"worker tcp://\S+ has cdvm 0\.0\.1 and would give other answers: install"
        with pytest.raises(InputError, match=older):
            list(results)
        first.kill()
        wait_until(lambda: len(client.ncores()) == 1)
        assert late.poll() is None
        with pytest.raises(InputError, match=older):
            record_outcomes(wine, tree, design, range(100), store=none)
    assert chunks_in(none) == 0


@pytest.mark.filterwarnings("ignore:.*has no workers yet")
def test_a_scheduler_without_the_package_is_named(processes, other):
    cluster = processes(PYTHONPATH=other["missing"])
    with on_cluster(cluster.address), pytest.raises(InputError, match="the scheduler has no cdvm: install"):
        list(run_tasks(os.getpid, [()], shared=()))


def test_blas_keeps_one_thread_while_any_task_runs():
    def threads():
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    with threadpool_limits(limits=2):
        before = threads()
        with _single_thread:
            with _single_thread:
                assert threads() == {1}
            assert threads() == {1}  # the first to leave does not lift the limit of the other
        assert threads() == before
