"""``python -m mutation [ROOM …] [--sample N]``: mutants of each room, and how many its tests notice.

Without a sample all mutants are tried. A mutant that survives is listed with its change in
``mutants/survivors.txt``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

from mutation.rooms import ROOMS, WORK, change_of, generate, mutants_of

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def main() -> None:
    """Try the mutants that the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m mutation", description=__doc__)
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=" ".join(ROOMS))
    parser.add_argument("--sample", type=int, help="mutants of each room to try, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample")
    parser.add_argument(
        "--seconds",
        type=float,
        default=60.0,
        help="of computing that tests may take to notice one (default 60)",
    )
    options = parser.parse_args()
    if unknown := set(options.rooms) - set(ROOMS):
        parser.error(f"unknown rooms {', '.join(sorted(unknown))}: choose from {', '.join(ROOMS)}")
    generate()
    lines = [
        "| room | mutants | tried | killed | fraction | minutes |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    with (WORK / "survivors.txt").open("w") as survivors:
        for room in options.rooms or ROOMS:
            mutants = mutants_of(room)
            draw = random.Random(options.seed)
            tried = draw.sample(mutants, min(options.sample or len(mutants), len(mutants)))
            started = time.monotonic()
            verdicts = _run(room, tried, options.seconds)
            killed = sum(verdict["noticed"] for verdict in verdicts)
            minutes = (time.monotonic() - started) / 60
            share = f"{killed / len(tried):.1%}"
            lines.append(
                f"| {room} | {len(mutants):,} | {len(tried):,} | {killed:,} | {share} | {minutes:.0f} |"
            )
            print(lines[-1], flush=True)
            for verdict in verdicts:
                if not verdict["noticed"]:
                    survivors.write(f"{verdict['mutant']}: {change_of(verdict['mutant'])}\n")
    print("\n" + "\n".join(lines))


def _run(room: str, mutants: list[str], seconds: float) -> list[dict[str, object]]:
    job, verdicts = WORK / f"{room}.job", WORK / f"{room}.verdicts"
    verdicts.unlink(missing_ok=True)
    asked = {"mutants": mutants, "seconds": seconds, "verdicts": str(verdicts.resolve())}
    job.write_text(json.dumps(asked))
    path = os.pathsep.join([str((WORK / "src").resolve()), str(Path.cwd())])
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "mutation.plugin",
        f"--mutants={job.resolve()}",
        "--rootdir=.",
    ]
    with (WORK / f"{room}.log").open("w") as log:
        done = subprocess.run(
            [*command, "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=no", *ROOMS[room]],
            cwd=WORK,
            env={**os.environ, "PYTHONPATH": path, **dict.fromkeys(_ONE_THREAD, "1")},
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
    found = [json.loads(line) for line in verdicts.read_text().splitlines()] if verdicts.exists() else []
    if len(found) != len(mutants):
        sys.exit(f"{room}: the tests ended early with code {done.returncode}: see {log.name}")
    return found


if __name__ == "__main__":
    main()
