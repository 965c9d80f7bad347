"""Run many independent tasks through joblib and take the results as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeVar

from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import threadpool_limits

__all__ = ["Prefer", "stream"]

Prefer = Literal["threads", "processes"]
Result = TypeVar("Result")


def stream(
    function: Callable[..., Result],
    tasks: Sequence[tuple[Any, ...]],
    *,
    n_jobs: int | None = -1,
    prefer: Prefer = "threads",
) -> Iterator[tuple[int, Result]]:
    """Yield ``(k, function(*tasks[k]))`` in the order of completion.

    Threads suit work that spends its time in NumPy, processes suit Python code. A surrounding
    ``joblib.parallel_config`` (a Dask cluster, say) wins over ``prefer``.

    BLAS rounds differently with other numbers of threads. It gets one per task, or all of them where there is
    a single task, so results do not depend on ``n_jobs``, and tasks side by side do not fight for cores.
    """
    blas_threads = 1 if len(tasks) > 1 else None
    jobs = min(effective_n_jobs(n_jobs), len(tasks))
    with threadpool_limits(limits=blas_threads):
        if jobs <= 1:
            for k, task in enumerate(tasks):
                yield k, function(*task)
            return
        run = _numbered_alone if prefer == "processes" else _numbered
        parallel = Parallel(n_jobs=jobs, prefer=prefer, return_as="generator_unordered")
        yield from parallel(delayed(run)(function, k, *task) for k, task in enumerate(tasks))


def _numbered(function: Callable[..., Result], k: int, *task: Any) -> tuple[int, Result]:
    return k, function(*task)


def _numbered_alone(function: Callable[..., Result], k: int, *task: Any) -> tuple[int, Result]:
    """The same in a process of its own, which the caller's limit does not reach."""
    with threadpool_limits(limits=1):
        return k, function(*task)
