"""The longest time a command leaves its user without a sign, on a terminal.

``python -m perf.silence`` prunes a generated table of 200,000 rows with two learners; other words are
run as they are: ``python -m perf.silence cdvm prune --dataset digits``.
"""

import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

ROWS, FEATURES, MODELS = 200_000, 20, 500


def silences(words: list[str]) -> tuple[list[tuple[float, float, str]], float]:
    """Pauses between two outputs, longest first, and the seconds in all.

    A pause is its seconds, the seconds of work in it (a busy machine stretches the first, not the second),
    and what was shown when it ended.
    """
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", *words]
    child = subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=theirs, close_fds=True)
    os.close(theirs)
    started = last = time.perf_counter()
    worked, pauses, text, open_ = 0.0, [], "", True
    while open_:
        ready, _, _ = select.select([ours], [], [], 0.1)
        now = time.perf_counter()
        try:
            piece = os.read(ours, 1 << 16).decode(errors="replace") if ready else ""
            open_ = bool(piece) or child.poll() is None
        except OSError:  # the other end is closed
            piece, open_ = "", False
        if piece or not open_:
            spent = processor_seconds(child.pid)
            text = " ".join(re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", piece or "the end").split())
            pauses.append((now - last, spent - worked if spent else 0.0, text[:60]))
            last, worked = now, spent
    if child.wait():
        raise SystemExit(f"{' '.join(words)} failed: {text}")
    return sorted(pauses, reverse=True), time.perf_counter() - started


def processor_seconds(process: int) -> float:
    """What a process has used so far; 0 where it is over."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    if len(sys.argv) > 1:
        runs = [sys.argv[1:]]
    else:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(ROWS, FEATURES)).round(4)
        frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(FEATURES)])
        frame["label"] = (X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=ROWS) > 0).astype(int)
        path = Path(tempfile.mkdtemp()) / "table.csv"
        frame.to_csv(path, index=False)
        given = [
            "cdvm",
            "prune",
            str(path),
            "--target",
            "label",
            "--keep",
            "5%",
            "--models",
            str(MODELS),
            "--learner",
        ]
        runs = [[*given, learner] for learner in ("ridge", "logistic")]
    for words in runs:
        pauses, whole = silences(words)
        print(f"{' '.join(words)}: {whole:.0f} s in all, longest pauses:")
        for seconds, worked, text in pauses[:4]:
            print(f"  {seconds:5.1f} s ({worked:.1f} s of work) before {text!r}", flush=True)


if __name__ == "__main__":
    main()
