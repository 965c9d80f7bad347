"""Data values against pyDVL, with converged logistic regression: ``python -m perf.valuation``.

Both sides get all cores, the same rows, the same C and as many fits. Ours is the median of three
repeats; pyDVL runs once, in a process of its own whose workers are started before the clock. Where it would
take many minutes its time on fewer samples is scaled to all of them and marked ~ (``--full`` runs all).

The rank correlation is of our values with pyDVL's. Both are estimates: ``at best`` is the correlation of ours
with a second run of ours, another seed and as many samples as pyDVL had.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from cdvm.data.split import Split
from cdvm.learners import make_learner
from cdvm.selectors.influence_pruning import influence_pruning
from cdvm.valuation import Values
from cdvm.valuation.banzhaf import banzhaf
from cdvm.valuation.out_of_bag import out_of_bag
from cdvm.valuation.shapley import shapley
from cdvm.valuation.stopping import rank_correlation
from perf import data
from perf.kept import keep, machine
from perf.learners import timed

PEER = Path(".venv-peer") / ("Scripts" if os.name == "nt" else "bin") / "python"
MODEL = LogisticRegression(C=1.0, max_iter=1000)
GOAL = 20
LEAST_ORDERS = 2  # that our Shapley walks

Run = Callable[[Split, int, int], Values]  # split, samples, seed


@dataclass(frozen=True)
class Line:
    """One method: what we run, what pyDVL runs, and how many samples of it unless asked for all."""

    name: str
    ours: Run
    peer: str
    samples: int
    few: int
    unit: str


def run_banzhaf(split: Split, models: int, seed: int) -> Values:
    return banzhaf(split, MODEL, n_models=models, seed=seed, progress=False)


def run_out_of_bag(split: Split, models: int, seed: int) -> Values:
    return out_of_bag(split, MODEL, n_models=models, seed=seed, progress=False)


def run_shapley(split: Split, orders: int, seed: int) -> Values:
    fits = max(LEAST_ORDERS, orders) * split.n_rows
    return shapley(split, MODEL, n_models=fits, tolerance=0.0, seed=seed, progress=False)


LINES = (
    Line("banzhaf", run_banzhaf, "banzhaf", 1000, 50, "models"),
    Line("banzhaf, pyDVL's fits alone", run_banzhaf, "banzhaf_utility", 1000, 1000, "models"),
    Line("out_of_bag", run_out_of_bag, "out_of_bag", 1000, 1000, "models"),
    Line("shapley, no truncation", run_shapley, "shapley", 10, 4, "orders"),
)


def with_pydvl(line: Line, split: Split, count: int, folder: str) -> tuple[float, np.ndarray]:
    """Seconds and values of the peer."""
    rows, answer = Path(folder, "rows.npz"), Path(folder, "answer.npz")
    np.savez(rows, X=split.X, y=split.y, X_val=split.X_val, y_val=split.y_val, C=MODEL.C)
    script = Path(__file__).with_name("peer_valuation.py")
    arguments = [line.peer, str(count), str(os.cpu_count() or 1), str(rows), str(answer)]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [str(PEER), "-W", "ignore", str(script), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"pyDVL failed on {line.peer}:\n{done.stderr}")
    with np.load(answer) as found:
        return float(found["seconds"]), found["values"]


def compare(line: Line, split: Split, full: bool, out: Path | None) -> None:
    count = line.samples if full else line.few
    line.ours(split, line.samples, 0)
    our_seconds, ours = timed(lambda: line.ours(split, line.samples, 0), 3)
    with tempfile.TemporaryDirectory() as folder:
        seconds, theirs = with_pydvl(line, split, count, folder)
    again = line.ours(split, count, 1)
    scaled = seconds * line.samples / count
    how = f"~ from {count} {line.unit} in {seconds:.0f} s" if count < line.samples else "in full"
    fits = line.samples * (split.n_rows if line.unit == "orders" else 1)
    correlation, at_best = (rank_correlation(ours.values, other) for other in (theirs, again.values))
    told = {"what": line.name, "fits": fits, "ours": our_seconds, "peer": scaled, "how": how}
    keep(out, told | {"correlation": correlation, "at_best": at_best, "machine": machine()})
    print(
        f"{line.name:<28} {fits:>9} {our_seconds:>8.2f} {scaled:>8.1f} {scaled / our_seconds:>7.0f}x "
        f"{GOAL:>5}x {correlation:>10.3f} {at_best:>8.3f}  {how}",
        flush=True,
    )


def pruning(split: Split) -> None:
    budget = split.n_rows * 3 // 10
    seconds, _ = timed(lambda: influence_pruning(split, budget, learner=make_learner(MODEL)), 3)
    print(f"{'influence_pruning, keep 30 %':<28} {1:>9} {seconds:>8.2f}  (6 h in the paper)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m perf.valuation", description=__doc__)
    parser.add_argument("--full", action="store_true", help="give pyDVL as many samples as ours")
    parser.add_argument("--only", nargs="+", metavar="METHOD", help="of " + ", ".join(x.peer for x in LINES))
    parser.add_argument("--out", type=Path, help="a file that lines of what is measured are added to")
    options = parser.parse_args()
    if not PEER.exists():
        sys.exit(
            f"pyDVL, the peer, runs in an environment of its own, {PEER.parents[1]}, which is not there: "
            "make bench-valuation sets it up and runs this"
        )
    label, split = data.load("pol" if data.home() else "digits")
    print(
        f"{label}, {split.n_rows} / {len(split.y_val)} rows, logistic regression with C = {MODEL.C:g}\n"
        f"{machine()}\n"
    )
    print(
        f"{'method':<28} {'fits':>9} {'ours s':>8} {'pyDVL s':>8} {'ratio':>8} {'goal':>6} "
        f"{'rank corr.':>10} {'at best':>8}  pyDVL's run"
    )
    for line in LINES:
        if options.only is None or line.peer in options.only:
            compare(line, split, options.full, options.out)
    pruning(split)


if __name__ == "__main__":
    main()
