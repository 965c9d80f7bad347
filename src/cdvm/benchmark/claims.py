"""Numbers and tables that texts state, computed from results, and put where the texts name them.

A text marks a number by a name: ``<!--claim clean.refined.above_all-->36 of 36<!--/claim-->``, which a reader
of the page does not see; a whole table likewise, ``clean.table.refinement``. A comparison with a rival is
told as *wins / losses / undecided* over settings (a data set and a budget): won or lost where Wilcoxon's
signed-rank test over repetitions has p < 0.05 (``models``: a paired t-test over splits, which may be few).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from cdvm.benchmark.ablations import Variant, chosen
from cdvm.benchmark.protocol import TABULAR
from cdvm.benchmark.published import LEVELS
from cdvm.benchmark.results import ORDER, Results
from cdvm.benchmark.tables.summary import (
    REFINED,
    checked,
    compare_with_paper,
    even,
    main_rows,
    means,
)
from cdvm.benchmark.tables.wins import BEST_OF, against_all, claims, win_counts
from cdvm.benchmark.tables.write import make_tables
from cdvm.errors import InputError

__all__ = ["claims_of", "fill_claims", "marked_claims"]

_LEVEL = 0.05
_MARK = re.compile(r"(<!--claim ([\w.+-]+)-->)(.*?)(<!--/claim-->)", re.DOTALL)
_SHORT = (  # words of a line of the table of claims, and its name
    (r"Random within", "random_within"),
    (r"CDVM5k within", "cdvm5k_within"),
    (r"CDVM \(best of .*\) above", "cdvm.above_baselines"),
    (r"CDVM \(best of .*\) best", "cdvm.above_all"),
    (rf"{re.escape(REFINED)} above every other", "refined.above_all"),
    (rf"{re.escape(REFINED)} above the paper's", "refined.above_published"),
    (rf"{re.escape(REFINED)} not below (CDVM5k|CDVM) ", "refined.not_below"),
    (rf"{re.escape(REFINED)} minus (CDVM5k|CDVM), mean points, all", "refined.points"),
    (rf"{re.escape(REFINED)} minus (CDVM5k|CDVM), mean points, 5", "refined.points_at_5"),
    (rf"{re.escape(REFINED)} at 5 % within 2", "refined.within_2_points"),
    (rf"{re.escape(REFINED)} at 5 % above all", "refined.above_all_rows"),
)


def claims_of(home: str | Path) -> dict[str, str]:
    """Every claim that the results below a directory allow, ``protocol.name`` → value.

    Parameters
    ----------
    home : path
        A directory with one directory for each protocol, as ``cdvm benchmark run --out`` wrote it; what
        ``motivation`` holds is shown in tables of the paper's protocol.
    """
    names = [name for name in ("paper", "clean", "noisy", "motivation") if _has_results(Path(home) / name)]
    frames = {name: Results.open(Path(home) / name).frame for name in names}
    minutes = {name: _core_minutes(frame) for name, frame in frames.items()}
    found = {f"{name}.core_minutes.whole": f"{count:.0f}" for name, count in minutes.items()}
    if minutes:
        found["core_minutes.whole"] = f"{sum(minutes.values()):.0f}"
    motivation = frames.pop("motivation", None)
    for name, frame in frames.items():
        shown = pd.concat([frame, motivation]) if name == "paper" and motivation is not None else frame
        told = _claims(frame) | _tables(shown.drop_duplicates(ORDER, ignore_index=True))
        found |= {f"{name}.{claim}": value for claim, value in told.items()}
    if (pixels := Path(home) / "fashion_mnist" / "pixels.json").exists():
        told = json.loads(pixels.read_text())
        found["fashion_mnist.gap"] = f"{100 * told.pop('gap'):.2f}"
        found["fashion_mnist.seconds"] = f"{sum(told.values()):.0f}"
    if (promises := Path(home) / "questions" / "logistic.jsonl").exists():
        runs = [json.loads(line) for line in promises.read_text().splitlines()]
        sets = [run for run in runs if run.get("fraction") is not None]
        found["questions.runs"] = str(len(runs))
        found["questions.kept"] = f"{sum(run['kept'] for run in sets)} of {len(sets)}"
    if (models := Path(home) / "models" / "summary.json").exists():
        for rows, told in json.loads(models.read_text()).items():
            found |= {f"models.{rows}.{claim}": value for claim, value in _of_models(told).items()}
    if not found:
        raise InputError(
            f"{home} holds no results of a protocol: name the directory above paper, clean and noisy"
        )
    return found


def _of_models(told: dict[str, Any]) -> dict[str, str]:
    """Rows for the models people use: settings won, and how much of the way to all rows was closed."""
    few, many = told["splits"]
    settings = told["settings"]
    found = {
        "splits": f"{many}" if few == many else f"{few} to {many}",
        "others": str(told["others"]),
        "above.random": f"{told['above_random']} of {settings}",
        "above.others": f"{told['above_others']} of {told['compared']}",
        "above.all_rows": f"{told['above_all_rows']} of {settings}",
    }
    for rival in ("random", "all_rows"):
        won, lost = told[f"won_against_{rival}"], told[f"lost_to_{rival}"]
        found[f"against.{rival}"] = f"{won} / {lost} / {settings - won - lost}"
    found |= {f"points.{budget.rstrip('%')}": f"{gain:.1f}" for budget, gain in told["points"].items()}
    return found | {f"way.{budget.rstrip('%')}": f"{closed:.0%}" for budget, closed in told["way"].items()}


def _has_results(folder: Path) -> bool:
    return (folder / "protocol.json").exists()


def _tables(frame: pd.DataFrame) -> dict[str, str]:
    return {f"table.{name}": f"\n\n{report.body(level=3)}\n\n" for name, report in make_tables(frame).items()}


def _claims(frame: pd.DataFrame) -> dict[str, str]:
    rows = main_rows(frame)
    contenders = means(rows[rows["method"] != "All"])
    found = {
        "settings": str(contenders[["dataset", "percent"]].drop_duplicates().shape[0]),
        "repetitions": _range(contenders["repetitions"]),
        "core_minutes": f"{_core_minutes(rows):.0f}",
        "core_minutes.tabular": f"{_core_minutes(rows[rows['dataset'].isin(TABULAR)]):.0f}",
    }
    found |= {
        f"repetitions.{method}": _range(part["repetitions"]) for method, part in contenders.groupby("method")
    }
    found |= _beside_paper(frame) | _chosen(frame) | _lost_classes(rows) | _trends(frame)
    for line in claims(frame).to_dict("records"):
        name = _name(str(line["claim"]))
        if name is not None:
            found[name] = f"{line['holds']} of {line['of']}" if line["of"] else f"{line['value']:+.1f}"
    for who, group in (("refined", [REFINED]), ("cdvm", [*BEST_OF, "CDVM"])):
        for line in win_counts(frame, group).to_dict("records"):
            won, lost = int(line["clear_wins"]), int(line["clear_losses"])
            if line["rival"] != REFINED:
                undecided = int(line["settings"]) - won - lost
                found[f"{who}.against.{line['rival']}"] = f"{won} / {lost} / {undecided}"
    return found | _against_all(frame)


def _against_all(frame: pd.DataFrame) -> dict[str, str]:
    """Settings won, lost and undecided against all rows."""
    table = against_all(frame)
    decided = table[table["p"] < _LEVEL]["difference"]
    won, lost = int((decided > 0).sum()), int((decided < 0).sum())
    told = f"{won} / {lost} / {len(table) - won - lost}"
    return {"refined.against_all_rows": told} if len(table) else {}


def _range(counts: pd.Series[int]) -> str:
    fewest, most = counts.min(), counts.max()
    return f"{most}" if fewest == most else f"{fewest} to {most}"


def _beside_paper(frame: pd.DataFrame) -> dict[str, str]:
    """How far each method's means lie from the paper's, where the features are the paper's, too."""
    table = compare_with_paper(frame)
    if "difference" not in table.columns:
        return {}
    known = table.dropna(subset=["difference"])
    by = [known["method"], known["method"] + "." + known["dataset"]]
    return {
        f"apart.{name}": f"{apart.min():+.3f} to {apart.max():+.3f}"
        for keys in by
        for name, apart in known["difference"].groupby(keys)
    }


