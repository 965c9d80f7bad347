"""Stores at an S3 server that stops, hangs, comes back, or comes back empty while runs write to them."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any

import boto3  # type: ignore[import-untyped]
import s3fs  # type: ignore[import-untyped]  # noqa: F401  # loaded once, for forks to have it
from moto.s3.models import s3_backends
from moto.server import ThreadedMotoServer

from cdvm.outcomes.recorded import Outcomes
from soak.cases import record, require_same
from soak.processes import LIMIT, Process, action, require_clear, start
from soak.verdicts import Fault, Kind, Missed, Wrong, verdict_of
from soak.writers import require_one_seed

__all__ = ["KIND"]

_FAULTS = 6  # a round
_BUCKET = "soak"
_PAUSE = 0.05  # seconds a task takes, of twelve


class _Server:
    """An S3 server in a process of its own, which keeps its content while it does not listen."""

    def __init__(self, log: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        ours, theirs = Pipe()
        self._wire = ours
        self.process = start(partial(_serve, self.port, theirs), log)
        self.tell("start")

    def tell(self, word: str) -> None:
        """Have the server ``start`` or ``stop``, or ``empty`` it."""
        self._wire.send(word)
        if not self._wire.poll(60):
            raise RuntimeError(f"the S3 server does not {word}")
        self._wire.recv()

    @property
    def client(self) -> Any:
        return boto3.client("s3", endpoint_url=f"http://127.0.0.1:{self.port}", region_name="us-east-1")

    def make_bucket(self) -> None:
        self.client.create_bucket(Bucket=_BUCKET)

    def keys(self, address: str) -> list[str]:
        """Objects below an address."""
        prefix = address.removeprefix(f"s3://{_BUCKET}/") + "/"
        found = self.client.list_objects_v2(Bucket=_BUCKET, Prefix=prefix)
        return [entry["Key"] for entry in found.get("Contents", [])]

    def delete(self, address: str) -> None:
        for key in self.keys(address):
            self.client.delete_object(Bucket=_BUCKET, Key=key)

    def alter(self, rng: Random, address: str) -> None:
        """Truncate, alter or delete one object."""
        key = rng.choice(self.keys(address))
        content = self.client.get_object(Bucket=_BUCKET, Key=key)["Body"].read()
        if not content or rng.random() < 0.2:
            self.client.delete_object(Bucket=_BUCKET, Key=key)
            return
        place = rng.randrange(len(content))
        flipped = content[:place] + bytes([content[place] ^ 1 << rng.randrange(8)]) + content[place + 1 :]
        body = rng.choice([content[:place], flipped])
        self.client.put_object(Bucket=_BUCKET, Key=key, Body=body)


def _serve(port: int, wire: Connection) -> None:
    server: ThreadedMotoServer | None = None
    while True:
        word = wire.recv()
        if word == "start":
            server = ThreadedMotoServer("127.0.0.1", port, verbose=False)
            server.start()
        elif word == "stop" and server is not None:
            server.stop()
        elif word == "empty":
            s3_backends.reset()
        wire.send(word)


def _alone(here: Path) -> None:
    for seed in (1, 2):
        record(here / f"seed-{seed}", seed=seed)


def _strike(rng: Random, alone: Path, here: Path) -> Iterator[Fault]:
    os.environ |= {
        "AWS_ACCESS_KEY_ID": "soak",
        "AWS_SECRET_ACCESS_KEY": "soak",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    server = _Server(here / "server.log")
    os.environ["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{server.port}"
    server.make_bucket()
    expected = {seed: Outcomes.load(alone / f"seed-{seed}") for seed in (1, 2)}
    for number in range(_FAULTS):
        fault = rng.choice([_stopped, _stopped, _hanging, _emptied, _killed, _two_seeds, _altered])
        address, log = f"s3://{_BUCKET}/{number}", here / str(number)
        what, check = fault(rng, server, address, expected, log)
        yield verdict_of(what, check)
    server.process.send(signal.SIGKILL)


Expected = dict[int, Outcomes]
Faulty = tuple[str, Callable[[], None]]


def _disturbed(run: Process, after: float, disturb: Callable[[], object]) -> bool:
    """Disturb a run after some time; False where it was over before."""
    late = run.ended_within(after)
    disturb()
    return not late


def _finished(server: _Server, address: str, expected: Outcomes, log: Path, *, hit: bool) -> None:
    """Left alone, a run at the address ends with the same bits; a store beyond repair is deleted as told."""
    for attempt in range(2):
        ended = action(lambda: _recorded(address, log), log).wait()
        require_clear(ended)
        if not ended.code:
            break
        if attempt:
            raise Wrong("lost", f"cannot go on: {ended.err}")
        server.delete(address)
    for name in ("resumed", "loaded"):
        require_same(Outcomes.load(log.with_suffix(f".{name}")), expected, where=f"{name} from S3")
    if not hit:
        raise Missed


def _recorded(address: str, log: Path) -> None:
    record(address).save(log.with_suffix(".resumed"))
    Outcomes.load(address).save(log.with_suffix(".loaded"))


def _interrupted(
    server: _Server,
    address: str,
    expected: Expected,
    log: Path,
    after: float,
    disturb: Callable[[Process], object],
) -> None:
    run = action(partial(record, address, pause=_PAUSE), log)
    hit = _disturbed(run, after, lambda: disturb(run))
    ended = run.wait()
    if ended.code != -signal.SIGKILL:
        require_clear(ended)
    _finished(server, address, expected[1], log, hit=hit)


def _stopped(rng: Random, server: _Server, address: str, expected: Expected, log: Path) -> Faulty:
    after, length = rng.uniform(0, 1), rng.choice([0.1, 0.5, rng.uniform(0, 8)])

    def disturb(_: Process) -> None:
        server.tell("stop")
        time.sleep(length)
        server.tell("start")

    return (
        f"the S3 server does not listen for {length:.2f} s after {after:.3f} s",
        lambda: _interrupted(server, address, expected, log, after, disturb),
    )


def _hanging(rng: Random, server: _Server, address: str, expected: Expected, log: Path) -> Faulty:
    after, length = rng.uniform(0, 1), rng.uniform(0.1, 3)

    def disturb(_: Process) -> None:
        server.process.send(signal.SIGSTOP)
        time.sleep(length)
        server.process.send(signal.SIGCONT)

    return (
        f"the S3 server does not answer for {length:.2f} s after {after:.3f} s",
        lambda: _interrupted(server, address, expected, log, after, disturb),
    )


def _emptied(rng: Random, server: _Server, address: str, expected: Expected, log: Path) -> Faulty:
    after, with_bucket = rng.uniform(0, 1), rng.random() < 0.5

    def disturb(run: Process) -> None:
        server.tell("empty")
        if not with_bucket:
            run.ended_within(LIMIT)
        server.make_bucket()

    return (
        f"the S3 server is empty{'' if with_bucket else ' and has no bucket'} after {after:.3f} s",
        lambda: _interrupted(server, address, expected, log, after, disturb),
    )


def _killed(rng: Random, server: _Server, address: str, expected: Expected, log: Path) -> Faulty:
    after = rng.uniform(0, 1.2)
    return (
        f"SIGKILL to a run with a store at S3 after {after:.3f} s",
        lambda: _interrupted(server, address, expected, log, after, lambda run: run.send(signal.SIGKILL)),
    )


def _two_seeds(rng: Random, _: _Server, address: str, expected: Expected, log: Path) -> Faulty:
    lead = rng.choice([0.0, rng.uniform(0, 0.1)])

    def load() -> Outcomes:
        local = log.with_suffix(".loaded")
        require_clear(action(lambda: Outcomes.load(address).save(local), log).wait())
        return Outcomes.load(local)

    def check() -> None:
        runs = {}
        for seed in (1, 2):
            runs[seed] = action(partial(record, address, seed=seed), log.with_suffix(f".{seed}"))
            time.sleep(lead)
        require_one_seed(runs, expected, load)

    return f"two seeds begin a store at S3 within {lead:.3f} s", check


def _altered(rng: Random, server: _Server, address: str, expected: Expected, log: Path) -> Faulty:
    def check() -> None:
        require_clear(action(partial(record, address), log).wait())
        server.alter(rng, address)
        _finished(server, address, expected[1], log, hit=True)

    return "an object of a store at S3 is altered or deleted", check


KIND = Kind("remote", "stores at an S3 server that stops, hangs, or comes back empty", _alone, _strike)
