"""Fashion-MNIST with the paper's network: ``python -m perf.cnn fill``, then ``rows``, then ``--table``.

*fill*: outcomes of the network on 1 % of the images, as many as ``--models``, into a store that a later run
goes on filling. *rows*: T from all outcomes there are, whole and cut to its largest entries, rows for every
budget, and the accuracy of networks trained on them, on random rows, on rows by ridge models, and on those
that ``CDVM(network)`` keeps by default. A line of JSON for each in ``cnn.jsonl``; what is there, of as many
models, is not computed again. ``--table`` writes ``cnn.md``.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from cdvm import (
    CDVM,
    Design,
    Outcomes,
    Program,
    RidgeLearner,
    Split,
    TorchLearner,
    evaluate_sets,
    random_sets,
    record_outcomes,
)
from cdvm.attribution.base import Attribution
from cdvm.attribution.implicit import ImplicitAttribution
from cdvm.optimize.rounding import top_rows
from cdvm.optimize.solvers.dispatch import solve
from perf.fashion import BUDGETS, CUTOFFS, INCLUSION, MODELS, components, images, parts_of
from perf.kept import keep, read

RANDOM = 3
DEFAULT = "*by default*: `CDVM(network)`, where random features propose and the network decides (where run);"
LIMIT = 60  # seconds for a program
CUT = {share: f"{share:.1%} of T" for share in CUTOFFS} | {1.0: "all of T"}


def network():
    """The paper's: two 3×3 convolutions of 24 and 64 channels, a layer of 256 units.

    Pooling comes before the rectifier, which gives the same numbers and leaves it a quarter of them.
    """
    import torch
    from torch import nn

    module = nn.Sequential(
        nn.Conv2d(1, 24, 3),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Conv2d(24, 64, 3),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(64 * 5 * 5, 256),
        nn.ReLU(),
        nn.Linear(256, 10),
    )
    return module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def cnn_learner() -> TorchLearner:
    return TorchLearner(network, learning_rate=1e-3, epochs=25, batch_size=64, input_shape=(1, 28, 28))


def fill(options: argparse.Namespace) -> None:
    split = images(options.quick)
    started = time.process_time()
    outcomes = record_outcomes(
        split,
        cnn_learner(),
        Design(split.n_rows, INCLUSION, seed=0),
        range(options.models),
        store=options.out / "cnn",
        n_jobs=options.jobs,
    )
    line = {"way": "fill", "models": outcomes.n_models, "core_seconds": time.process_time() - started}
    keep(options.out / "cnn.jsonl", line)
    print(line)


def ways(split: Split, options: argparse.Namespace) -> Iterator[tuple[str, float, Any]]:
    """Name, budget and how to find the rows, cheapest budgets first."""
    models = MODELS // (20 if options.quick else 1)

    @cache
    def by_network(share: float) -> Attribution:
        if share == 1:
            return ImplicitAttribution.from_outcomes(Outcomes.load(options.out / "cnn"))
        return by_network(1 if share == max(CUTOFFS) else max(CUTOFFS)).sparsify(share)

    @cache
    def ridge() -> Attribution:
        shown = components(options.quick)
        design = Design(shown.n_rows, INCLUSION, seed=0)
        own = record_outcomes(shown, RidgeLearner(), design, range(models), n_jobs=options.jobs)
        return ImplicitAttribution.from_outcomes(own)

    @cache
    def pruner() -> CDVM:
        return CDVM(cnn_learner(), n_models=models, random_state=0, n_jobs=options.jobs).fit_split(split)

    for budget in BUDGETS:
        size = round(budget * split.n_rows)
        for k, rows in enumerate(random_sets(split.n_rows, size, RANDOM)):
            yield f"random {k}", budget, lambda rows=rows: (rows, None)
        for share, name in CUT.items():
            yield name, budget, lambda size=size, share=share: chosen(by_network(share), size)
        yield "ridge", budget, lambda size=size: chosen(ridge(), size)
        yield "by default", budget, lambda size=size: (pruner().select(size).rows, None)
    yield "all rows", 1.0, lambda: (np.arange(split.n_rows), None)


def chosen(attribution: Attribution, size: int) -> tuple[np.ndarray, float]:
    """The rows of largest weight, and how far the weights are from the program's optimum, at most."""
    program = Program(attribution, size)
    found = solve(program, "first_order", time_limit=LIMIT)
    return top_rows(program, found.weights), found.gap


