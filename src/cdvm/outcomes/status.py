"""How far a store is: what is done, what is missing or damaged, and what it will still take."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cdvm._runtime.progress import Progress
from cdvm.outcomes.storage import Address
from cdvm.outcomes.store import Store, missing_ranges

__all__ = ["StoreStatus", "store_status"]

_RECENT = 100  # files the rate is taken from
_PAUSE = 20  # times the median time between files is no work any more

Ranges = list[tuple[int, int]]


@dataclass(frozen=True)
class StoreStatus:
    """What is in a store.

    Attributes
    ----------
    path : path or address
    manifest : dict
        What the store is for.
    done : int
        Models whose outcomes are here, in whole files.
    requested : int
        Models that runs set out to do, or did.
    missing : list of (first, stop)
        What of these is not done.
    damaged : list of str
        Files that are not as they were written; the next run computes their models again.
    set_aside : list of str
        Files that were found damaged before.
    foreign : list of str
        Files that another run left here; they are left out of all counts.
    rate : float or None
        Models a second, from the times of the latest files, pauses left out.
    """

    path: Address
    manifest: dict[str, Any]
    done: int
    requested: int
    missing: Ranges
    damaged: list[str]
    set_aside: list[str]
    foreign: list[str]
    rate: float | None

    @property
    def seconds_left(self) -> float | None:
        """What the missing models will take at that rate."""
        return None if self.rate is None else (self.requested - self.done) / self.rate


def store_status(path: Address, *, progress: bool | None = None) -> StoreStatus:
    """Look through a store; every file is read and checked, none is changed."""
    store = Store(path)
    files = store.files()
    damaged: list[str] = []
    done: Ranges = []
    written: list[tuple[float, int]] = []
    with Progress("files", len(files), enabled=progress) as bar:
        for file in files:
            bar.advance()
            if not store.whole(file):
                damaged.append(file.name)
                continue
            done.append((file.first, file.stop))
            time = store.storage.modified(file.name)
            if time is not None:
                written.append((time, file.stop - file.first))
    done = _union(done)
    requested = _union([*done, *store.requested(), *((file.first, file.stop) for file in files)])
    return StoreStatus(
        path=store.path,
        manifest=store.manifest,
        done=_count(done),
        requested=_count(requested),
        missing=[gap for first, stop in requested for gap in missing_ranges(first, stop, done, at_most=stop)],
        damaged=damaged,
        set_aside=store.set_aside(),
        foreign=store.foreign(),
        rate=_rate(written),
    )


def _union(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The same models in the fewest ranges.

    >>> _union([(5, 9), (0, 3), (2, 4), (4, 5), (12, 14)])
    [(0, 9), (12, 14)]
    """
    united: Ranges = []
    for first, stop in sorted(ranges):
        if united and first <= united[-1][1]:
            united[-1] = (united[-1][0], max(stop, united[-1][1]))
        else:
            united.append((first, stop))
    return united


def _count(ranges: Ranges) -> int:
    return sum(stop - first for first, stop in ranges)


def _rate(written: list[tuple[float, int]]) -> float | None:
    """Models a second, from times and numbers of models.

    Ten models every two seconds, with an hour's pause in between:

    >>> _rate([(0, 10), (2, 10), (4, 10), (3604, 10), (3606, 10), (3608, 10)])
    5.0
    """
    times, models = np.array(sorted(written)[-_RECENT:], dtype=np.float64).reshape(-1, 2).T
    gaps = np.diff(times)
    working = gaps <= _PAUSE * np.median(gaps) if gaps.size else gaps > 0
    seconds = float(gaps[working].sum())
    return float(models[1:][working].sum()) / seconds if seconds > 0 else None
