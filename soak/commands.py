"""Damaged stores and results, resumed through the command line."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

from soak.cases import write_table
from soak.damage import damage
from soak.kills import RUNS, Run
from soak.processes import Ended, command, require_clear
from soak.stores import spoil
from soak.verdicts import Fault, Kind, Wrong, verdict_of

__all__ = ["KIND"]

_FAULTS = 4  # a round
_FRESH = 0.1  # fraction of runs that start Python


def _alone(here: Path) -> None:
    table = write_table(here / "table.csv")
    for name, run in RUNS.items():
        (here / name).mkdir()
        require_clear(
            command([*run.words(table, here / name), "--jobs", "1"], here / "log", fresh=False).wait()
        )
    words = [word if word != "3" else "4" for word in RUNS["outcomes run"].words(table, here / "foreign")]
    require_clear(command([*words, "--jobs", "1"], here / "log", fresh=False).wait())


def _strike(rng: Random, alone: Path, here: Path) -> Iterator[Fault]:
    for number in range(_FAULTS):
        name = rng.choice(list(RUNS))
        run, place, fresh = RUNS[name], here / str(number), rng.random() < _FRESH
        shutil.copytree(alone / name, place)
        shutil.rmtree(place / "out", ignore_errors=True)
        if name == "benchmark run":
            files = sorted(file for file in place.rglob("*") if file.is_file())
            what = damage(rng, rng.choice(files), files)
        else:
            what = spoil(rng, place / "store", alone / "foreign" / "store")
        words = [*run.words(alone / "table.csv", place), "--jobs", "1"]
        reader = rng.choice([_reader(name, place), None])

        def check(
            run: Run = run,
            place: Path = place,
            words: list[str] = words,
            reader: list[str] | None = reader,
            fresh: bool = fresh,
            expected: Path = alone / name,
        ) -> None:
            if reader is not None:
                require_clear(_done(reader, place, fresh))
            ended = _done(words, place, fresh)
            require_clear(ended)
            if ended.code:  # the cure
                shutil.rmtree(place)
                place.mkdir()
                ended = _done(words, place, fresh)
                if ended.code:
                    raise Wrong("lost", f"the cure does not help: {ended.err}")
            run.compare(place, expected)

        yield verdict_of(f"{name}: {what}", check)
        shutil.rmtree(place)


def _reader(name: str, place: Path) -> list[str]:
    """A command that only looks."""
    if name == "benchmark run":
        return ["benchmark", "table", str(place / "results")]
    return ["outcomes", "status", str(place / "store")]


def _done(words: list[str], place: Path, fresh: bool) -> Ended:
    return command(words, place.with_suffix(".log"), fresh=fresh).wait()


KIND = Kind("commands", "damaged stores and results, resumed by the command line", _alone, _strike)
