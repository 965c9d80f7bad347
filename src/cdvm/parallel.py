"""Run many independent tasks through joblib and take the results as they come."""

from __future__ import annotations

import os
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
    blas_threads: int | None = None,
) -> Iterator[tuple[int, Result]]:
    """Yield ``(k, function(*tasks[k]))`` in the order of completion.

    Threads suit work that spends its time in NumPy, processes suit Python code. A surrounding
    ``joblib.parallel_config`` (a Dask cluster, say) wins over ``prefer``. While threads run side by side,
    BLAS keeps to its share of the cores. Its rounding depends on its threads; ``blas_threads`` fixes them, so
    that results do not depend on ``n_jobs``.
    """
    jobs = min(effective_n_jobs(n_jobs), len(tasks))
    if jobs <= 1:
        with threadpool_limits(limits=blas_threads):
            for k, task in enumerate(tasks):
                yield k, function(*task)
        return
    share = blas_threads or max(1, (os.cpu_count() or 1) // jobs)
    with threadpool_limits(limits=share):
        parallel = Parallel(n_jobs=jobs, prefer=prefer, return_as="generator_unordered")
        yield from parallel(delayed(_numbered)(function, k, *task) for k, task in enumerate(tasks))


def _numbered(function: Callable[..., Result], k: int, *task: Any) -> tuple[int, Result]:
    return k, function(*task)
