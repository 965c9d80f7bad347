"""Results condensed: means and standard deviations, normalised performance, seconds.

Every function takes the rows of a run, one for each (data set, method, budget, repetition, draw), and gives a
table. ``percent`` is the fraction of the training rows kept, in percent. Random has several sets for each
repetition: standard deviations are over all of them, as in the paper, and paired comparisons use their mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from cdvm.benchmark.protocol import PROTOCOLS, SIX, TABULAR
from cdvm.benchmark.published import LEVELS, PAPER_METHODS, RUNTIMES, paper_results
from cdvm.errors import InputError

__all__ = [
    "REFINED",
    "by_repetition",
    "checked",
    "compare_with_paper",
    "even",
    "in_order",
    "is_ablation",
    "main_rows",
    "means",
    "normalised",
    "normalised_performance",
    "runtimes",
]

REFINED = "CDVM+refine"
_ORDER = (
    *(REFINED, "CDVM5k", "CDVM10k", "CDVM-n", "CDVM", "CDVM5k-nokappa"),
    *("InfOpt", "InfOpt-val", "DataOOB", "Banzhaf"),
)
_LAST = ("Random", "All")
_VARIANT = re.compile(r"CDVM\d+k(-p\d+)?(-nokappa|-default)?|Banzhaf\d+k|DataOOB-high|.*@\d+")
_NEEDED = ("protocol", "dataset", "method", "budget", "retained", "repetition", "draw", "accuracy")


def checked(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows with their ``percent``, or a word on what is wrong with them."""
    if "percent" in frame.columns:
        return frame
    if missing := [name for name in _NEEDED if name not in frame.columns]:
        raise InputError(f"the results have no column {', '.join(missing)}: pass what `benchmark run` wrote")
    if frame.empty:
        raise InputError("the results have no rows: run the benchmark first")
    if len(names := sorted(set(frame["protocol"]))) > 1:
        raise InputError(
            f"the results mix the protocols {', '.join(names)}: make the tables of one at a time"
        )
    return frame.assign(percent=(100 * frame["retained"]).round(1))


def is_ablation(method: str) -> bool:
    """Whether a method is a variant that an ablation looks at, not a contender of the main table.

    >>> [is_ablation(name) for name in ("CDVM5k", "CDVM3k", "CDVM5k-p10", "CDVM5k@5", "Banzhaf10k", "InfOpt")]
    [False, True, True, True, True, False]
    """
    return method not in _ORDER and _VARIANT.fullmatch(method) is not None


def in_order(names: Iterable[str]) -> list[str]:
    """Methods or data sets in the order of the tables: the paper's first, Random and All last."""
    known = [*SIX, *_ORDER]

    def place(name: str) -> tuple[int, str]:
        if name in _LAST:
            return len(known) + 1 + _LAST.index(name), name
        return (known.index(name) if name in known else len(known)), name

    return sorted(set(names), key=place)


def follows_paper(frame: pd.DataFrame) -> bool:
    """Whether the rows were made the paper's way, so that its numbers may stand beside them."""
    return str(frame["protocol"].iloc[0]) == "paper"


def same_split(frame: pd.DataFrame) -> bool:
    """Whether row *i* is the same row in every repetition."""
    protocol = PROTOCOLS.get(str(frame["protocol"].iloc[0]))
    return protocol is None or protocol.split_seed is not None


def main_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of the main table: no ablation, and the paper's six budgets where any of them was run."""
    rows = checked(frame)
    rows = rows[~rows["method"].map(is_ablation)]
    usual = rows["percent"].isin(LEVELS)
    return rows[usual | (rows["method"] == "All")] if usual.any() else rows


def by_repetition(frame: pd.DataFrame, value: str = "accuracy") -> pd.Series[float]:
    """One number for each (dataset, percent, method, repetition), the mean over draws."""
    keys = ["dataset", "percent", "method", "repetition"]
    return checked(frame).groupby(keys)[value].mean()


def even(frame: pd.DataFrame) -> pd.DataFrame:
    """Of each data set, the repetitions that have every method at every budget of its rows.

    What is left is compared like with like, whatever was run oftener: means of several methods are over the
    same repetitions.
    """
    rows = checked(frame)
    cells = rows[["dataset", "repetition", "method", "percent"]].drop_duplicates()
    found = cells.groupby(["dataset", "repetition"]).size()
    wanted = cells.drop_duplicates(["dataset", "method", "percent"]).groupby("dataset").size()
    whole = found.index[found == found.index.get_level_values("dataset").map(wanted.to_dict())]
    return rows[pd.MultiIndex.from_frame(rows[["dataset", "repetition"]]).isin(whole)]


