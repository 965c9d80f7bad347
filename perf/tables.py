"""Tables as people have them: what is kept of each, beside random rows, on rows that had no part in choosing.

    python -m perf.tables [--seeds 10] [--models 1000] [--out results/tables]

One line of JSON for every table and seed in ``lines.jsonl``; what is there is not computed again. ``--table``
writes ``README.md`` beside it.

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
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import ttest_1samp

from perf import kept
from perf.kept import Line

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
        "page-blocks0": [
            *[str(tuning / "page-blocks0.csv.gz"), "--target", "class"],
            *["--metric", "balanced_accuracy"],
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


def by_command(titles: list[str], seed: int, models: int) -> Iterator[Line]:
    """One command a table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, (title, words) in enumerate(tables(folder).items()):
            if title not in titles:
                continue
            started = time.process_time()
            more = ["--keep", "5%", "--test", "30%", "--models", str(models), "--seed", str(seed)]
            summary = prune([*words, *more, "--jobs", "1"], folder / str(number))
            found = summary["budgets"]["5pct"]["evaluated_with"][summary["learner"]]["test"]
            line: Line = {
                "title": title,
                "metric": summary["metric"],
                "seconds": time.process_time() - started,
            }
            yield line | {key: found[key] for key in ("kept", "random", "all_rows")}


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


def by_estimator(titles: list[str], seed: int, models: int) -> Iterator[Line]:
    """The DataFrame and the estimator through ``CDVM``."""
    from cdvm import CDVM, compare_with_random
    from cdvm.data.split import Split
    from cdvm.learners import make_learner
    from cdvm.learners.needs import prepare_for

    for title, (table, estimator) in estimators().items():
        if title not in titles:
            continue
        whole, made = read(table), make_learner(estimator)
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
        started = time.process_time()
        pruner = CDVM(estimator, n_models=models, random_state=seed, n_jobs=1, progress=False)
        keep = pruner.fit_split(split).select(0.1)
        seconds = time.process_time() - started
        found = compare_with_random(split, made, [keep], draws=20, n_jobs=1, progress=False)[0]["test"]
        line: Line = {"title": title, "table": table, "seconds": seconds}
        yield line | {key: getattr(found, key) for key in ("kept", "random", "all_rows")}


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
    shown = "< 0.001" if p < 0.001 else f"{p:.3f}"
    return f"{gains.mean():+.3f} ({(gains > 0).sum()} of {len(gains)}) | {shown}"


def rare(titles: list[str], seed: int, models: int) -> Iterator[Line]:
    """1.5 % positives: both classes at every budget, and balanced accuracy beside random rows."""
    from cdvm import CDVM, Split, compare_with_random

    ways: dict[str, Line] = {
        "the program": {"effort": "low"},
        "refined": {"metric": "balanced_accuracy", "refine": 500},
        "by default": {"metric": "balanced_accuracy"},
    }
    for table in RARE:
        rng = np.random.default_rng(seed)
        if table == "generated":
            y = (rng.random(3000) < 0.015).astype(int)
            X = rng.normal(size=(3000, 5)) + 1.2 * y[:, None]
        else:
            blocks = pd.read_csv(HOME / "tuning" / "page-blocks0.csv.gz")
            positive = blocks["class"].str.strip() == "positive"
            picked = rng.choice(np.flatnonzero(positive), 75, replace=False)
            rows = np.r_[np.flatnonzero(~positive), picked]
            X, y = blocks.drop(columns="class").iloc[rows], np.asarray(positive)[rows].astype(int)
        split = Split.from_arrays(X, y, validation="out_of_bag", test_size=0.3, random_state=seed)
        split = split.standardized()
        for way, settings in ways.items():
            if f"{table}, {way}" not in titles:
                continue
            pruner = CDVM(
                "logistic", n_models=models, random_state=seed, n_jobs=1, progress=False, **settings
            )
            sets = pruner.fit_split(split).select([0.01, 0.05])
            own: Line = {"metric": "balanced_accuracy", "draws": 10, "n_jobs": 1, "progress": False}
            for keep, found in zip(sets, compare_with_random(split, "logistic", sets, **own), strict=True):
                line: Line = {"title": f"{table}, {way}", "positives": int((split.y[keep.rows] == 1).sum())}
                yield line | {key: getattr(found["test"], key) for key in ("kept", "random", "all_rows")}


