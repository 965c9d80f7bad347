"""Rare classes are never dropped in silence: how many rows of each are kept, and what they are worth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from cdvm.data.split import Split
from cdvm.evaluation.comparison import compare_with_random
from cdvm.selection import Selection

__all__ = ["rare_sentences", "tell_classes"]

_RARE = 0.1  # of the rows: a class below is one that accuracy hardly sees,
_UNEVEN = 0.5  # unless all are about as small: of what equal classes would have
_SHOWN = 5


def tell_classes(
    split: Split, learner: Any, selections: list[Selection], *, metric: str, **options: Any
) -> list[dict[str, Any]]:
    """For each selection rows kept of each class and, unless that is the metric, balanced accuracy.

    Nothing where no class is rare. ``options`` are those of :func:`cdvm.compare_with_random`.
    """
    counts = np.bincount(split.y, minlength=split.n_classes) if split.task == "classification" else np.ones(1)
    if counts.min() >= _least(len(counts), int(counts.sum())):
        return [{} for _ in selections]
    told: list[dict[str, Any]] = []
    for selection in selections:
        kept = np.bincount(split.y[selection.rows], minlength=split.n_classes)
        lines = zip(
            split.labels(np.arange(split.n_classes)).tolist(), kept.tolist(), counts.tolist(), strict=True
        )
        told.append({"classes": {str(label): {"kept": k, "rows": n} for label, k, n in lines}})
    if metric != "balanced_accuracy":
        found = compare_with_random(
            split, learner, [s.rows for s in selections], metric="balanced_accuracy", **options
        )
        for line, parts in zip(told, found, strict=True):
            line["balanced_accuracy"] = {part: asdict(comparison) for part, comparison in parts.items()}
    return told


def rare_sentences(report: dict[str, Any]) -> Iterator[str]:
    """What is to be said of rare classes, one sentence a budget."""
    for line in report["budgets"].values():
        if "classes" not in line:
            continue
        total = sum(c["rows"] for c in line["classes"].values())
        least = _least(len(line["classes"]), total)
        rare = [(label, c) for label, c in line["classes"].items() if c["rows"] < least]
        shown = [f"{c['kept']} of {c['rows']} rows of {label!r}" for label, c in rare[:_SHOWN]]
        more = f" and so on for {len(rare) - _SHOWN} more" if len(rare) > _SHOWN else ""
        said = f"Rare classes: the {line['rows']} kept rows have {', '.join(shown)}{more}"
        if balanced := line.get("balanced_accuracy"):
            part = next(part for part in ("test", "validation", "outside") if part in balanced)
            found = balanced[part]
            said += (
                f"; balanced accuracy {found['kept']:.3f}, random rows "
                f"{found['random']:.3f}±{found['random_std']:.3f}"
            )
        yield f"{said}."


def _least(n_classes: int, rows: int) -> float:
    """Rows below which a class is rare: of ten equal classes none is.

    >>> _least(2, 1000), _least(10, 1000)
    (100.0, 50.0)
    """
    return rows * min(_RARE, _UNEVEN / n_classes)
