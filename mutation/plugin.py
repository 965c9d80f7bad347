"""A pytest plugin that runs the collected tests on every mutant, each in a fork of its own."""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil
import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from mutation.rooms import function_of

sys.modules["hypothesis.extra._patching"] = None  # type: ignore[assignment]  # a second for every failing test

# a mutant is noticed by the first example that fails: none is made smaller or kept, no other looked for
settings.register_profile(
    "mutants",
    phases=(Phase.explicit, Phase.generate),
    report_multiple_bugs=False,
    database=None,
    derandomize=True,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("mutants")

Items = list[pytest.Item]

_PATIENCE = 30.0  # seconds without any computing after which a fork waits for something that never comes
_CONTROL = 50  # one mutant in so many is also tried without its change
_NO_END, _DIED = "no end", "died"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--mutants", help="file with the names of the mutants, and what else is asked for")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> pytest.TestReport | None:
    """That a test failed is all that is asked: no traceback is made of it."""
    if call.excinfo is None or call.excinfo.errisinstance(pytest.skip.Exception):
        return None
    return pytest.TestReport(item.nodeid, item.location, {}, "failed", None, call.when)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    asked = json.loads(Path(session.config.getoption("--mutants")).read_text())
    found = _known_look(session.items, Path(asked["look"]))
    print("left out, as they fail among mutants without any change:", found["failed"], flush=True)
    for name in found["modules"]:  # what tests import goes into this process, once for all forks
        with suppress(Exception):
            import_module(name)
    given(st.booleans())(lambda _: None)()  # Hypothesis looks around when it is first used
    gc.collect()
    gc.freeze()  # forks need not go through what was there before them
    tests = {item.nodeid: item for item in session.items}
    noticed: dict[str, Counter[str]] = defaultdict(Counter)
    unsound: list[str] = asked["known_unsound"]
    with Path(asked["verdicts"]).open("a+") as verdicts:
        verdicts.seek(0)
        for known in map(json.loads, verdicts):
            _count(noticed, known["mutant"], known["by"])
        for number, (mutant, digest) in enumerate(asked["mutants"].items()):
            order = [test for test in _order(function_of(mutant), found, noticed) if test not in unsound]
            items = [(tests[test], found["computing"][test]) for test in order]
            if number % _CONTROL == 0 and items:
                who = _fork(lambda i=items: _try("none", i, asked["seconds"]))
                if who:
                    unsound.append(who)  # what it noticed counts for nothing
                    Path(asked["unsound"]).write_text(json.dumps(unsound))
            before = os.times().children_user + os.times().children_system
            who = _fork(lambda m=mutant, i=items: _try(m, i, asked["seconds"])) if items else ""
            seconds = os.times().children_user + os.times().children_system - before
            _count(noticed, mutant, who)
            verdict = {"mutant": mutant, "digest": digest, "noticed": who != "", "by": who}
            verdict["seconds"] = round(seconds, 2)
            verdicts.write(json.dumps(verdict) + "\n")
            verdicts.flush()
    return True


def _count(noticed: dict[str, Counter[str]], mutant: str, by: str) -> None:
    function = function_of(mutant)
    noticed[function][by] += 1
    noticed[function.rpartition(".")[0]][by] += 1


def _order(function: str, found: dict[str, Any], noticed: dict[str, Counter[str]]) -> list[str]:
    """Tests that reach a function: the fast, those of its own module, and those that noticed others first."""
    module = function.rpartition(".")[0]
    own = f"test_{module.rpartition('.')[2]}.py"
    by, near = noticed[function], noticed[module]

    def cost(test: str) -> float:
        promise = 0.1 + by[test] + 0.1 * near[test] + 0.3 * (own in test)
        # a busy machine makes tests wait, too
        return (found["computing"][test] + 0.05 * found["waiting"][test] + 0.02) / promise

    return sorted(found["reach"].get(function, []), key=cost)


def _fork(work: Callable[[], str]) -> str:
    """What a fork answers, or how it ended without an answer."""
    with tempfile.TemporaryFile("w+") as answer:
        child = os.fork()
        if child == 0:
            os.setsid()
            try:
                answer.write(work())
                answer.flush()
                os._exit(0)
            except BaseException:
                os._exit(1)
        status, pause = None, 0.002
        computed, since = 0.0, time.monotonic()
        while status is None and time.monotonic() - since < _PATIENCE:
            time.sleep(pause)
            pause = min(1.5 * pause, 1.0) if pause < 0.02 or time.monotonic() - since > 5 else pause
            ended, code = os.waitpid(child, os.WNOHANG)
            status = code if ended else None
            if time.monotonic() - since > 1 and (now := _computing(child)) > computed:
                computed, since = now, time.monotonic()
        with suppress(ProcessLookupError):  # workers that a test left behind, or all that wait
            os.killpg(child, signal.SIGKILL)
        if status is None:
            os.waitpid(child, 0)
            return _NO_END
        answer.seek(0)
        if status == 0:
            return answer.read()
        by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        return {signal.SIGPROF: _NO_END, signal.SIGVTALRM: ""}.get(by, _DIED)


def _computing(process: int) -> float:
    """Seconds of computing of a process and those it started."""
    total = 0.0
    with suppress(psutil.Error):
        parent = psutil.Process(process)
        for one in [parent, *parent.children(recursive=True)]:
            with suppress(psutil.Error):
                total += sum(one.cpu_times())
    return total


def _known_look(items: Items, file: Path) -> dict[str, Any]:
    """What :func:`_look` finds, from a file where neither sources nor tests have changed since."""
    digest = sha256()
    own = {folder for item in items for folder in (item.path.parent, *item.path.parents) if folder.name}
    tests = [path for folder in own if "tests" in folder.parts for path in folder.glob("*.py")]
    for path in sorted([*Path("src").rglob("*.py"), *tests]):
        digest.update(path.read_bytes())
    if file.exists() and (known := json.loads(file.read_text()))["digest"] == digest.hexdigest():
        return known
    answer = _fork(lambda: _look(items))
    if answer in (_NO_END, _DIED):
        raise pytest.UsageError(f"the tests without any change: {answer}")
    found = {"digest": digest.hexdigest(), **json.loads(answer)}
    file.write_text(json.dumps(found))
    return found


def _look(items: Items) -> str:
    """Which tests reach which function, how long they take, and what they import."""
    from mutmut.state import state

    os.environ |= {"MUTANT_UNDER_TEST": "stats", "MUTMUT_DEPENDENCY_DEPTH": "-1"}
    waiting, computing, reach, failed = {}, {}, defaultdict(list), []
    for item, following in zip(items, [*items[1:], None], strict=True):
        state()._stats.clear()
        started, computed = time.perf_counter(), time.process_time()
        fails = _fails(item, following)
        waiting[item.nodeid] = time.perf_counter() - started
        computing[item.nodeid] = time.process_time() - computed
        if fails:  # such as those that ask where in the code a warning points
            failed.append(item.nodeid)
            continue
        for function in state()._stats:
            reach[function].append(item.nodeid)
    modules = [name for name in sys.modules if name != "__main__"]
    return json.dumps(
        {"waiting": waiting, "computing": computing, "reach": reach, "failed": failed, "modules": modules}
    )


def _try(mutant: str, items: list[tuple[pytest.Item, float]], most: float) -> str:
    """The test that notices a mutant, if one does within so many seconds of computing.

    A test that computes far longer than without any change never ends, for all we care. Both are told by
    clocks of the process, which stand still while others have the processor, and end it.
    """
    os.environ["MUTANT_UNDER_TEST"] = mutant
    for clock in (signal.SIGPROF, signal.SIGVTALRM):
        signal.signal(clock, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_VIRTUAL, most)
    tests = [item for item, _ in items]
    for (item, usual), following in zip(items, [*tests[1:], None], strict=True):
        signal.setitimer(signal.ITIMER_PROF, 2 + 10 * usual)
        if _fails(item, following):
            return item.nodeid
    return ""


def _fails(item: pytest.Item, following: pytest.Item | None) -> bool:
    return any(report.failed for report in runtestprotocol(item, nextitem=following, log=False))
