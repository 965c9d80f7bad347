"""Are the constants of refining well chosen? ``python -m perf.constants``, on tables to tune on.

Every table of ``tuning/`` in ``CDVM_DATA_HOME`` that is named is split as a protocol has it (``clean``:
converged logistic regression, clean labels; ``paper``: the paper's model, a tenth of the labels wrong), CDVM
with its defaults chooses the rows to begin with, and they are refined with each constant changed alone. A
line of JSON for each search goes to ``--out``; what is there is not run again. ``--summary`` prints test
accuracy less that of today's constants, the mean over tables, splits and budgets with its standard error.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from cdvm import CDVM, evaluate_sets, refine
from cdvm.benchmark.protocol import Protocol, get_protocol
from cdvm.evaluation.refinement import scorer, search
from perf.data import tuning_split
from perf.kept import keep, read

TABLES = ("segment", "german", "phoneme", "optdigits", "page-blocks0", "fried", "digits")
BUDGETS = (50, 200)
FITS = 1500
VARIANTS: dict[str, tuple[Any, dict[str, float]]] = {
    "32 sets a round": (search, {"_PROPOSALS": 32}),
    "128 sets a round": (search, {"_PROPOSALS": 128}),
    "exchange 1/40": (search, {"_FRACTION": 0.025}),
    "exchange 1/10": (search, {"_FRACTION": 0.1}),
    "memory .8": (search, {"_MEMORY": 0.8}),
    "memory .95": (search, {"_MEMORY": 0.95}),
    "held back 1/5": (scorer, {"_HELD_BACK": 5}),
    "held back 1/20": (scorer, {"_HELD_BACK": 20}),
    "f = 4": (scorer, {"_GENTLEST": 4.0, "_STEEPEST": 4.0}),
    "f = 8": (scorer, {"_GENTLEST": 8.0, "_STEEPEST": 8.0}),
    "f = 16": (scorer, {"_GENTLEST": 16.0, "_STEEPEST": 16.0}),
    "f = 2 / spread": (scorer, {"_SPREADS": 2.0}),
    "f = 3 / spread": (scorer, {"_SPREADS": 3.0}),
    "f = 6 / spread": (scorer, {"_SPREADS": 6.0}),
}
TODAY = "today"


@contextmanager
def changed(name: str) -> Iterator[None]:
    """One constant has another value within."""
    if name == TODAY:
        yield
        return
    module, values = VARIANTS[name]
    with ExitStack() as stack:
        for constant, value in values.items():
            stack.callback(setattr, module, constant, getattr(module, constant))
            setattr(module, constant, value)
        yield


def measure(table: str, protocol: Protocol, number: int, variants: list[str], out: Path) -> None:
    """Every variant that is not there yet, on one split of one table."""
    done = {(r["variant"], r["budget"]) for r in read(out) if _where(r) == (table, protocol.name, number)}
    split, learner = tuning_split(table, protocol, number), protocol.learner(table, number)
    test = (split.X_test, split.y_test)
    pruner = CDVM(
        learner, effort="low", n_models=2000, random_state=number, n_jobs=1, progress=False
    ).fit_split(split)
    for budget in BUDGETS:
        size = max(1, round(budget * split.n_rows / protocol.train))
        start = pruner.select(size)
        for name in (TODAY, *variants):
            if (name, budget) in done:
                continue
            with changed(name):
                better = refine(start, split, learner, fits=FITS, seed=number, n_jobs=1, progress=False)
            sets = [start.rows, better.rows]
            found = evaluate_sets(
                split, learner, sets, test, repeats=3, seed=number, n_jobs=1, progress=False
            )
            before, after = found[0].mean(axis=1).tolist()
            line = {"table": table, "protocol": protocol.name, "split": number, "budget": budget}
            line |= {"variant": name, "start": before, "refined": after, "fits": better.fits}
            keep(out, line)


def _where(line: dict[str, Any]) -> tuple[str, str, int]:
    return line["table"], line["protocol"], line["split"]


def summary(found: list[dict[str, Any]]) -> str:
    """A table of differences to today's constants, over the searches that every variant has."""
    by: dict[tuple[Any, ...], dict[str, float]] = defaultdict(dict)
    starts: dict[tuple[Any, ...], float] = {}
    for line in found:
        by[(*_where(line), line["budget"])][line["variant"]] = line["refined"]
        starts[(*_where(line), line["budget"])] = line["start"]
    told = []
    for protocol in sorted({key[1] for key in by}):
        variants = list(dict.fromkeys(line["variant"] for line in found if line["protocol"] == protocol))
        whole = [key for key in by if key[1] == protocol and set(variants) <= set(by[key])]
        if len(whole) < 2:
            continue
        today = np.array([by[key][TODAY] for key in whole])
        tables = len({key[0] for key in whole})
        start = np.mean([starts[key] for key in whole])
        told.append(
            f"{protocol}: {len(whole)} starts on {tables} tables, accuracy {start:.4f}, refined with today's "
            f"constants {today.mean():.4f}\n\n| constant | change | ± |\n| --- | --- | --- |"
        )
        for name in variants:
            if name == TODAY:
                continue
            apart = np.array([by[key][name] for key in whole]) - today
            error = apart.std(ddof=1) / np.sqrt(len(apart))
            told.append(f"| {name} | {apart.mean():+.4f} | {error:.4f} |")
    return "\n".join(told)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=list(TABLES))
    parser.add_argument("--protocols", nargs="+", default=["clean", "paper"])
    parser.add_argument(
        "--variants", nargs="+", choices=list(VARIANTS), default=list(VARIANTS), metavar="NAME"
    )
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("constants.jsonl"))
    parser.add_argument("--summary", action="store_true")
    given = parser.parse_args()
    if not given.summary:
        with threadpool_limits(limits=1):
            for number in range(given.splits):
                for table in given.tables:
                    for protocol in given.protocols:
                        measure(table, get_protocol(protocol), number, given.variants, given.out)
    print(summary(read(given.out)))


if __name__ == "__main__":
    main()
