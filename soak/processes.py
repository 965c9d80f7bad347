"""Runs of the command line that can be killed.

Most are forks of this process, which has all modules loaded: a fault then costs a fraction of a second. The
others start Python as a user does.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cdvm.errors import InputError
from soak.verdicts import Wrong, check_line

__all__ = [
    "LIMIT",
    "Ended",
    "Process",
    "action",
    "command",
    "die_with_parent",
    "load_everything",
    "require_clear",
    "start",
]

LIMIT = 180  # seconds a run may take
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG


@dataclass(frozen=True)
class Ended:
    """How a run ended: its exit code, or minus the signal that ended it, and what it printed."""

    code: int
    out: str
    err: str


class Process:
    """A run under way, at the head of a session of its own."""

    def __init__(self, pid: int, log: Path) -> None:
        self.pid, self.log = pid, log
        self._code: int | None = None

    def send(self, number: int, *, all_of_it: bool = False) -> None:
        """Send a signal to the run, or to all that it started as well."""
        with suppress(ProcessLookupError):
            (os.killpg if all_of_it else os.kill)(self.pid, number)

    def poll(self) -> int | None:
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._code = os.waitstatus_to_exitcode(status)
        return self._code

    def wait(self, limit: float = LIMIT) -> Ended:
        """Wait for the end; a run that does not end is ended, and wrong."""
        if not self.ended_within(limit):
            self.send(signal.SIGKILL, all_of_it=True)
            self.ended_within(LIMIT)
            raise Wrong("hang", f"no end after {limit} s\n{self._printed('err')}")
        assert self._code is not None
        return Ended(self._code, self._printed("out"), self._printed("err"))

    def ended_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        return self._code is not None

    def _printed(self, stream: str) -> str:
        return self.log.with_suffix(f".{stream}").read_text(errors="replace")


def command(words: list[str], log: Path, *, fresh: bool) -> Process:
    """Start ``cdvm``, as a fork or as a new Python."""
    if fresh:
        with log.with_suffix(".out").open("w") as out, log.with_suffix(".err").open("w") as err:
            started = subprocess.Popen(
                [sys.executable, "-m", "cdvm", *words],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                preexec_fn=die_with_parent,  # noqa: PLW1509  # there are no threads
            )
        started.returncode = 0  # Process waits for it
        return Process(started.pid, log)
    return start(lambda: _cdvm(words), log)


def _cdvm(words: list[str]) -> None:
    from cdvm.__main__ import main

    sys.argv = ["cdvm", *words]
    main()


def action(work: Callable[[], object], log: Path) -> Process:
    """Start a call of the library in a fork, which ends as the command line does."""
    return start(lambda: _like_a_command(work), log)


def _like_a_command(work: Callable[[], object]) -> None:
    warnings.showwarning = lambda message, *_, **__: print(f"warning: {message}", file=sys.stderr)
    try:
        work()
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


def start(work: Callable[[], None], log: Path) -> Process:
    """Start a function in a fork, which ends as Python would."""
    sys.stdout.flush()
    for stream in ("out", "err"):  # it may be killed before it can
        log.with_suffix(f".{stream}").write_bytes(b"")
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    pid = os.fork()
    if pid == 0:
        os._exit(_in_fork(work, log))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    return Process(pid, log)


def _in_fork(work: Callable[[], None], log: Path) -> int:
    os.setsid()
    die_with_parent()
    for stream, number in [("out", 1), ("err", 2)]:
        os.dup2(os.open(log.with_suffix(f".{stream}"), os.O_WRONLY), number)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    code = 0
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        work()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except KeyboardInterrupt:
        if "cdvm" not in traceback.format_exc():  # before the command was reached, where Python just ends
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
        traceback.print_exc()
        code = 130
    except BaseException:
        traceback.print_exc()
        code = 1
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def require_clear(ended: Ended) -> None:
    """Refuse an end that is neither success nor one clear line."""
    if "Traceback (most recent call last)" in ended.err:
        raise Wrong("traceback", ended.err)
    if ended.code == 0:
        return
    lines = [line for line in ended.err.splitlines() if not line.startswith("warning: ")]
    if not lines:
        raise Wrong("silent", f"exit code {ended.code} without a word")
    if ended.code not in (2, 130, 143) or not lines[0].startswith(("error: ", "interrupted: ", "stopped: ")):
        raise Wrong("traceback", f"exit code {ended.code}: {ended.err}")
    check_line("\n".join(lines))


def die_with_parent() -> None:
    """Have the system end this process when the one that started it ends, however that comes about."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)


def load_everything() -> None:
    """Import now what a run of the command line imports, for forks to have it."""
    import highspy  # noqa: F401
    import joblib.externals.loky  # noqa: F401
    import pandas  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import rich.console  # noqa: F401
    import sklearn.tree  # noqa: F401

    import cdvm.benchmark.runner
    import cdvm.datasets.source
    import cdvm.pruner.request
    import cdvm.report.files
    import cdvm.report.summary
    import cdvm.report.terminal  # noqa: F401
