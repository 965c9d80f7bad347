"""Run methods on data sets, repetition by repetition, side by side, and go on where a run was stopped."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.live import Live
from rich.table import Table
from threadpoolctl import threadpool_limits

from cdvm._runtime.parallel import run_tasks
from cdvm.benchmark.methods import Method, get_method
from cdvm.benchmark.protocol import Protocol
from cdvm.benchmark.results import Results, Unit
from cdvm.benchmark.task import Task
from cdvm.datasets import dataset_info
from cdvm.errors import InputError

__all__ = ["run_benchmark"]


def run_benchmark(
    protocol: Protocol,
    datasets: Sequence[str],
    methods: Sequence[str],
    out: str | Path,
    *,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> Results:
    """Fill a results directory; what is in it already is not run again.

    Repetitions run side by side, each on one core, so accuracies do not depend on ``n_jobs``. Methods of one
    repetition share their models: T is computed once for each number of models and p.

    Parameters
    ----------
    protocol : Protocol
    datasets, methods : sequence of str
        Names, see :func:`cdvm.load_dataset` and :mod:`cdvm.benchmark.methods`.
    out : path
    n_jobs : int
    progress : bool, optional
        Show a table of what is done; by default on a terminal.
    """
    chosen = [get_method(name) for name in dict.fromkeys(methods)]
    for name in dict.fromkeys(datasets):
        dataset_info(name)
    if protocol.repetitions < 1:
        raise InputError(f"repetitions={protocol.repetitions}: use at least 1")
    results = Results.create(out, protocol)
    with results.writing():
        wanted = [
            (dataset, repetition, [m.name for m in chosen if m.suits(dataset)])
            for repetition in range(protocol.repetitions)  # first, so that a run that is stopped is even
            for dataset in dict.fromkeys(datasets)
        ]
        done = results.done()
        left = [
            (results, dataset, repetition, todo)
            for dataset, repetition, names in wanted
            if (todo := [name for name in names if (dataset, name, repetition) not in done])
        ]
        for dataset in dict.fromkeys(task[1] for task in left):
            protocol.split(dataset, 0)  # downloads, once, what is not here
        units = [(dataset, name, r) for dataset, r, names in wanted for name in names]
        with _Board(results, units, progress):
            for _ in run_tasks(_run_methods, left, n_jobs=n_jobs, prefer="processes"):
                pass
        results.join()
    return results


def _run_methods(results: Results, dataset: str, repetition: int, methods: list[str]) -> None:
    task = Task(results.protocol, dataset, repetition)
    # one thread whether alone or side by side: rounding must not depend on it
    with threadpool_limits(limits=1):
        for name in methods:
            results.write((dataset, name, repetition), _rows(task, get_method(name)))


def _rows(task: Task, method: Method) -> list[dict[str, Any]]:
    choices, prepared = method.run(task)
    scores = task.scored([choice.rows for choice in choices])
    return [
        {
            "protocol": task.protocol.name,
            "dataset": task.dataset,
            "method": method.name,
            "budget": choice.budget,
            "retained": choice.budget / task.split.n_rows,
            "repetition": task.repetition,
            "draw": choice.draw,
            **{name: float(values[k]) for name, values in scores.items()},
            **{
                name: _number(getattr(choice, name)) for name in ("alpha", "kappa", "gap", "optimism", "fits")
            },
            "seconds_prepare": prepared,
            "seconds_optimise": choice.seconds,
            "seed": task.seed,
            "versions": _versions(),
            "kept": np.sort(choice.rows).astype(np.int32),
        }
        for k, choice in enumerate(choices)
    ]


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)


@cache
def _versions() -> str:
    packages = ("cdvm", "numpy", "scipy", "scikit-learn")
    return f"python {platform.python_version()}, " + ", ".join(f"{name} {version(name)}" for name in packages)


class _Board:
    """A live table of finished repetitions, counted from the files there are."""

    def __init__(self, results: Results, units: list[Unit], enabled: bool | None) -> None:
        self.results, self.units = results, units
        console = Console(stderr=True)
        shown = console.is_terminal if enabled is None else enabled
        self.live = Live(get_renderable=self._table, console=console, refresh_per_second=1) if shown else None

    def __enter__(self) -> None:
        if self.live:
            self.live.start()

    def __exit__(self, *error: object) -> None:
        if self.live:
            self.live.stop()

    def _table(self) -> Table:
        done = self.results.done()
        datasets = list(dict.fromkeys(unit[0] for unit in self.units))
        methods = list(dict.fromkeys(unit[1] for unit in self.units))
        finished = sum(unit in done for unit in self.units)
        table = Table(title=f"{self.results.protocol.name}: {finished} of {len(self.units)} done")
        for heading in ("", *datasets):
            table.add_column(heading, justify="right" if heading else "left")
        for method in methods:
            cells = []
            for dataset in datasets:
                here = [unit for unit in self.units if unit[:2] == (dataset, method)]
                cells.append(f"{sum(unit in done for unit in here)}/{len(here)}" if here else "–")
            table.add_row(method, *cells)
        return table
