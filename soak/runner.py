"""Rounds of faults, each in a process of its own with a time limit."""

from __future__ import annotations

import os
import pickle
import select
import shutil
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

from soak.processes import die_with_parent
from soak.verdicts import BAD, Fault, Kind

__all__ = ["run_rounds"]

_LIMIT = 600  # seconds a round may take


def run_rounds(
    kind: Kind, work: Path, seeds: Iterable[int], *, keep: bool = False
) -> Iterator[tuple[int, Fault]]:
    """The faults of one round a seed, as they happen."""
    alone = work / kind.name / "alone"
    alone.mkdir(parents=True)
    failed = list(_in_child(lambda: _done_alone(kind, alone)))
    if failed:
        raise RuntimeError(f"the run of {kind.name} that is left alone did not end: {failed[0].detail}")
    for seed in seeds:
        here = work / kind.name / str(seed)
        here.mkdir()
        bad = False
        for fault in _in_child(lambda: kind.strike(Random(f"{kind.name} {seed}"), alone, here)):  # noqa: B023
            bad |= fault.verdict in BAD
            yield seed, fault
        if not (bad and keep):
            shutil.rmtree(here, ignore_errors=True)


def _done_alone(kind: Kind, alone: Path) -> Iterator[Fault]:
    kind.alone(alone)
    yield from ()


def _in_child(work: Callable[[], Iterable[Fault]]) -> Iterator[Fault]:
    """Do it in a child, so that neither a crash nor a hang ends the rounds to come."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        code = 1
        try:
            os.setsid()
            die_with_parent()
            for fault in work():
                _send(writer, fault)
            code = 0
        except BaseException:
            _send(writer, Fault("the soak itself", "traceback", traceback.format_exc()))
        finally:
            os._exit(code)
    os.close(writer)
    deadline = time.monotonic() + _LIMIT
    try:
        yield from _received(reader, deadline)
    finally:
        os.close(reader)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) != signal.SIGKILL:
        yield Fault("a round", "traceback", f"crashed with signal {os.WTERMSIG(status)}")


def _send(writer: int, fault: Fault) -> None:
    content = pickle.dumps(fault)
    os.write(writer, len(content).to_bytes(8, "big") + content)


def _received(reader: int, deadline: float) -> Iterator[Fault]:
    content = b""
    while True:
        ready, _, _ = select.select([reader], [], [], max(deadline - time.monotonic(), 0))
        if not ready:
            yield Fault("a round", "hang", f"more than {_LIMIT} s")
            return
        more = os.read(reader, 1 << 16)
        if not more:
            return
        content += more
        while len(content) >= 8 and len(content) >= 8 + (size := int.from_bytes(content[:8], "big")):
            yield pickle.loads(content[8 : 8 + size])
            content = content[8 + size :]