def means(frame: pd.DataFrame) -> pd.DataFrame:
    """Test accuracy for each (dataset, method, percent): mean, standard deviation and the mean's error."""
    rows = checked(frame)
    grouped = rows.groupby(["dataset", "method", "percent"], sort=False)
    table = grouped["accuracy"].agg(accuracy="mean", std="std", stderr="sem").reset_index()
    table["budget"] = grouped["budget"].first().to_numpy()
    table["repetitions"] = grouped["repetition"].nunique().to_numpy()
    if "worst_class" in rows.columns:
        table["worst_class"] = grouped["worst_class"].mean().to_numpy()
    place = {name: k for k, name in enumerate(in_order([*table["dataset"], *table["method"]]))}
    keys = table[["dataset", "method"]].apply(lambda column: column.map(place))
    order = np.lexsort((table["percent"], keys["method"], keys["dataset"]))
    return table.iloc[order].reset_index(drop=True)


def compare_with_paper(frame: pd.DataFrame) -> pd.DataFrame:
    """Our mean and standard deviation, the paper's beside them, and ours minus the paper's.

    The paper's stand where the features are the paper's, too: not beside other embeddings.
    """
    table = means(main_rows(frame))
    if not follows_paper(frame):
        return table
    theirs = paper_results()
    theirs = theirs[theirs["dataset"].isin(TABULAR)]
    table = table.merge(theirs, how="left", on=["dataset", "method", "percent"])
    return table.assign(difference=table["accuracy"] - table["paper"])


def normalised_performance(
    table: pd.DataFrame, value: str = "accuracy", among: Sequence[str] | None = None
) -> pd.Series[float]:
    """The paper's score of a method over all settings: 0 if it is everywhere the worst, 1 if the best.

    With *p_ms* the accuracy of method *m* in setting *s* (a data set and a budget)::

        (Σ_s p_ms − Σ_s min_m' p_m's) / (Σ_s max_m' p_m's − Σ_s min_m' p_m's)

    Methods that lack a setting are left out.

    Parameters
    ----------
    table : DataFrame
        One row for each (dataset, percent, method).
    value : str
        The column of accuracies.
    among : sequence of str, optional
        The methods m' that say what is worst and best; others may then lie outside of 0 to 1.
    """
    wide = table.pivot(index=["dataset", "percent"], columns="method", values=value)
    wide = wide.dropna(axis="columns")
    if wide.empty:
        return pd.Series(dtype=float)
    scale = wide if among is None else wide[[name for name in among if name in wide]]
    low, high = scale.min(axis=1).sum(), scale.max(axis=1).sum()
    if high == low:
        return pd.Series(np.nan, index=wide.columns)
    return (wide.sum() - low) / (high - low)


def normalised(frame: pd.DataFrame) -> pd.DataFrame:
    """Normalised performance of every method; on the scale of the paper's methods, beside the paper's own."""
    table = means(main_rows(frame))
    table = table[~table["method"].isin(["All", "CDVM-n"])]
    result = pd.DataFrame({"normalised": normalised_performance(table)})
    if follows_paper(frame):
        theirs = paper_results()
        settings = table[["dataset", "percent"]].drop_duplicates()
        both = [m for m in PAPER_METHODS if m in result.index]
        theirs = theirs[theirs["method"].isin(both)].merge(settings, on=["dataset", "percent"])
        result["among_paper_methods"] = normalised_performance(table, among=both)
        result["paper"] = normalised_performance(theirs, "paper")
    seconds = runtimes(frame)
    if not seconds.empty:
        result["seconds"] = seconds.groupby("method")["total"].mean()
    return result.rename_axis("method").loc[in_order(result.index)].reset_index()


def runtimes(frame: pd.DataFrame, methods: Sequence[str] | None = None) -> pd.DataFrame:
    """Seconds for each data set and method: preparation, optimisation over all budgets, both.

    Preparation (the models, T or values) is paid once for all budgets of a repetition, and optimisation
    once for each; the figures are means over repetitions.
    """
    rows = checked(frame) if methods is not None else main_rows(frame)
    if not {"seconds_prepare", "seconds_optimise"} <= set(rows.columns):
        return pd.DataFrame(columns=["dataset", "method", "prepare", "optimise", "total"])
    rows = rows[rows["method"].isin(methods)] if methods is not None else rows[rows["method"] != "All"]
    unit = ["dataset", "method", "repetition", "draw"]
    once = rows.groupby(unit).agg(prepare=("seconds_prepare", "max"), optimise=("seconds_optimise", "sum"))
    table = once.groupby(["dataset", "method"]).mean().fillna(0.0)
    table["total"] = table["prepare"] + table["optimise"]
    flat = table.reset_index()
    place = {name: k for k, name in enumerate(in_order([*flat["dataset"], *flat["method"]]))}
    return flat.sort_values(["dataset", "method"], key=lambda c: c.map(place), ignore_index=True)


def runtime_summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Seconds of a method, the mean over data sets, beside what the paper states."""
    table = runtimes(frame)
    result = table.groupby("method")[["prepare", "optimise", "total"]].mean()
    result = result.loc[in_order(result.index)].reset_index()
    if not follows_paper(frame):
        return result
    # seconds of the clock, on other machines and by other algorithms: beside ours, and no ratio
    stated = [RUNTIMES.get(str(method)) for method in result["method"]]
    return result.assign(paper=[s.text if s else "" for s in stated])
