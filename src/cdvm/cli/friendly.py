"""What a user sees when something goes wrong: one line and an exit code, never a traceback."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import wraps
from types import FrameType
from typing import Any

import typer
from typer.core import TyperCommand

from cdvm.cli.words import in_flags
from cdvm.errors import InputError, InputWarning

__all__ = ["Command", "friendly", "warn"]

_DEBUG = "CDVM_DEBUG"  # set, unexpected errors keep their traceback
_SIGNALS = ("SIGTERM", "SIGHUP")


class _Stopped(KeyboardInterrupt):
    """A signal asked the process to end; what ends on Ctrl-C ends on this."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.code = 128 + number


class Command(TyperCommand):
    """A command whose help names the learners and methods there are, read when help is asked for."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Fill in the names."""
        from cdvm.evaluation.metrics import metric_names
        from cdvm.learners import learner_names
        from cdvm.selectors.baselines import baseline_names
        from cdvm.valuation import valuation_names

        names = {
            "{learners}": learner_names(),
            "{metrics}": metric_names(),
            "{methods}": ["cdvm", *baseline_names()],
            "{valuations}": valuation_names(),
        }
        for parameter in self.params:
            told = getattr(parameter, "help", None) or ""
            for word, known in names.items():
                told = told.replace(word, ", ".join(known))
            if told:
                parameter.help = told  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)


def friendly(command: Callable[..., None]) -> Callable[..., None]:
    """Exit code 2 for a user's mistake, 130 for an interrupt, 128 + the signal for others, 1 for the rest."""

    @wraps(command)
    def wrapped(*args: Any, **options: Any) -> None:
        with ExitStack() as around:
            around.enter_context(_own_warnings())
            around.enter_context(_signals_raise())
            try:
                _check_common(options)
                command(*args, **options)
                sys.stdout.flush()  # before signals end the process in silence again
            except (InputError, MemoryError) as error:
                _tell(error, _out_of_memory(error) or str(error))
                raise typer.Exit(2 if isinstance(error, InputError) else 1) from error
            except KeyboardInterrupt as error:
                _end_workers()
                typer.echo(f"interrupted: {_how_to_go_on(options)}", err=True)
                raise typer.Exit(getattr(error, "code", 130)) from error
            except (typer.Exit, typer.Abort, BrokenPipeError):
                raise
            except Exception as error:
                if os.environ.get(_DEBUG):
                    raise
                reason = f"{type(error).__name__}: {error}".strip().splitlines()[0]
                _tell(error, f"unexpected {reason} (set {_DEBUG}=1 to see where, and please report it)")
                raise typer.Exit(1) from error

    return wrapped


def warn(message: str) -> None:
    """A line that is no part of the result."""
    typer.echo(f"warning: {in_flags(message)}", err=True)


def _tell(error: BaseException, message: str) -> None:
    lines = [line.strip() for line in in_flags(message).splitlines() if line.strip()]
    typer.echo(f"error: {' '.join(lines)}", err=True)


def _out_of_memory(error: BaseException) -> str:
    if not isinstance(error, MemoryError):
        return ""
    return f"not enough memory ({error}): use fewer --jobs or --models, or prune's --memory-limit"


def _check_common(options: dict[str, Any]) -> None:
    """Refuse numbers that would only fail deep inside."""
    jobs, seed = options.get("jobs", 1), options.get("seed", 0)
    if jobs == 0 or jobs < -1:
        raise InputError(f"--jobs {jobs}: use 1 or more, or -1 for all cores")
    if not 0 <= seed < 2**32:
        raise InputError(f"--seed {seed}: use a whole number from 0 to {2**32 - 1}")


def _how_to_go_on(options: dict[str, Any]) -> str:
    if options.get("store") is not None:
        return "finished models are in the store; run the same command again to go on"
    if "protocol" in options:
        return "finished repetitions are in the results directory; run the same command again to go on"
    if "store" in options:
        return "nothing was written; with --store DIR a run goes on where it stopped"
    return "run the same command again"


@contextmanager
def _own_warnings() -> Iterator[None]:
    """Show this package's warnings, each once; of other libraries' keep what a user can act on."""
    told: set[str] = set()
    unconverged = 0

    def show(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        nonlocal unconverged
        if category.__name__ == "ConvergenceWarning":
            unconverged += 1
        elif issubclass(category, InputWarning) and str(message) not in told:
            told.add(str(message))
            warn(str(message))

    before = os.environ.get("PYTHONWARNINGS")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        os.environ["PYTHONWARNINGS"] = "ignore"  # worker processes, whose warnings nobody would collect
        try:
            yield
        finally:
            os.environ.pop("PYTHONWARNINGS")
            if before is not None:
                os.environ["PYTHONWARNINGS"] = before
            if unconverged:
                warn(f"scikit-learn stopped {unconverged} fits before they had converged")


@contextmanager
def _signals_raise() -> Iterator[None]:
    """Signals to end become exceptions in the main thread, which cleans up; a second one kills."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        raise _Stopped(number)

    numbers = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    # what was told to be ignored (nohup) stays so
    caught = {n: signal.signal(n, stop) for n in numbers if signal.getsignal(n) is not signal.SIG_IGN}
    try:
        yield
    finally:
        for number, handler in caught.items():
            signal.signal(number, handler)


def _end_workers() -> None:
    """End worker processes at once, with the memory they share."""
    reusable = sys.modules.get("joblib.externals.loky.reusable_executor")
    executor = getattr(reusable, "_executor", None)
    if executor is not None:
        with suppress(Exception):
            executor.shutdown(wait=True, kill_workers=True)
