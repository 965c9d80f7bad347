"""How exactly must the programs of the paper's grid be solved? ``python -m perf.grid``.

Tables to tune on (``tuning/`` in ``CDVM_DATA_HOME``), each split as in the paper's protocol: 1,000 training
and 500 validation rows with a tenth of the labels wrong, 500 clean test rows, the paper's model, 5,000 models
of 3 %. The 6 × 20 programs of the grid are solved to several tolerances and rounded to the rows of largest
weight, and each set is scored on the validation rows by five models. Against 1e-8: how many sets are the
same, how many rows they share, how often the rows kept in the end are the same (the chosen program is solved
to 1e-8), their test accuracy and that of the chosen set itself, and processor seconds.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from cdvm import CDVM, evaluate_sets
from cdvm.benchmark.protocol import get_protocol
from cdvm.learners.paper import PaperLearner
from cdvm.optimize.path import solve_path
from cdvm.optimize.rounding import top_rows
from cdvm.optimize.solvers.dispatch import solve
from cdvm.pruner.by_budget import build_program
from cdvm.pruner.settings import GRID_ALPHAS, GRID_KAPPAS
from perf.data import tuning_split

TABLES = ("segment", "german", "phoneme", "digits", "fried", "optdigits", "page-blocks0")
WAYS = (
    ("interior_point", 1e-8),
    ("interior_point", 1e-4),
    ("interior_point", 1e-3),
    ("interior_point", 1e-2),
)


@dataclass
class Found:
    """What one way of solving gave: sets by program, their validation accuracies, seconds."""

    sets: list[np.ndarray]
    scores: np.ndarray
    seconds: float


def solved(pruner: CDVM, method: str, tolerance: float, learner: PaperLearner, seed: int) -> Found:
    base, budgets = pruner_program(pruner), get_protocol("paper").budgets
    sizes = [round(b * base.n_rows / 1000) for b in budgets]
    started = time.process_time()
    solutions = solve_path(
        base, sizes, GRID_ALPHAS, GRID_KAPPAS, method=method, tolerance=tolerance, n_jobs=1, progress=False
    )
    seconds = time.process_time() - started
    sets = [
        top_rows(base.replace(budget=s, alpha=a, kappa=k), solution.weights)
        for (s, a, k), solution in solutions.items()
    ]
    split = pruner.split_
    distinct = {rows.tobytes(): rows for rows in sets}
    scores = evaluate_sets(
        split,
        learner,
        list(distinct.values()),
        split.evaluation,
        repeats=5,
        seed=seed,
        n_jobs=1,
        progress=False,
    )[0].mean(axis=1)
    score = dict(zip(distinct, scores, strict=True))
    return Found(sets, np.array([score[rows.tobytes()] for rows in sets]).reshape(len(sizes), -1), seconds)


def pruner_program(pruner: CDVM):
    return build_program(pruner.attribution_, progress=False)


def first_best(found: Found) -> list[np.ndarray]:
    """The set that the validation rows choose for each budget."""
    per = found.scores.shape[1]
    return [found.sets[k * per + int(scores.argmax())] for k, scores in enumerate(found.scores)]


def kept(pruner: CDVM, found: Found) -> list[np.ndarray]:
    """The rows kept for each budget: those of the chosen program, solved to 1e-8."""
    base, budgets = pruner_program(pruner), get_protocol("paper").budgets
    answer = []
    for b, scores in zip(budgets, found.scores, strict=True):
        place = int(scores.argmax())
        alpha, kappa = GRID_ALPHAS[place // len(GRID_KAPPAS)], GRID_KAPPAS[place % len(GRID_KAPPAS)]
        program = base.replace(budget=round(b * base.n_rows / 1000), alpha=alpha, kappa=kappa)
        answer.append(top_rows(program, solve(program, "interior_point").weights))
    return answer


def measure(name: str, seed: int) -> list[dict[str, float]]:
    """A line for every way of solving."""
    split = tuning_split(name, get_protocol("paper"), seed)
    learner = PaperLearner(init_seed=seed)
    pruner = CDVM(learner, random_state=seed, n_jobs=1, progress=False).fit_split(split)
    lines: list[dict[str, float]] = []
    exact = None
    for method, tolerance in WAYS:
        found = solved(pruner, method, tolerance, learner, seed)
        rows = kept(pruner, found)
        sets = [*rows, *first_best(found)]
        accuracy, itself = evaluate_sets(
            split, learner, sets, (split.X_test, split.y_test), seed=seed, n_jobs=1, progress=False
        )[0].reshape(2, -1)
        exact = exact or (found, rows, accuracy)
        same = [np.array_equal(a, b) for a, b in zip(found.sets, exact[0].sets, strict=True)]
        shared = [
            np.isin(a, b).mean() for a, b in zip(found.sets, exact[0].sets, strict=True) if len(a) == len(b)
        ]
        lines.append(
            {
                "seconds": found.seconds,
                "same sets": float(np.mean(same)),
                "rows shared": float(np.mean(shared)),
                "largest change of validation accuracy": float(np.abs(found.scores - exact[0].scores).max()),
                "same rows kept": float(
                    np.mean([np.array_equal(a, b) for a, b in zip(rows, exact[1], strict=True)])
                ),
                "validation": float(found.scores.max(axis=1).mean()),
                "test": float(accuracy.mean()),
                "test change": float((accuracy - exact[2]).mean()),
                "test change, the set itself": float((itself - exact[2]).mean()),
            }
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=list(TABLES))
    parser.add_argument("--splits", type=int, default=2)
    given = parser.parse_args()
    runs = []
    with threadpool_limits(limits=1):
        for name in given.tables:
            for seed in range(given.splits):
                runs.append(measure(name, seed))
                for (method, tolerance), line in zip(WAYS, runs[-1], strict=True):
                    print(f"{name} {seed} {method} {tolerance:g}: " + _told(line), flush=True)
    print(f"\nmeans of {len(runs)} splits; test change ± standard error")
    for k, (method, tolerance) in enumerate(WAYS):
        line = {key: float(np.mean([run[k][key] for run in runs])) for key in runs[0][k]}
        changes = np.array([[v for key, v in run[k].items() if "test change" in key] for run in runs])
        error = changes.std(axis=0, ddof=1) / np.sqrt(len(runs)) if len(runs) > 1 else np.zeros(2)
        print(f"{method} {tolerance:g}: {_told(line)} (± {error[0]:.4f}, {error[1]:.4f})")


def _told(line: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in line.items())


if __name__ == "__main__":
    main()
