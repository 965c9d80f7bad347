"""What came of a fault, and the rules it is evaluated by.

After a fault a run ends with the same bits as one that was left alone, or with one line that says what to do.
"""

from __future__ import annotations

import re
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal

from cdvm.errors import InputError

__all__ = ["BAD", "Fault", "Kind", "Missed", "Verdict", "Wrong", "check_line", "told", "verdict_of"]

Verdict = Literal["ok", "missed", "lost", "wrong bits", "traceback", "silent", "left behind", "hang"]
BAD: tuple[Verdict, ...] = ("lost", "wrong bits", "traceback", "silent", "left behind", "hang")

_CURE = re.compile(
    r"\b(run|delete|name|save|make|install|use|start|add|give|create|let|remove|move|check|copy|restore|wait)\b"
)


@dataclass(frozen=True)
class Fault:
    """One fault, and what came of it."""

    what: str
    verdict: Verdict = "ok"
    detail: str = ""


@dataclass(frozen=True)
class Kind:
    """A kind of fault.

    Attributes
    ----------
    name, about : str
    alone : callable
        Does the run that is left alone, in a directory that later rounds read.
    strike : callable
        One round: from a source of randomness, that directory and one of its own, the faults it made.
    """

    name: str
    about: str
    alone: Callable[[Path], None]
    strike: Callable[[Random, Path, Path], Iterator[Fault]]


class Wrong(Exception):
    """Something that must not come of a fault."""

    def __init__(self, verdict: Verdict, detail: str) -> None:
        super().__init__(f"{verdict}: {detail}")
        self.verdict, self.detail = verdict, detail


class Missed(Exception):
    """The run was over before the fault came; nothing was wrong."""


def verdict_of(what: str, check: Callable[[], None]) -> Fault:
    """The fault whose consequences ``check`` looks at; a clear error of the library's is a good end."""
    try:
        check()
    except Missed:
        return Fault(what, "missed")
    except Wrong as wrong:
        return Fault(what, wrong.verdict, wrong.detail)
    except InputError as error:
        try:
            check_line(str(error))
        except Wrong as wrong:
            return Fault(what, wrong.verdict, wrong.detail)
    except Exception:
        return Fault(what, "traceback", traceback.format_exc())
    return Fault(what)


def check_line(message: str) -> None:
    """An error is one line that names a cure."""
    if "\n" in message.strip():
        raise Wrong("traceback", f"an error of several lines: {message}")
    if not _CURE.search(message.lower()):
        raise Wrong("silent", f"an error without a cure: {message}")


def told(action: Callable[[], object]) -> list[str]:
    """Warnings given while something is done."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        action()
    return [str(warning.message) for warning in given]
