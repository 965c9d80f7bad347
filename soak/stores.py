"""Damaged stores of outcomes: truncated, altered, foreign, doubled, renamed or missing files."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from cdvm.errors import InputError
from cdvm.outcomes.recorded import Outcomes
from cdvm.outcomes.status import store_status
from soak.cases import N_MODELS, record, require_same
from soak.damage import damage
from soak.verdicts import Fault, Kind, Wrong, check_line, told, verdict_of

__all__ = ["KIND", "chunks_in", "require_kept", "spoil", "whole_files"]

_FAULTS = 25  # a round
_OUTCOMES = ("correct", "margin")
_CHUNK = re.compile(r"\d{8,}-\d{8,}-.*\.npy")


def chunks_in(store: Path) -> list[Path]:
    """Files of finished models."""
    return sorted(file for file in store.glob("*.npy") if _CHUNK.fullmatch(file.name))


def _alone(here: Path) -> None:
    for outcome in _OUTCOMES:
        record(here / outcome, outcome=outcome)
        record(here / f"foreign-{outcome}", outcome=outcome, seed=2)


def _strike(rng: Random, alone: Path, here: Path) -> Iterator[Fault]:
    expected = {
        name: Outcomes.load(alone / name) for outcome in _OUTCOMES for name in (outcome, f"foreign-{outcome}")
    }
    for number in range(_FAULTS):
        outcome = rng.choice(_OUTCOMES)
        store = here / str(number)
        shutil.copytree(alone / outcome, store)
        what = "; ".join(
            spoil(rng, store, alone / f"foreign-{outcome}") for _ in range(rng.choice([1, 1, 1, 2, 5]))
        )
        reader = rng.choice([_load, _status, None])
        yield verdict_of(what, _consequences(store, alone / outcome, expected, reader))
        shutil.rmtree(store)


def spoil(rng: Random, store: Path, foreign: Path) -> str:
    """Do something to one file of a store, and say what."""
    files = [file for file in sorted(store.iterdir()) if file.is_file() and file.stat().st_size]
    chunks, strangers = chunks_in(store), chunks_in(foreign)
    if not files or not chunks:
        return "nothing left to damage"
    chance = rng.random()
    if chance < 0.1:
        return _copy(rng.choice(strangers), store)
    if chance < 0.15:
        for chunk in strangers:
            _copy(chunk, store)
        return "all chunks of another seed added"
    whole = [chunk for chunk in chunks if chunk.is_file()]
    if chance < 0.25 and whole:
        chunk = rng.choice(whole)
        copy = store / _renumbered(rng, chunk.name)
        if rng.random() < 0.5:
            chunk.rename(copy)
            return f"{chunk.name} renamed {copy.name}"
        shutil.copyfile(chunk, copy)
        return f"{chunk.name} copied to {copy.name}"
    pool = rng.choice([chunks, [store / "manifest.json"], files])
    pool = [file for file in pool if file.is_file()]
    if not pool:
        return "nothing left to damage"
    file = rng.choice(pool)
    return damage(
        rng, file, [other for other in [*chunks, *strangers, foreign / "manifest.json"] if other.is_file()]
    )


def _copy(chunk: Path, store: Path) -> str:
    shutil.copyfile(chunk, store / chunk.name)
    return f"{chunk.name} of another seed added"


def _renumbered(rng: Random, name: str) -> str:
    """The name of a chunk with other numbers, or one that a file manager gives a copy."""
    first, stop, rest = name.split("-", 2)
    shift = rng.choice([-20, 20, 40, 100]) if int(first) else 20
    a, b = max(int(first) + shift, 0), int(stop) + abs(shift)
    return rng.choice(
        [
            f"{a:08d}-{max(int(stop) + shift, a + 20):08d}-{rest}",
            f"{first}-{b:08d}-{rest}",
            f"{first}-{stop}-{rest} (copy)",
            f"copy of {name}",
        ]
    )


def _consequences(
    store: Path,
    alone: Path,
    known: dict[str, Outcomes],
    reader: Callable[[Path, list[Outcomes]], None] | None,
) -> Callable[[], None]:
    outcome = alone.name
    expected, foreign = known[outcome], known[f"foreign-{outcome}"]

    def check() -> None:
        if reader is not None:
            try:
                reader(store, [expected, foreign])
            except InputError as error:
                check_line(str(error))
        before = whole_files(store, alone)
        try:
            told(lambda: require_same(record(store, outcome=outcome), expected, where="resumed"))
        except InputError as error:
            check_line(str(error))
            shutil.rmtree(store)  # the cure
            require_same(record(store, outcome=outcome), expected, where="begun anew")
            return
        require_kept(store, before)
        loaded: list[Outcomes] = []
        warned = told(lambda: loaded.append(Outcomes.load(store)))
        require_same(loaded[0], expected, where="loaded after resuming")
        if unmended := [warning for warning in warned if "of another run" not in warning]:
            raise Wrong("left behind", f"the resumed store still warns: {unmended}")

    return check


def whole_files(store: Path, alone: Path) -> dict[str, int]:
    """Chunks that are as in the store left alone, and when they were written."""
    return {
        file.name: mine.stat().st_mtime_ns
        for file in chunks_in(alone)
        if (mine := store / file.name).is_file() and mine.read_bytes() == file.read_bytes()
    }


def require_kept(store: Path, before: dict[str, int]) -> None:
    """Refuse a store where models that were whole were lost or trained again."""
    for name, time in before.items():
        if not (store / name).is_file() or (store / name).stat().st_mtime_ns != time:
            raise Wrong("lost", f"{name} was whole and was written again")


def _load(store: Path, known: list[Outcomes]) -> None:
    loaded: list[Outcomes] = []
    names = {file.name for file in chunks_in(store) if file.is_file()}
    warned = told(lambda: loaded.append(Outcomes.load(store)))
    # with the whole manifest of another run it is a store of that run
    owner = next((run for run in known if run.manifest == loaded[0].manifest), known[0])
    require_same(loaded[0], owner, where="loaded", part=True)
    missing = N_MODELS - loaded[0].n_models
    if missing and not warned and 20 * len(names) >= N_MODELS:
        raise Wrong("silent", f"{missing} models are missing without a word")


def _status(store: Path, known: list[Outcomes]) -> None:
    found = store_status(store, progress=False)
    if found.done > known[0].n_models:
        raise Wrong("wrong bits", f"status counts {found.done} models of {known[0].n_models}")


KIND = Kind("stores", "damaged stores, resumed in Python", _alone, _strike)
