"""Batched learners against the same models one at a time: ``python -m perf.learners``.

Every line is measured in this run, on the same subsets for both sides and with all cores for both sides.
Ours is the median of five repeats, the peer's the median of three. Where a repeat of the peer would take
over ten seconds, its time on the first models is scaled to all of them and marked ~ (``--full`` runs it in
full). Agreement is the fraction of equal predicted labels; logistic regressions are timed at scikit-learn's
own tolerance and compared, on the first models, at one a million times smaller, since its default stops
short of the optimum.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from cdvm._runtime.parallel import run_tasks
from cdvm.data.split import Split
from cdvm.learners import Learner, make_learner
from cdvm.sampling import Design, Subsets
from perf import data, peers
from perf.kept import keep, machine

MOST_SECONDS = 10.0  # of one repeat of a peer
REFERENCE_MODELS = 300
MEMORY_LIMIT = 256  # MiB above what the process held before the first model
GROWTH = (1000, 2000, 5000, 10_000, 20_000)


def ours(learner: Learner, split: Split, design: Design, n_models: int) -> np.ndarray:
    """Labels of all models, trained in chunks on all cores."""
    trainer = learner.bind(split, split.X_val)
    size = max(64, min(1024, -(-n_models // (4 * (os.cpu_count() or 1)))))
    tasks = [(range(first, min(first + size, n_models)),) for first in range(0, n_models, size)]
    answer = np.empty((n_models, len(split.y_val)), dtype=np.int32)
    for k, labels in run_tasks(
        lambda models: trainer.predict(design.take(models)), tasks, prefer=trainer.prefer
    ):
        answer[tasks[k][0].start : tasks[k][0].stop] = labels
    return answer


def timed(run: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        answer = run()
        seconds.append(time.perf_counter() - start)
    return median(seconds), answer


def peer(fit: peers.Fit, split: Split, subsets: Subsets, full: bool) -> tuple[float, np.ndarray, str]:
    """Seconds for all models, labels of those that were trained, and how the time was got."""
    n_models = len(subsets)
    pilot = subsets[: min(n_models, 64)]
    peers.on_all_cores(fit, split, pilot)  # starts the processes, imports the libraries
    each = timed(lambda: peers.on_all_cores(fit, split, pilot), 1)[0] / len(pilot)
    count = n_models if full else min(n_models, max(64, int(MOST_SECONDS / each)))
    seconds, labels = timed(lambda: peers.on_all_cores(fit, split, subsets[:count]), 3)
    how = "all models" if count == n_models else f"~ from {count} models"
    return seconds * n_models / count, labels, how


def compare(
    what: str,
    name: str,
    learner: Learner,
    fit: peers.Fit,
    goal: int,
    options: argparse.Namespace,
    reference: peers.Fit | None = None,
) -> None:
    label, split = data.load(name)
    design = Design(split.n_rows, options.inclusion, seed=1)
    n_models = options.models
    ours(learner, split, design, 64)
    our_seconds, our_labels = timed(lambda: ours(learner, split, design, n_models), 5)
    peer_seconds, labels, how = peer(fit, split, design.take(range(n_models)), options.full)
    if reference is not None:
        labels = peers.on_all_cores(reference, split, design.take(range(min(REFERENCE_MODELS, n_models))))
    agreement = (our_labels[: len(labels)] == labels).mean()
    ratio = peer_seconds / our_seconds
    line = {"what": what, "data": label, "models": n_models, "inclusion": options.inclusion, "how": how}
    line |= {"ours": our_seconds, "peer": peer_seconds, "agreement": agreement, "machine": machine()}
    keep(options.out, line)
    print(
        f"{what:<28} {label:<36} {our_seconds:>8.3f} {peer_seconds:>8.1f} {ratio:>7.0f}x {goal:>5}x "
        f"{100 * agreement:>9.3f} %  {how}",
        flush=True,
    )


def growth(learner: str, n_models: int) -> None:
    """One line of the growth table, in a process of its own so that the peak is its own."""
    _, split = data.load("pol")
    design = Design(split.n_rows, 0.03, seed=1)
    trainer = make_learner(learner).bind(split, split.X_val)
    tasks = [(range(first, min(first + 512, n_models)),) for first in range(0, n_models, 512)]

    def run() -> None:
        right = np.zeros((n_models, -(-len(split.y_val) // 8)), dtype=np.uint8)
        for k, bits in run_tasks(
            lambda models: np.packbits(trainer.predict(design.take(models)) == split.y_val, axis=1), tasks
        ):
            right[tasks[k][0].start : tasks[k][0].stop] = bits

    seconds = timed(run, 3)[0]
    tracemalloc.start()  # after the timing, which it would slow down
    run()
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    verdict = "within" if peak <= MEMORY_LIMIT else "ABOVE"
    print(
        f"{learner:<12} {n_models:>8} {seconds:>9.2f} {1e6 * seconds / n_models:>12.1f} {peak:>10.0f}  "
        f"{verdict} {MEMORY_LIMIT} MiB",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m perf.learners", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="500 models and a shorter growth table")
    parser.add_argument("--full", action="store_true", help="train all models of every peer")
    parser.add_argument("--models", type=int, default=None, help="models a line (default 5000)")
    parser.add_argument("--inclusion", type=float, default=0.03)
    parser.add_argument("--out", type=Path, help="a file that lines of what is measured are added to")
    parser.add_argument("--growth", nargs=2, metavar=("LEARNER", "N"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.growth:
        growth(options.growth[0], int(options.growth[1]))
        return
    options.models = options.models or (500 if options.quick else 5000)
    tables(options)


def tables(options: argparse.Namespace) -> None:
    from sklearn.linear_model import LogisticRegression, RidgeClassifier
    from sklearn.neighbors import KNeighborsClassifier

    source = "CDVM_DATA_HOME" if data.home() else "bundled and generated data (CDVM_DATA_HOME is not set)"
    print(
        f"{options.models} models, inclusion {options.inclusion}, {data.N_TRAIN} / {data.N_EVALUATION} rows\n"
        f"{machine()}\n"
        f"{source}\n"
    )
    heads = f"{'ours s':>8} {'peer s':>8} {'ratio':>8} {'goal':>6} {'agreement':>11}  peer's time"
    print(f"{'learner':<28} {'data':<36} {heads}")
    if importlib.util.find_spec("torch") is None:
        print("paper's model: PyTorch, the peer, is not installed: pip install cdvm[torch]")
    else:
        for name in ("pol", "digits"):
            compare("paper / PyTorch loop", name, make_learner("paper"), peers.torch_fit, 60, options)
    for name, C in (("pol", 1.0), ("digits", 1.0), ("embeddings", 0.01)):
        model = LogisticRegression(C=C, max_iter=1000)
        exact = peers.SklearnFit(LogisticRegression(C=C, tol=1e-10, max_iter=100_000))
        fit = peers.SklearnFit(model)
        compare("logistic / scikit-learn", name, make_learner(model), fit, 20, options, exact)
    for name in ("pol", "digits", "embeddings"):
        model = RidgeClassifier()
        compare("ridge / scikit-learn", name, make_learner(model), peers.SklearnFit(model), 20, options)
    for name in ("pol", "digits", "embeddings"):
        model = KNeighborsClassifier(5)
        compare(
            "5 neighbours / scikit-learn", name, make_learner(model), peers.SklearnFit(model), 20, options
        )
    print(f"\n{'growth':<12} {'models':>8} {'seconds':>9} {'us a model':>12} {'peak MiB':>10}")
    for learner in ("paper", "logistic"):
        for n_models in GROWTH[:3] if options.quick else GROWTH:
            command = [sys.executable, "-m", "perf.learners", "--growth", learner, str(n_models)]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
