"""The rows on a plane: where they lie, what they hold, and what they do for which others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import norm

from cdvm.data.split import Split
from cdvm.report.html.oddities import Doubts
from cdvm.report.run import Run
from cdvm.selection import take_rows
from cdvm.valuation.explain import Effects, Influence, effects_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MOST_POINTS", "cells_of", "draw_rows", "plane_of"]

MOST_POINTS = 3_000
_EXPLAINED = 1_500  # of them
_TOP = 3
_FITTED_TO = 10_000  # rows that decide on the two directions
_FAR = 3.0  # times the width of the middle half; rows beyond are drawn at the edge
_UNITS = 1_000  # of the plane, each way
_COLUMNS = 40
_LETTERS = 60
_CHARACTERS = 1_500_000  # of cells in all; longer rows, fewer points


def draw_rows(run: Run, always: NDArray[np.int64]) -> NDArray[np.int64]:
    """The training rows to draw: all, or some always, and of the rest as many kept rows as others."""
    split = run.split
    if split.n_rows <= MOST_POINTS:
        return np.arange(split.n_rows)
    rng = np.random.RandomState(0)
    kept = np.unique(np.concatenate([s.rows for s in run.selections]))
    shown = np.union1d(rng.permutation(kept)[: MOST_POINTS // 2], always)
    # what a row does is known for evaluation rows, themselves a random sample
    pool = np.arange(split.n_rows) if split.evaluation_rows is None else split.evaluation_rows
    others = rng.permutation(np.setdiff1d(pool, np.union1d(kept, shown)))[: MOST_POINTS - len(shown)]
    return np.sort(np.concatenate([shown, others]))


def plane_of(
    run: Run,
    numbers: Split,
    frame: pd.DataFrame | None,
    doubts: Doubts | None,
    always: NDArray[np.int64],
) -> dict[str, Any]:
    """All that the map shows, as plain values.

    Parameters
    ----------
    run : Run
    numbers : Split
        The same rows with features that are numbers.
    frame : DataFrame, optional
        The whole table as the user has it; features as the models saw them without it.
    doubts : Doubts, optional
    always : ndarray
        Training rows to draw, whatever others are.
    """
    split, rows = run.split, draw_rows(run, always)
    columns, cells = cells_of(split, rows, frame)
    most = _CHARACTERS // max(1, int(np.mean([sum(map(len, line)) + 3 * len(line) for line in cells])))
    if len(rows) > most:
        some = np.sort(np.random.RandomState(1).permutation(len(rows))[:most])
        rows, cells = rows[some], [cells[k] for k in some]
    places, variance = _directions(numbers.X, rows)
    return {
        "n": split.n_rows,
        "task": split.task,
        "classes": [] if split.classes is None else [str(c) for c in split.classes.tolist()],
        "variance": variance,
        "budgets": [f"{s.retained:.1%} · {len(s):,} rows" for s in run.selections],
        "columns": columns,
        "n_columns": split.X.shape[1] if frame is None else frame.shape[1],
        "row": split.rows[rows].tolist(),
        "x": places[:, 0].tolist(),
        "y": places[:, 1].tolist(),
        "label": split.y[rows].tolist(),
        "kept": [np.flatnonzero(np.isin(rows, s.rows)).tolist() for s in run.selections],
        "cells": cells,
        **_explained(run, rows, doubts),
    }


def _directions(X: Any, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], float]:
    """Places of rows along the two directions in which features vary most, and the fraction they hold."""
    from sklearn.decomposition import PCA

    some = np.random.RandomState(0).permutation(X.shape[0])[:_FITTED_TO]
    fitted_to = X[some]
    if min(fitted_to.shape) <= 2 and sparse.issparse(X):  # too few for what reads sparse features
        X, fitted_to = X.toarray(), fitted_to.toarray()
    n = min(2, *fitted_to.shape)
    fitted = PCA(n, svd_solver="arpack" if sparse.issparse(X) else "auto", random_state=0).fit(fitted_to)
    places = np.zeros((len(rows), 2))
    places[:, :n] = fitted.transform(X[rows])
    first, third = np.percentile(places, [25, 75], axis=0)
    least, most = np.percentile(places, [1, 99], axis=0)
    far = _FAR * (third - first)  # a stray row shall not press the others together
    low = np.maximum(places.min(axis=0), np.minimum(least, first - far))
    high = np.minimum(places.max(axis=0), np.maximum(most, third + far))
    scaled = (np.clip(places, low, high) - low) / np.where(high > low, high - low, 1.0)
    held = float(np.nan_to_num(fitted.explained_variance_ratio_).sum())
    return np.rint(scaled * _UNITS).astype(np.int64), round(held, 4)


def cells_of(
    split: Split, rows: NDArray[np.int64], frame: pd.DataFrame | None
) -> tuple[list[str], list[list[str]]]:
    """Names of columns, and what training rows hold in each, as the user knows them."""
    part: Any = take_rows(getattr(split.X, "table", split.X), rows) if frame is None else None
    if frame is not None:
        part = frame.iloc[split.rows[rows]]
    if hasattr(part, "iloc"):
        part = part.iloc[:, :_COLUMNS]
        lines = part.itertuples(index=False, name=None)
        return [str(c) for c in part.columns], [[_cell(v) for v in line] for line in lines]
    part = part[:, :_COLUMNS]
    values = part.toarray() if sparse.issparse(part) else part
    made = getattr(split.preparation, "get_feature_names_out", None)
    names = [f"feature {k}" for k in range(values.shape[1])] if made is None else [str(n) for n in made()]
    return names[:_COLUMNS], [[_cell(v) for v in line] for line in values.tolist()]


def _cell(value: Any) -> str:
    from pandas import isna

    missing = isna(value)
    if isinstance(missing, bool | np.bool_) and missing:
        return ""
    text = f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"


def _explained(run: Run, rows: NDArray[np.int64], doubts: Doubts | None) -> dict[str, Any]:
    """What drawn rows do for others, for as many as there is room for: kept rows come first."""
    split, attribution = run.split, run.chosen.attribution
    told: dict[str, Any] = {
        "effects": {},
        "chance": 0.0,
        "right": None,
        "own": split.evaluation_rows is not None,
    }
    if doubts is not None:
        told["right"] = [round(float(r), 3) for r in doubts.right[rows]]
        told["p"] = [float(f"{p:.2g}") for p in doubts.p_values[rows]]
    if attribution is None:
        return told
    kept = np.isin(rows, np.concatenate([s.rows for s in run.selections]))
    some = np.flatnonzero(kept)[:_EXPLAINED]
    some = np.sort(np.concatenate([some, np.flatnonzero(~kept)[: _EXPLAINED - len(some)]]))
    found = effects_of(rows[some], split, attribution, top=_TOP)
    label = _labels_of_evaluation(split)
    # the largest of so many estimates would be this many standard errors by chance, one time in twenty
    told["chance"] = round(float(norm.isf(0.025 / attribution.shape[1])), 2)
    told["effects"] = {int(k): _effects(one, label) for k, one in zip(some, found, strict=True)}
    return told


def _labels_of_evaluation(split: Split) -> dict[int, Any]:
    places = (
        np.arange(len(split.evaluation[1]))
        if split.evaluation_rows is None
        else split.rows[split.evaluation_rows]
    )
    return dict(zip(places.tolist(), split.evaluation[1].tolist(), strict=True))


def _effects(one: Effects, label: dict[int, Any]) -> list[Any]:
    def told(some: tuple[Influence, ...]) -> list[Any]:
        return [[x.row, label[x.row], _short(x.influence), _short(x.standard_error)] for x in some]

    return [_short(one.value), _short(one.standard_error), told(one.helps), told(one.hurts)]


def _short(number: float) -> float | None:
    return None if np.isnan(number) else float(f"{number:.3g}")
