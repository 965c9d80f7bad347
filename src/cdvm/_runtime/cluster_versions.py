"""Whether a cluster computes what this process would: the versions on its scheduler and workers.

Another version of a library rounds, draws or learns differently, and its answers would go into the same
store. A worker without the package ends before a task begins, and Dask tells nobody.
"""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from typing import Any

from cdvm.errors import InputError

__all__ = ["Versions", "check_cluster", "refuse_other_versions"]

Versions = dict[str, str]

_ALWAYS = ("cdvm", "numpy", "scipy", "sklearn")
_IF_USED = ("torch", "xgboost", "lightgbm", "catboost")
_PATIENCE = 120  # seconds to load these, which a slow disk may take

# expressions, for a function of ours could not be loaded where the package is missing
_PYTHON = "'.'.join(__import__('platform').python_version_tuple()[:2])"
_VERSIONS = "{{'python': {python}}} | {{n: getattr(__import__(n), '__version__', '?') for n in {names!r}}}"


def check_cluster(client: Any) -> Versions:
    """The versions here, once the scheduler and all workers have been seen to have the same.

    Waits for the first worker.
    """
    names = (*_ALWAYS, *(name for name in _IF_USED if name in sys.modules))
    here: Versions = eval(_expression(names))
    where = f"cluster {client.scheduler.address}" if client.scheduler is not None else "the cluster"
    # the scheduler opens tasks to see what depends on what, but runs none: its versions do not matter
    found = _ask(client, client.run_on_scheduler, "__import__('cdvm').__version__")
    if not isinstance(found, str):
        raise _misfit(f"{where}: the scheduler", found, here)
    client.wait_for_workers(1)
    run = partial(client.run, on_error="return")
    for worker, answer in _ask(client, run, _expression(names)).items():
        if answer != here and not isinstance(answer, OSError):  # that one is gone already
            raise _misfit(f"{where}: worker {worker}", answer, here)
    return here


def refuse_other_versions(expected: Versions) -> None:
    """On a worker: raise where it has others. It may have come after the cluster was looked at."""
    found: Versions = eval(_expression(tuple(name for name in expected if name != "python")))
    if found != expected:
        from distributed import get_worker

        raise _misfit(f"worker {get_worker().address}", found, expected)


def _expression(names: tuple[str, ...]) -> str:
    return _VERSIONS.format(python=_PYTHON, names=names)


def _ask(client: Any, run: Any, expression: str) -> Any:
    async def ask() -> Any:
        return await asyncio.wait_for(run(eval, expression), _PATIENCE)

    try:
        return client.sync(ask)
    except TimeoutError:
        raise InputError(
            f"cluster {client.scheduler.address} did not answer within {_PATIENCE} s: restart what hangs"
        ) from None
    except ImportError as error:  # on the scheduler; those of workers are returned
        return error


def _misfit(who: str, answer: Any, here: Versions) -> InputError:
    what = f"cannot load what it needs ({answer})"
    if isinstance(answer, ImportError) and answer.name:
        what = f"has no {answer.name}"
    elif isinstance(answer, dict):
        other = {name: found for name, found in answer.items() if found != here[name]}
        what = f"has {_listed(other)} and would give other answers"
    return InputError(f"{who} {what}: install there what is here, {_listed(here)}, and restart it")


def _listed(versions: Versions) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())