RARE = ("generated", "page-blocks0, thinned out")
PARTS: dict[str, tuple[Callable[..., Iterator[Line]], tuple[str, ...]]] = {
    "commands": (
        by_command,
        (
            "german",
            "mushroom",
            "adult, raw",
            "dates, 20 % missing",
            "bbc, raw texts",
            "page-blocks0",
        ),
    ),
    "estimators": (
        by_estimator,
        (
            "ColumnTransformer pipeline",
            "HistGradientBoosting",
            "LightGBM",
            "CatBoost",
            "XGBoost, 26 classes",
        ),
    ),
    "rare": (
        rare,
        tuple(f"{table}, {way}" for table in RARE for way in ("the program", "refined", "by default")),
    ),
}


def lines_of(out: Path) -> list[Line]:
    return kept.read(out / "lines.jsonl")


def run(given: argparse.Namespace) -> None:
    given.out.mkdir(parents=True, exist_ok=True)
    done = {(line["part"], line["title"], line["seed"]) for line in lines_of(given.out)}
    for seed in range(given.seeds):
        for part in given.only:
            measure, titles = PARTS[part]
            left = [title for title in titles if (part, title, seed) not in done]
            for line in measure(left, seed, given.models) if left else ():
                entry = {"part": part, "seed": seed, "models": given.models} | line
                kept.keep(given.out / "lines.jsonl", entry)
                print(entry, flush=True)


def page(out: Path) -> str:
    """What was found, as Markdown."""
    frame = pd.DataFrame(lines_of(out))
    text = ["# Tables as people have them", "", _INTRODUCTION]
    for part, (title, keep) in _SECTIONS.items():
        own = frame[frame.part == part]
        if len(own):
            head = "| | metric | kept | random | all rows | kept − random | p | seconds |"
            if part == "rare":
                head = "| | metric | kept | random | all rows | kept − random | p | fewest positives |"
            text += ["", f"## {title}", "", keep, "", head, "| --- " * 8 + "|"]
            text += [
                _row(name, part, own[own.title == name]) for name in PARTS[part][1] if name in set(own.title)
            ]
    return "\n".join(text) + "\n"


def _row(name: str, part: str, lines: pd.DataFrame) -> str:
    seeds = lines.groupby("seed")[["kept", "random", "all_rows"]].mean()
    metric = (
        lines.metric.iloc[0] if part == "commands" else "balanced accuracy" if part == "rare" else "accuracy"
    )
    gains = (seeds.kept - seeds.random).to_numpy()
    last = lines.positives.min() if part == "rare" else lines.seconds.mean()
    cells = [f"{seeds[key].mean():.3f}" for key in ("kept", "random", "all_rows")]
    return "| " + " | ".join([name, str(metric), *cells, told(gains), f"{last:.0f}"]) + " |"


_INTRODUCTION = """\
By `python -m perf.tables`: random rows are the mean of 20 draws (rare classes: 10), p is of a one-sided
t-test over seeds, scores are on 30 % of the rows, which had no part in choosing. 1,000 models; processor
seconds of one core, of commands with reading, comparing and writing. In the columns of german that estimators
get, a tenth of the cells is missing. Defaults were chosen on german, mushroom, page-blocks0 and letter, among
others, and some first constants on adult and bbc (docs/defaults.md)."""
_SECTIONS = {
    "commands": (
        "One command a table",
        "5 % kept by `cdvm prune TABLE --target LABEL --keep 5% --test 30% --models 1000`.",
    ),
    "estimators": ("Estimators that read columns", "10 % kept by `CDVM(estimator)`."),
    "rare": ("1.5 % positives", "1 and 5 % kept; the program alone, refined by 500 fits, and by default."),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m perf.tables", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--out", type=Path, default=Path("results/tables"))
    parser.add_argument("--table", action="store_true", help="write README.md of the lines there are")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.table:
        (given.out / "README.md").write_text(page(given.out), encoding="utf-8")
        return
    run(given)


if __name__ == "__main__":
    main()
