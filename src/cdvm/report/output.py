"""Where results are written: checked before any work is done, and written whole or not at all.

Files are made in a staging directory on the same filesystem and moved into place together. What a killed run
leaves there is known by its name, taken back by the next run, and never mistaken for a user's file.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cdvm._runtime.files import machine_name
from cdvm.errors import InputError

__all__ = [
    "PAGES",
    "check_directory",
    "check_file",
    "check_page",
    "refuse_inputs",
    "refuse_present",
    "together",
]

PAGES = (".html", ".htm")
"""How names of pages end."""

_LIST = "files"  # in a staging directory: what is being moved out of it
_LEFTOVER = re.compile(r"\.(?P<name>.*)\.cdvm-(?P<host>[0-9a-f]{8})-(?P<pid>\d+)\.part")


def check_directory(out: Path | None, *, force: bool, apart_from: str | None = None) -> None:
    """Refuse an output directory that holds something, cannot be written, or is that of the store."""
    if out is None:
        if force:
            raise InputError("force=True is about a directory to write into: add out=, or leave it out")
        return
    if apart_from is not None and out.absolute() == Path(apart_from).absolute():
        raise InputError(f"out={str(out)!r} is the place of store=: name another directory")
    _try_out(out)
    if out.is_dir() and not force and any(out.iterdir()):
        raise InputError(
            f"out={str(out)!r} is not empty: name another directory, or add force=True to write into it"
        )


def refuse_present(out: Path, names: Iterable[str], *, force: bool) -> None:
    """Refuse a directory that cannot be written, or in which files of these names are."""
    _try_out(out)
    there = [name for name in names if os.path.lexists(out / name)]
    if there and not force:
        raise InputError(
            f"out={str(out)!r} holds {there[0]} already: name another directory, or add "
            "force=True to replace it"
        )


def check_file(
    out: Path | None,
    endings: Iterable[str],
    *,
    force: bool,
    inputs: Iterable[Path | None],
    argument: str = "out",
) -> None:
    """Refuse an output file that is there, that is one of the inputs, or that cannot be written.

    ``argument`` is what messages call it.
    """
    if out is None:
        if force:
            raise InputError(f"force=True is about a file to write: add {argument}=, or leave it out")
        return
    _check_ending(out, endings, argument)
    if os.path.isdir(out):
        raise InputError(f"{argument}={str(out)!r} is a directory: name a file")
    if not os.path.isdir(out.absolute().parent):
        raise InputError(f"{argument}={str(out)!r} cannot be written: name a file in a directory that exists")
    with _readable(out, argument):
        _probe(out.absolute().parent, out.name)
    refuse_inputs([out], inputs, argument=argument)
    if os.path.lexists(out) and not force:
        raise InputError(
            f"{argument}={str(out)!r} is there already: name another file, or add force=True to replace it"
        )


def check_page(page: Path | None, out: Path | None, *, force: bool, inputs: Iterable[Path | None]) -> None:
    """:func:`check_file` for a page, which may go into an output directory that is not there yet."""
    if page is None:
        return
    if out is not None and page.absolute().parent == out.absolute() and not os.path.lexists(out):
        _check_ending(page, PAGES, "report")
    else:
        check_file(page, PAGES, force=force, inputs=inputs, argument="report")


def _check_ending(out: Path, endings: Iterable[str], argument: str) -> None:
    if not out.name.lower().endswith(tuple(endings)):
        raise InputError(f"{argument}={str(out)!r} has no known ending: use {', '.join(endings)}")


def refuse_inputs(outputs: Iterable[Path], inputs: Iterable[Path | None], *, argument: str = "out") -> None:
    """No output may be a table that is read, by whatever path."""
    read = [path for path in inputs if path is not None and os.path.exists(path)]
    for out in outputs:
        for path in read:
            if os.path.exists(out) and os.path.samefile(out, path):
                raise InputError(f"{argument}= would overwrite {path}, which is read: name another place")


@contextmanager
def together(out: Path) -> Iterator[Path]:
    """A directory to write files into; when all are written they move to the directory ``out``.

    A new directory appears at once. Into one that is there, files are moved one by one; a run killed in
    between is taken back by the next.
    """
    new = not out.exists()
    home = _nearest(out) if new else out
    staging = home / _staging(out.name)
    shutil.rmtree(staging, ignore_errors=True)
    try:
        staging.mkdir()
        yield staging
        for file in staging.iterdir():
            _sync(file)
        with _undisturbed():
            if new:
                out.parent.mkdir(parents=True, exist_ok=True)
                staging.rename(out)
            else:
                _move(staging, out)
    except OSError as error:
        raise InputError(
            f"out={str(out)!r} cannot be written ({error.strerror or error}): nothing was left there; make "
            "room or name another place, and run the same command again"
        ) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _move(staging: Path, out: Path) -> None:
    names = sorted(file.name for file in staging.iterdir())
    (staging / _LIST).write_text("\n".join(names))
    _sync(staging / _LIST)
    for name in names:
        os.replace(staging / name, out / name)


def _take_back(out: Path) -> None:
    """Remove what killed runs left of an output directory."""
    for home in (out, _nearest(out)):
        found = [f for f in home.iterdir() if _is_leftover(f.name, out.name)] if home.is_dir() else []
        for staging in found:
            with suppress(OSError):  # no list: nothing was moved yet
                moved = [n for n in (staging / _LIST).read_text().split("\n") if not (staging / n).exists()]
                for name in moved:
                    (out / name).unlink(missing_ok=True)
            shutil.rmtree(staging, ignore_errors=True)


def _is_leftover(entry: str, name: str) -> bool:
    """Whether a staging directory for ``name`` belongs to a run of this machine that has ended."""
    match = _LEFTOVER.fullmatch(entry)
    if match is None or match["name"] != name or match["host"] != machine_name():
        return False
    try:
        os.kill(int(match["pid"]), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return int(match["pid"]) == os.getpid()


def _try_out(out: Path) -> None:
    """Refuse a directory that is none or cannot be written; what killed runs left there is taken back."""
    if os.path.exists(out) and not os.path.isdir(out):
        raise InputError(f"out={str(out)!r} is a file: name a directory")
    made: list[Path] = []
    with _readable(out):
        try:
            for folder in [f for f in reversed([out, *out.parents]) if not f.exists()]:
                folder.mkdir()
                made.append(folder)
            _probe(out, "selection.csv")
        finally:
            for folder in reversed(made):
                with suppress(OSError):
                    folder.rmdir()
        _take_back(out)


def _probe(directory: Path, name: str) -> None:
    """Make a file with a name as long as any that will be, and remove it."""
    probe = directory / _staging(name)
    probe.touch()
    probe.unlink()


@contextmanager
def _readable(out: Path, argument: str = "out") -> Iterator[None]:
    """What the system refuses, in one line."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise InputError(
            f"{argument}={str(out)!r} cannot be written ({reason}): name another place"
        ) from error


def _nearest(path: Path) -> Path:
    """The nearest directory above that is there."""
    return next(folder for folder in path.absolute().parents if folder.is_dir())


def _staging(name: str) -> str:
    return f".{name}.cdvm-{machine_name()}-{os.getpid()}.part"


def _sync(file: Path) -> None:
    with file.open("rb") as opened:
        os.fsync(opened.fileno())


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Signals wait until files are in place."""
    if not hasattr(signal, "pthread_sigmask") or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
