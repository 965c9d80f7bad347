"""Rows for the models people use, against every other way to choose: ``python -m perf.models``.

One line of JSON in ``results.jsonl`` for every data set, number of rows, split, model, budget and method: the
accuracy on rows that had no part in choosing, and the seconds of choosing. Lines that are there are not
computed again, so a run that was stopped goes on with the same command; several runs may share the file when
each has data sets, models or splits of its own.

``--table`` writes ``README.md`` beside the lines: mean accuracy of every method by model and budget, how
often CDVM is above random rows and above each other method, and the fraction of the way from random rows to
all rows.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cdvm import CDVM, Split
from cdvm.datasets import load_dataset
from cdvm.evaluation.comparison import random_sets
from cdvm.evaluation.scoring import evaluate_sets
from cdvm.learners import make_learner
from cdvm.learners.relatives import proxy_for
from cdvm.selectors.baselines import select_with
from perf.portfolio import principal

DATASETS = ("adult", "nomao", "pol", "fashion_mnist")
MODELS = ("boosting", "lightgbm", "forest", "mlp", "neighbors", "logistic")
BUDGETS = (0.01, 0.05, 0.1, 0.2, 0.3)
PEERS = (
    "stratified", "k_center", "herding", "facility_location", "moderate", "hardest_right", "coverage_centric",
)  # fmt: skip
DRAWS = 20
COMPONENTS = 64  # of images


def load(name: str, n_rows: int, number: int, noise: float) -> Split:
    """Rows to choose from and 5,000 others to test on, standardised; ``noise`` of the labels made wrong."""
    table = load_dataset(name)
    X, y = np.asarray(table.X, dtype=np.float64), np.unique(table.y, return_inverse=True)[1]
    rng = np.random.default_rng(number)
    order = rng.permutation(len(y))
    n_rows = min(n_rows, int(0.7 * len(y)))
    train, test = order[:n_rows], order[n_rows : n_rows + 5000]
    if X.shape[1] > 500:
        from sklearn.decomposition import PCA

        pca = PCA(COMPONENTS, random_state=0).fit(X[train])
        X = pca.transform(X)
    given = y[train].copy()
    wrong = rng.random(n_rows) < noise
    given[wrong] = (given[wrong] + rng.integers(1, y.max() + 1, wrong.sum())) % (y.max() + 1)
    found = Split.from_arrays(
        X[train], given, X_test=X[test], y_test=y[test], validation="out_of_bag", random_state=0
    )
    return found.standardized()


def measure(
    split: Split, model: str, number: int, options: argparse.Namespace, done: set[tuple[float, str]]
) -> Iterator[dict[str, Any]]:
    """Lines that are missing, for every budget and method."""
    learner = make_learner(principal(model))
    jobs: dict[str, Any] = {"n_jobs": options.jobs}
    test = (split.X_test, split.y_test)

    def accuracies(sets: list[Any]) -> list[float]:
        return evaluate_sets(split, learner, sets, test, **jobs)[0].mean(axis=1).tolist()

    if (1.0, "all") not in done:
        yield {"budget": 1.0, "method": "all", "accuracy": accuracies([np.arange(split.n_rows)])[0]}
    todo = [b for b in options.budgets if (b, "cdvm") not in done]
    if todo:
        started = time.perf_counter()
        pruner = CDVM(learner, effort=options.effort, random_state=number, **jobs).fit_split(split)
        fitted = time.perf_counter() - started
    for budget in todo:
        started = time.perf_counter()
        keep = pruner.select(budget)
        seconds = fitted + time.perf_counter() - started
        board = {line.name: round(line.score, 4) for line in keep.leaderboard or ()}
        line = {"budget": budget, "method": "cdvm", "accuracy": accuracies([keep.rows])[0]}
        yield line | {"seconds": seconds, "way": keep.method, "agreement": keep.agreement, "board": board}
    for budget in options.budgets:
        if (budget, "random") not in done:
            found = accuracies(random_sets(split.n_rows, round(budget * split.n_rows), DRAWS, seed=number))
            line = {"budget": budget, "method": "random", "accuracy": float(np.mean(found))}
            yield line | {"std": float(np.std(found, ddof=1))}
    for peer in options.peers:
        for budget in options.budgets:
            if (budget, peer) in done:
                continue
            started = time.perf_counter()
            (kept,) = select_with(split, proxy_for(learner), peer, [budget], seed=number)
            seconds = time.perf_counter() - started
            line = {"budget": budget, "method": peer, "accuracy": accuracies([kept.rows])[0]}
            yield line | {"seconds": seconds}


def run(options: argparse.Namespace) -> None:
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "results.jsonl"
    done = defaultdict(set)
    for line in read(path):
        done[_setting(line)].add((line["budget"], line["method"]))
    for number in options.splits:
        for name in options.datasets:
            split = load(name, options.rows, number, options.noise)
            for model in options.models:
                setting = (name, options.rows, options.noise, number, model)
                for line in measure(split, model, number, options, done[setting]):
                    head = dict(zip(("dataset", "rows", "noise", "split", "model"), setting, strict=True))
                    with path.open("a") as file:
                        file.write(json.dumps(head | line) + "\n")
                    print(*setting, line["budget"], line["method"], f"{line['accuracy']:.4f}", flush=True)


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _setting(line: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(line[key] for key in ("dataset", "rows", "noise", "split", "model"))


def table(out: Path) -> None:
    """Means, wins and the way closed, as Markdown."""
    lines = read(out / "results.jsonl")
    by = defaultdict(dict)
    for line in lines:
        by[_setting(line), line["budget"]][line["method"]] = line["accuracy"]
    everything = {setting: found["all"] for (setting, budget), found in by.items() if "all" in found}
    groups = defaultdict(list)
    for (setting, budget), found in by.items():
        if "cdvm" in found and "random" in found:
            groups[setting[1], setting[2], setting[4], budget].append((setting, found))
    methods = [m for m in ("random", *PEERS) if any(m in f for g in groups.values() for _, f in g)]
    text = ["| rows | wrong labels | model | budget | settings | cdvm | " + " | ".join(methods)]
    text[0] += " | all | way closed | above random | above every other |"
    text.append("| --- " * (10 + len(methods)) + "|")
    for (rows, noise, model, budget), group in sorted(groups.items()):
        means = {m: np.mean([f[m] for _, f in group if m in f]) for m in ("cdvm", *methods)}
        whole = np.mean([everything[s] for s, _ in group if s in everything])
        way = [(f["cdvm"] - f["random"], everything[s] - f["random"]) for s, f in group if s in everything]
        long = [won / length for won, length in way if length >= 0.01]
        above = np.mean([f["cdvm"] > f["random"] for _, f in group])
        first = np.mean([all(f["cdvm"] > f[m] for m in methods if m in f) for _, f in group])
        closed = f"{np.mean(long):.0%}" if long else ""
        cells = [
            rows,
            f"{noise:.0%}",
            model,
            f"{budget:.0%}",
            len(group),
            *(f"{m:.4f}" for m in means.values()),
        ]
        cells += [f"{whole:.4f}", closed, f"{above:.0%}", f"{first:.0%}"]
        text.append("| " + " | ".join(map(str, cells)) + " |")
    (out / "README.md").write_text("# Rows for the models people use\n\n" + "\n".join(text) + "\n")
    print("\n".join(text))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m perf.models", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/models"))
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS))
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--budgets", type=float, nargs="+", default=list(BUDGETS))
    parser.add_argument("--peers", nargs="*", default=list(PEERS))
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--splits", type=int, nargs="+", default=list(range(10)))
    parser.add_argument("--noise", type=float, default=0.0, help="fraction of the labels made wrong")
    parser.add_argument("--effort", choices=["medium", "high"], default="medium")
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--table", action="store_true", help="write README.md of the lines there are")
    options = parser.parse_args()
    if options.table:
        return table(options.out)
    warnings.simplefilter("ignore")
    run(options)


if __name__ == "__main__":
    main()
