import io
import sys
import threading
import time
import types

import numpy as np
import pytest

from cdvm import CDVM, InputError, Program, solve
from cdvm._runtime import progress as module
from cdvm._runtime.progress import Progress, tell


class Terminal(io.StringIO):
    def isatty(self):
        return True


def on_terminal(monkeypatch):
    """Called within a test: pytest puts its own stderr in place before each."""
    monkeypatch.setattr(sys, "stderr", shown := Terminal())
    return shown


def wait_for(condition):
    """Until something has come, however long that takes on a busy machine."""
    for _ in range(2000):
        if condition():
            return
        time.sleep(0.01)
    pytest.fail("nothing was shown")


def test_a_bar_is_there_before_the_first_unit_is_done(monkeypatch):
    terminal = on_terminal(monkeypatch)
    with Progress("models", 40):
        wait_for(lambda: "models" in terminal.getvalue() and "0/40" in terminal.getvalue())


def test_work_without_units_shows_its_time(monkeypatch):
    terminal = on_terminal(monkeypatch)
    with Progress("reading table.csv"):
        wait_for(lambda: "reading table.csv" in terminal.getvalue() and "0:01" in terminal.getvalue())


def test_a_note_stands_behind_the_innermost_work(monkeypatch):
    terminal = on_terminal(monkeypatch)
    with Progress("programs", 3) as outer, Progress("inner") as inner:
        tell("gap 3%")
        assert (outer.note, inner.note) == ("", "gap 3%")
        wait_for(lambda: all(word in terminal.getvalue() for word in ("programs", "inner", "gap 3%")))
    tell("nobody listens")
    assert inner.note == "gap 3%"


def test_the_terminal_is_left_as_it_was(monkeypatch):
    terminal = on_terminal(monkeypatch)

    def work():
        with Progress("models", 3), Progress("inner"):
            wait_for(lambda: "inner" in terminal.getvalue())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert terminal.getvalue().count("\x1b[?25l") == terminal.getvalue().count("\x1b[?25h") == 1  # the cursor
    assert module._TerminalLine._screen is None
    assert not module._active


def test_short_work_shows_nothing(monkeypatch):
    terminal = on_terminal(monkeypatch)
    with Progress("models", 3) as bar:
        bar.advance(3)
    wait_for(lambda: not any(t.name == "cdvm-progress" for t in threading.enumerate()))
    assert terminal.getvalue() == ""


def test_without_a_terminal_lines_come_where_asked_for(monkeypatch):
    monkeypatch.setattr(sys, "stderr", log := io.StringIO())
    monkeypatch.setattr(module._LogLine, "pause", 0.05)
    with Progress("models", 40, enabled=True) as bar:
        bar.advance(10)
        wait_for(lambda: log.getvalue().count("\n") >= 2)
        bar.advance(30)
    assert log.getvalue().startswith("models: 10/40  0:0")
    assert log.getvalue().splitlines()[-1].startswith("models: 40/40")
    assert "\x1b" not in log.getvalue()
    assert "\r" not in log.getvalue()
    written = len(log.getvalue())
    with Progress("models", 40), Progress("others", enabled=False):
        assert not module._active
    assert len(log.getvalue()) == written


def test_a_logger_that_takes_information_gets_the_lines(monkeypatch, caplog):
    monkeypatch.setattr(sys, "stderr", log := io.StringIO())
    monkeypatch.setattr(module._LogLine, "pause", 0.05)
    monkeypatch.setattr(module, "_PATIENCE", 0.01)
    with Progress("models", 40):
        assert not module._active  # nobody asked
    caplog.set_level("INFO", logger="cdvm")
    with Progress("models", 40) as bar:
        bar.advance(10)
        wait_for(lambda: len(caplog.messages) >= 2)
    with Progress("models", 40, enabled=False):
        assert not module._active
    assert any(line.startswith("models: 10/40  0:0") for line in caplog.messages)
    assert log.getvalue() == ""


def test_of_nested_work_the_innermost_is_logged(monkeypatch):
    monkeypatch.setattr(sys, "stderr", log := io.StringIO())
    monkeypatch.setattr(module._LogLine, "pause", 0.02)
    with Progress("outer", enabled=True), Progress("inner", enabled=True):
        wait_for(lambda: log.getvalue().count("inner") >= 3)
        assert "outer" not in log.getvalue()


def test_in_a_notebook_one_line_below_the_cell_is_kept_up_to_date(monkeypatch):
    shown = []
    handle = types.SimpleNamespace(update=lambda bundle, raw: shown.append(bundle["text/plain"]))

    def display(bundle, *, raw, display_id):
        shown.append(bundle["text/plain"])
        return handle

    kernel = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: kernel))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=display))
    with Progress("models", 40) as bar:
        wait_for(lambda: shown)
        assert shown[0].startswith("models  ░")
        bar.advance(40)
    assert shown[-1].startswith("models  █")
    assert "40/40" in shown[-1]


def test_a_display_that_fails_does_not_end_the_work(monkeypatch):
    on_terminal(monkeypatch)
    asked = threading.Event()

    def fails():
        asked.set()
        raise OSError("no terminal any more")

    monkeypatch.setattr(module, "_open_screen", fails)
    with Progress("models", 3) as bar:
        assert asked.wait(20)
        bar.advance(3)
    assert not module._active


def test_time_left_follows_from_what_this_run_did(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(module.time, "perf_counter", lambda: clock[0])
    bar = Progress("models", 100, enabled=False, done=60)
    clock[0] = 5.0
    assert bar.words() == "60/100  0:05"
    bar.advance(10, "note")
    assert bar.words() == "70/100  0:05  0:15 left  note"


def test_progress_must_be_a_truth_value():
    with pytest.raises(InputError, match="progress='x': use None, True or False"):
        Progress("models", 3, enabled="x")


@pytest.mark.parametrize("method", ["interior_point", "first_order"])
def test_solvers_tell_their_gap(monkeypatch, method, rng):
    on_terminal(monkeypatch)
    program = Program(rng.normal(size=(60, 20)), budget=10, kappa=0.5)
    with Progress("programs", 1) as bar:
        solve(program, method)
        assert bar.note.startswith("iteration")
        assert "gap" in bar.note


def test_every_stage_of_choosing_can_be_seen(monkeypatch, rng):
    """Each part of the way is under some line, by name."""
    seen = []
    enter = Progress.__enter__

    def noted(self):
        seen.append(self.label)
        return enter(self)

    monkeypatch.setattr(Progress, "__enter__", noted)
    X = rng.normal(size=(40, 2))
    CDVM("ridge", effort="low", n_models=20, n_jobs=1, random_state=0).fit(X, np.arange(40) % 2).select(5)
    assert seen == [
        "checking rows",
        "preparing models",
        "models",
        "building T",
        "building the program",
        "programs",
        "rounded programs",
    ]
