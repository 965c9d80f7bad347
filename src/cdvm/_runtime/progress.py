"""How far the work is: one place decides whether that is shown, and where.

On a terminal a line with a bar appears once the work takes more than a moment, also while its first unit is
still under way; in a notebook the same line stands below the cell; elsewhere, where ``progress=True`` asks
for it, a plain line comes every few seconds, or where the logger ``cdvm`` takes what is of level INFO, it
gets that line. A thread of its own draws, so the work itself only counts.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from contextlib import suppress
from importlib import import_module
from types import TracebackType
from typing import Any, Protocol

from cdvm._runtime.parameters import PROGRESS, check

__all__ = ["Progress", "tell"]

_PATIENCE = 0.8  # seconds before a line is worth looking at

_logger = logging.getLogger("cdvm")
_lock = threading.RLock()
_active: list[Progress] = []  # what is under way and shown, the innermost last


class Progress:
    """Context manager that counts units, or shows that something without units goes on.

    Parameters
    ----------
    label : str
        What is counted, or done.
    total : int, optional
        Units in all; without it only the time is shown.
    enabled : bool, optional
        The user's ``progress``: by default on a terminal and in a notebook.
    done : int
        Units that were done before.

    Examples
    --------
    >>> with Progress("models", total=3, enabled=False) as bar:
    ...     bar.advance(3)
    """

    def __init__(
        self, label: str, total: int | None = None, *, enabled: bool | None = None, done: int = 0
    ) -> None:
        check({"progress": PROGRESS}, {"progress": enabled})
        self.label, self.total, self.done, self.note = label, total, done, ""
        self._before, self._started = done, time.perf_counter()
        self._kind = _kind_of_view(enabled)
        self._over = threading.Event()
        self._view: _View | None = None

    def __enter__(self) -> Progress:
        if self._kind is not None:
            with _lock:
                _active.append(self)
            threading.Thread(target=self._watch, daemon=True, name="cdvm-progress").start()
        return self

    def advance(self, count: int = 1, note: str = "") -> None:
        """Count ``count`` more as done; ``note`` stands behind the bar."""
        self.done += count
        self.note = note

    def words(self) -> str:
        """Units, time and note as a text."""
        seconds = time.perf_counter() - self._started
        parts = [_clock(seconds)]
        if self.total is not None:
            parts.insert(0, f"{self.done}/{self.total}")
            if self._before < self.done < self.total:
                left = seconds * (self.total - self.done) / (self.done - self._before)
                parts.append(f"{_clock(left)} left")
        return "  ".join(parts + ([self.note] if self.note else []))

    def _watch(self) -> None:
        pause = _PATIENCE
        with suppress(Exception):  # whatever happens to a display, the work goes on
            while not self._over.wait(pause):
                with _lock:
                    if self._over.is_set() or self._kind is None:
                        return
                    if self._view is None:
                        self._view = self._kind(self)
                    self._view.show()
                    pause = self._view.pause

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        with _lock, suppress(Exception):
            if self in _active:
                _active.remove(self)
            if self._view is not None:
                self._view.close()


def tell(note: str) -> None:
    """Put a note behind whatever is shown at the moment, e.g. a solver's gap; costs next to nothing."""
    with _lock:
        if _active:
            _active[-1].note = note


class _View(Protocol):
    pause: float

    def __init__(self, progress: Progress) -> None: ...
    def show(self) -> None: ...
    def close(self) -> None: ...


class _TerminalLine:
    """A line of the terminal, below those of the work around it."""

    pause = 0.2
    _screen: Any = None  # shared: a terminal has one

    def __init__(self, progress: Progress) -> None:
        kind = type(self)
        if kind._screen is None:
            kind._screen = _open_screen()
        self.progress = progress
        self._task = kind._screen.add_task(progress.label, total=None, words="")

    def show(self) -> None:
        done, total = self.progress.done, self.progress.total
        self._screen.update(self._task, completed=done, total=total, words=self.progress.words())
        self._screen.refresh()

    def close(self) -> None:
        kind = type(self)
        self._screen.remove_task(self._task)
        if not self._screen.tasks:
            kind._screen.stop()
            kind._screen = None


def _open_screen() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn
    from rich.progress import Progress as RichProgress

    screen = RichProgress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[words]}", markup=False),
        console=Console(stderr=True, force_terminal=True),
        auto_refresh=False,
        transient=True,
    )
    screen.start()
    return screen


class _CellLine:
    """A line below a notebook's cell."""

    pause = 0.5

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        display = import_module("IPython.display").display
        self._handle = display(self._bundle(), raw=True, display_id=True)

    def show(self) -> None:
        self._handle.update(self._bundle(), raw=True)

    def close(self) -> None:
        self.show()

    def _bundle(self) -> dict[str, str]:
        progress, bar = self.progress, ""
        if progress.total:
            full = int(30 * min(progress.done / progress.total, 1))
            bar = "█" * full + "░" * (30 - full) + "  "
        return {"text/plain": f"{progress.label}  {bar}{progress.words()}"}


class _LogLine:
    """A plain line every few seconds and one at the end, for files and pipes."""

    pause = 10.0

    def __init__(self, progress: Progress) -> None:
        self.progress = progress

    def show(self) -> None:
        if _active[-1] is self.progress:
            self.close()

    def close(self) -> None:
        print(f"{self.progress.label}: {self.progress.words()}", file=sys.stderr, flush=True)


class _LoggedLine(_LogLine):
    """The same line, for a logger."""

    def close(self) -> None:
        _logger.info("%s: %s", self.progress.label, self.progress.words())


def _kind_of_view(enabled: bool | None) -> type[_View] | None:
    if enabled is False:
        return None
    if _in_notebook():
        return _CellLine
    if sys.stderr is not None and sys.stderr.isatty():
        return _TerminalLine
    if enabled and sys.stderr is not None:
        return _LogLine
    return _LoggedLine if _logger.isEnabledFor(logging.INFO) else None


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def _clock(seconds: float) -> str:
    """Seconds for people.

    >>> _clock(75.2), _clock(3671)
    ('1:15', '1:01:11')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