def _chosen(frame: pd.DataFrame) -> dict[str, str]:
    """The mean of the kappas that the grid chose, budget by budget."""
    table = chosen(frame)
    average = table[table["dataset"] == "all"].groupby("percent")["mean"].first()
    return {"kappas": ", ".join(f"{value:.2f}" for value in average)} if len(average) else {}


def _trends(frame: pd.DataFrame) -> dict[str, str]:
    """Accuracy of each variant of CDVM less CDVM5k's, at each budget and over all, ± its standard error."""
    rows = checked(frame)
    rows = rows[rows["percent"].isin(LEVELS)]
    variants = {name for name in rows["method"] if name != "CDVM5k" and Variant.of(name)}
    found: dict[str, str] = {}
    for name in sorted(variants):
        both = even(rows[rows["method"].isin([name, "CDVM5k"])])
        keys = ["dataset", "percent", "repetition", "method"]
        runs = both.groupby(keys)["accuracy"].mean().unstack("method")
        if len(runs) < 2 or "CDVM5k" not in runs:
            continue
        apart = runs[name] - runs["CDVM5k"]
        groups = {
            f"trend.{name}.{dataset}.{percent:g}": part
            for (dataset, percent), part in apart.groupby(["dataset", "percent"])
        }
        means = apart.groupby(["dataset", "repetition"]).mean()
        groups |= {f"trend.{name}.{dataset}": part for dataset, part in means.groupby("dataset")}
        groups[f"trend.{name}"] = means.groupby("repetition").mean()
        found |= {key: f"{part.mean():+.4f} ± {part.sem():.4f}" for key, part in groups.items()}
    return found


