"""The page and the figure of ``python -m perf.models --table``.

A *setting* is a data set, a number of rows, a fraction of wrong labels, a model and a budget. Within one, two
methods are compared split by split by a two-sided paired t-test: won or lost with p < .05, else undecided;
fewer than three splits decide nothing. A method is *above* another where its mean over the splits is larger.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import ttest_rel

from cdvm.benchmark.figures.style import GREY, legend_below, panels, print_style, save
from perf.kept import read
from perf.models import MODELS, PEERS

SETTING = ["rows", "noise", "dataset", "model", "budget"]
_LONG = 0.01  # a way from random rows to all rows that is worth a percentage
_LEAST = 3  # splits that can decide


def write(out: Path) -> None:
    """The page and the figures of the lines in a directory."""
    wide = wide_of(out)
    (out / "README.md").write_text(page(out), encoding="utf-8")
    settings(wide).to_csv(out / "settings.csv", index=False, float_format="%.4g", lineterminator="\n")
    (out / "summary.json").write_text(json.dumps(summary(wide), indent=1) + "\n", encoding="utf-8")
    clean = wide[wide.index.get_level_values("noise") == 0]
    for rows, part in clean.groupby(level="rows"):
        _draw(part, out, f"gain_{rows}")


def wide_of(out: Path) -> pd.DataFrame:
    """Accuracies in a directory, a line a setting and split and a column a method."""
    return _wide(pd.DataFrame(read(out / "results.jsonl")))


def _wide(lines: pd.DataFrame) -> pd.DataFrame:
    whole = lines[lines.method == "all"].drop(columns=["budget", "method"])
    lines = lines[lines.method != "all"]
    wide = lines.pivot_table(index=[*SETTING, "split"], columns="method", values="accuracy")
    every = whole.set_index(["rows", "noise", "dataset", "model", "split"]).accuracy
    wide["all"] = every.reindex(wide.index.droplevel("budget")).to_numpy()
    return wide.dropna(subset=["cdvm", "random", "all"])


def page(out: Path) -> str:
    """What was found, as Markdown."""
    lines = pd.DataFrame(read(out / "results.jsonl"))
    wide = _wide(lines)
    lines = lines[lines.method != "all"]
    text = ["# Rows for the models people use", "", _INTRODUCTION]
    for (rows, noise), part in wide.groupby(level=["rows", "noise"]):
        wrong = f", {noise:.0%} of the labels wrong" if noise else ""
        text += ["", f"## {rows:,} rows{wrong}", "", *_counts(part), "", *_way(part), "", *_duels(part)]
        if not noise:
            text += ["", f"![Points gained on random rows over the rows kept, by model](gain_{rows}.png)"]
        text += ["", *_means(part), "", *_kept(lines[(lines.rows == rows) & (lines.noise == noise)])]
    text += ["", *_seconds(lines, read(out / "seconds.jsonl"))]
    return "\n".join(text) + "\n"


_INTRODUCTION = """\
By `python -m perf.models`: accuracy on up to 5,000 rows that had no part in choosing; *random* is the mean of
20 draws, *cdvm* is `CDVM(model, effort="medium")`. A setting is a data set, a model and a budget;
it is won or lost where a two-sided paired t-test over at least three splits says so (p < .05;
splits of a table share rows, so p is somewhat too small). `settings.csv` has every setting, and the best
other method in it."""


def methods_of(wide: pd.DataFrame) -> list[str]:
    return [m for m in ("random", *PEERS) if m in wide and wide[m].notna().any()]


def duel(part: pd.DataFrame, other: str) -> dict[str, int]:
    """Settings in which cdvm is above the other method, and those won, lost and undecided."""
    found = {"settings": 0, "above": 0, "won": 0, "lost": 0, "undecided": 0}
    for _, group in part.dropna(subset=[other]).groupby(level=SETTING):
        gain = (group.cdvm - group[other]).to_numpy()
        found["settings"] += 1
        found["above"] += bool(gain.mean() > 0)
        found[_verdict(gain)] += 1
    return found


def _verdict(gain: np.ndarray) -> str:
    return "undecided" if not _p_of(gain) < 0.05 else "won" if gain.mean() > 0 else "lost"


def _p_of(gain: np.ndarray) -> float:
    """That gains of several splits are chance; nan where there are too few."""
    if len(gain) < _LEAST:
        return float("nan")
    return float(ttest_rel(gain, np.zeros(len(gain))).pvalue if np.ptp(gain) > 0 else gain[0] == 0)


def settings(wide: pd.DataFrame) -> pd.DataFrame:
    """Means over splits, a line a setting, and how far cdvm is ahead of the best other method."""
    others = [m for m in methods_of(wide) if m != "random"]
    found = []
    for at, group in wide.groupby(level=SETTING):
        gain, rivals = (group.cdvm - group.random).to_numpy(), group[others].mean().dropna()
        best = rivals.idxmax() if len(rivals) else ""
        means = {"random": group.random.mean(), "all": group["all"].mean()}
        found.append(
            dict(zip(SETTING, at, strict=True))
            | {"splits": len(group), "cdvm": group.cdvm.mean(), **means, "p_random": _p_of(gain)}
            | {"best_other": best, "its_splits": int(group[best].count()) if best else 0}
            | {"its_mean": rivals.get(best, np.nan), "ahead": (group.cdvm - group.get(best, np.nan)).mean()}
        )
    return pd.DataFrame(found)


def summary(wide: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """The numbers that texts state, by rows (and noise)."""
    return {
        f"{rows}" + (".noisy" if noise else ""): _found(part)
        for (rows, noise), part in wide.groupby(level=["rows", "noise"])
    }


def _found(part: pd.DataFrame) -> dict[str, Any]:
    others = [m for m in methods_of(part) if m != "random"]
    random, whole = duel(part, "random"), duel(part, "all")
    tried = part.dropna(subset=others).groupby(level=SETTING).mean()  # a method still to come is not beaten
    ahead = tried.cdvm - tried[others].max(axis=1)
    splits = part.groupby(level=SETTING).size()
    return {
        "settings": random["settings"],
        "splits": [int(splits.min()), int(splits.max())],
        "above_random": random["above"],
        "won_against_random": random["won"],
        "lost_to_random": random["lost"],
        "others": len(others),
        "compared": len(tried) if others else 0,
        "above_others": int((ahead > 0).sum()),
        "short": float(-ahead[ahead <= 0].mean()) if (ahead <= 0).any() else 0.0,
        "above_all_rows": whole["above"],
        "won_against_all_rows": whole["won"],
        "lost_to_all_rows": whole["lost"],
        "points": {f"{budget:.0%}": 100 * gain for budget, gain in _gains(part).items()},
        "way": {f"{budget:.0%}": closed for budget, count, closed in _ways(part) if count},
    }


def _counts(part: pd.DataFrame) -> list[str]:
    found = _found(part)
    n, compared = found["settings"], found["compared"]
    under_way = found["splits"][0] < _LEAST
    text = [
        f"{', '.join(part.index.unique('dataset'))}: {n} settings, {_range(found['splits'])} each"
        + (f"; the run is under way, and fewer than {_LEAST} decide nothing." if under_way else "."),
        f"Above the mean of random rows in {_of(found['above_random'], n)}, "
        f"significantly in {found['won_against_random']}, significantly below in {found['lost_to_random']};",
    ]
    if compared:
        short = f", {found['short']:.4f} short of the best of them in the rest" if found["short"] else ""
        text.append(f"above every other method in {_of(found['above_others'], compared)}{short};")
    return [
        *text,
        f"above *all* rows in {_of(found['above_all_rows'], n)}, "
        f"significantly in {found['won_against_all_rows']}, "
        f"significantly below in {found['lost_to_all_rows']}.",
    ]


def _of(count: int, settings: int) -> str:
    return f"{count} of {settings} ({count / settings:.0%})"


def _gains(part: pd.DataFrame) -> pd.Series:
    """What is gained on random rows by budget, on average over settings."""
    means = part.groupby(level=SETTING).mean()
    return (means.cdvm - means.random).groupby(level="budget").mean()


def _ways(part: pd.DataFrame) -> list[tuple[float, int, float]]:
    """Budget, settings where the way from random to all rows is a point long, and how much is closed."""
    found = []
    for budget, group in part.groupby(level="budget"):
        means = group.groupby(level=SETTING).mean()
        length = means["all"] - means.random
        long = length >= _LONG
        found.append((budget, int(long.sum()), float(((means.cdvm - means.random) / length)[long].mean())))
    return found


def _way(part: pd.DataFrame) -> list[str]:
    gains = _gains(part)
    rows = []
    for budget, count, closed in _ways(part):
        whole = duel(part.xs(budget, level="budget", drop_level=False), "all")
        rivalled = f"{whole['above']} of {whole['settings']}"
        rows.append([f"{budget:.0%}", f"{gains[budget]:+.4f}", count, _percent(closed), rivalled])
    head = ["budget", "gain on random rows", "settings with a way of a point", "way closed"]
    return _table([*head, "above all rows"], rows)


def _duels(part: pd.DataFrame) -> list[str]:
    head = ["cdvm against", "settings", "above", "won", "undecided", "lost", "mean difference"]
    rows = []
    for m in methods_of(part):
        found, gain = duel(part, m), (part.cdvm - part[m]).mean()
        counts = [found[k] for k in ("settings", "above", "won", "undecided", "lost")]
        rows.append([m, *counts, f"{gain:+.4f}"])
    return _table(head, rows)


def _means(part: pd.DataFrame) -> list[str]:
    """Mean accuracy over data sets, of settings that every method has been tried in."""
    methods = ["cdvm", *methods_of(part), "all"]
    means = (
        part.dropna(subset=methods).groupby(level=SETTING).mean().groupby(level=["model", "budget"]).mean()
    )
    rows = []
    for model in (m for m in MODELS if m in means.index.get_level_values("model")):
        for budget, line in means.loc[model].iterrows():
            best = line[methods[:-1]].max()
            cells = [_bold(line[m], line[m] == best and m != "all") for m in methods]
            rows.append([model, f"{budget:.0%}", *cells])
    return _table(["model", "budget", *methods], rows)


def _kept(lines: pd.DataFrame) -> list[str]:
    """Which way of choosing was kept, in percent of the answers for a budget."""
    shares = pd.crosstab(lines.budget, lines.way, normalize="index").sort_index(axis=1)
    rows = [[f"{budget:.0%}", *map(_percent, line)] for budget, line in shares.iterrows()]
    return ["Ways kept, by budget:", "", *_table(["budget", *shares.columns], rows)]


def _seconds(lines: pd.DataFrame, alone: list[dict[str, Any]]) -> list[str]:
    timed = lines[lines.method == "cdvm"].groupby(["rows", "model"]).seconds
    rows = [[f"{n:,}", model, f"{group.median():.0f}", f"{group.max():.0f}"] for (n, model), group in timed]
    head = ["rows", "model", "median", "most"]
    text = ["## Seconds", "", "Processor seconds of choosing, one budget, from the rows on:", ""]
    text += _table(head, rows)
    if alone:
        waited = defaultdict(list)
        for line in alone:
            waited[line["rows"], line["dataset"], line["model"]].append((line["budget"], line["seconds"]))
        text += ["", "Waited for one budget, all cores (`--seconds`):", ""]
        told = [
            [f"{n:,}", dataset, model, ", ".join(f"{s:.0f} ({budget:.0%})" for budget, s in sorted(found))]
            for (n, dataset, model), found in sorted(waited.items())
        ]
        text += _table(["rows", "data set", "model", "seconds (budget)"], told)
    return text


def _draw(part: pd.DataFrame, out: Path, name: str) -> None:
    """Points gained on random rows over the budget, a panel a model."""
    shown = [m for m in MODELS if m in part.index.get_level_values("model")]
    gain = part[["cdvm", *methods_of(part), "all"]].sub(part.random, axis=0) * 100
    gain = gain.groupby(level=SETTING).mean().groupby(level=["model", "budget"]).mean()
    best = gain.drop(columns=["cdvm", "random", "all"]).mean().nlargest(3).index.tolist()
    with print_style():
        figure, axes = panels(len(shown))
        for ax, model in zip(axes, shown, strict=True):
            mine = gain.loc[model]
            x = mine.index.to_numpy() * 100
            for m in methods_of(part):
                if m not in ("random", *best):
                    ax.plot(x, mine[m], color="#CCCCCC", linewidth=0.7, label="other methods")
            for k, m in enumerate(best):
                ax.plot(x, mine[m], marker="s^v"[k], color=["#009E73", "#E69F00", "#0072B2"][k], label=m)
            ax.plot(x, mine["all"], color="black", linestyle=":", label="all rows")
            ax.plot(x, mine.cdvm, color="#D55E00", marker="*", label="cdvm")
            ax.axhline(0, color=GREY, linewidth=0.8, label="random rows")
            top = max(mine["all"].max(), mine.cdvm.max())
            ax.set(title=model, xlabel="rows kept, %", ylabel="points", ylim=(-top, 1.15 * top))
        legend_below(figure, axes, first=["cdvm"])
        save(figure, out, name)


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "| --- " * len(head) + "|"]
    return lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]


def _range(splits: Sequence[int]) -> str:
    few, many = splits
    return f"{few} to {many} splits" if few < many else f"{few} split{'s' if few > 1 else ''}"


def _percent(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.0%}"


def _bold(value: float, best: bool) -> str:
    text = "" if np.isnan(value) else f"{value:.3f}"
    return f"**{text}**" if best and text else text