def rows(options: argparse.Namespace) -> None:
    split, path = images(options.quick), options.out / "cnn.jsonl"
    models = 0 if options.ways and "T" not in options.ways else Outcomes.load(options.out / "cnn").n_models
    known = [line for line in read(path) if line["models"] in (0, models)]
    done = {(line["way"], line.get("budget")) for line in known}
    for way, budget, find in ways(split, options):
        wanted = not options.ways or any(word in options.ways for word in way.split())
        if (way, budget) in done or budget not in options.budgets or not wanted:
            continue
        started, working = time.perf_counter(), time.process_time()
        found, gap = find()
        seconds = round(time.perf_counter() - started, 1)
        scores = evaluate_sets(
            split, cnn_learner(), [found], *parts_of(split), repeats=1, n_jobs=options.jobs
        )
        halves = dict(zip(("selection", "final"), scores.mean(axis=(1, 2)).tolist(), strict=True))
        counted = models if way in CUT.values() else 0
        line = {"way": way, "budget": budget, "rows": len(found), "models": counted}
        line |= halves | {"gap": gap, "seconds": seconds, "core_seconds": time.process_time() - working}
        keep(path, line)
        print(line, flush=True)


def page(out: Path) -> str:
    """What was found, as Markdown."""
    lines = read(out / "cnn.jsonl")
    models = max((line["models"] for line in lines), default=0)
    minutes = sum(line["core_seconds"] for line in lines) / 60
    lines = [line for line in lines if line["models"] in (0, models) and "budget" in line]
    ways = {line["way"] for line in lines}
    names = [name for name in (*CUT.values(), "ridge", "by default") if name in ways]
    gaps = [line["gap"] for line in lines if line.get("gap") is not None]
    solved = sum(gap <= 0.01 for gap in gaps)
    text = [
        "# Fashion-MNIST with the paper's network",
        "",
        f"{models:,} networks (the paper: 5,000) of two convolutions on {INCLUSION:.0%} of 60,000 images,",
        f"25 epochs; a row is in about {models * INCLUSION:.0f} of them. Rows by CDVM's program with its",
        "defaults from T, whole and cut to its largest entries, and by 5,000 ridge models of 64 components;",
        *[DEFAULT for name in names if name == "by default"],
        "accuracy of a network trained on them, on the half of the test images that chose and on the other;",
        f"random: {RANDOM} draws. Made by `python -m perf.cnn --jobs 1`, `fill` and then `rows`, in",
        f"{minutes:.0f} core minutes. A program has {LIMIT} s: {solved} of {len(gaps)} ended within 1 % of",
        f"the optimum, the others at most {max(gaps, default=0):.0%} from it.",
        "",
        "| rows kept | half | random, mean (least to most) | " + " | ".join(names) + " |",
        "| --- " * (3 + len(names)) + "|",
    ]
    tally: Counter[str] = Counter()
    for budget, some in groupby(sorted(lines, key=lambda line: line["budget"]), lambda line: line["budget"]):
        group = {line["way"]: line for line in some}
        if "all rows" in group:
            text += ["", "All rows: {selection:.4f} / {final:.4f}.".format(**group["all rows"])]
            continue
        for half in ("selection", "final"):
            draws = [line[half] for way, line in group.items() if way.startswith("random")]
            told = f"{np.mean(draws):.4f} ({min(draws):.4f} to {max(draws):.4f})" if draws else ""
            cells = [f"{group[name][half]:.4f}" if name in group else "" for name in names]
            text.append("| " + " | ".join([f"{budget:.0%}", half, told, *cells]) + " |")
        for score in [group[name]["final"] for name in CUT.values() if name in group]:
            tally["above" if score > max(draws) else "below" if score < min(draws) else "among"] += 1
    text += [
        "",
        f"On the final half rows by T are above all draws of random rows in {tally['above']} of",
        f"{tally.total()} cells, among them in {tally['among']}, below all in {tally['below']}.",
    ]
    return "\n".join(text) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m perf.cnn", description=__doc__)
    parser.add_argument("step", nargs="?", choices=["fill", "rows"])
    parser.add_argument("--models", type=int, default=500)
    parser.add_argument("--budgets", nargs="+", type=float, default=[*BUDGETS, 1.0])
    parser.add_argument("--ways", nargs="*", help="some of random, T, ridge, default, rows; by default all")
    parser.add_argument("--out", type=Path, default=Path("results/fashion_mnist"))
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--quick", action="store_true", help="3,000 images")
    parser.add_argument("--table", action="store_true", help="write cnn.md of the lines there are")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.step == "fill":
        fill(options)
    if options.step == "rows":
        rows(options)
    if options.table:
        (options.out / "cnn.md").write_text(page(options.out), encoding="utf-8")


if __name__ == "__main__":
    main()
