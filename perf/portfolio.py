"""Ways of choosing rows for the models people use, on tables to tune on: ``python -m perf.portfolio``.

For every table, split, model and budget the sets that :class:`cdvm.pruner.portfolio.Portfolio` compares are
made, the model is trained on each, and its accuracy on rows that had no part in choosing is written down, a
line of JSON each, beside what the portfolio keeps. ``--summary`` reads the lines back: mean accuracy of each
way, the fraction of the way from random rows to all rows, how often the answer is above random rows.

Tables are those of ``tuning/`` in ``CDVM_DATA_HOME``; a line that is there is not computed again.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.neural_network import MLPClassifier

from cdvm import CDVM
from cdvm.data.split import Split
from cdvm.evaluation.scoring import evaluate_sets
from cdvm.learners import ForestLearner, Learner, make_learner
from cdvm.learners.relatives import proxy_for
from cdvm.pruner.grounds import find_grounds
from cdvm.pruner.portfolio import Portfolio
from perf.data import home
from perf.kept import keep, read

TABLES = (
    "phoneme",
    "ring",
    "fried",
    "page-blocks0",
    "optdigits",
    "marketing",
    "banana",
    "letter",
    "2dplanes",
)
BUDGETS = (0.01, 0.05, 0.1, 0.2, 0.3)
Key = tuple[str, int, int, str, float]


def principal(name: str) -> Any:
    if name == "lightgbm":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(random_state=0, verbose=-1)
    return {
        "boosting": HistGradientBoostingClassifier(random_state=0),
        "forest": RandomForestClassifier(random_state=0),
        "compiled": ForestLearner(100),
        "mlp": MLPClassifier(random_state=0),
        "neighbors": "neighbors",
        "logistic": "logistic",
    }[name]


def load(name: str, n_rows: int, number: int, noise: float = 0.0) -> Split:
    """``n_rows`` to choose from and 4,000 others to test on, standardised."""
    import pandas as pd

    folder = home()
    assert folder is not None, "set CDVM_DATA_HOME to the directory that holds tuning/"
    frame = pd.read_csv(folder / "tuning" / f"{name}.csv.gz").drop(columns=["Y", "y"], errors="ignore")
    y = pd.factorize(frame.iloc[:, -1], sort=True)[0]
    X = pd.get_dummies(frame.iloc[:, :-1]).to_numpy(np.float64)
    rng = np.random.default_rng(100 + number)
    order = rng.permutation(len(y))
    n_rows = min(n_rows, int(0.65 * len(y)))
    train, test = order[:n_rows], order[n_rows : n_rows + 4000]
    given = y[train].copy()
    wrong = rng.random(n_rows) < noise
    given[wrong] = (given[wrong] + rng.integers(1, y.max() + 1, wrong.sum())) % (y.max() + 1)
    split = Split.from_arrays(
        X[train], given, X_test=X[test], y_test=y[test], validation="out_of_bag", random_state=0
    )
    return split.standardized()


def measure(split: Split, name: str, proxy: Learner | None, number: int, options: argparse.Namespace) -> Any:
    """A line for every budget."""
    learner = make_learner(principal(name))
    proxy = proxy or proxy_for(learner)
    started = time.perf_counter()
    pruner = CDVM(proxy, effort="low", random_state=number, n_jobs=options.jobs).fit_split(split)
    grounds = find_grounds(split, split, proxy, seed=number, n_jobs=options.jobs)
    shared = time.perf_counter() - started
    test = [(split.X_test, split.y_test)]
    everything = evaluate_sets(split, learner, [np.arange(split.n_rows)], *test, n_jobs=options.jobs).item()
    portfolio = Portfolio(grounds, learner, proxy, options.effort, seed=number, n_jobs=options.jobs)
    for budget in options.budgets:
        started = time.perf_counter()
        proposals = portfolio.propose(pruner.select(budget))
        kept = portfolio.decide(proposals)
        seconds = time.perf_counter() - started
        sets = [p.selection.rows for p in proposals]
        found = evaluate_sets(split, learner, [*sets, kept.rows], *test, n_jobs=options.jobs).ravel()
        ways = defaultdict(list)
        for p, accuracy in zip(proposals, found, strict=False):
            ways[p.name].append(accuracy)
        board = kept.leaderboard or ()
        yield {
            "budget": budget,
            "all": everything,
            "kept": float(found[-1]),
            "way": next(line.name for line in board if line.kept),
            "agreement": kept.agreement,
            "optimism": kept.optimism,
            "board": {line.name: round(line.score, 4) for line in board},
            "seconds": round(seconds, 1),
            "shared_seconds": round(shared, 1),
            "random_std": float(np.std(ways["random"], ddof=1)),
            **{way: float(np.mean(values)) for way, values in ways.items()},
        }


def summarise(path: Path) -> None:
    lines = read(path)
    ways = ["random", "program", "fractions", "kept", "all"]
    print(f"{'model':<10}{'budget':>7}{'n':>4}  " + "".join(f"{w:>11}" for w in ways) + "  closed  above")
    groups = defaultdict(list)
    for line in lines:
        groups[line["model"], line["budget"]].append(line)
        groups["every", line["budget"]].append(line)
    for (model, budget), group in sorted(groups.items()):
        means = [np.mean([g.get(w, np.nan) for g in group]) for w in ways]
        long = [g for g in group if g["all"] - g["random"] >= 0.01]
        closed = np.mean([(g["kept"] - g["random"]) / (g["all"] - g["random"]) for g in long]) if long else 0
        above = np.mean([g["kept"] > g["random"] for g in group])
        print(
            f"{model:<10}{budget:>7}{len(group):>4}  "
            + "".join(f"{m:>11.4f}" for m in means)
            + f"  {closed:>5.0%}  {above:>5.0%}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m perf.portfolio", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("portfolio.jsonl"))
    parser.add_argument("--tables", nargs="+", default=list(TABLES))
    parser.add_argument("--models", nargs="+", default=["lightgbm", "forest", "neighbors", "logistic"])
    parser.add_argument("--proxy", help="in place of the model's own")
    parser.add_argument("--budgets", type=float, nargs="+", default=list(BUDGETS))
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--splits", type=int, nargs="+", default=list(range(5)))
    parser.add_argument("--noise", type=float, default=0.0, help="fraction of the labels made wrong")
    parser.add_argument("--effort", choices=["medium", "high"], default="medium")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--summary", action="store_true")
    options = parser.parse_args()
    if options.summary:
        return summarise(options.out)
    warnings.simplefilter("ignore")
    done = {(line["table"], line["split"], line["rows"], line["model"]) for line in read(options.out)}
    for number in options.splits:
        for table in options.tables:
            split = load(table, options.rows, number, options.noise)
            for model in options.models:
                if (table, number, options.rows, model) in done:
                    continue
                proxy = None if options.proxy is None else make_learner(options.proxy)
                found = list(measure(split, model, proxy, number, options))
                head = {"table": table, "split": number, "rows": options.rows, "model": model}
                keep(options.out, *(head | line for line in found))
                told = (
                    f"{x['budget']:g}: {x['random']:.3f} {x['kept']:.3f} {x['way']} {x['seconds']:.0f}s;"
                    for x in found
                )
                print(table, number, model, *told, flush=True)


if __name__ == "__main__":
    main()
