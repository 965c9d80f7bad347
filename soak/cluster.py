"""A Dask cluster whose workers and scheduler are killed during a run."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random

from distributed.cli import dask_scheduler, dask_worker

from cdvm._runtime.cluster import on_cluster
from cdvm.outcomes.recorded import Outcomes
from soak.cases import record, require_same
from soak.processes import LIMIT, Process, action, require_clear, start
from soak.stores import chunks_in, require_kept, whole_files
from soak.verdicts import Fault, Kind, Missed, Wrong, verdict_of

__all__ = ["KIND"]

_FAULTS = 5  # a round
_PAUSE = 0.2  # seconds a task takes, of twelve


class _Cluster:
    """A scheduler and workers, each a fork that nothing restarts."""

    def __init__(self, here: Path) -> None:
        here.mkdir()
        self.here, self._started = here, 0
        self.file = here / "scheduler.json"
        self.scheduler = self._start(dask_scheduler.main, "--port", "0", "--host", "127.0.0.1")
        self.address = self._address()
        self.workers = [self.add_worker(), self.add_worker()]

    def _address(self) -> str:
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            with suppress(OSError, ValueError):  # not there yet, or half
                return str(json.loads(self.file.read_text())["address"])
            time.sleep(0.01)
        raise RuntimeError("the scheduler does not start")

    def add_worker(self) -> Process:
        return self._start(dask_worker.main, "--nthreads", "1", "--no-nanny")

    def _start(self, main: Callable[[list[str]], None], *options: str) -> Process:
        words = ["--scheduler-file", str(self.file), "--no-dashboard", *options]
        self._started += 1
        return start(partial(main, words), self.here / f"{self._started}.log")

    def replace(self, dying: list[Process]) -> None:
        """Kill some workers, and start others."""
        for worker in list(dying):
            worker.send(signal.SIGKILL)
            worker.ended_within(LIMIT)
            self.workers[self.workers.index(worker)] = self.add_worker()

    def stop(self) -> None:
        for process in [self.scheduler, *self.workers]:
            process.send(signal.SIGKILL, all_of_it=True)
            process.ended_within(LIMIT)


def _alone(here: Path) -> None:
    record(here / "store")


def _strike(rng: Random, alone: Path, here: Path) -> Iterator[Fault]:
    expected = Outcomes.load(alone / "store")
    cluster = _Cluster(here / "cluster")
    for number in range(_FAULTS):
        victim = rng.choice(["worker", "worker", "all workers", "client", "scheduler"])
        after, store = rng.uniform(0, 1.5), here / str(number)
        run = _client(cluster, store, here / f"{number}.log")
        late = _waited_for_work(run, store) or run.ended_within(after)
        before = whole_files(store, alone / "store")
        if victim == "scheduler":
            cluster.scheduler.send(signal.SIGKILL)
        elif victim == "client":
            run.send(rng.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
        else:
            cluster.replace(cluster.workers if victim == "all workers" else [rng.choice(cluster.workers)])

        def check(
            run: Process = run,
            victim: str = victim,
            store: Path = store,
            before: dict[str, int] = before,
            late: bool = late,
        ) -> None:
            ended = run.wait()
            if victim != "client":
                require_clear(ended)
            if ended.code and victim not in ("client", "scheduler"):
                raise Wrong("lost", f"though another worker came: {ended.err}")
            require_same(record(store), expected, where="ended without the cluster")
            require_kept(store, before)
            if late:
                raise Missed

        yield verdict_of(f"{victim} of a cluster killed after {after:.3f} s", check)
        if victim == "scheduler":
            cluster.stop()
            cluster = _Cluster(here / f"cluster-{number}")
    cluster.stop()


def _client(cluster: _Cluster, store: Path, log: Path) -> Process:
    def run() -> None:
        with on_cluster(cluster.address) as client:
            client.wait_for_workers(1, timeout=LIMIT)
            record(store, pause=_PAUSE)

    return action(run, log)


def _waited_for_work(run: Process, store: Path) -> bool:
    """Wait until something is done: a run that has not begun is no run. True when it is over by then."""
    while not run.ended_within(0.02):
        if store.is_dir() and chunks_in(store):
            return False
    return True


KIND = Kind("cluster", "workers, schedulers and clients of a Dask cluster, killed", _alone, _strike)
