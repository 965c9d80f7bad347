"""The paper's ablations, from results: p, the number of models, kappa, and which rows are kept.

Variants of CDVM are told by their names: ``CDVM3k`` is estimated from 3,000 models, ``CDVM5k-p10`` with
inclusion 0.10, ``-nokappa`` has no cap, ``-default`` no grid, and ``CDVM5k@10`` is the set for 10 % kept
whole while other rows are added or removed by weight. Variants are compared over the repetitions that all
of them have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cdvm.benchmark.published import LEVELS
from cdvm.benchmark.tables.summary import checked, even, in_order, means, normalised_performance, runtimes

__all__ = [
    "BANDS",
    "Variant",
    "banzhaf_models",
    "by_exposure",
    "by_inclusion",
    "by_models",
    "chosen",
    "curves",
    "nestedness",
    "out_of_bag_ends",
    "overlap",
    "spectrum",
]

BANDS = (
    "never",
    "rarely",
    "occasionally",
    "approaching",
    "budget-specific",
    "useful, low",
    "useful, high",
    "stable core",
)
_NAME = re.compile(r"CDVM(\d+)k(?:-p(\d+))?(?:-(nokappa|default))?")
_FIXED = re.compile(r".+@(\d+)")


class Variant(NamedTuple):
    """How a variant of CDVM was estimated."""

    n_models: int
    inclusion: float
    kind: str

    @classmethod
    def of(cls, method: str) -> Variant | None:
        """What a method's name says; None if it is no such variant.

        >>> Variant.of("CDVM5k-p10-nokappa")
        Variant(n_models=5000, inclusion=0.1, kind='nokappa')
        """
        found = _NAME.fullmatch(method)
        if found is None:
            return None
        return cls(1000 * int(found[1]), int(found[2] or 3) / 100, found[3] or "grid")


def _variants(frame: pd.DataFrame, wanted: Callable[[Variant], bool]) -> pd.DataFrame:
    """Mean accuracy of variants of CDVM, with what their names say; the same variant by two names once."""
    rows = checked(frame)
    rows = rows[rows["percent"].isin(LEVELS)]
    known = {name: found for name in set(rows["method"]) if (found := Variant.of(name)) and wanted(found)}
    table = means(even(rows[rows["method"].isin(known)]))
    for field in Variant._fields:
        table[field] = [getattr(known[name], field) for name in table["method"]]
    # CDVM5k and CDVM5k-p03 are the same
    return table.drop_duplicates(["dataset", "percent", *Variant._fields], ignore_index=True)


def by_inclusion(frame: pd.DataFrame, n_models: int = 5000) -> pd.DataFrame:
    """Accuracy for every inclusion p, with the grid."""
    table = _variants(frame, lambda v: v.n_models == n_models and v.kind == "grid")
    return _told(table, ["dataset", "inclusion", "percent"])


def by_models(frame: pd.DataFrame, inclusion: float = 0.03) -> pd.DataFrame:
    """Accuracy and seconds for every number of models, with the cap kappa and without."""
    table = _variants(frame, lambda v: v.inclusion == inclusion and v.kind in ("grid", "nokappa"))
    seconds = runtimes(frame, list(table["method"].unique()))
    table = table.merge(seconds[["dataset", "method", "total"]], how="left", on=["dataset", "method"])
    table = table.assign(kappa=table["kind"] == "grid", seconds=table["total"])
    return _told(table, ["dataset", "n_models", "kappa", "percent"], "seconds")


def by_exposure(frame: pd.DataFrame) -> pd.DataFrame:
    """Normalised performance over how often a row is seen, p · n_models, with the grid.

    Variants are normalised among themselves; those that lack a setting the others have are left out. The
    error is that of the difference to the mean of the variants, over repetitions.
    """
    table = _variants(frame, lambda v: v.kind == "grid")
    score = normalised_performance(table)
    mean = table.groupby("method")["accuracy"].mean()
    line = table.drop_duplicates("method").set_index("method")[["n_models", "inclusion"]]
    line = line.loc[[name for name in line.index if name in score.index]]
    line["seen"] = (line["n_models"] * line["inclusion"]).round(6)
    line["normalised"], line["accuracy"] = score, mean
    line["stderr"] = _paired_error(frame, list(line.index)) * (np.ptp(score) / np.ptp(mean[line.index]))
    line["repetitions"] = table["repetitions"].min()
    return line.reset_index().sort_values(["seen", "n_models"], ignore_index=True)


def _paired_error(frame: pd.DataFrame, methods: list[str]) -> pd.Series[float]:
    """Error, over repetitions, of each method's accuracy over all settings less that of all methods."""
    rows = checked(frame)
    rows = even(rows[rows["method"].isin(methods) & rows["percent"].isin(LEVELS)])
    runs = rows.groupby(["method", "repetition"])["accuracy"].mean().unstack("method")
    shared = rows.groupby("repetition")["dataset"].nunique() == rows["dataset"].nunique()
    runs = runs[shared.reindex(runs.index)]
    return runs.sub(runs.mean(axis=1), axis=0).sem()


