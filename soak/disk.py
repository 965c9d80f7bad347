"""A full disk: a file system of two megabytes or, without the right to mount one, a limit on files."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from cdvm.outcomes.recorded import Outcomes
from soak.cases import record, require_same, write_table
from soak.kills import RUNS, require_same_report
from soak.processes import Ended, action, command, require_clear
from soak.stores import chunks_in
from soak.verdicts import Fault, Kind, Missed, Wrong, verdict_of

__all__ = ["KIND"]

_FAULTS = 4  # a round
_PAGE = 4096
_SIZE = 2 << 20
_NEW_MOUNTS = 0x00020000  # CLONE_NEWNS


def _alone(here: Path) -> None:
    table = write_table(here / "table.csv")
    for name, run in RUNS.items():
        (here / name).mkdir()
        require_clear(
            command([*run.words(table, here / name), "--jobs", "1"], here / "log", fresh=False).wait()
        )
    record(here / "python" / "store")


def _strike(rng: Random, alone: Path, here: Path) -> Iterator[Fault]:
    disk, mounted = here / "disk", _mounts_of_our_own()
    disk.mkdir()
    for number in range(_FAULTS):
        name = rng.choice([*RUNS, "prune", "python", "python"])
        files = [file for file in (alone / name).rglob("*") if file.is_file()]
        if mounted:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_SIZE}", "none", disk], check=True)
            pages = sum(-(-file.stat().st_size // _PAGE) for file in files)
            free = _PAGE * rng.randrange(pages)
            narrow = _filled(disk / "filler", free)
        else:
            free = rng.randrange(max(file.stat().st_size for file in files))
            narrow = _short_files(free)
        place = disk / str(number)
        yield verdict_of(f"{name} with {free} bytes free", _full(name, alone, place, here / "log", narrow))
        if mounted:
            subprocess.run(["umount", disk], check=True)
        else:
            shutil.rmtree(place, ignore_errors=True)


def _full(name: str, alone: Path, place: Path, log: Path, narrow: Callable[[], object]) -> Callable[[], None]:
    def run() -> Ended:
        if name == "python":
            return action(lambda: record(place / "store"), log).wait()
        return command(
            [*RUNS[name].words(alone / "table.csv", place), "--jobs", "1"], log, fresh=False
        ).wait()

    def check() -> None:
        with narrow():  # type: ignore[attr-defined]
            ended = run()
        require_clear(ended)
        _require_whole(place, alone / name)
        if ended.code and (again := run()).code:
            raise Wrong("lost", f"with room again: {again.err}")
        if name == "python":
            require_same(Outcomes.load(place / "store"), Outcomes.load(alone / name / "store"), where="store")
        else:
            RUNS[name].compare(place, alone / name)
        if not ended.code:
            raise Missed

    return check


def _require_whole(place: Path, alone: Path) -> None:
    """What has its final name is whole; kept rows are all there, or none."""
    for chunk in chunks_in(place / "store") if (place / "store").is_dir() else []:
        if chunk.read_bytes() != (alone / "store" / chunk.name).read_bytes():
            raise Wrong("wrong bits", f"{chunk.name} is not whole")
    if (place / "out").is_dir() and any((place / "out").iterdir()):
        require_same_report(place / "out", alone / "out")
    if left := [file.name for file in place.rglob("*") if file.name.endswith(".part")]:
        raise Wrong("left behind", f"{left}")


def _mounts_of_our_own() -> bool:
    """Whether this process may mount things, which then go when it ends."""
    if os.geteuid() or ctypes.CDLL(None).unshare(_NEW_MOUNTS):
        return False
    return subprocess.run(["mount", "--make-rprivate", "/"], check=False, capture_output=True).returncode == 0


def _filled(filler: Path, free: int) -> Callable[[], object]:
    @contextmanager
    def narrow() -> Iterator[None]:
        room = os.statvfs(filler.parent).f_bavail * os.statvfs(filler.parent).f_frsize
        filler.write_bytes(bytes(max(room - free, 0)))
        yield
        filler.unlink()

    return narrow


def _short_files(size: int) -> Callable[[], object]:
    @contextmanager
    def narrow() -> Iterator[None]:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        yield
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return narrow


KIND = Kind("disk", "runs onto a full disk, and again with room", _alone, _strike)
