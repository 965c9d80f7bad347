"""A pytest plugin that runs the collected tests on every mutant, each in a fork of its own."""

from __future__ import annotations

import json
import os
import signal
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, Phase, settings

# a mutant is noticed by the first example that fails: none is made smaller, kept or drawn anew
settings.register_profile(
    "mutants",
    phases=(Phase.explicit, Phase.generate),
    database=None,
    derandomize=True,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("mutants")

Items = list[pytest.Item]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--mutants", help="file with the names of the mutants, and what else is asked for")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    asked = json.loads(Path(session.config.getoption("--mutants")).read_text())
    found = json.loads(_fork(lambda: _look(session.items), limit=3600) or "{}")
    if not found:
        raise pytest.UsageError("the tests do not come to an end without any change")
    print("left out, as they fail among mutants without any change:", found["failed"], flush=True)
    tests = {item.nodeid: item for item in session.items}
    noticed: dict[str, Counter[str]] = defaultdict(Counter)
    with Path(asked["verdicts"]).open("a") as verdicts:
        for mutant in asked["mutants"]:
            function = mutant.partition("__mutmut_")[0]
            by = noticed[function]
            reach = found["reach"].get(function, [])
            order = sorted(reach, key=lambda test: (found["seconds"][test] + 0.05) / (by[test] + 0.1))
            items = [tests[test] for test in order]
            limit = 20 + 10 * sum(found["seconds"][test] for test in reach)
            # the changed function may end the process or never end: neither goes unnoticed
            who = _fork(lambda m=mutant, i=items: _try(m, i, asked["seconds"]), limit) if reach else ""
            by[who or ""] += 1
            verdicts.write(
                json.dumps({"mutant": mutant, "noticed": who is None or who != "", "by": who}) + "\n"
            )
            verdicts.flush()
    return True


def _fork(work: Callable[[], str], limit: float) -> str | None:
    """What a fork answers; None where it dies or takes longer than ``limit`` seconds."""
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
        status, deadline = None, time.monotonic() + limit
        while status is None and time.monotonic() < deadline:
            time.sleep(0.005)
            ended, code = os.waitpid(child, os.WNOHANG)
            status = code if ended else None
        with suppress(ProcessLookupError):  # workers that a test left behind, or all that take too long
            os.killpg(child, signal.SIGKILL)
        if status is None:
            os.waitpid(child, 0)
        answer.seek(0)
        return answer.read() if status == 0 else None


def _look(items: Items) -> str:
    """Which tests reach which function, and how long they take."""
    from mutmut.state import state

    os.environ |= {"MUTANT_UNDER_TEST": "stats", "MUTMUT_DEPENDENCY_DEPTH": "-1"}
    seconds, reach, failed = {}, defaultdict(list), []
    for item, following in zip(items, [*items[1:], None], strict=True):
        state()._stats.clear()
        started = time.perf_counter()
        fails = _fails(item, following)
        seconds[item.nodeid] = time.perf_counter() - started
        if fails:  # such as those that ask where in the code a warning points
            failed.append(item.nodeid)
            continue
        for function in state()._stats:
            reach[function].append(item.nodeid)
    return json.dumps({"seconds": seconds, "reach": reach, "failed": failed})


def _try(mutant: str, items: Items, most: float) -> str:
    """The test that notices a mutant, if one does within so many seconds of computing."""
    os.environ["MUTANT_UNDER_TEST"] = mutant
    for item, following in zip(items, [*items[1:], None], strict=True):
        if time.process_time() > most:
            break
        if _fails(item, following):
            return item.nodeid
    return ""


def _fails(item: pytest.Item, following: pytest.Item | None) -> bool:
    return any(report.failed for report in runtestprotocol(item, nextitem=following, log=False))
