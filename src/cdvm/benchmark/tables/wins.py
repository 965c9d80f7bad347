"""Who wins where, by how much, and whether it is more than luck.

A *setting* is a data set and a budget. CDVM stands for the best of CDVM5k, CDVM10k and, on nomao, CDVM-n in
each setting, as in the paper. Differences are paired by repetition (draws of Random averaged first) and
tested by Wilcoxon's signed-rank test, two-sided; over all settings the same test is applied to the mean
differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from cdvm.benchmark.protocol import TABULAR
from cdvm.benchmark.published import PAPER_METHODS, paper_results
from cdvm.benchmark.tables.summary import REFINED, by_repetition, follows_paper, in_order, main_rows, means

__all__ = [
    "BEST_OF",
    "against_all",
    "claims",
    "paired",
    "published_wins",
    "refinement",
    "signed_rank",
    "win_counts",
    "winners",
]

BEST_OF = ("CDVM5k", "CDVM10k", "CDVM-n")
_BASELINES = ("Random", "Banzhaf", "DataOOB")
_RUNS, _LEAST_STD = 25, 0.005  # of the paper, which gives deviations to two digits
_SETTING = ["dataset", "percent"]


def signed_rank(differences: Sequence[float] | NDArray[np.float64]) -> float:
    """The p of Wilcoxon's two-sided signed-rank test; 1 where all differences are 0, NaN for fewer than two.

    >>> signed_rank([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    0.03125
    """
    found = np.asarray(differences, dtype=np.float64)
    return _signed_rank(tuple(found[np.isfinite(found)].round(12).tolist()))


@lru_cache(maxsize=4096)  # several tables ask for the same
def _signed_rank(differences: tuple[float, ...]) -> float:
    found = np.array(differences)
    if len(found) < 2:
        return float("nan")
    if not found.any():
        return 1.0
    # the exact distribution holds only without ties and zeros
    ties = len(np.unique(np.abs(found))) < len(found) or not found.all()
    return float(stats.wilcoxon(found, method="approx" if ties else "auto").pvalue)


def _contenders(frame: pd.DataFrame) -> pd.DataFrame:
    rows = main_rows(frame)
    return rows[rows["method"] != "All"]


def _wide(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean accuracy, one row for each setting and one column for each method."""
    table = means(frame)
    wide = table.pivot(index=_SETTING, columns="method", values="accuracy")
    return wide[in_order(wide.columns)].loc[in_order(table["dataset"])]


def winners(frame: pd.DataFrame) -> pd.DataFrame:
    """The best method of every setting, the next best, and the lead."""
    wide = _wide(_contenders(frame))
    lines = []
    for place, line in wide.iterrows():
        dataset, percent = cast("tuple[str, float]", place)
        ranked = line.dropna().sort_values(ascending=False, kind="stable")
        second = ranked.index[1] if len(ranked) > 1 else ""
        lead = ranked.iloc[0] - ranked.iloc[1] if len(ranked) > 1 else np.nan
        lines.append((dataset, percent, ranked.index[0], ranked.iloc[0], second, lead))
    return pd.DataFrame(lines, columns=[*_SETTING, "best", "accuracy", "second", "lead"])


def paired(
    frame: pd.DataFrame, group: Sequence[str] = BEST_OF, rivals: Sequence[str] | None = None
) -> pd.DataFrame:
    """A group's best member against other methods, in every setting.

    Parameters
    ----------
    frame : DataFrame
    group : sequence of str
        Methods that stand together; in each setting the one with the best mean is compared.
    rivals : sequence of str, optional
        All others by default.

    Returns
    -------
    DataFrame
        dataset, percent, method (of the group), rival, difference, stderr, repetitions, p.
    """
    rows = _contenders(frame)
    runs = by_repetition(rows).unstack("method")
    mine = [name for name in in_order(runs.columns) if name in group]
    others = [n for n in in_order(runs.columns) if n not in group and (rivals is None or n in rivals)]
    lines = []
    for dataset in in_order(rows["dataset"]) if mine else []:
        for percent, part in runs.loc[[dataset]].groupby(level="percent"):
            average = part[mine].mean().dropna()
            if average.empty:
                continue
            best = str(average.idxmax())
            apart = part[best].to_numpy()[:, None] - part[others].to_numpy()
            for rival, column in zip(others, apart.T, strict=True):
                if np.isfinite(column).any():
                    lines.append((dataset, percent, best, rival, *_tested(column[np.isfinite(column)])))
    columns = [*_SETTING, "method", "rival", "difference", "stderr", "repetitions", "p"]
    return pd.DataFrame(lines, columns=columns)


def against_all(frame: pd.DataFrame) -> pd.DataFrame:
    """CDVM+refine against a model trained on all rows of the same repetition, in every setting.

    Returns
    -------
    DataFrame
        dataset, percent, difference, stderr, repetitions, p; empty where either is missing.
    """
    runs = by_repetition(main_rows(frame)).unstack("method")
    lines: list[tuple[object, ...]] = []
    if {REFINED, "All"} <= set(runs.columns):
        whole = runs["All"].dropna().droplevel("percent")
        mine = runs[REFINED].dropna().unstack("percent")
        apart = mine.sub(whole, axis=0).dropna(how="all")
        for dataset in in_order(apart.index.get_level_values("dataset")):
            for percent, column in apart.loc[dataset].items():
                found = column.dropna().to_numpy()
                lines += [(dataset, percent, *_tested(found))] if len(found) else []
    return pd.DataFrame(lines, columns=[*_SETTING, "difference", "stderr", "repetitions", "p"])


def _tested(apart: NDArray[np.float64]) -> tuple[float, float, int, float]:
    spread = apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else np.nan
    return float(apart.mean()), float(spread), len(apart), signed_rank(apart)


def win_counts(frame: pd.DataFrame, group: Sequence[str] = BEST_OF, level: float = 0.05) -> pd.DataFrame:
    """Settings a group wins and loses against each rival, and how many of them clearly."""
    table = paired(frame, group)
    lines = []
    for rival, part in table.groupby("rival"):
        clear = part["p"] < level
        above, below = part["difference"] > 0, part["difference"] < 0
        lines.append(
            {
                "rival": rival,
                "settings": len(part),
                "wins": int(above.sum()),
                "clear_wins": int((above & clear).sum()),
                "losses": int(below.sum()),
                "clear_losses": int((below & clear).sum()),
                "mean_difference": part["difference"].mean(),
                "p": signed_rank(part["difference"].to_numpy()),
            }
        )
    columns = ["rival", "settings", "wins", "clear_wins", "losses", "clear_losses", "mean_difference", "p"]
    result = pd.DataFrame(lines, columns=columns)
    return result.set_index("rival").loc[in_order(result["rival"])].reset_index()


def published_wins(group: Sequence[str] = BEST_OF, level: float = 0.05) -> dict[str, str]:
    """The same in the paper's own table, as *won / lost / undecided* by rival.

    Only means and deviations are published, so methods are compared by Welch's test of 25 runs each.

    >>> published_wins()["Banzhaf"]
    '33 / 0 / 3'
    """
    values = _published()
    deviations = paper_results().pivot(index=_SETTING, columns="method", values="paper_std")
    errors = deviations.clip(lower=_LEAST_STD)
    best = values[list(group)].max(axis=1)
    error = errors.where(values.eq(best, axis=0))[list(group)].bfill(axis=1).iloc[:, 0]
    told = {}
    for rival in values.columns.difference(list(group)):
        p = stats.ttest_ind_from_stats(
            best, error, _RUNS, values[rival], errors[rival], _RUNS, equal_var=False
        ).pvalue
        won, lost = (
            int((better & (p < level)).sum()) for better in (best > values[rival], best < values[rival])
        )
        told[str(rival)] = f"{won} / {lost} / {len(best) - won - lost}"
    return told


def claims(frame: pd.DataFrame) -> pd.DataFrame:
    """What the results show, as counts of settings: claim, holds, of; only what the methods at hand allow."""
    wide = _wide(_contenders(frame))
    lines = [*(_against_paper(wide) if follows_paper(frame) else []), *_order(wide), *_refined(frame, wide)]
    table = pd.DataFrame(lines, columns=["claim", "holds", "of", "value"])
    return table[(table["of"] > 0) | table["value"].notna()].reset_index(drop=True)


Line = tuple[str, int, int, float]


def _count(claim: str, holds: pd.Series[bool]) -> Line:
    return claim, int(np.sum(holds)), len(holds), np.nan


def _published() -> pd.DataFrame:
    return paper_results().pivot(index=_SETTING, columns="method", values="paper")


def _against_paper(wide: pd.DataFrame) -> list[Line]:
    lines = []
    published = _published()
    for method, within in (("Random", 0.015), ("CDVM5k", 0.03)):
        if method in wide:
            apart = (wide[method] - published[method]).dropna()
            apart = apart[apart.index.isin(TABULAR, level="dataset")].abs()
            claim = f"{method} within {within:g} of the paper ({', '.join(TABULAR)})"
            lines.append(_count(claim, apart <= within + 1e-12))
    return lines


def _order(wide: pd.DataFrame) -> list[Line]:
    """The paper's order, among the paper's methods."""
    mine = [name for name in BEST_OF if name in wide]
    base = [name for name in _BASELINES if name in wide]
    rest = [name for name in PAPER_METHODS if name in wide and name not in BEST_OF]
    if not mine or not base:
        return []
    lines = []
    for claim, rivals in (
        (f"CDVM (best of {', '.join(mine)}) above {', '.join(base)}", base),
        (f"CDVM (best of {', '.join(mine)}) best of the paper's methods", rest),
    ):
        whole = wide[wide[rivals].notna().all(axis=1) & wide[mine].notna().any(axis=1)]
        lines.append(_count(claim, whole[mine].max(axis=1) > whole[rivals].max(axis=1)))
    return lines


def _refined(frame: pd.DataFrame, wide: pd.DataFrame) -> list[Line]:
    if REFINED not in wide:
        return []
    wide = wide[wide[REFINED].notna()]
    refined, others = wide[REFINED], wide.drop(columns=REFINED)
    lines = []
    if others.notna().to_numpy().any():
        lines.append(_count(f"{REFINED} above every other method", refined > others.max(axis=1)))
    if follows_paper(frame):
        best = _published().max(axis=1)
        best = best[best.index.isin(TABULAR, level="dataset")].rename("best")
        both = wide.join(best, how="inner")
        claim = f"{REFINED} above the paper's best published value ({', '.join(TABULAR)})"
        lines.append(_count(claim, both[REFINED] > both["best"]))
    for plain in ("CDVM", "CDVM5k"):
        lines += _beside_plain(frame, plain) if plain in wide else []
    return lines + _beside_all(frame)


def _beside_plain(frame: pd.DataFrame, plain: str) -> list[Line]:
    table = paired(frame, [REFINED], [plain])
    safe = table["difference"] >= -table["stderr"].fillna(0.0)
    lines = [_count(f"{REFINED} not below {plain} by more than one standard error", safe)]
    for name, part in (("all budgets", table), ("5 %", table[table["percent"] == 5])):
        if len(part):
            points = 100 * part["difference"].mean()
            lines.append((f"{REFINED} minus {plain}, mean points, {name}", 0, 0, points))
    return lines


def _beside_all(frame: pd.DataFrame) -> list[Line]:
    """At 5 % of the rows, against a model trained on all of them."""
    average = means(main_rows(frame)).set_index(["method", "percent", "dataset"])["accuracy"]
    if "All" not in average.index.get_level_values("method"):
        return []
    all_rows = average.loc["All"].droplevel("percent")
    few = average[(average.index.get_level_values("percent") == 5)].loc[REFINED].droplevel("percent")
    apart = (few - all_rows).dropna()
    return [
        _count(f"{REFINED} at 5 % within 2 points of all rows (data sets)", apart >= -0.02 - 1e-12),
        _count(f"{REFINED} at 5 % above all rows (data sets)", apart > 0),
    ]


def refinement(frame: pd.DataFrame) -> pd.DataFrame:
    """What refining costs and brings in every setting: gain over CDVM5k (or CDVM), seconds, fits."""
    rows = _contenders(frame)
    methods = set(rows["method"])
    plain = next((name for name in ("CDVM5k", "CDVM") if name in methods), None)
    if REFINED not in methods or plain is None:
        return pd.DataFrame()
    table = paired(frame, [REFINED], [plain]).drop(columns=["method", "rival", "repetitions"])
    wide = _wide(rows)
    table = table.merge(wide[[plain, REFINED]].reset_index(), on=_SETTING)
    told = ["seconds_optimise", "fits", "optimism"]
    known = [name for name in told if name in rows.columns]
    more = rows[rows["method"] == REFINED].groupby(_SETTING)[known].mean().reset_index()
    first = [*_SETTING, plain, REFINED]
    table = table.merge(more, on=_SETTING)
    return table[[*first, *(c for c in table.columns if c not in first)]]
