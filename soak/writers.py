"""Several runs that write to one place at once: of the same settings, and of others."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random

from cdvm.outcomes.recorded import Outcomes
from soak.cases import N_MODELS, record, require_same, write_table
from soak.kills import RUNS
from soak.processes import Ended, Process, action, command, require_clear
from soak.verdicts import Fault, Kind, Wrong, told, verdict_of

__all__ = ["KIND", "require_one_seed"]

_FAULTS = 6  # a round
_SEEDS = (1, 2)


def _alone(here: Path) -> None:
    for seed in _SEEDS:
        record(here / f"seed-{seed}", seed=seed)
    table = write_table(here / "table.csv")
    for name in ("prune", "benchmark run"):
        (here / name).mkdir()
        words = [*RUNS[name].words(table, here / name), "--jobs", "1"]
        require_clear(command(words, here / "log", fresh=False).wait())


def _strike(rng: Random, alone: Path, here: Path) -> Iterator[Fault]:
    faults = [_shared, _shared, _two_seeds, _two_seeds, _replaced, _commands]
    for number, fault in enumerate(rng.sample(faults, _FAULTS)):
        place = here / str(number)
        place.mkdir()
        what, check = fault(rng, alone, place)
        yield verdict_of(what, check)


def _expected(alone: Path) -> dict[int, Outcomes]:
    return {seed: Outcomes.load(alone / f"seed-{seed}") for seed in _SEEDS}


def _shared(rng: Random, alone: Path, here: Path) -> tuple[str, Callable[[], None]]:
    """Overlapping ranges of models by two or three runs of the same settings."""
    ends = [sorted(rng.sample(range(N_MODELS + 1), 2)) for _ in range(rng.choice([1, 2]))]
    ranges = [range(N_MODELS), *(range(*pair) for pair in ends)]
    pauses = [rng.choice([0.0, 0.01, 0.03]) for _ in ranges]

    def check() -> None:
        runs = [
            action(partial(record, here / "store", models=models, pause=pause), here / f"log{k}")
            for k, (models, pause) in enumerate(zip(ranges, pauses, strict=True))
        ]
        for ended in [run.wait() for run in runs]:
            require_clear(ended)
            if ended.code or ended.err:
                raise Wrong("lost", f"a writer that fractions a store: {ended.err}")
        require_same(Outcomes.load(here / "store"), _expected(alone)[1], where="shared store")

    return f"{len(ranges)} writers of {ranges} at once", check


def _two_seeds(rng: Random, alone: Path, here: Path) -> tuple[str, Callable[[], None]]:
    """Two runs of different seeds that begin one store at the same moment."""
    lead = rng.choice([0.0, rng.uniform(0, 0.02)])

    def check() -> None:
        runs = {}
        for seed in _SEEDS:
            runs[seed] = action(partial(record, here / "store", seed=seed), here / f"log{seed}")
            time.sleep(lead)
        require_one_seed(runs, _expected(alone), lambda: Outcomes.load(here / "store"))

    return f"two seeds begin a store within {lead:.3f} s", check


def require_one_seed(
    runs: dict[int, Process], expected: dict[int, Outcomes], load: Callable[[], Outcomes]
) -> None:
    """One run gets the store, the other is refused, and all that is there is of the first."""
    ended = {seed: run.wait() for seed, run in runs.items()}
    for end in ended.values():
        require_clear(end)
    won = [seed for seed, end in ended.items() if end.code == 0]
    if len(won) != 1:
        raise Wrong("wrong bits", f"seeds {won} were accepted: {[end.err for end in ended.values()]}")
    require_same(load(), expected[won[0]], where="store of two seeds")


def _replaced(rng: Random, alone: Path, here: Path) -> tuple[str, Callable[[], None]]:
    """A store is deleted and begun anew with another seed while a run goes on writing to it."""
    after, lead = rng.uniform(0, 0.5), rng.uniform(0, 0.2)
    store = here / "store"

    def check() -> None:
        first = action(partial(record, store, pause=0.03), here / "log1")
        first.ended_within(after)
        while store.exists():
            shutil.rmtree(store, ignore_errors=True)
        second = action(partial(record, store, seed=2, pause=lead / 10), here / "log2")
        ends: list[Ended] = [first.wait(), second.wait()]
        for ended in ends:
            require_clear(ended)
        # the first may have begun the store anew for itself before the second came
        owner = 2 if ends[1].code == 0 else 1
        told(lambda: record(store, seed=owner))
        loaded: list[Outcomes] = []
        told(lambda: loaded.append(Outcomes.load(store)))
        require_same(loaded[0], _expected(alone)[owner], where="store begun anew")

    return f"a store begun anew with another seed after {after:.3f} s", check


def _commands(rng: Random, alone: Path, here: Path) -> tuple[str, Callable[[], None]]:
    """The same command twice at once."""
    name, jobs = rng.choice(["prune", "benchmark run"]), rng.choice(["1", "1", "1", "2"])
    lead = rng.choice([0.0, rng.uniform(0, 2)])
    words = [*RUNS[name].words(alone / "table.csv", here), "--jobs", jobs]

    def check() -> None:
        first = command(words, here / "log1", fresh=jobs == "2")
        first.ended_within(lead)
        second = command(words, here / "log2", fresh=jobs == "2")
        ends = [first.wait(), second.wait()]
        for ended in ends:
            require_clear(ended)
        if all(ended.code for ended in ends):
            raise Wrong("lost", f"neither ended: {ends[0].err} {ends[1].err}")
        RUNS[name].compare(here, alone / name)

    return f"{name} twice within {lead:.3f} s with --jobs {jobs}", check


KIND = Kind("writers", "several runs that write to one place at once", _alone, _strike)