def _told(table: pd.DataFrame, keys: list[str], *more: str) -> pd.DataFrame:
    place = {name: k for k, name in enumerate(in_order(table["dataset"]))}
    table = table.sort_values(keys, key=lambda c: c.map(place) if c.name == "dataset" else c)
    return table[[*keys, "accuracy", "std", "stderr", "repetitions", *more]].reset_index(drop=True)


def chosen(frame: pd.DataFrame, value: str = "kappa", method: str = "CDVM5k") -> pd.DataFrame:
    """How often the grid chose each kappa (or alpha) at every budget, for each data set and for "all"."""
    rows = checked(frame)
    rows = rows[(rows["method"] == method) & rows["percent"].isin(LEVELS)]
    rows = rows.dropna(subset=[value]) if value in rows.columns else rows.iloc[:0]
    parts = []
    for name, part in [("all", rows), *rows.groupby("dataset")]:
        if len(part):
            fraction = (
                part.groupby("percent")[value].value_counts(normalize=True).rename("fraction").reset_index()
            )
            average = fraction["percent"].map(part.groupby("percent")[value].mean())
            parts.append(fraction.assign(dataset=name, mean=average))
    columns = ["dataset", "percent", value, "fraction", "mean"]
    if not parts:
        return pd.DataFrame(columns=columns)
    table: pd.DataFrame = pd.concat(parts)[columns]
    return table.sort_values(["dataset", "percent", value], ignore_index=True)


def _kept(frame: pd.DataFrame, method: str) -> pd.DataFrame:
    rows = checked(frame)
    rows = rows[(rows["method"] == method) & rows["percent"].isin(LEVELS)]
    return rows.dropna(subset=["kept"]) if "kept" in rows.columns else rows.iloc[:0]


def _masks(rows: pd.DataFrame) -> NDArray[np.float32]:
    """One line of zeros and ones for each kept set."""
    width = int((rows["budget"] / rows["retained"]).round().max())
    masks = np.zeros((len(rows), width), dtype=np.float32)
    for line, kept in zip(masks, rows["kept"], strict=True):
        line[np.asarray(kept, dtype=np.int64)] = 1.0
    return masks


def overlap(frame: pd.DataFrame, method: str = "CDVM5k", *, same_seed: bool = False) -> pd.DataFrame:
    """Mean overlap |A ∩ B| / min(|A|, |B|) between kept sets, budgets by budgets.

    Parameters
    ----------
    frame : DataFrame
    method : str
    same_seed : bool
        Compare sets of one repetition with each other (the diagonal is then 1) instead of sets of
        different repetitions, which takes a split that is the same in all.

    Returns
    -------
    DataFrame
        Square, over percents; the mean over data sets of the mean over pairs.
    """
    rows = _kept(frame, method)
    levels = sorted(rows["percent"].unique())
    found = np.full((rows["dataset"].nunique(), len(levels), len(levels)), np.nan)
    for number, (_, part) in enumerate(rows.groupby("dataset")):
        masks = _masks(part)
        sizes = masks.sum(axis=1)
        fraction = (masks @ masks.T) / np.minimum.outer(sizes, sizes)
        equal = np.equal.outer(part["repetition"].to_numpy(), part["repetition"].to_numpy())
        wanted = equal if same_seed else ~equal
        groups = [(part["percent"] == level).to_numpy() for level in levels]
        for a, rows_a in enumerate(groups):
            for b, rows_b in enumerate(groups):
                place = np.ix_(rows_a, rows_b)
                if wanted[place].any():
                    found[number, a, b] = fraction[place][wanted[place]].mean(dtype=np.float64)
    known = np.isfinite(found).sum(axis=0)
    mean = np.where(known > 0, np.nansum(found, axis=0) / np.maximum(known, 1), np.nan)
    return pd.DataFrame(mean, index=pd.Index(levels, name="percent"), columns=levels)


