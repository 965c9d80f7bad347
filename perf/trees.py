"""Compiled trees against the same kind of models one at a time: ``python -m perf.trees``.

Peers, each with about the settings of ours: scikit-learn through joblib, which is what ``SklearnLearner``
does; scikit-learn's tree builder called directly (trees only); LightGBM on subsets of one binned ``Dataset``,
where it is installed. All sides train on the same subsets, answer for all rows of the table and have all
cores; repeats take turns, so that other load meets all alike, and the fastest of three counts. Accuracies are
of the models both sides trained, on the rows these did not see. Peers' times on few models are scaled.

Tables are read from ``tuning/`` in ``CDVM_DATA_HOME``; without, generated ones of the same shape stand in.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from cdvm._runtime.parallel import run_tasks
from cdvm.data.split import Split
from cdvm.learners import BoostingLearner, ForestLearner, Learner, SklearnLearner, TreeLearner
from cdvm.sampling import Design, Subsets
from perf.data import home
from perf.kept import keep, machine

SHAPES = {  # features and classes
    "phoneme": (5, 2),
    "ring": (20, 2),
    "banana": (2, 2),
    "page-blocks0": (10, 2),
    "segment": (19, 7),
    "optdigits": (64, 10),
    "marketing": (13, 9),
    "letter": (16, 26),
    "fried": (10, 2),
}
Run = Callable[[Split, Subsets], np.ndarray]


def load(name: str, n_rows: int) -> Split:
    folder = home()
    if folder is not None and (folder / "tuning" / f"{name}.csv.gz").exists():
        import pandas as pd

        frame = pd.read_csv(folder / "tuning" / f"{name}.csv.gz").drop(columns=["Y"], errors="ignore")
        X = frame.iloc[:, :-1].to_numpy(np.float64)
        y = pd.factorize(frame.iloc[:, -1], sort=True)[0]
    else:
        d, k = SHAPES[name]
        X, y = make_classification(
            2 * n_rows, d, n_informative=max(2, min(d, 8)), n_redundant=0, n_classes=k, random_state=0,
            n_clusters_per_class=1 if d < 4 else 2,
        )  # fmt: skip
    order = np.random.default_rng(0).permutation(len(y))[:n_rows]
    return Split.from_arrays(X[order], y[order], validation="out_of_bag").out_of_bag(np.arange(len(order)))


def batched(learner: Learner) -> Run:
    def run(split: Split, subsets: Subsets) -> np.ndarray:
        trainer = learner.bind(split, split.X)
        size = min(trainer.chunk, max(1, len(subsets) // 8))
        tasks = [(slice(k, k + size),) for k in range(0, len(subsets), size)]
        answer = np.empty((len(subsets), split.n_rows), dtype=np.int32)
        for k, labels in run_tasks(lambda part: trainer.predict(subsets[part]), tasks, prefer=trainer.prefer):
            answer[tasks[k][0]] = labels
        return answer

    return run


def one_by_one(estimator: Any) -> Run:
    """The path of ``SklearnLearner``: processes, one fit a model."""

    def run(split: Split, subsets: Subsets) -> np.ndarray:
        trainer = SklearnLearner(estimator).bind(split, split.X)
        parts = np.array_split(np.arange(len(subsets)), min(len(subsets), 2 * (os.cpu_count() or 1)))
        return np.concatenate(Parallel(n_jobs=-1)(delayed(trainer.predict)(subsets[p]) for p in parts))

    return run


def builder(split: Split, subsets: Subsets) -> np.ndarray:
    """scikit-learn's compiled tree builder and walker, without what surrounds them."""
    X, answers = split.X.astype(np.float32), np.empty((len(subsets), split.n_rows), dtype=np.int32)

    def fit(k: int) -> None:
        rows = subsets.rows(k)
        model = DecisionTreeClassifier(random_state=k).fit(X[rows], split.y[rows], check_input=False)
        found = model.tree_.predict(X).reshape(len(X), -1).argmax(axis=1)
        answers[k] = model.classes_[found]

    Parallel(n_jobs=-1, prefer="threads")(delayed(fit)(k) for k in range(len(subsets)))
    return answers


def lightgbm(n_trees: int, **options: Any) -> Run:
    def run(split: Split, subsets: Subsets) -> np.ndarray:
        import lightgbm as lgb

        k = split.n_classes
        options_ = {"verbose": -1, "num_threads": 1, **options}
        options_ |= {"objective": "binary"} if k == 2 else {"objective": "multiclass", "num_class": k}
        whole = lgb.Dataset(split.X, split.y, params={"verbose": -1, "max_bin": 63}, free_raw_data=False)
        whole.construct()
        answers = np.empty((len(subsets), split.n_rows), dtype=np.int32)

        def fit(m: int) -> None:
            model = lgb.train(options_, whole.subset(subsets.rows(m)), n_trees)
            fractions = model.predict(split.X, num_threads=1)
            answers[m] = fractions > 0.5 if k == 2 else fractions.argmax(axis=1)

        Parallel(n_jobs=-1, prefer="threads")(delayed(fit)(m) for m in range(len(subsets)))
        return answers

    return run


