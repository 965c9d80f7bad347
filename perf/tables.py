"""Tables as people have them: what is kept of each, beside random rows, on rows that had no part in choosing.

    python -m perf.tables [--seeds 3] [--models 2000] [--out results/tables]

Needs ``CDVM_DATA_HOME`` with adult.data.gz, bbc-text.csv.gz and the folder tuning. A table is pruned by one
command, nothing is encoded by hand; estimators of other libraries get the DataFrame through ``CDVM``.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import ttest_1samp

HOME = Path(os.environ.get("CDVM_DATA_HOME", "data"))
ADULT = (
    "age,workclass,fnlwgt,education,education_num,marital,occupation,relationship,race,sex,gain,loss,hours,"
    "country,income"
)


def tables(folder: Path) -> dict[str, list[str]]:
    """Words of each command."""
    adult = folder / "adult.csv"
    adult.write_bytes(f"{ADULT}\n".encode() + gzip.decompress((HOME / "adult.data.gz").read_bytes()).strip())
    dates = folder / "dates.jsonl.gz"
    dated(4000).to_json(dates, orient="records", lines=True, date_format="iso")
    tuning = HOME / "tuning"
    return {
        "german": [str(tuning / "german.csv.gz"), "--target", "class"],
        "mushroom": [str(tuning / "mushroom.csv.gz"), "--target", "class"],
        "adult, raw": [str(adult), "--target", "income"],
        "dates, 20 % missing": [str(dates), "--target", "late"],
        "bbc, raw texts": [str(HOME / "bbc-text.csv.gz"), "--target", "category"],
        "bbc, raw texts, refined": [str(HOME / "bbc-text.csv.gz"), "--target", "category", "--refine"],
        "page-blocks0": [
            *[str(tuning / "page-blocks0.csv.gz"), "--target", "class"],
            *["--metric", "balanced_accuracy", "--refine"],
        ],
    }


def dated(n: int) -> pd.DataFrame:
    """Orders with a date, numbers and names, a fifth of the cells missing."""
    rng = np.random.default_rng(0)
    when = pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 730 * 24, n), unit="h")
    frame = pd.DataFrame(
        {
            "ordered": when.strftime("%Y-%m-%d %H:%M"),
            "weight": rng.gamma(2.0, 3.0, n),
            "carrier": rng.choice(["north", "south", "east", "west"], n),
            "express": rng.random(n) < 0.3,
        }
    )
    hard = np.sin(2 * np.pi * when.dayofyear / 365) + 0.8 * (when.dayofweek >= 5) + 0.15 * frame["weight"]
    hard += (frame["carrier"] == "east") * 1.0 - frame["express"] * 1.2 + rng.normal(scale=0.7, size=n)
    frame = frame.astype(object).mask(rng.random(frame.shape) < 0.2)
    return frame.assign(late=np.where(hard > np.median(hard), "late", "on time"))


def prune(words: list[str], out: Path) -> dict[str, object]:
    """Run the command in this process, and read its summary."""
    from cdvm.cli import main

    sys.argv = ["cdvm", "prune", *words, "--out", str(out)]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as errors:
        try:
            main()
        except SystemExit as stopped:
            if stopped.code:
                raise RuntimeError(errors.getvalue()) from stopped
    return json.loads((out / "summary.json").read_text())


def by_command(seeds: int, models: int) -> list[str]:
    lines = ["| table | metric | keep | kept | random | all rows | kept − random | p | seconds |"]
    lines.append("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for title, words in tables(folder).items():
            found, seconds = [], []
            for seed in range(seeds):
                out, started = folder / f"{len(lines)}-{seed}", time.perf_counter()
                more = ["--keep", "5%", "--test", "30%", "--models", str(models), "--seed", str(seed)]
                summary = prune([*words, *more], out)
                seconds.append(time.perf_counter() - started)
                found.append(summary["budgets"]["5pct"]["evaluated_with"][summary["learner"]]["test"])
            gains = np.array([line["kept"] - line["random"] for line in found])
            cells = [np.mean([line[key] for line in found]) for key in ("kept", "random", "all_rows")]
            lines.append(
                f"| {title} | {summary['metric']} | 5 % | "
                + " | ".join(f"{c:.3f}" for c in cells)
                + f" | {told(gains)} | {np.mean(seconds):.0f} |"
            )
            print(lines[-1], flush=True)
    return lines


def estimators() -> dict[str, tuple[str, object]]:
    import catboost
    import lightgbm
    import xgboost
    from sklearn.compose import ColumnTransformer, make_column_selector
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = make_column_selector(dtype_include="number")
    names = make_column_selector(dtype_exclude="number")
    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), numbers),
            ("names", OneHotEncoder(handle_unknown="ignore"), names),
        ]
    )
    return {
        "ColumnTransformer pipeline": ("german", make_pipeline(columns, LogisticRegression(max_iter=300))),
        "HistGradientBoosting": ("german", HistGradientBoostingClassifier(max_iter=30, min_samples_leaf=5)),
        "LightGBM": ("german", lightgbm.LGBMClassifier(n_estimators=30, min_child_samples=5)),
        "CatBoost": ("german", catboost.CatBoostClassifier(iterations=30, depth=4)),
        "XGBoost, 26 classes": ("letter", xgboost.XGBClassifier(n_estimators=5, max_depth=4)),
    }


def by_estimator(seeds: int, models: int) -> list[str]:
    """The DataFrame and the estimator through ``CDVM``, with medium effort."""
    from cdvm import CDVM, compare_with_random
    from cdvm.data.split import Split
    from cdvm.learners import make_learner
    from cdvm.learners.needs import prepare_for

    lines = ["| estimator | table | keep | kept | random | all rows | kept − random | p | seconds |"]
    lines.append("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for title, (table, estimator) in estimators().items():
        whole, made, found, seconds = read(table), make_learner(estimator), [], []
        for seed in range(seeds):
            frame = whole.sample(min(len(whole), 4000), random_state=seed).reset_index(drop=True)
            X, y = frame.drop(columns="class"), frame["class"]
            split = Split.from_arrays(
                X,
                y,
                validation="out_of_bag",
                test_size=0.3,
                random_state=seed,
                prepare=prepare_for(estimator, made, X),
            )
            started = time.perf_counter()
            pruner = CDVM(estimator, effort="medium", n_models=models, random_state=seed)
            keep = pruner.fit_split(split).select(0.1)
            seconds.append(time.perf_counter() - started)
            found.append(compare_with_random(split, made, [keep], draws=20)[0]["test"])
        gains = np.array([line.kept - line.random for line in found])
        cells = [np.mean([getattr(line, key) for line in found]) for key in ("kept", "random", "all_rows")]
        lines.append(
            f"| {title} | {table} | 10 % | " + " | ".join(f"{c:.3f}" for c in cells) + f" | {told(gains)} "
            f"| {np.mean(seconds):.0f} |"
        )
        print(lines[-1], flush=True)
    return lines


def read(table: str) -> pd.DataFrame:
    """A tuning table; of german, a tenth of the cells missing."""
    frame = pd.read_csv(HOME / "tuning" / f"{table}.csv.gz")
    if table == "german":
        holes = np.random.default_rng(0).random(frame.shape) < 0.1
        holes[:, frame.columns.get_loc("class")] = False
        frame = frame.mask(holes)
    return frame


def told(gains: np.ndarray) -> str:
    """Mean gain over random rows, how often it is one, and how surprising that is."""
    p = ttest_1samp(gains, 0, alternative="greater").pvalue if len(gains) > 1 else float("nan")
    return f"{gains.mean():+.3f} ({(gains > 0).sum()} of {len(gains)}) | {p:.3f}"


def rare(seeds: int, models: int) -> list[str]:
    """1.5 % positives: both classes at every budget, and balanced accuracy beside random rows."""
    from cdvm import CDVM, Split, compare_with_random

    lines = ["| table | refined | seeds | fewest positives kept | kept | random | above |"]
    lines.append("| --- | --- | --- | --- | --- | --- | --- |")
    blocks = pd.read_csv(HOME / "tuning" / "page-blocks0.csv.gz")
    for title in ("generated", "page-blocks0, thinned out"):
        for refine in (False, 500):
            fewest, gains, kept, random = 99, [], [], []
            for seed in range(seeds):
                rng = np.random.default_rng(seed)
                if title == "generated":
                    y = (rng.random(3000) < 0.015).astype(int)
                    X = rng.normal(size=(3000, 5)) + 1.2 * y[:, None]
                else:
                    positive = blocks["class"].str.strip() == "positive"
                    picked = rng.choice(np.flatnonzero(positive), 75, replace=False)
                    rows = np.r_[np.flatnonzero(~positive), picked]
                    X, y = blocks.drop(columns="class").iloc[rows], positive.iloc[rows].astype(int).to_numpy()
                split = Split.from_arrays(
                    X, y, validation="out_of_bag", test_size=0.3, random_state=seed
                ).standardized()
                settings = {"metric": "balanced_accuracy", "refine": refine} if refine else {"effort": "low"}
                pruner = CDVM("logistic", n_models=models, random_state=seed, **settings)
                sets = pruner.fit_split(split).select([0.01, 0.05])
                fewest = min(fewest, *(int((split.y[s.rows] == 1).sum()) for s in sets))
                for line in compare_with_random(
                    split, "logistic", sets, metric="balanced_accuracy", draws=10
                ):
                    gains.append(line["test"].kept - line["test"].random)
                    kept.append(line["test"].kept)
                    random.append(line["test"].random)
            lines.append(
                f"| {title} | {'yes' if refine else 'no'} | {seeds} | {fewest} | {np.mean(kept):.3f} "
                f"| {np.mean(random):.3f} | {sum(g > 0 for g in gains)} of {len(gains)} |"
            )
            print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rare-seeds", type=int, default=10)
    parser.add_argument("--models", type=int, default=2000)
    parser.add_argument("--only", default="rare,commands,estimators")
    parser.add_argument("--out", type=Path, default=Path("results/tables"))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    parts = {
        "rare": (
            "1.5 % positives, balanced accuracy on held-out rows (1 and 5 % kept)",
            lambda: rare(given.rare_seeds, given.models),
        ),
        "commands": (
            "One command a table, accuracy on the 30 % held out",
            lambda: by_command(given.seeds, given.models),
        ),
        "estimators": (
            'Estimators that read columns, through `CDVM(effort="medium")`, accuracy on the 30 % held out',
            lambda: by_estimator(given.seeds, given.models),
        ),
    }
    given.out.mkdir(parents=True, exist_ok=True)
    for part in given.only.split(","):
        title, run = parts[part]
        text = f"## {title}\n\n" + "\n".join(run()) + "\n"
        (given.out / f"{part}.md").write_text(text)
    pages = [(given.out / f"{part}.md").read_text() for part in parts if (given.out / f"{part}.md").exists()]
    head = (
        f"# Tables as people have them\n\nBy `python -m perf.tables`: {given.models} models, random rows are "
        "the mean of 10 or 20 draws, p is of a one-sided t-test over seeds.\n\n"
    )
    (given.out / "README.md").write_text(head + "\n".join(pages))


if __name__ == "__main__":
    main()