def spectrum(frame: pd.DataFrame, method: str = "CDVM5k") -> pd.DataFrame:
    """Fractions of the training rows in the paper's eight bands, one line for each data set.

    With *f(i, B)* the fraction of repetitions that keep row *i* at budget *B*: a row with f > 0.5 at some
    budget is *budget-specific* (at one), *useful* (low: two or three, high: four or more) or *stable core*
    (at all); the others go by the largest f: *never* (below 0.01), *rarely* (below 0.1), *occasionally*
    (below 0.3), *approaching* (up to and with 0.5). The lines are sorted by the fraction of the former.
    """
    rows = _kept(frame, method)
    lines = {}
    for dataset, part in rows.groupby("dataset"):
        masks = _masks(part)
        groups = [masks[(part["percent"] == level).to_numpy()] for level in sorted(set(part["percent"]))]
        often = np.stack([group.sum(axis=0, dtype=np.float64) / len(group) for group in groups])
        lines[str(dataset)] = _bands(often)
    table = pd.DataFrame.from_dict(lines, orient="index", columns=list(BANDS))
    table["majority"] = table[list(BANDS[4:])].sum(axis=1)
    return table.rename_axis("dataset").sort_values("majority", ascending=False).reset_index()


def _bands(often: NDArray[np.float64]) -> list[float]:
    """Fraction of rows in each band, from frequencies of shape (budgets, rows)."""
    count, peak = (often > 0.5).sum(axis=0), often.max(axis=0)
    below = np.searchsorted([0.01, 0.1, 0.3], peak, side="right")
    above = np.select([(count == len(often)) & (count > 1), count >= 4, count >= 2], [7, 6, 5], 4)
    band = np.where(count == 0, below, above)
    return [float(fraction) for fraction in np.bincount(band, minlength=len(BANDS)) / len(band)]


def curves(frame: pd.DataFrame, methods: Collection[str], needed: Collection[str]) -> pd.DataFrame:
    """Mean accuracy of some methods at every budget there is, on the data sets that have the needed ones."""
    rows = checked(frame)
    rows = rows[rows["method"].isin(methods)]
    there = rows["dataset"][rows["method"].isin(needed)]
    table = means(even(rows[rows["dataset"].isin(there)]))
    return table[["dataset", "method", "percent", "accuracy", "std", "stderr", "repetitions"]]


def banzhaf_models(frame: pd.DataFrame) -> pd.DataFrame:
    """Banzhaf values from 1,000 and from 10,000 models against Random; empty without the latter."""
    return curves(frame, ["Banzhaf", "Banzhaf10k", "Random"], ["Banzhaf10k"])


def out_of_bag_ends(frame: pd.DataFrame) -> pd.DataFrame:
    """Data-OOB with the lowest values removed first, with the highest, and Random."""
    return curves(frame, ["DataOOB", "DataOOB-high", "Random"], ["DataOOB-high"])


def nestedness(frame: pd.DataFrame) -> pd.DataFrame:
    """Sets optimised for one budget, followed along the others, beside Random."""
    fixed = [name for name in set(frame["method"]) if _FIXED.fullmatch(name)]
    table = curves(frame, [*fixed, "Random"], fixed)
    target = [_FIXED.fullmatch(name) for name in table["method"]]
    table["target"] = [float(found[1]) if found else np.nan for found in target]
    return table
