"""The tables of the ablations."""

from __future__ import annotations

import pandas as pd

from cdvm.benchmark import ablations
from cdvm.benchmark.published import LEVELS
from cdvm.benchmark.tables import summary
from cdvm.benchmark.tables.formats import Cell, Report, plain_report

__all__ = [
    "banzhaf_models",
    "by_exposure",
    "by_inclusion",
    "by_models",
    "chosen_alpha",
    "chosen_kappa",
    "nestedness",
    "out_of_bag_ends",
    "overlap",
    "overlap_same_seed",
    "spectrum",
]

_PERCENT = {"percent": "kept %"}


def by_inclusion(frame: pd.DataFrame) -> Report | None:
    """Accuracy over inclusion p."""
    data = ablations.by_inclusion(frame)
    if data["inclusion"].nunique() < 2:
        return None
    return _spread("by_inclusion", "CDVM5k for different inclusions p", data, ["inclusion"])


def by_models(frame: pd.DataFrame) -> Report | None:
    """Accuracy over the number of models, with and without kappa."""
    data = ablations.by_models(frame)
    if len(data[["n_models", "kappa"]].drop_duplicates()) < 2:
        return None
    return _spread(
        "by_models", "CDVM by number of models, with and without kappa", data, ["n_models", "kappa"]
    )


def _spread(file: str, title: str, data: pd.DataFrame, keys: list[str]) -> Report:
    """A line for each variant and a column for each budget."""
    levels = sorted(data["percent"].unique(), reverse=True)
    best = data.groupby(["dataset", "percent"])["accuracy"].max().to_dict()
    groups: dict[str, list[list[Cell]]] = {}
    for (dataset, *variant), part in data.groupby(["dataset", *keys], sort=False):
        at = {row["percent"]: row for _, row in part.iterrows()}
        cells = [_cell(at[lv], best[dataset, lv]) if lv in at else Cell("") for lv in levels]
        shown = [Cell(("yes" if v else "no") if isinstance(v, bool) else f"{v:g}") for v in variant]
        count = int(part["repetitions"].iloc[0])
        name = f"{dataset}, {count} repetition{'s' * (count > 1)}"
        groups.setdefault(name, []).append([*shown, *cells])
    headings = [*(key.replace("_", " ") for key in keys), *(f"{level:g} %" for level in levels)]
    note = (
        "Test accuracy, mean ± standard error over the repetitions that all variants have; bold is the best, "
        "and what is within one standard error of it."
    )
    return Report(file, title, data, headings, groups, note, len(keys))


def _cell(row: pd.Series[float], best: float) -> Cell:
    """An accuracy and its error; without an error nothing is best."""
    if pd.isna(row["stderr"]):
        return Cell(f"{row['accuracy']:.3f}")
    text = f"{row['accuracy']:.3f} ± {row['stderr']:.3f}"
    return Cell(text, "", row["accuracy"] >= best - row["stderr"])


def by_exposure(frame: pd.DataFrame) -> Report | None:
    """Performance over how often a row is seen."""
    data = ablations.by_exposure(frame)
    if len(data) < 2:
        return None
    formats = {"normalised": ".3f", "accuracy": ".3f", "stderr": ".3f"}
    note = (
        "Seen: p · n_models, the models a row is part of on average. Normalised among these variants, with "
        "the standard error of the difference to their mean."
    )
    return plain_report("by_exposure", "CDVM over p · n_models", data, formats, note=note)


def chosen_kappa(frame: pd.DataFrame) -> Report | None:
    """The grid's choice of kappa by budget."""
    return _chosen(frame, "kappa")


def chosen_alpha(frame: pd.DataFrame) -> Report | None:
    """The grid's choice of alpha by budget."""
    return _chosen(frame, "alpha")


