"""Tasks on a Dask cluster: whatever Dask runs on (processes, SLURM, Kubernetes, a cloud) serves.

What all tasks share is sent once, as a task of its own. A worker that needs it takes it from the scheduler or
from another worker, and when the workers that hold it die the scheduler runs that task again, as it does with
every task a dead worker had begun. A task's result follows from its arguments alone, so being run twice
changes nothing, and each is handed over once.

That holds where all compute alike: the versions of the libraries that decide an answer are compared before
the first task, and by every worker before its own; see :mod:`cdvm._runtime.cluster_versions`.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from joblib import parallel_config
from joblib.parallel import get_active_backend
from threadpoolctl import threadpool_limits

from cdvm._runtime.cluster_versions import Versions, check_cluster, refuse_other_versions
from cdvm.errors import InputError, InputWarning

__all__ = ["active_client", "on_cluster", "run_on_cluster"]

Result = TypeVar("Result")

_PATIENCE = 10  # seconds a scheduler has to answer
_LOGS = ("distributed.client", "tornado.application")  # tell of a lost scheduler with tracebacks


@contextmanager
def on_cluster(address: str) -> Iterator[Any]:
    """Train models on the Dask cluster whose scheduler is at ``address``, within a ``with`` block.

    Solving and everything else stays on this machine. ``joblib.parallel_config("dask")`` around a call does
    the same with the client that is current.

    Parameters
    ----------
    address : str
        For example ``"tcp://10.0.0.1:8786"``.

    Yields
    ------
    distributed.Client
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise InputError(f"cluster={address!r} needs Dask's distributed: pip install 'cdvm[dask]'") from error
    try:
        _refuse_silent(address)
        client = Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(
            f"cluster={address!r}: no Dask scheduler answers there; start one with 'dask scheduler', or give "
            "the address it prints, e.g. tcp://10.0.0.1:8786"
        ) from error
    with _quiet(), client:
        if not client.ncores():
            warnings.warn(f"{address} has no workers yet: waiting for them", InputWarning, stacklevel=3)
        with parallel_config("dask", client=client):
            yield client


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave it to whoever waits for a task to say, in one line, that the cluster is gone."""
    logs = [logging.getLogger(name) for name in _LOGS]
    before = [log.disabled for log in logs]
    try:
        for log in logs:
            log.disabled = True
        yield
    finally:
        for log, disabled in zip(logs, before, strict=True):
            log.disabled = disabled


def _refuse_silent(address: str) -> None:
    """Complain where nobody listens, or somebody who is no scheduler; a client would wait for ever."""
    kind, _, place = address.rpartition("://")
    if kind not in ("", "tcp", "tls"):
        return
    host, _, port = place.rpartition(":")
    socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()
    if kind != "tls":  # whoever is there speaks TLS only after the client has shown its certificate
        with ThreadPoolExecutor(1) as pool:  # a notebook has a loop of its own in this thread
            pool.submit(asyncio.run, _greet(f"tcp://{place}")).result()


async def _greet(address: str) -> None:
    from distributed.comm.core import connect

    async def ask() -> Any:
        comm = await connect(address, timeout=_PATIENCE)
        try:
            await comm.write({"op": "identity", "reply": True})
            return await comm.read()
        finally:
            comm.abort()

    try:
        answer = await asyncio.wait_for(ask(), _PATIENCE)
    except Exception as error:  # whoever is there may answer anything
        raise ConnectionError(f"{address} does not answer like a Dask scheduler") from error
    if not isinstance(answer, dict) or answer.get("type") != "Scheduler":
        raise ConnectionError(f"{address} is no Dask scheduler")


def active_client() -> Any:
    """The Dask client of the surrounding ``joblib.parallel_config``, or None."""
    backend, _ = get_active_backend()
    return backend.client if type(backend).__name__ == "DaskDistributedBackend" else None


def run_on_cluster(
    client: Any, function: Callable[..., Result], shared: tuple[Any, ...], tasks: Sequence[tuple[Any, ...]]
) -> Iterator[tuple[int, Result]]:
    """Yield ``(k, function(*shared, *tasks[k]))`` in the order of completion."""
    import cloudpickle
    import dask
    from distributed import as_completed

    versions = check_cluster(client)
    # meant: the scheduler must be able to hand the parcel to a worker when all who had it are gone
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
        parcel = client.submit(_Parcel, cloudpickle.dumps((function, shared)), versions, pure=False)
        futures = client.map(_run, [cloudpickle.dumps(task) for task in tasks], parcel=parcel, pure=False)
    pending = {future.key: (k, future) for k, future in enumerate(futures)}
    results = as_completed(futures, loop=client.loop, with_results=True, raise_errors=False)
    del futures  # a future that nobody holds is forgotten on the cluster
    try:
        for future, result in results:
            if future.status != "finished":
                raise _failure(client, future.status, result)
            k, _ = pending.pop(future.key)
            del future
            yield k, result
    finally:
        with suppress(Exception):  # the cluster may be gone
            client.cancel([future for _, future in pending.values()])


class _Parcel:
    """What all tasks share; travels as bytes and is opened once per worker."""

    def __init__(self, content: bytes, versions: Versions) -> None:
        self.content, self.versions = content, versions
        self._lock = threading.Lock()
        self._opened: Any = None

    def open(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        import cloudpickle

        with self._lock:
            if self._opened is None:
                refuse_other_versions(self.versions)
                self._opened = cloudpickle.loads(self.content)
        function, shared = self._opened
        return function, shared

    def __reduce__(self) -> tuple[Any, ...]:
        return _Parcel, (self.content, self.versions)

    def __sizeof__(self) -> int:  # Dask weighs moving data against moving tasks
        return len(self.content)


class _SingleThread:
    """BLAS with one thread while any thread of this process is inside.

    The limit belongs to the process: were each task to lift its own, it would lift that of its neighbours.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._first: Any = None

    def __enter__(self) -> None:
        with self._lock:
            limit = threadpool_limits(limits=1)  # each time: a task may have loaded another library
            self._first = limit if self._inside == 0 else self._first
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._first.restore_original_limits()


_single_thread = _SingleThread()


def _run(task: bytes, parcel: _Parcel) -> Any:
    """On a worker: one task."""
    import cloudpickle

    function, shared = parcel.open()
    arguments = cloudpickle.loads(task)
    with _single_thread:
        return function(*shared, *arguments)


def _failure(client: Any, status: str, result: Any) -> BaseException:
    """The error to raise for a task that did not finish."""
    from distributed.scheduler import KilledWorker

    where = client.scheduler.address if client.scheduler is not None else "the cluster"
    error = result[1] if isinstance(result, tuple) else result
    again = "what was finished before is in the store, if one was given; run the same command again"
    if isinstance(error, KilledWorker):
        return InputError(
            f"cluster {where}: a task was lost with each of {error.allowed_failures + 1} workers that tried "
            f"it; have they memory enough? {again}"
        )
    if isinstance(error, ImportError):
        return InputError(f"cluster {where}: workers cannot load the task ({error}): install it there too")
    if status == "error" and isinstance(error, BaseException):
        return error
    return InputError(f"cluster {where} has gone away: {again}")
