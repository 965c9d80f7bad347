"""Runs of ``prune --store``, ``outcomes run`` and ``benchmark run`` that are killed again and again."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from cdvm.outcomes.recorded import Outcomes
from soak.cases import require_same, write_table
from soak.processes import Process, command, require_clear
from soak.results import done_units, require_same_results
from soak.stores import require_kept, whole_files
from soak.verdicts import Fault, Kind, Missed, Wrong, told, verdict_of

__all__ = ["KIND", "RUNS", "Run", "require_same_report"]

_KILLS = 4  # at most, until a run is left to end
_FRESH = 0.15  # fraction of runs that start Python
_PARALLEL = 0.15  # fraction of runs with worker processes
_PATIENCE = 30  # seconds until workers must be gone
_SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True)
class Run:
    """A command, and what must be the same after it however often it was killed."""

    words: Callable[[Path, Path], list[str]]
    compare: Callable[[Path, Path], None]
    whole: Callable[[Path, Path], dict[str, int]]  # what is finished now
    kept: Callable[[Path, dict[str, int]], None]  # and must not be done again


def _outcomes(table: Path, here: Path) -> list[str]:
    words = "outcomes run --target y --learner naive_bayes --models 300 --seed 3"
    return [*words.split(), str(table), "--store", str(here / "store")]


def _prune(table: Path, here: Path) -> list[str]:
    words = "prune --target y --learner naive_bayes --models 300 --keep 10% --keep 30 --seed 3"
    return [*words.split(), str(table), "--store", str(here / "store"), "--out", str(here / "out")]


def _benchmark(_: Path, here: Path) -> list[str]:
    words = "benchmark run --protocol clean --datasets wine,breast_cancer --methods Random,All,k_center"
    return [*words.split(), "--repetitions", "3", "--out", str(here / "results")]


def _same_store(here: Path, alone: Path) -> None:
    expected = Outcomes.load(alone / "store")
    told(lambda: require_same(Outcomes.load(here / "store"), expected, where="store"))


def require_same_report(out: Path, alone: Path) -> None:
    """Refuse kept rows that are not those of the run left alone, in files that are not whole."""
    names = sorted(file.name for file in alone.iterdir())
    if found := sorted({file.name for file in out.iterdir()} ^ set(names)):
        raise Wrong("left behind", f"{out} has other files: {found}")
    for name in names:
        a, b = (out / name).read_bytes(), (alone / name).read_bytes()
        if name.endswith(".json"):
            a, b = (json.dumps(_untimed(json.loads(text))).encode() for text in (a, b))
        if a != b:
            raise Wrong("wrong bits", f"{name} differs")


def _untimed(value: object) -> object:
    """A report without its seconds."""
    if isinstance(value, dict):
        return {k: _untimed(v) for k, v in value.items() if "seconds" not in k}
    return value


def _same_pruned(here: Path, alone: Path) -> None:
    _same_store(here, alone)
    require_same_report(here / "out", alone / "out")


RUNS = {
    "outcomes run": Run(
        _outcomes,
        _same_store,
        lambda here, alone: whole_files(here / "store", alone / "store"),
        lambda here, before: require_kept(here / "store", before),
    ),
    "prune": Run(
        _prune,
        _same_pruned,
        lambda here, alone: whole_files(here / "store", alone / "store"),
        lambda here, before: require_kept(here / "store", before),
    ),
    "benchmark run": Run(
        _benchmark,
        lambda here, alone: require_same_results(here / "results", alone / "results"),
        lambda here, _: done_units(here / "results"),
        lambda here, before: _require_units(here / "results", before),
    ),
}


def _require_units(results: Path, before: dict[str, int]) -> None:
    now = done_units(results)
    if again := sorted(unit for unit, time in before.items() if now.get(unit) != time):
        raise Wrong("lost", f"finished and run again: {again}")


def _alone(here: Path) -> None:
    table = write_table(here / "table.csv")
    for name, run in RUNS.items():
        place = here / name
        place.mkdir()
        started = time.monotonic()
        ended = command([*run.words(table, place), "--jobs", "1"], here / "log", fresh=False).wait()
        if ended.code:
            raise RuntimeError(ended.err)
        (place / "seconds").write_text(str(time.monotonic() - started))


def _strike(rng: Random, alone: Path, here: Path) -> Iterator[Fault]:
    name = rng.choice(list(RUNS))
    run, place = RUNS[name], alone / name
    jobs = "2" if rng.random() < _PARALLEL else "1"
    fresh = jobs == "2" or rng.random() < _FRESH  # joblib's processes want a parent that is no fork
    words = [*run.words(alone / "table.csv", here), "--jobs", jobs]
    seconds = float((place / "seconds").read_text()) + 2 * fresh + 3 * (jobs == "2")
    how = f"{name}{' in a new Python' if fresh else ''} with --jobs {jobs}"
    for left in reversed(range(rng.randint(1, _KILLS))):
        number, after = rng.choice(_SIGNALS), rng.uniform(0, seconds)
        before = run.whole(here, place)
        files = _files(here)
        process = command(words, here / "log", fresh=fresh)
        late = process.ended_within(after)
        begun = _files(here) != files
        process.send(number, all_of_it=number == signal.SIGKILL)

        last = late or not left

        def check(
            process: Process = process,
            number: int = number,
            before: dict[str, int] = before,
            begun: bool = begun,
            late: bool = late,
            last: bool = last,
        ) -> None:
            if _closing_down(process, number) and begun:
                run.compare(here, alone / name)
                raise Missed
            _consequences(process, number, begun)
            run.kept(here, before)
            if last:
                _finish(run, words, here, place, fresh)
            if late:
                raise Missed

        yield verdict_of(f"{signal.Signals(number).name} to {how} after {after:.3f} s", check)
        if last:
            break


def _files(here: Path) -> set[tuple[str, int]]:
    """What is there but for logs, and when it was written."""
    places = [place for place in here.iterdir() if place.is_dir()]
    return {(str(file), file.lstat().st_mtime_ns) for place in places for file in place.rglob("*")}


def _closing_down(process: Process, number: int) -> bool:
    """Whether the signal came in silence, as it may after the answer, while Python is closing down."""
    ended = process.wait()
    return number != signal.SIGKILL and ended.code == -number and not ended.err


def _consequences(process: Process, number: int, begun: bool) -> None:
    """An end by SIGINT or SIGTERM says how to go on, but for one that came before anything had begun."""
    ended = process.wait()
    if number == signal.SIGKILL:
        return
    if begun or ended.err or ended.code not in (-number, 128 + number):
        require_clear(ended)
    _require_gone(process.pid)


def _require_gone(leader: int) -> None:
    """Refuse workers that outlive their run."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        try:
            os.killpg(leader, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    os.killpg(leader, signal.SIGKILL)
    raise Wrong("left behind", f"processes {_PATIENCE} s after the end of their run")


def _finish(run: Run, words: list[str], here: Path, alone: Path, fresh: bool) -> None:
    """Left alone, the command ends as one never killed; kept rows that are whole stay as they are."""
    before = run.whole(here, alone)
    ended = command(words, here / "log", fresh=fresh).wait()
    require_clear(ended)
    if ended.code and "is not empty" not in ended.err:
        raise Wrong("lost", f"cannot go on: {ended.err}")
    run.compare(here, alone)
    run.kept(here, before)


KIND = Kind("kills", "runs of the command line, killed until they are left to end", _alone, _strike)
