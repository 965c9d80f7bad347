"""Run many independent tasks through joblib and take the results as they come."""

from __future__ import annotations

import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import AbstractContextManager
from functools import cache, lru_cache, partial
from typing import Any, Literal, TypeVar

from joblib import Parallel, cpu_count, delayed, effective_n_jobs
from threadpoolctl import ThreadpoolController

from cdvm._runtime.cluster import active_client, run_on_cluster
from cdvm._runtime.parameters import N_JOBS, check
from cdvm.errors import InputError

__all__ = ["Prefer", "blas_threads", "check_jobs", "run_tasks"]

Prefer = Literal["threads", "processes"]
Result = TypeVar("Result")

_WATCH = 0.5  # seconds between two looks at whether the caller is alive
_PATIENCE = 3  # times the worker processes may die without one task done


def check_jobs(n_jobs: Any) -> int | None:
    """A number of workers that joblib understands.

    >>> check_jobs("all")
    Traceback (most recent call last):
    cdvm.errors.InputError: n_jobs='all': use a number of workers such as 2, or -1 for every core
    """
    check({"n_jobs": N_JOBS}, {"n_jobs": n_jobs})
    return None if n_jobs is None else int(n_jobs)


def run_tasks(
    function: Callable[..., Result],
    tasks: Sequence[tuple[Any, ...]],
    *,
    shared: tuple[Any, ...] | None = None,
    n_jobs: int | None = -1,
    prefer: Prefer = "threads",
) -> Generator[tuple[int, Result], None, None]:
    """Yield ``(k, function(*shared, *tasks[k]))`` in the order of completion.

    Threads suit work that spends its time in NumPy, processes suit Python code. A surrounding
    ``joblib.parallel_config`` wins over ``prefer``. Where it names a Dask cluster (see
    :func:`cdvm.on_cluster`), tasks that say what they share run there, whatever ``n_jobs``; tasks with
    ``shared=None`` stay on this machine.

    A worker process that dies is replaced and its tasks are run again, so tasks must not mind.

    BLAS rounds differently with other numbers of threads. It gets one per task, or all of them where there is
    a single task, so results do not depend on ``n_jobs``, and tasks side by side do not fight for cores.
    """
    n_jobs = check_jobs(n_jobs)
    client = active_client()
    if client is not None and shared is not None:
        yield from run_on_cluster(client, function, shared, tasks)
        return
    function = partial(function, *(shared or ()))
    # a cluster's number of workers says nothing about this machine
    jobs = min(effective_n_jobs(n_jobs) if client is None else _local_jobs(n_jobs), len(tasks))
    with blas_threads(1 if len(tasks) > 1 else None):
        if jobs <= 1:
            for k, task in enumerate(tasks):
                yield k, function(*task)
            return
        here = {"backend": "threading" if prefer == "threads" else "loky"}
        options = {"n_jobs": jobs, **({"prefer": prefer} if client is None else here)}
        run = partial(_numbered_alone, os.getpid()) if prefer == "processes" else _numbered
        yield from _until_done(options, partial(run, function), tasks)


def blas_threads(limit: int | None) -> AbstractContextManager[Any]:
    """A block in which BLAS, and OpenMP, have so many threads, at most; None leaves them as they are.

    Looking for the libraries of a process takes milliseconds, which is too long for a search that trains in
    many short rounds: it is done again only after something was imported.
    """
    limiter: AbstractContextManager[Any] = _libraries(len(sys.modules)).limit(limits=limit)
    return limiter


@lru_cache(maxsize=1)
def _libraries(loaded: int) -> ThreadpoolController:
    return ThreadpoolController()


def _until_done(
    options: dict[str, Any], run: Callable[..., tuple[int, Result]], tasks: Sequence[tuple[Any, ...]]
) -> Iterator[tuple[int, Result]]:
    """Start again what was lost with a worker process that died."""
    left, deaths = dict(enumerate(tasks)), 0
    while left:
        parallel = Parallel(return_as="generator_unordered", **options)
        results = parallel(delayed(run)(k, *task) for k, task in list(left.items()))
        try:
            for k, result in results:
                del left[k]
                deaths = 0
                yield k, result
        except GeneratorExit:
            with warnings.catch_warnings():  # that tasks are cancelled is what was asked for
                warnings.simplefilter("ignore", UserWarning)
                results.close()
            raise
        except BrokenExecutor as error:
            deaths += 1
            if deaths >= _PATIENCE:
                raise InputError(
                    f"worker processes were killed {deaths} times in a row, most likely for want of memory: "
                    "run fewer at once (n_jobs, --jobs)"
                ) from error


def _local_jobs(n_jobs: int | None) -> int:
    wanted = 1 if n_jobs is None else n_jobs
    return wanted if wanted > 0 else max(cpu_count() + 1 + wanted, 1)


def _numbered(function: Callable[..., Result], k: int, *task: Any) -> tuple[int, Result]:
    return k, function(*task)


def _numbered_alone(caller: int, function: Callable[..., Result], k: int, *task: Any) -> tuple[int, Result]:
    """The same in a process of its own, which the caller's limit does not reach, nor its death."""
    if os.getpid() != caller:
        _follow(caller)
    with blas_threads(1):
        return k, function(*task)


@cache
def _follow(caller: int) -> None:
    """End this worker when the process it works for is gone.

    A process that is interrupted ends its workers itself. One that is killed cannot: they would go on, and
    keep what they share with it in memory, until they have been idle for minutes.
    """

    def watch() -> None:
        while os.getppid() == caller:
            time.sleep(_WATCH)
        os._exit(1)

    if os.getppid() == caller:
        threading.Thread(target=watch, daemon=True).start()
