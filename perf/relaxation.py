"""What the relaxation leaves to rounding, and how empty T is: ``python -m perf.relaxation``.

In the paper's protocol, for each data set and budget, with the default alpha and kappa and with those that
CDVM5k's grid chose (read from ``results/paper``): the fraction of weights that are neither 0 nor 1, and how
much is lost by the rows of largest weight, and by those after the swap search. Losses are parts of the way
from random rows to the relaxed optimum, since an optimum may be 0. Below, small programs cut out of the same
T, where the exact program can be solved; and the entries of T that are nearly 0, for two inclusions. Lines of
JSON in ``results/program``; a repetition that is there is not computed again. ``--table`` writes the page.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from cdvm.benchmark.protocol import SIX, TABULAR, get_protocol
from cdvm.benchmark.results import Results
from cdvm.benchmark.task import Task
from cdvm.evaluation.comparison import random_sets
from cdvm.optimize.program import Program
from cdvm.optimize.rounding import loss_of, swap_search, top_rows
from cdvm.optimize.solvers.dispatch import solve
from perf.kept import Line, keep, read

WHOLE = 1e-6  # a weight as near as that to 0 or 1 is no fraction
SMALL = (60, 40)  # rows and evaluation rows of programs that are solved exactly
INCLUSIONS = (0.03, 0.1)
DRAWS = 20


def dense(task: Task, inclusion: float) -> np.ndarray:
    from cdvm import CDVM

    outcomes, _ = task.outcomes(5000, inclusion)
    pruner = CDVM(task.learner, n_jobs=1, progress=False, random_state=task.seed)
    return pruner.fit_outcomes(task.split, outcomes).attribution_.dense()


def random_objective(program: Program) -> float:
    """Mean objective of random rows."""
    sets = random_sets(program.n_rows, program.budget, DRAWS, seed=0)
    return float(np.mean([loss_of(program, rows, 0.0)[0] for rows in sets]))


def rounded(program: Program) -> dict[str, float]:
    """Fraction of weights that are neither 0 nor 1, and losses of rounding."""
    solution = solve(program, "interior_point")
    weights = solution.weights
    top = top_rows(program, weights)
    way = solution.objective - random_objective(program)
    losses = [
        (solution.objective - loss_of(program, rows, solution.bound)[0]) / way
        for rows in (top, swap_search(program, top))
    ]
    fractional = (weights > WHOLE) & (weights < 1 - WHOLE)
    return {"fractional": float(fractional.mean()), "top": losses[0], "swap": losses[1]}


def programs_of(
    T: np.ndarray, dataset: str, repetition: int, frame: pd.DataFrame
) -> list[tuple[str, Program]]:
    mine = frame[(frame["dataset"] == dataset) & (frame["repetition"] == repetition)]
    return [
        (name, Program(T, budget=int(line.budget), alpha=alpha, kappa=kappa))
        for line in mine.itertuples()
        for name, alpha, kappa in (("default", 0.5, "auto"), ("grid", line.alpha, line.kappa))
    ]


def exactly(T: np.ndarray, number: int) -> list[dict[str, float]]:
    """Small programs of random rows and evaluation rows, with the default alpha and kappa."""
    rng = np.random.default_rng(number)
    rows, columns = (rng.choice(size, few, replace=False) for size, few in zip(T.shape, SMALL, strict=True))
    found = []
    for budget in (6, 12, 18):
        program = Program(T[np.ix_(rows, columns)], budget=budget, alpha=0.5, kappa="auto")
        relaxed, exact = solve(program, "interior_point"), solve(program, "milp", time_limit=60.0)
        best = exact.objective
        top = top_rows(program, relaxed.weights)
        found.append(
            {
                "budget": budget,
                "relaxed above exact": program.gap(best, relaxed.objective),
                "top below exact": loss_of(program, top, best)[1],
                "swap below exact": loss_of(program, swap_search(program, top), best)[1],
                "swap is exact": float(loss_of(program, swap_search(program, top), best)[1] < 1e-6),
            }
        )
    return found


def emptiness(T: np.ndarray) -> dict[str, float]:
    size = np.abs(T)
    return {
        "below .01": float((size < 0.01).mean()),
        "below .02": float((size < 0.02).mean()),
        "below .05": float((size < 0.05).mean()),
        "standard deviation": float(T.std()),
        "largest": float(T.max()),
    }


def measure(dataset: str, repetition: int, chosen: pd.DataFrame) -> Iterator[Line]:
    """Weights of each program, small programs, and entries of T."""
    task = Task(get_protocol("paper"), dataset, repetition)
    for inclusion in INCLUSIONS if dataset in TABULAR else INCLUSIONS[:1]:
        T = dense(task, inclusion)
        yield {"part": "entries", "p": inclusion, **emptiness(T)}
        if inclusion != INCLUSIONS[0]:
            continue
        for name, program in programs_of(T, dataset, repetition, chosen):
            line = {"part": "weights", "alpha, kappa": name, "kept": program.budget, "alpha": program.alpha}
            yield line | rounded(program)
        yield from ({"part": "exact", **line} for line in exactly(T, repetition))


def run(given: argparse.Namespace) -> None:
    path = given.out / "lines.jsonl"
    done = {(line["dataset"], line["repetition"]) for line in read(path)}
    frame = Results.open(given.results).frame
    chosen = frame[frame["method"] == "CDVM5k"]
    for repetition in range(given.repetitions):
        for dataset in given.datasets:
            if (dataset, repetition) in done:
                continue
            with threadpool_limits(limits=1):
                lines = list(measure(dataset, repetition, chosen))
            keep(path, *({"dataset": dataset, "repetition": repetition} | line for line in lines))
            print(f"{dataset}, repetition {repetition}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m perf.relaxation", description=__doc__)
    parser.add_argument("--datasets", nargs="+", default=list(SIX))
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--results", type=Path, default=Path("results/paper"))
    parser.add_argument("--out", type=Path, default=Path("results/program"))
    parser.add_argument("--table", action="store_true", help="write README.md of the lines there are")
    given = parser.parse_args()
    if given.table:
        (given.out / "README.md").write_text(page(given.out), encoding="utf-8")
    else:
        run(given)


def page(out: Path) -> str:
    """What was found, as Markdown."""
    lines = pd.DataFrame(read(out / "lines.jsonl"))
    repetitions = lines["repetition"].nunique()
    weights, small, empty = (
        lines[lines["part"] == part].dropna(axis=1, how="all").drop(columns=["part", "repetition", "commit"])
        for part in ("weights", "exact", "entries")
    )
    weights, small = weights.astype({"kept": int}), small.astype({"budget": int})
    measured = ["fractional", "top", "swap"]
    by_dataset = weights.groupby(["dataset", "alpha, kappa"], sort=False)[measured].mean().reset_index()
    by_rows = weights.groupby(["kept", "alpha, kappa"], sort=False)[measured].mean().reset_index()
    grid = weights[weights["alpha, kappa"] == "grid"]
    by_alpha = grid.groupby("alpha")[measured].mean().reset_index()
    by_alpha.insert(1, "programs", grid.groupby("alpha").size().to_numpy())
    average = weights.groupby("alpha, kappa")["fractional"].mean()
    exact = small.drop(columns="dataset").groupby("budget").mean().reset_index()
    sparse = empty.groupby(["dataset", "p"], sort=False).mean().reset_index()
    first = sparse.set_index(["dataset", "p"])["below .01"]
    percent = dict.fromkeys([*measured, *exact.columns[1:], *sparse.columns[2:5]], ".1%")
    count = f"{repetitions} repetition{'s' * (repetitions > 1)}"
    parts = [
        "# The program: relaxation, rounding, and how empty T is",
        f"By `python -m perf.relaxation`: the paper's protocol, {count}, 5,000 models.",
        "*Fractional*: weights that are neither 0 nor 1, of all 1,000 rows. *Top*, *swap*: what the rows of "
        "largest weight lose, and what they lose after the swap search, of the way from random rows to the "
        "relaxed optimum.",
        f"With the default alpha and kappa {average['default']:.1%} of the weights are fractional, with "
        f"those the grid chose {average['grid']:.1%}; the paper states about 10 %, 6 to 23 % by data set. "
        "With an alpha below 1/2 influence beyond kappa counts against a set, and rounding loses most."
        + _told_of_zero(grid[grid["alpha"] == 0]),
        _markdown(by_dataset, percent),
        _markdown(by_rows, percent),
        _markdown(by_alpha, percent),
        "## Against the exact program",
        f"{SMALL[0]} random rows and {SMALL[1]} random evaluation rows of each T, default alpha and kappa, "
        f"solved exactly by HiGHS; means of {len(small) // 3} programs for each number of rows kept, "
        "relative to the exact optimum. The last column: how often the swap search found it.",
        _markdown(exact, percent),
        "## Entries of T",
        "Fractions of entries below a size in absolute value. The paper explains what CDVM lacks on nomao by "
        f"entries near 0, and raises p there. Below .01 are {first[('nomao', 0.03)]:.0%} on nomao and "
        f"{first.xs(0.03, level='p').drop('nomao').mean():.0%} on the others on average; with p = 0.1, where "
        f"entries have less noise, {first[('nomao', 0.1)]:.0%}.",
        _markdown(sparse, percent | {"standard deviation": ".4f", "largest": ".3f", "p": "g"}),
    ]
    return "\n\n".join(parts) + "\n"


def _told_of_zero(programs: pd.DataFrame) -> str:
    """Where alpha is 0 any weights without an excess are optimal, and the largest of them say nothing."""
    if programs.empty:
        return ""
    places = ", ".join(
        f"{d} at {k}" for d, k in sorted(set(zip(programs["dataset"], programs["kept"], strict=True)))
    )
    return (
        f" In {len(programs)} of the grid's programs ({places} rows) alpha is 0: any weights that exceed "
        "kappa nowhere are optimal, and the largest of them may say nothing. The worst of these loses "
        f"{programs['top'].max():.0f} times the way before rows are exchanged, which the means below show."
    )


def _markdown(table: pd.DataFrame, formats: dict[str, str]) -> str:
    lines = [list(table.columns), ["---"] * len(table.columns)]
    lines += [
        [format(value, formats.get(str(name), "")) for name, value in line.items()]
        for line in table.to_dict("records")
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    main()
