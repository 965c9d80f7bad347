"""``python -m soak --rounds N --seed K [--only KIND …]``: faults, and a table of what came of them.

Round r takes the seed K + r; a failure names the command that makes it again. The exit code is 1 when
anything was not ok.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from importlib import import_module
from pathlib import Path

from soak.processes import load_everything
from soak.runner import run_rounds
from soak.verdicts import BAD, Kind

_KINDS = ("stores", "files", "results", "kills", "commands", "disk", "writers", "cluster", "remote")
_SHOWN = 1500  # characters of what went wrong


def main() -> int:
    """Run the rounds that the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each kind (default 5)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first round")
    parser.add_argument(
        "--only", nargs="+", choices=_KINDS, default=_KINDS, metavar="KIND", help=" ".join(_KINDS)
    )
    parser.add_argument("--keep", type=Path, help="directory to work in, where rounds that went wrong stay")
    options = parser.parse_args()
    load_everything()
    counts: dict[str, Counter[str]] = {}
    # not a TemporaryDirectory: forks that end as Python does would remove it
    work = options.keep or Path(tempfile.mkdtemp(prefix="soak-"))
    seeds = range(options.seed, options.seed + options.rounds)
    try:
        for name in options.only:
            kind: Kind = import_module(f"soak.{name}").KIND
            counts[name] = _soak(kind, work, seeds, keep=options.keep is not None)
    finally:
        if options.keep is None:
            shutil.rmtree(work, ignore_errors=True)
    print("\n" + _table(counts))
    return int(any(count[verdict] for count in counts.values() for verdict in BAD))


def _soak(kind: Kind, work: Path, seeds: range, *, keep: bool) -> Counter[str]:
    count: Counter[str] = Counter()
    started = time.monotonic()
    for seed, fault in run_rounds(kind, work, seeds, keep=keep):
        count[fault.verdict] += 1
        if fault.verdict in BAD:
            again = f"python -m soak --only {kind.name} --rounds 1 --seed {seed}"
            print(f"{kind.name}: {fault.verdict} after {fault.what}\n  again: {again}")
            print(f"  {fault.detail[-_SHOWN:]}")
    faults, seconds = _faults(count), time.monotonic() - started
    print(f"{kind.name} ({kind.about}): {faults} faults in {seconds:.0f} s", flush=True)
    return count


def _faults(count: Counter[str]) -> int:
    return count.total() - count["missed"]


def _table(counts: dict[str, Counter[str]]) -> str:
    """Faults by kind and verdict."""
    verdicts = ["ok", *BAD, "missed"]
    whole = sum(counts.values(), Counter[str]())
    lines = [["kind", "faults", *verdicts]]
    for name, count in [*counts.items(), ("all", whole)]:
        lines.append([name, str(_faults(count)), *(str(count[verdict]) for verdict in verdicts)])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if k else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )


if __name__ == "__main__":
    sys.exit(main())