def _lost_classes(rows: pd.DataFrame) -> dict[str, str]:
    """Runs in which no row of some class was answered rightly, by method, where there are any."""
    if "worst_class" not in rows.columns:
        return {}
    found = {}
    for method, part in rows[rows["method"] != "All"].groupby("method"):
        cells = part.assign(none=part["worst_class"] == 0).groupby(["dataset", "percent"])["none"]
        told = [
            f"{dataset} at {percent:g} % ({int(group.sum())} of {len(group)})"
            for (dataset, percent), group in cells
            if group.mean() >= 0.5
        ]
        found[f"lost_class.{method}"] = ", ".join(told) or "nowhere"
    return found


def _name(claim: str) -> str | None:
    for words, name in _SHORT:
        if match := re.match(words, claim):
            return f"{name}.{match[1]}" if match.groups() else name
    return None


def _core_minutes(rows: pd.DataFrame) -> float:
    """Processor minutes of all repetitions and methods, as if they shared nothing with one another."""
    if not {"seconds_prepare", "seconds_optimise"} <= set(rows.columns):
        return 0.0
    runs = rows.groupby(["dataset", "method", "repetition"])
    return float(runs["seconds_prepare"].max().sum() + runs["seconds_optimise"].sum().sum()) / 60


def marked_claims(text: str) -> list[tuple[str, str]]:
    """Name and value of every number that a text marks."""
    return [(match[2], match[3]) for match in _MARK.finditer(text)]


def fill_claims(text: str, values: Mapping[str, str]) -> str:
    """The text with every marked number replaced by its value.

    >>> fill_claims("in <!--claim clean.settings-->3<!--/claim--> settings", {"clean.settings": "36"})
    'in <!--claim clean.settings-->36<!--/claim--> settings'
    """
    if unknown := sorted({name for name, _ in marked_claims(text)} - set(values)):
        raise InputError(
            f"no results for the claims {', '.join(unknown)}: known are {', '.join(sorted(values))}"
        )
    return _MARK.sub(lambda match: match[1] + values[match[2]] + match[4], text)