def _chosen(frame: pd.DataFrame, value: str) -> Report | None:
    data = ablations.chosen(frame, value)
    if data.empty:
        return None
    grid = sorted(data[value].unique())
    groups: dict[str, list[list[Cell]]] = {}
    for (dataset, percent), part in data.groupby(["dataset", "percent"], sort=False):
        fraction = part.set_index(value)["fraction"]
        cells = [Cell(f"{100 * fraction.get(v, 0.0):.0f}") for v in grid]
        line = [Cell(f"{percent:g}"), *cells, Cell(f"{part['mean'].iloc[0]:.2f}")]
        groups.setdefault("all data sets" if dataset == "all" else str(dataset), []).append(line)
    headings = ["kept %", *(f"{value} {v:g}" for v in grid), "mean"]
    title = f"The {value} that CDVM5k's grid chose, in % of the runs"
    return Report(f"chosen_{value}", title, data, headings, groups, left=0)


def overlap(frame: pd.DataFrame) -> Report | None:
    """Overlap between sets of different repetitions."""
    return _overlap(frame, same_seed=False) if summary.same_split(frame) else None


def overlap_same_seed(frame: pd.DataFrame) -> Report | None:
    """Overlap between sets of one repetition."""
    return _overlap(frame, same_seed=True)


def _overlap(frame: pd.DataFrame, *, same_seed: bool) -> Report | None:
    square = ablations.overlap(frame, same_seed=same_seed)
    if square.isna().all(axis=None):
        return None
    data = square.rename(columns=lambda level: f"{level:g} %").reset_index()
    pairs = "within a repetition" if same_seed else "over pairs of repetitions"
    title = f"Overlap of the sets CDVM5k keeps at two budgets, {pairs}"
    formats = dict.fromkeys(data.columns, ".3f") | {"percent": "g"}
    name = "overlap_same_seed" if same_seed else "overlap"
    note = "|A ∩ B| / min(|A|, |B|), mean over pairs and data sets."
    return plain_report(name, title, data, formats, headings=_PERCENT, note=note)


def spectrum(frame: pd.DataFrame) -> Report | None:
    """How often rows are kept, in eight bands."""
    if not summary.same_split(frame):
        return None
    data = ablations.spectrum(frame)
    if data.empty:
        return None
    average = data.drop(columns="dataset").mean().to_frame().T.assign(dataset="mean")
    data = pd.concat([data, average], ignore_index=True)[list(data.columns)]
    formats = {name: ".1%" for name in data.columns if name != "dataset"}
    note = (
        "Fractions of the training rows. Kept by more than half of the repetitions at one budget "
        f"(budget-specific), two or three, four or more, or all (stable core) of {len(LEVELS)} budgets; the "
        "others by the largest fraction of repetitions at any budget: never < 1 %, rarely < 10 %, "
        "occasionally "
        "< 30 %, approaching up to 50 %."
    )
    return plain_report("spectrum", "How often rows are kept by CDVM5k", data, formats, note=note)


def banzhaf_models(frame: pd.DataFrame) -> Report | None:
    """Banzhaf values of more models."""
    return _curves("banzhaf_models", "Banzhaf from 1,000 and 10,000 models", ablations.banzhaf_models(frame))


def nestedness(frame: pd.DataFrame) -> Report | None:
    """Sets followed along other budgets."""
    title = "Sets optimised for one budget, followed along the others"
    return _curves("nestedness", title, ablations.nestedness(frame))


def out_of_bag_ends(frame: pd.DataFrame) -> Report | None:
    """Data-OOB from both ends."""
    title = "Data-OOB, lowest and highest values removed first"
    return _curves("out_of_bag_ends", title, ablations.out_of_bag_ends(frame))


def _curves(name: str, title: str, data: pd.DataFrame) -> Report | None:
    if data.empty:
        return None
    wide = data.pivot(index=["dataset", "percent"], columns="method", values="accuracy")
    wide = wide[summary.in_order(wide.columns)].reset_index().rename_axis(columns=None)
    formats = {str(c): ".3f" for c in wide.columns[2:]} | {"percent": "g"}
    shown = plain_report(name, title, wide, formats, headings=_PERCENT, by="dataset")
    counts = data.groupby("dataset", sort=False)["repetitions"].first()
    told = ", ".join(f"{dataset} {count}" for dataset, count in counts.items())
    note = f"Test accuracy, mean over the repetitions that all of them have: {told}."
    return Report(name, title, data, shown.headings, shown.groups, note)
