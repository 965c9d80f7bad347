"""``cdvm explain``: why a row is kept, or is not."""

from __future__ import annotations

from typing import Annotated

import typer

from cdvm._runtime.progress import Progress
from cdvm.cli.options import (
    AtLeast,
    AtMost,
    Categorical,
    Columns,
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
    Scale,
    Seed,
    Spend,
    Store,
    TableFile,
    Target,
    Text,
    Together,
    check_request,
)

__all__ = ["explain"]


def explain(
    table: TableFile = None,
    row: Annotated[
        list[int] | None, typer.Option(help="Position of the row in the table, from 0; repeat for several.")
    ] = None,
    target: Target = "target",
    dataset: DatasetName = "",
    keep: Keep = None,
    top: Annotated[int, typer.Option(help="Rows to name of each kind.", min=1)] = 5,
    validation: EvaluationRows = "",
    columns: Columns = None,
    ignore: Ignore = None,
    categorical: Categorical = None,
    text: Text = None,
    learner: LearnerName = "",
    models: Annotated[int | None, typer.Option(help="Subset models to train.", show_default="5000")] = None,
    inclusion: Annotated[
        float | None, typer.Option(help="Probability of a row to be in a subset.", show_default="auto")
    ] = None,
    tune: Annotated[bool, typer.Option("--tune", help="Choose alpha and kappa from a grid.")] = False,
    refine: Annotated[
        bool, typer.Option("--refine", help="Improve the chosen rows by retraining models on them.")
    ] = False,
    effort: EffortName = None,
    scale: Scale = None,
    keep_if: KeepIf = "",
    drop_if: DropIf = "",
    groups: Groups = "",
    at_least: AtLeast = None,
    at_most: AtMost = None,
    together: Together = "",
    cost: Cost = "",
    spend: Spend = None,
    store: Store = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
) -> None:
    """Say why rows are kept, or are not: what they do for which rows, and what could take their place.

    The rows kept are those of `cdvm prune` with the same settings; with the same --store no model is trained
    again. Positions are those of the column "row" of its selection.csv.

    Example: `cdvm explain train.csv --target label --row 17 --keep 5% --store runs/`
    """
    with Progress("starting"):  # the libraries take seconds to load
        from cdvm.cli.parsing import parse_limits, parse_spending
        from cdvm.datasets.source import load_source
        from cdvm.errors import InputError
        from cdvm.pruner.conditions import table_conditions
        from cdvm.pruner.request import Request, choose_rows
        from cdvm.valuation.explain import explain_row

    if not row:
        raise InputError("--row is missing: name the position of a row, e.g. --row 17")
    budgets = parse_spending(spend, keep, cost)
    if len(budgets) > 1:
        raise InputError(f"{'--spend' if spend else '--keep'} names {len(budgets)} sets: explain beside one")
    request = Request(
        models=models,
        inclusion=inclusion,
        tune=tune,
        refine=refine or None,
        effort=effort,
        store=store,
        seed=seed,
        jobs=jobs,
        explain=True,
    )
    check_request(request)
    source = load_source(
        table,
        target,
        dataset=dataset,
        validation=validation or "out_of_bag",
        own_validation=not validation,
        test=None,
        uses={"columns": columns, "ignore": ignore, "categorical": categorical, "text": text},
        learner=learner,
        scale=scale,
        seed=seed,
    )
    for one in row:
        if one not in source.split.rows:
            raise InputError(f"--row {one} is no row that could be kept: use a position in the table, from 0")
    conditions = table_conditions(
        source.table.frame,
        keep_if=keep_if,
        drop_if=drop_if,
        groups=groups,
        together=together,
        cost=cost,
        at_least=parse_limits("--at-least", at_least),
        at_most=parse_limits("--at-most", at_most),
    )
    chosen = choose_rows(source.split, source.learner, budgets, request, conditions)
    (selection,) = chosen.selections.values()
    assert chosen.attribution is not None
    told = [
        explain_row(one, selection, source.split, chosen.attribution, evidence=chosen.evidence, top=top)
        for one in row
    ]
    typer.echo("\n\n".join(map(str, told)))
