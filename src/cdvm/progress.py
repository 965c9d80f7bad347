"""A progress bar that appears only when the work takes more than a moment."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

__all__ = ["Progress"]

_PATIENCE = 1.0  # seconds before a bar is worth looking at


class Progress:
    """Context manager; ``enabled=None`` shows the bar on a terminal only.

    >>> with Progress("models", total=3, enabled=False) as bar:
    ...     bar.advance(3)
    """

    def __init__(self, label: str, total: int, *, enabled: bool | None = None, done: int = 0) -> None:
        self.label, self.total, self.done = label, total, done
        self.enabled = sys.stderr.isatty() if enabled is None else enabled
        self._bar: Any = None
        self._started = time.perf_counter()

    def __enter__(self) -> Progress:
        return self

    def advance(self, count: int = 1, note: str = "") -> None:
        """Count ``count`` more as done; ``note`` stands behind the bar."""
        self.done += count
        if not self.enabled:
            return
        if self._bar is None and time.perf_counter() - self._started > _PATIENCE:
            self._open()
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done, note=note)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.progress import (
            Progress as RichProgress,
        )

        console = Console(stderr=True)
        self._bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=console,
            transient=console.is_terminal,
        )
        self._bar.start()
        self._task = self._bar.add_task(self.label, total=self.total, completed=self.done, note="")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
