"""Damaged results of a benchmark, resumed and read."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from cdvm.benchmark.protocol import get_protocol
from cdvm.benchmark.results import ORDER, Results
from cdvm.benchmark.runner import run_benchmark
from cdvm.errors import InputError
from soak.damage import damage
from soak.verdicts import Fault, Kind, Wrong, check_line, told, verdict_of

__all__ = ["KIND", "done_units", "require_same_results"]

_FAULTS = 10  # a round
_TIMES = ["seconds_prepare", "seconds_optimise"]


def _run(out: Path) -> Results:
    protocol = get_protocol("clean").replace(repetitions=3, random_draws=2, budgets=(50, 100))
    return run_benchmark(
        protocol, ["wine", "breast_cancer"], ["Random", "All"], out, n_jobs=1, progress=False
    )


def _alone(here: Path) -> None:
    _run(here / "whole")
    join = Results.join
    try:
        Results.join = lambda self: None  # type: ignore[method-assign]  # as a run killed before the end leaves it
        _run(here / "parts")
    finally:
        Results.join = join  # type: ignore[method-assign]


def done_units(results: Path) -> dict[str, int]:
    """Finished repetitions, and a digest of the seconds they took: run again, they would take others."""
    if not (results / "protocol.json").exists():
        return {}
    try:
        frame = Results.open(results).frame
    except InputError:
        return {}
    keys = frame[["dataset", "method", "repetition"]].astype(str).agg("/".join, axis=1)
    times = frame[_TIMES].apply(tuple, axis=1)
    return {str(unit): hash(tuple(rows)) for unit, rows in times.groupby(keys)}


def require_same_results(results: Path, alone: Path) -> None:
    """Refuse a table that is not, but for the seconds, that of the run left alone."""
    _require_same_frame(Results.open(results).frame, Results.open(alone).frame)
    if left := [file.name for file in results.rglob("*") if file.name.endswith(".part")]:
        raise Wrong("left behind", f"{left}")


def _require_same_frame(found: Any, expected: Any, *, part: bool = False) -> None:
    import pandas as pd

    if part:
        expected = expected.merge(found[ORDER], on=ORDER).reset_index(drop=True)
    if len(found) != len(expected):
        raise Wrong("lost", f"{len(found)} of {len(expected)} rows")
    try:
        pd.testing.assert_frame_equal(
            found.drop(columns=_TIMES), expected.drop(columns=_TIMES), check_exact=True
        )
    except AssertionError as error:
        raise Wrong("wrong bits", str(error)) from error


def _strike(rng: Random, alone: Path, here: Path) -> Iterator[Fault]:
    expected = Results.open(alone / "whole").frame
    for number in range(_FAULTS):
        out = here / str(number)
        state = rng.choice(["whole", "parts"])
        shutil.copytree(alone / state, out)
        files = sorted(file for file in out.rglob("*") if file.is_file())
        parquet = [file for file in files if file.suffix == ".parquet"]
        what = damage(rng, rng.choice([*files, *parquet]), parquet)
        read_first = rng.random() < 0.5

        def check(out: Path = out, read_first: bool = read_first) -> None:
            if read_first:
                told(lambda: _read(out, expected))
            try:
                told(lambda: _require_same_frame(_run(out).frame, expected))
            except InputError as error:
                check_line(str(error))
                shutil.rmtree(out)  # the cure
                _require_same_frame(_run(out).frame, expected)

        yield verdict_of(f"{state}: {what}", check)
        shutil.rmtree(out, ignore_errors=True)


def _read(out: Path, expected: Any) -> None:
    try:
        _require_same_frame(Results.open(out).frame, expected, part=True)
    except InputError as error:
        check_line(str(error))


KIND = Kind("results", "damaged results of a benchmark, resumed in Python", _alone, _strike)
