"""What a run found, as plain values: the content of ``summary.json`` and of every other report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, Literal

from cdvm.evaluation.comparison import compare_with_random
from cdvm.evaluation.metrics import make_metric
from cdvm.learners import Learner
from cdvm.report.columns import told_columns
from cdvm.report.rare import tell_classes
from cdvm.report.run import Chosen, Run
from cdvm.selection import Selection

__all__ = ["PARTS", "Verdict", "doubts_about", "judge", "part_of", "summarize"]

PARTS = {"test": "held-out rows", "validation": "validation rows", "outside": "other rows"}
"""What parts of a table are called, those with the least part in choosing first."""

Verdict = Literal["better", "unclear", "no better", "all rows"]

_DRAWS = 20


def summarize(run: Run, others: Mapping[str, Learner] | None = None) -> dict[str, Any]:
    """All metrics of a run as plain values; ``others`` are models to evaluate the chosen rows with."""
    from cdvm import __version__

    split, chosen, made = run.split, run.chosen, make_metric(run.metric, run.split)
    sets = [selection.rows for selection in run.selections]
    evaluated = {run.learner_name: run.learner} | dict(others or {})
    options: dict[str, Any] = {"draws": _DRAWS, "seed": run.seed, "n_jobs": run.jobs}
    compared = {
        name: compare_with_random(split, learner, sets, metric=made, **options)
        for name, learner in evaluated.items()
    }
    classes = tell_classes(split, run.learner, run.selections, metric=made.name, **options)
    told = ["fraction", "method", "seconds", "alpha", "kappa", "objective", "bound", "gap", "score"]
    if any(selection.fits is not None for selection in run.selections):
        told += ["optimism", "fits"]
    compared_ways = any(selection.leaderboard is not None for selection in run.selections)
    return {
        "version": __version__,
        "source": run.name,
        "rows": split.n_table,
        "candidates": split.n_rows,
        "evaluation": "validation rows" if split.evaluation_rows is None else "out_of_bag",
        "n_evaluation": len(split.evaluation[1]),
        "validation_rows": 0 if split.y_val is None else len(split.y_val),
        "test_rows": 0 if split.y_test is None else len(split.y_test),
        "metric": made.title,
        **({"ways_compared_by": made.of_rows} if compared_ways else {}),
        "learner": run.learner_name,
        "learner_settings": run.learner.spec(),
        "standardised": split.scaled,
        "columns": told_columns(split.preparation),
        "seed": run.seed,
        "random_draws": _DRAWS,
        "method": chosen.method,
        **chosen.details,
        **_search(chosen),
        "budgets": {
            name: {
                "rows": len(selection),
                **{key: getattr(selection, "retained" if key == "fraction" else key) for key in told},
                **(_ways(selection) if compared_ways else {}),
                **({"limits": [asdict(one) for one in selection.limits]} if selection.limits else {}),
                "evaluated_with": {
                    model: {part: asdict(found) for part, found in lines[number].items()}
                    for model, lines in compared.items()
                },
                **classes[number],
            }
            for number, (name, selection) in enumerate(chosen.selections.items())
        },
    }


def _search(chosen: Chosen) -> dict[str, Any]:
    """What was promised of the set, and the scores of several sizes."""
    told: dict[str, Any] = {}
    if chosen.smallest is not None:
        found = chosen.smallest
        rows = None if found.selection is None else len(found.selection)
        asked = {name: getattr(found, name) for name in ("within", "at_score", "confidence")}
        told["smallest"] = {"rows": rows, **asked, "told": str(found), **asdict(found.point)}
    if chosen.curve is not None:
        told["curve"] = [asdict(point) for point in chosen.curve.points]
        told["curve_metric"] = chosen.curve.metric
    return told


def _ways(selection: Selection) -> dict[str, Any]:
    """How each way of choosing did."""
    return {
        "leaderboard": [asdict(line) for line in selection.leaderboard or ()],
        "agreement": selection.agreement,
    }


def part_of(parts: Mapping[str, Any]) -> str:
    """Of the parts that were scored on, the one that had the least part in choosing."""
    return next(part for part in PARTS if part in parts)


def judge(report: dict[str, Any], line: dict[str, Any]) -> Verdict:
    """Whether a budget's rows are better than random ones, as :attr:`Comparison.above_random` has it."""
    parts = line["evaluated_with"][report["learner"]]
    found = parts[part_of(parts)]
    if line["rows"] == report["candidates"]:
        return "all rows"
    above = found["kept"] - found["random"]
    if above <= 0:
        return "no better"
    return "unclear" if above <= 2 * found["random_std"] / math.sqrt(report["random_draws"]) else "better"


def doubts_about(report: dict[str, Any]) -> Iterator[str]:
    """Budgets whose rows are no better than random ones."""
    for line in report["budgets"].values():
        parts = line["evaluated_with"][report["learner"]]
        part = part_of(parts)
        found, verdict = parts[part], judge(report, line)
        error = found["random_std"] / math.sqrt(report["random_draws"])
        numbers = f"{found['kept']:.3f} against {found['random']:.3f}±{error:.3f} on the {PARTS[part]}"
        if verdict == "no better":
            yield f"the {line['rows']} kept rows are no better than random rows ({numbers})"
        elif verdict == "unclear":
            yield f"the {line['rows']} kept rows are not clearly better than random rows ({numbers})"
