"""Options that several commands share, and which of them go together."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cdvm.cli.words import FLAGS
from cdvm.errors import InputError

if TYPE_CHECKING:
    from cdvm.pruner.request import Request

__all__ = [
    "AtLeast",
    "AtMost",
    "Categorical",
    "Cluster",
    "Columns",
    "Confidence",
    "Cost",
    "DatasetName",
    "DropIf",
    "EffortName",
    "EvaluationRows",
    "Force",
    "Groups",
    "Ignore",
    "Jobs",
    "Keep",
    "KeepIf",
    "LearnerName",
    "MetricName",
    "NewRows",
    "Scale",
    "Score",
    "Seed",
    "Spend",
    "Store",
    "TableFile",
    "Target",
    "TestRows",
    "Text",
    "Together",
    "Validation",
    "WithCurve",
    "Within",
    "check_request",
    "refuse_unused",
]

TableFile = Annotated[
    Path | None,
    typer.Argument(
        help="Table: .csv, .tsv, .txt or .jsonl (also .gz, .zst, …), .parquet, .feather, .xlsx.",
        show_default=False,
    ),
]
Target = Annotated[str, typer.Option(help="Column of the label.")]
DatasetName = Annotated[
    str, typer.Option(help="A data set by name instead of TABLE, e.g. digits; cdvm datasets lists them.")
]
EvaluationRows = Annotated[
    str,
    typer.Option(
        "--validation",
        help="What models are scored on to choose: a table of other rows; out_of_bag, every row by "
        "models that did not see it; or holdout, a fifth of the table.",
        show_default="out_of_bag",
    ),
]
TestRows = Annotated[
    str, typer.Option("--test", help="Rows to report on: a table, or a fraction to hold out, e.g. 20%.")
]
Validation = Annotated[
    Path | None, typer.Option(help="Table of rows to choose with: models are scored on them.")
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(help="Columns that are no features: id, or id,note. They are still written."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(help="Columns that are features: age,job. All but ids and constants by default."),
]
Categorical = Annotated[
    list[str] | None, typer.Option(help="Columns whose values are names, though they may be numbers.")
]
Text = Annotated[list[str] | None, typer.Option(help="Columns that hold texts, to be embedded.")]
LearnerName = Annotated[
    str,
    typer.Option(
        help="Model the rows are for: {learners}, or the name of a scikit-learn class.",
        show_default="logistic",
    ),
]
Scale = Annotated[
    bool | None,
    typer.Option("--scale/--no-scale", help="Standardise features for the models.", show_default="scale"),
]

EffortName = Annotated[
    str | None,
    typer.Option(
        "--effort",
        help="low: the program alone; medium, high: compare several ways by training the learner itself.",
        show_default="medium; low with --alpha, --kappa, --tune, --refine, or conditions and no --metric",
    ),
]
MetricName = Annotated[
    str,
    typer.Option(
        "--metric",
        help="What sets are compared by: {metrics}, or a scorer of scikit-learn; with costs or rows that go "
        "together, in the report alone.",
        show_default="accuracy, or r2",
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(help="How much to keep: 5%, 0.05 or 120 (rows), or several: 5%,10%.", show_default="10%"),
]
Store = Annotated[
    str | None,
    typer.Option(
        help="Directory or address (s3://…) for the models' outcomes; an interrupted run goes on from there."
    ),
]
NewRows = Annotated[
    list[Path] | None,
    typer.Option(
        help="Table with rows that came since, e.g. june.csv: models in --store are not trained again. "
        "Repeat it for later ones.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are there.")]
Seed = Annotated[int, typer.Option(help="Seed of all randomness.")]
Jobs = Annotated[int, typer.Option(help="Parallel tasks; -1 for all cores.")]
Cluster = Annotated[
    str | None,
    typer.Option(help="Train on the Dask cluster of this scheduler instead, e.g. tcp://10.0.0.1:8786."),
]


KeepIf = Annotated[
    str, typer.Option(help="Rows that must be kept: a condition on columns, e.g. \"source == 'gold'\".")
]
DropIf = Annotated[str, typer.Option(help="Rows that may not be kept: a condition on columns.")]
Groups = Annotated[str, typer.Option(help="Column of groups that --at-least and --at-most are about.")]
AtLeast = Annotated[
    list[str] | None,
    typer.Option(help="Rows of each group to keep at least: 20, 5%, or GROUP=20; repeat for several."),
]
AtMost = Annotated[list[str] | None, typer.Option(help="Rows of each group to keep at most, likewise.")]
Together = Annotated[str, typer.Option(help="Column whose equal entries are kept or dropped together.")]
Cost = Annotated[str, typer.Option(help="Column of what a row costs; with --spend in the place of --keep.")]
Within = Annotated[
    str,
    typer.Option(help="Find the smallest set that loses no more than this of the score: 1% is one point."),
]
Score = Annotated[float | None, typer.Option(help="Find the smallest set whose model has this score.")]
Confidence = Annotated[
    str,
    typer.Option(help="How sure --within or --score is to be held, by other rows.", show_default="90%"),
]
WithCurve = Annotated[
    bool,
    typer.Option("--curve", help="Score over rows kept, by rows without a part in choosing; and a figure."),
]
Spend = Annotated[list[float] | None, typer.Option(help="What the kept rows may cost in all; or several.")]


def refuse_unused(method: str, given: dict[str, Any], *, of_use: Iterable[str] = ()) -> None:
    """Refuse options that a method would ignore.

    Parameters
    ----------
    method : str
    given : dict
        By argument name; what the user did not give is None or False.
    of_use : iterable of str
        Arguments that something else than the method takes.
    """
    known = {*of_use, *_taken_by(method)}
    for name, value in given.items():
        if value is not None and value is not False and name not in known:
            flag = FLAGS.get(name, f"--{name}")
            raise InputError(f"{flag} has no meaning for --method {method}: leave it out")


def _taken_by(method: str) -> Iterable[str]:
    from cdvm.errors import unknown_name
    from cdvm.selectors import selector_names, selector_options
    from cdvm.selectors.baselines import baseline_names
    from cdvm.valuation import valuation_names, valuation_options

    if method == "cdvm":
        own = ["n_models", "inclusion", "store", "alpha", "kappa", "tune", "memory_limit", "cluster"]
        return [*own, "effort", "proxy", "seconds"]
    if method in valuation_names():
        known = valuation_options(method)
        # a method that trains models side by side can do so on a cluster
        return ["remove", *known, *(["cluster"] if "n_jobs" in known else [])]
    if method in selector_names():
        return selector_options(method)
    raise unknown_name("method", method, ["cdvm", *baseline_names()])


def check_request(request: Request, new_rows: list[Path] | None = None) -> None:
    """Refuse options that do not go together, before any work is done."""
    if new_rows and (request.store is None or request.method != "cdvm"):
        wrong = "--method cdvm" if request.method != "cdvm" else "--store, where the models of the table are"
        raise InputError(f"--new-rows needs {wrong}: add it, or put the rows into the table")
    given = {
        "remove": request.remove,
        "per_class": request.per_class if request.per_class is None else "given",
        "n_models": request.models,
        "inclusion": request.inclusion,
        "effort": request.effort,
        "proxy": request.proxy,
        "seconds": request.seconds,
        "alpha": request.alpha,
        "kappa": request.kappa,
        "tune": request.tune,
        "store": request.store,
        "memory_limit": request.memory_limit,
        "cluster": request.cluster,
    }
    refuse_unused(request.method, given, of_use=["cluster"] if request.refine else [])
    _check_search(request)
    if request.refine is False and not request.searches:
        raise InputError("--no-refine is about --within and --score, else nothing is refined: leave it out")
    if request.fits is not None and not request.refine:
        raise InputError("--fits says how long to refine: add --refine")
    _check_effort(request)
    for flag, value in {"--alpha": request.alpha, "--kappa": request.kappa}.items():
        if request.tune and value is not None:
            raise InputError(f"{flag} {value:g} is fixed and --tune chooses it: leave one of them out")


def _check_search(request: Request) -> None:
    if request.within is not None and request.at_score is not None:
        raise InputError("--within is measured from all rows and --score from 0: leave one of them out")
    flags = {"--within": request.within is not None, "--score": request.at_score is not None}
    for flag, given in (flags | {"--curve": request.curve}).items():
        if given and request.method != "cdvm":
            raise InputError(f"{flag} has no meaning for --method {request.method}: leave it out")
    if request.curve and request.searches:
        raise InputError("--curve is part of what --within and --score report: leave it out")
    if request.confidence is not None and not request.searches:
        raise InputError("--confidence is that of --within or --score: add one of them")
    if request.searches:
        from cdvm.evaluation.smallest import check_promise

        sure = 0.9 if request.confidence is None else request.confidence
        check_promise(request.within, request.at_score, sure, 0.005)


def _check_effort(request: Request) -> None:
    from cdvm.learners import make_learner

    if request.effort not in (None, "low", "medium", "high"):
        raise InputError(f"--effort {request.effort}: use low, medium or high")
    more = request.effort in ("medium", "high")
    for flag, given in {"--refine": request.refine, "--tune": request.tune}.items():
        if more and given:
            raise InputError(f"{flag} is part of --effort {request.effort}: leave it out")
    program = {
        "--alpha": request.alpha is not None,
        "--kappa": request.kappa is not None,
        "--tune": request.tune,
        "--refine": request.refine,
    }
    told = next((flag for flag, given in program.items() if given), "")
    if request.seconds is not None and (request.effort == "low" or (told and not more)):
        why = "--effort low" if request.effort else told
        raise InputError(f"--seconds bounds searches, and there are none with {why}: leave one of them out")
    if request.proxy not in (None, "auto", "none"):
        make_learner(request.proxy)
