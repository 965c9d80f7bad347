"""``cdvm prune``: choose the rows of a table to keep."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from cdvm._runtime.progress import Progress
from cdvm.cli.options import (
    AtLeast,
    AtMost,
    Categorical,
    Cluster,
    Columns,
    Confidence,
    Cost,
    DatasetName,
    DropIf,
    EffortName,
    EvaluationRows,
    Groups,
    Ignore,
    Jobs,
    Keep,
    KeepIf,
    LearnerName,
    MetricName,
    NewRows,
    Scale,
    Score,
    Seed,
    Spend,
    Store,
    TableFile,
    Target,
    TestRows,
    Text,
    Together,
    WithCurve,
    Within,
    check_request,
)

__all__ = ["prune"]


def prune(
    table: TableFile = None,
    target: Target = "target",
    dataset: DatasetName = "",
    keep: Keep = None,
    within: Within = "",
    score: Score = None,
    confidence: Confidence = "",
    curve: WithCurve = False,
    validation: EvaluationRows = "",
    test: TestRows = "",
    columns: Columns = None,
    ignore: Ignore = None,
    categorical: Categorical = None,
    text: Text = None,
    learner: LearnerName = "",
    metric: MetricName = "",
    method: Annotated[str, typer.Option(help="How to choose: {methods}.")] = "cdvm",
    remove: Annotated[
        str | None,
        typer.Option(
            help="For methods that value rows: whether low or high values go first.", show_default="low"
        ),
    ] = None,
    per_class: Annotated[
        bool | None,
        typer.Option(
            "--per-class/--overall", help="For methods that look at features: class by class or not."
        ),
    ] = None,
    evaluate_with: Annotated[
        list[str] | None,
        typer.Option(help="Evaluate the kept rows with this model too, e.g. random_forest, or several."),
    ] = None,
    models: Annotated[int | None, typer.Option(help="Subset models to train.", show_default="5000")] = None,
    inclusion: Annotated[
        float | None, typer.Option(help="Probability of a row to be in a subset.", show_default="auto")
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(help="Trade-off between total influence and coverage.", show_default="0.5"),
    ] = None,
    kappa: Annotated[
        float | None, typer.Option(help="Influence on an evaluation row that is enough.", show_default="auto")
    ] = None,
    tune: Annotated[bool, typer.Option("--tune", help="Choose alpha and kappa from a grid.")] = False,
    refine: Annotated[
        bool | None,
        typer.Option(
            "--refine/--no-refine",
            help="Improve the chosen rows by retraining models on them.",
            show_default="only with --within and --score, if models are trained many at once",
        ),
    ] = None,
    fits: Annotated[
        int | None,
        typer.Option(help="Models to train while refining, at most.", show_default="up to 3000, or 9000"),
    ] = None,
    effort: EffortName = None,
    proxy: Annotated[
        str | None,
        typer.Option(
            help="Model that trains thousands in the learner's place: a learner's name, or none.",
            show_default="a fast relative",
        ),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="Time for the searches of a budget, about.", show_default="any")
    ] = None,
    scale: Scale = None,
    out: Annotated[Path | None, typer.Option(help="Directory for the kept rows and the summary.")] = None,
    report: Annotated[
        Path | None, typer.Option(help="File for a page about the rows and scores, e.g. report.html.")
    ] = None,
    keep_if: KeepIf = "",
    drop_if: DropIf = "",
    groups: Groups = "",
    at_least: AtLeast = None,
    at_most: AtMost = None,
    together: Together = "",
    cost: Cost = "",
    spend: Spend = None,
    store: Store = None,
    new_rows: NewRows = None,
    memory_limit: Annotated[
        str | None, typer.Option(help="Memory the command may use in all, e.g. 4GB.", show_default="any")
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Write into an output directory that is not empty, replace a report."),
    ] = False,
    seed: Seed = 0,
    jobs: Jobs = -1,
    cluster: Cluster = None,
) -> None:
    """Choose the rows of a training table to keep.

    Without --validation every row is a candidate, and evaluates the models that did not see it. The report is
    then on the rows outside each set, which choosing has seen; --test gives one on rows it has not. Methods
    that need validation rows, and --validation holdout, hold out a stratified fifth to choose with and, but
    for --test, a fifth to report on. Fractions refer to the candidates.

    With --within 1% or --score 0.9 the number of rows is found: the smallest whose model is that good, by
    rows that had no part in choosing.

    With --store, rows that came since may follow in --new-rows: the models of the table are not trained
    again, and a quarter as many more see old and new rows.

    Example: `cdvm prune train.csv --target label --keep 5%,10% --out kept/`
    """
    with Progress("starting"):  # the libraries take seconds to load
        from cdvm.cli.friendly import warn
        from cdvm.cli.parsing import parse_limits, parse_part, parse_spending, parse_test
        from cdvm.datasets.source import load_source
        from cdvm.errors import InputError, redacted
        from cdvm.evaluation.metrics import make_metric
        from cdvm.learners import make_learner
        from cdvm.pruner.conditions import table_conditions
        from cdvm.pruner.request import Request, choose_rows
        from cdvm.report.files import names_of_files, write_results
        from cdvm.report.html.page import page_of
        from cdvm.report.output import check_directory, check_page, refuse_inputs
        from cdvm.report.run import Run
        from cdvm.report.summary import doubts_about, summarize
        from cdvm.report.terminal import print_summary
        from cdvm.valuation import needs_validation

    request = Request(
        method=method,
        remove=remove,
        per_class=per_class,
        models=models,
        inclusion=inclusion,
        alpha=alpha,
        kappa=kappa,
        tune=tune,
        refine=refine,
        fits=fits,
        effort=effort,
        proxy=proxy,
        seconds=seconds,
        metric=metric or None,
        store=store,
        memory_limit=memory_limit,
        seed=seed,
        jobs=jobs,
        cluster=cluster,
        within=parse_part("--within", within),
        at_score=score,
        confidence=parse_part("--confidence", confidence),
        curve=curve,
        explain=report is not None,
    )
    searched = "--within" * bool(within) or "--score" * (score is not None)
    budgets = parse_spending(spend, keep, cost, searched=searched, curve=curve)
    limits = {"at_least": parse_limits("--at-least", at_least), "at_most": parse_limits("--at-most", at_most)}
    check_request(request, new_rows)
    check_directory(out, force=force and (out is not None or report is None), apart_from=store)
    check_page(report, out, force=force, inputs=[table])
    others = {name: make_learner(name) for word in evaluate_with or [] for name in word.split(",")}
    source = load_source(
        table,
        target,
        dataset=dataset,
        validation=validation or ("holdout" if needs_validation(method) else "out_of_bag"),
        own_validation=not validation,
        test=parse_test(test),
        uses={"columns": columns, "ignore": ignore, "categorical": categorical, "text": text},
        learner=learner,
        scale=scale,
        seed=seed,
        new_rows=new_rows or (),
    )
    make_metric(request.metric, source.split)
    asked = table_conditions(
        source.table.frame,
        keep_if=keep_if,
        drop_if=drop_if,
        groups=groups,
        together=together,
        cost=cost,
        **limits,
    )
    labels = asked["groups"] if groups else None
    if groups and at_least is None and at_most is None:  # then they are for the report alone
        if report is None:
            raise InputError("--groups is about --at-least, --at-most and --report: add one of them")
        del asked["groups"]
    if asked and method != "cdvm":
        raise InputError(f"--method {method} knows no conditions: use cdvm, or leave them out")
    if out is not None:
        names = names_of_files(source, budgets, curve=curve or request.searches)
        refuse_inputs([out / name for name in names], source.files)
    if report is not None:
        refuse_inputs([report], source.files, argument="report")
    chosen = choose_rows(source.split, source.learner, budgets, request, asked, source.arrivals)
    source = replace(source, split=chosen.split or source.split)
    run = Run(
        name=source.name,
        split=source.split,
        learner=source.learner,
        learner_name=source.learner_name,
        chosen=chosen,
        metric=request.metric,
        seed=seed,
        jobs=jobs,
    )
    summary = summarize(run, others)
    page = ""
    if report is not None:
        page = page_of(
            run,
            summary,
            command=redacted(shlex.join(["cdvm", *sys.argv[1:]])),
            name=Path(source.name).name,
            frame=source.table.frame,
            groups=labels,
            groups_name=groups,
        )
    write_results(source, chosen, summary, out=out, at=report, page=page)
    print_summary(summary, out, report)
    for doubt in doubts_about(summary):
        warn(doubt)
