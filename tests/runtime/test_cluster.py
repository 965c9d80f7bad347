import logging
import os
import socket
import threading
import time
from contextlib import suppress

import joblib
import pytest
from cluster_cases import PATIENCE, chunks_in, wait_until
from comparing import equal
from threadpoolctl import threadpool_info, threadpool_limits

from cdvm import CDVM, InputError, InputWarning, Outcomes, Subsets, on_cluster, record_outcomes, utilities
from cdvm._runtime.cluster import _single_thread
from cdvm._runtime.parallel import run_tasks

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def serial(wine, tree, design):
    return record_outcomes(wine, tree, design, range(1200), n_jobs=1)


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
