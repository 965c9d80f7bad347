"""The rooms that are changed, each with the tests that are to notice it."""

from __future__ import annotations

import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from shutil import rmtree

__all__ = ["ROOMS", "WORK", "change_of", "function_of", "generate", "mutants_of"]

WORK = Path("mutants")  # mutmut knows no other

ROOMS = {
    "sampling": ["tests/test_sampling.py"],
    "outcomes": ["tests/outcomes", "--ignore=tests/outcomes/test_s3.py"],
    "evaluation": ["tests/evaluation"],
    "attribution": ["tests/attribution", "tests/outcomes/test_damage.py"],
    "optimize": ["tests/optimize"],
}


def generate() -> None:
    """Write the tests anew, and all mutants of what has changed beside what they were made of."""
    from mutmut.__main__ import copy_also_copy_files, copy_src_dir, create_mutants

    rmtree(WORK / "tests", ignore_errors=True)
    for copy in WORK.glob("src/**/*.py"):
        if not copy.relative_to(WORK).exists():
            copy.unlink()
            copy.with_name(f"{copy.name}.meta").unlink(missing_ok=True)
    WORK.mkdir(exist_ok=True)
    with redirect_stdout(StringIO()):
        copy_src_dir()
        copy_also_copy_files()
        create_mutants(1)


def mutants_of(room: str) -> dict[str, str]:
    """The names of a room's mutants, each with a digest of the function it changes."""
    home = WORK / "src" / "cdvm"
    found = {}
    for meta in [home / f"{room}.py.meta", *sorted((home / room).rglob("*.py.meta"))]:
        if meta.exists():
            known = json.loads(meta.read_text())
            for name in known["exit_code_by_key"]:
                function = function_of(name).rpartition(".")[2]
                found[name] = known["hash_by_function_name"][function]
    return found


def function_of(mutant: str) -> str:
    """The function that a mutant changes, as mutmut names it."""
    return mutant.partition("__mutmut_")[0]


def change_of(mutant: str) -> str:
    """What was changed, in one line."""
    from mutmut.__main__ import get_diff_for_mutant

    module = mutant.rpartition(".")[0].replace(".", "/")
    diff = get_diff_for_mutant(mutant, path=f"src/{module}.py").splitlines()[2:]
    return " ".join(line[0] + line[1:].strip() for line in diff if line.startswith(("-", "+")))
