"""``python -m mutation [ROOM …] [--sample N]``: mutants of each room, and how many its tests notice.

Mutants are tried in an order drawn at random, so that those of a run that was cut short are a sample of all.
Every verdict is written down at once: the same command goes on where an earlier one ended, and tries again
what has changed since. ``--again`` also tries again what went unnoticed, such as after tests were added. A
mutant that survives is listed with its change in ``mutants/survivors.txt``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

from mutation.rooms import ROOMS, WORK, change_of, generate, mutants_of

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")

Verdict = dict[str, Any]


def main() -> None:
    """Try the mutants that the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m mutation", description=__doc__)
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=" ".join(ROOMS))
    parser.add_argument("--sample", type=int, help="mutants of each room to try, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="seed of the order")
    parser.add_argument("--again", action="store_true", help="try again what went unnoticed")
    parser.add_argument("--only", default="", help="of mutants whose names contain this")
    parser.add_argument(
        "--seconds",
        type=float,
        default=3.0,
        help="of computing that tests may take to notice one (default 3)",
    )
    parser.add_argument("--report", action="store_true", help="try nothing, show what is known")
    options = parser.parse_args()
    if unknown := set(options.rooms) - set(ROOMS):
        parser.error(f"unknown rooms {', '.join(sorted(unknown))}: choose from {', '.join(ROOMS)}")
    if not options.report:
        generate()
    lines = [
        "| room | mutants | tried | killed | of these no end | died | fraction |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    with (WORK / "survivors.txt").open("w") as survivors:
        for room in options.rooms or ROOMS:
            mutants = mutants_of(room)
            asked = [mutant for mutant in mutants if options.only in mutant]
            random.Random(options.seed).shuffle(asked)
            known = _known(room, mutants)
            left = [
                mutant
                for mutant in asked[: options.sample]
                if mutant not in known or (options.again and not known[mutant]["noticed"])
            ]
            if left and not options.report:
                _run(room, {mutant: mutants[mutant] for mutant in left}, options.seconds)
                known = _known(room, mutants)
            tried = [known[mutant] for mutant in asked if mutant in known]
            lines.append(_line(room, len(asked), tried))
            print(lines[-1], flush=True)
            for verdict in sorted(tried, key=lambda verdict: verdict["mutant"]):
                if not verdict["noticed"]:
                    survivors.write(f"{verdict['mutant']}: {change_of(verdict['mutant'])}\n")
    print("\n" + "\n".join(lines))


def _line(room: str, count: int, tried: list[Verdict]) -> str:
    killed = [verdict for verdict in tried if verdict["noticed"]]
    ends = [sum(verdict["by"] == how for verdict in killed) for how in ("no end", "died")]
    fraction = f"{len(killed) / max(1, len(tried)):.1%}"
    return f"| {room} | {count:,} | {len(tried):,} | {len(killed):,} | {ends[0]} | {ends[1]} | {fraction} |"


def _verdicts(room: str) -> Path:
    return (WORK / f"{room}.verdicts").resolve()


def _unsound(room: str) -> list[str]:
    file = WORK / f"{room}.unsound"
    return json.loads(file.read_text()) if file.exists() else []


def _known(room: str, mutants: dict[str, str]) -> dict[str, Verdict]:
    """The last verdict on each mutant whose function is still the same, but by tests that are unsound."""
    file, found, unsound = _verdicts(room), {}, _unsound(room)
    for line in file.read_text().splitlines() if file.exists() else []:
        verdict = json.loads(line)
        if mutants.get(verdict["mutant"]) == verdict["digest"] and verdict["by"] not in unsound:
            found[verdict["mutant"]] = verdict
    return found


def _run(room: str, mutants: dict[str, str], seconds: float) -> None:
    job = WORK / f"{room}.job"
    asked: dict[str, Any] = {"mutants": mutants, "seconds": seconds, "verdicts": str(_verdicts(room))}
    asked |= {"look": str((WORK / f"{room}.look").resolve()), "known_unsound": _unsound(room)}
    asked["unsound"] = str((WORK / f"{room}.unsound").resolve())
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
    if done.returncode:
        sys.exit(f"{room}: the tests ended early with code {done.returncode}: see {log.name}")


if __name__ == "__main__":
    main()
