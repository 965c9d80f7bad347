"""The longest time a command leaves its user without a sign, on a terminal.

``python -m perf.silence`` prunes a generated table of 200,000 rows with two learners; other words are
run as they are: ``python -m perf.silence cdvm prune --dataset digits``.
"""

import os
import pty
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

ROWS, FEATURES = 200_000, 20


def longest_silence(words: list[str]) -> tuple[float, float, str]:
    """Seconds of the longest pause between two outputs, seconds in all, and what stood before the pause."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", *words]
    child = subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=theirs, close_fds=True)
    os.close(theirs)
    started = last = time.perf_counter()
    worst, before, text = 0.0, "", ""
    while True:
        ready, _, _ = select.select([ours], [], [], 0.1)
        now = time.perf_counter()
        try:
            piece = os.read(ours, 1 << 16).decode(errors="replace") if ready else ""
        except OSError:  # the other end is closed
            piece = None
        if piece or piece is None:
            if now - last > worst:
                worst, before = now - last, text
            last, text = now, " ".join((text + (piece or "")).split())[-120:]
        if piece is None or (not piece and child.poll() is not None):
            break
    if child.wait():
        raise SystemExit(f"{' '.join(words)} failed: {text}")
    return worst, time.perf_counter() - started, before


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
        given = ["cdvm", "prune", str(path), "--target", "label", "--keep", "5%", "--learner"]
        runs = [[*given, learner] for learner in ("ridge", "logistic")]
    for words in runs:
        worst, whole, before = longest_silence(words)
        print(f"{' '.join(words)}: longest silence {worst:.1f} s of {whole:.0f} s, after {before[-80:]!r}")


if __name__ == "__main__":
    main()
