"""The rooms that are changed, each with the tests that are to notice it."""

from __future__ import annotations

import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from shutil import rmtree

__all__ = ["ROOMS", "WORK", "change_of", "generate", "mutants_of"]

WORK = Path("mutants")  # mutmut knows no other

ROOMS = {
    "sampling": ["tests/test_sampling.py"],
    "attribution": ["tests/attribution", "tests/outcomes/test_damage.py"],
    "optimize": ["tests/optimize"],
    "outcomes": ["tests/outcomes", "--ignore=tests/outcomes/test_s3.py"],
    "evaluation": ["tests/evaluation"],
}


def generate() -> None:
    """Write sources and tests anew, with all mutants beside what they were made of."""
    from mutmut.__main__ import copy_also_copy_files, copy_src_dir, create_mutants

    rmtree(WORK, ignore_errors=True)
    WORK.mkdir()
    with redirect_stdout(StringIO()):
        copy_src_dir()
        copy_also_copy_files()
        create_mutants(1)


def mutants_of(room: str) -> list[str]:
    """The names of a room's mutants, as mutmut wrote them."""
    home = WORK / "src" / "cdvm"
    metas = [home / f"{room}.py.meta", *sorted((home / room).rglob("*.py.meta"))]
    return [
        name for meta in metas if meta.exists() for name in json.loads(meta.read_text())["exit_code_by_key"]
    ]


def change_of(mutant: str) -> str:
    """What was changed, in one line."""
    from mutmut.__main__ import get_diff_for_mutant

    module = mutant.rpartition(".")[0].replace(".", "/")
    diff = get_diff_for_mutant(mutant, path=f"src/{module}.py").splitlines()[2:]
    return " ".join(line[0] + line[1:].strip() for line in diff if line.startswith(("-", "+")))
