"""The house keeps its order: imports go one way, rooms stay small, and nothing lies in the hall."""

from __future__ import annotations

import ast
from itertools import pairwise
from pathlib import Path

import cdvm

ROOT = Path(cdvm.__file__).parent

# A room may import itself and the rooms before it.
ROOMS = [
    "errors",
    "_runtime",
    "data",
    "selection",
    "sampling",
    "learners",
    "outcomes",
    "attribution",
    "optimize",
    "evaluation",
    "valuation",
    "selectors",
    "datasets",
    "plots",
    "report",
    "pruner",
    "benchmark",
    "cli",
]
MOST_LINES = 350
UNTESTED = {"report.run"}  # fields that others fill and read, and nothing that could be wrong by itself


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name, the package's own ``__init__`` apart."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if parts and parts != ("__main__",):
            found[".".join(parts)] = path
    return found


def imports(path: Path, known: set[str]) -> set[str]:
    """Modules of the package that a module imports anywhere: at its top, in functions, for types only."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cdvm."):
            base = node.module.removeprefix("cdvm.")
            inner = {f"{base}.{alias.name}" for alias in node.names} & known
            found |= inner or {base}
        elif isinstance(node, ast.Import):
            found |= {a.name.removeprefix("cdvm.") for a in node.names if a.name.startswith("cdvm.")}
    return found


def test_every_module_is_in_a_room():
    rooms = {name.split(".")[0] for name in modules()}
    assert rooms <= set(ROOMS), f"no place in the order for {sorted(rooms - set(ROOMS))}"


def test_rooms_import_only_rooms_before_them():
    known = modules()
    upward = [
        f"{name} imports {other}"
        for name, path in known.items()
        for other in imports(path, set(known))
        if ROOMS.index(other.split(".")[0]) > ROOMS.index(name.split(".")[0])
    ]
    assert not upward


def test_no_module_imports_itself_by_a_detour():
    known = modules()
    graph = {name: imports(path, set(known)) & set(known) - {name} for name, path in known.items()}
    state: dict[str, int] = {}

    def visit(name: str, way: list[str]) -> list[str]:
        if state.get(name) == 1:
            return [*way[way.index(name) :], name]
        if state.get(name) == 2:
            return []
        state[name] = 1
        for other in sorted(graph[name]):
            if found := visit(other, [*way, name]):
                return found
        state[name] = 2
        return []

    for name in graph:
        cycle = visit(name, [])
        assert not cycle, " → ".join(cycle)


def test_modules_stay_small():
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in modules().items()}
    assert {name: n for name, n in lengths.items() if n > MOST_LINES} == {}


def test_only_named_modules_lie_in_the_root():
    here = {path.stem for path in ROOT.glob("*.py")}
    assert here <= {"__init__", "__main__", "errors", "plots", "sampling", "selection"}


def test_the_page_shows_the_rooms_in_this_order():
    page = (ROOT.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page[page.index("| room |") :]
    listed = [
        table.index(f"| `{room}`" if (ROOT / f"{room}.py").exists() else f"| `{room}/`") for room in ROOMS
    ]
    assert all(a < b for a, b in pairwise(listed))


def test_every_module_has_a_test_file_of_its_own():
    tests = Path(__file__).parent
    for name in modules():
        room, *parts = name.split(".")
        path = ROOT.joinpath(room, *parts).with_suffix(".py")
        if path.exists() and name not in UNTESTED:
            folders = [room.removeprefix("_"), *parts]
            own = tests.joinpath(*folders[:-1], f"test_{folders[-1]}.py")
            assert own.exists(), own
    assert set(modules()) >= UNTESTED