def contests(n_trees: int, rounds: int) -> list[tuple[str, Run, dict[str, Run]]]:
    has_lightgbm = importlib.util.find_spec("lightgbm") is not None
    boosted = {"learning_rate": 0.2, "num_leaves": 8, "min_data_in_leaf": 5, "lambda_l2": 0.1}
    bagged = {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.632, "feature_fraction_bynode": 0.4}
    hist = HistGradientBoostingClassifier(
        max_iter=rounds, learning_rate=0.2, max_leaf_nodes=8, min_samples_leaf=5, l2_regularization=0.1,
        early_stopping=False,
    )  # fmt: skip
    found: list[tuple[str, Run, dict[str, Run]]] = [
        (
            "tree",
            batched(TreeLearner()),
            {"scikit-learn": one_by_one(DecisionTreeClassifier()), "its builder": builder},
        ),
        (
            f"forest of {n_trees}",
            batched(ForestLearner(n_trees)),
            {"scikit-learn": one_by_one(RandomForestClassifier(n_trees))},
        ),
        (f"boosting, {rounds}", batched(BoostingLearner(rounds)), {"scikit-learn": one_by_one(hist)}),
    ]
    if has_lightgbm:
        found[1][2]["LightGBM"] = lightgbm(n_trees, **bagged, min_data_in_leaf=1, num_leaves=200)
        found[2][2]["LightGBM"] = lightgbm(rounds, **boosted)
    return found


def accuracy(split: Split, subsets: Subsets, labels: np.ndarray) -> float:
    outside = subsets.members.toarray() == 0
    return float(((labels == split.y) & outside).sum() / outside.sum())


def compare(name: str, n_rows: int, size: int, options: argparse.Namespace) -> None:
    split = load(name, n_rows)
    design = Design(split.n_rows, size / split.n_rows, "fixed", seed=1)
    subsets = design.take(range(options.models))
    for what, ours, others in contests(options.trees, options.rounds):
        runs = {"ours": (ours, subsets)}
        for peer, run in others.items():
            start = time.perf_counter()
            run(split, subsets[:2])  # starts the processes, imports the libraries
            start = time.perf_counter()
            run(split, subsets[:2])
            count = int(2 * options.seconds / (time.perf_counter() - start))
            runs[peer] = (run, subsets[: max(2, min(options.models, count))])
        ours(split, subsets[:2])
        seconds: dict[str, list[float]] = {peer: [] for peer in runs}
        labels = {}
        for _ in range(3):
            for peer, (run, models) in runs.items():
                start = time.perf_counter()
                labels[peer] = run(split, models)
                seconds[peer].append((time.perf_counter() - start) / len(models))
        each = {peer: min(times) for peer, times in seconds.items()}
        told = {"table": name, "rows": split.n_rows, "size": size, "what": what, "ours": each["ours"]}
        line = f"{name:<13} {size:>5} {what:<13} {1e3 * each['ours']:>8.2f}"
        for peer, (_, models) in runs.items():
            if peer != "ours":
                both = [accuracy(split, models, labels[p][: len(models)]) for p in ("ours", peer)]
                line += f"   {peer} {each[peer] / each['ours']:>5.0f}x  {both[0]:.3f} / {both[1]:.3f}"
                more = {"peer": peer, "theirs": each[peer], "models": len(models), "accuracies": both}
                keep(options.out, told | more | {"machine": machine()})
        print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m perf.trees", description=__doc__)
    parser.add_argument("--tables", nargs="+", default=["phoneme", "ring", "segment", "optdigits", "letter"])
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--sizes", type=int, nargs="+", default=[150])
    parser.add_argument("--models", type=int, default=200, help="of ours; peers train what time allows")
    parser.add_argument("--seconds", type=float, default=4.0, help="of one repeat of a peer, about")
    parser.add_argument("--trees", type=int, default=50, help="of a forest")
    parser.add_argument("--rounds", type=int, default=50, help="of boosting")
    parser.add_argument("--out", type=Path, help="a file that lines of what is measured are added to")
    options = parser.parse_args()
    print(machine())
    print(
        f"{options.rows} rows; milliseconds a model, all cores; peers in multiples; accuracy ours / theirs\n"
    )
    for name in options.tables:
        for size in options.sizes:
            if size < load(name, options.rows).n_rows / 2:
                compare(name, options.rows, size, options)


if __name__ == "__main__":
    main()
