"""``cdvm outcomes``: train models in parts, see how far they are, bring the parts together."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from cdvm.cli.options import (
    Categorical,
    Cluster,
    Columns,
    DatasetName,
    EvaluationRows,
    Ignore,
    Jobs,
    LearnerName,
    Scale,
    Seed,
    TableFile,
    Target,
    TestRows,
    Text,
)
from cdvm.errors import InputError

__all__ = ["merge", "parse_models", "run", "status"]

_SHOWN = 8  # ranges or files to list


def run(
    table: TableFile = None,
    target: Target = "target",
    dataset: DatasetName = "",
    models: Annotated[
        str,
        typer.Option(
            help="Models to train, FIRST:STOP (STOP is not trained), or how many.", show_default="5000"
        ),
    ] = "",
    store: Annotated[str, typer.Option(help="Directory or address (s3://…) for the outcomes.")] = "",
    validation: EvaluationRows = "",
    test: TestRows = "",
    columns: Columns = None,
    ignore: Ignore = None,
    categorical: Categorical = None,
    text: Text = None,
    learner: LearnerName = "",
    inclusion: Annotated[
        float | None, typer.Option(help="Probability of a row to be in a subset.", show_default="auto")
    ] = None,
    scale: Scale = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    cluster: Cluster = None,
) -> None:
    """Train some of the models of `cdvm prune`, and keep their outcomes in a store.

    Many runs may share a store, each with a range of its own, on as many machines as see it. With the same
    settings `cdvm prune --store` then finds all models there. Models in the store are not trained again.

    Example: `cdvm outcomes run train.csv --target label --models 0:2500 --store runs/` and, elsewhere,
    `--models 2500:5000`
    """
    from cdvm.cli.parsing import parse_test
    from cdvm.datasets.source import load_source
    from cdvm.pruner.request import placed, record_models
    from cdvm.sampling import N_MODELS

    if not store:
        raise InputError("name a place for the outcomes, e.g. --store runs/")
    held_out = parse_test(test)
    if isinstance(held_out, Path):
        raise InputError(f"--test {test} plays no part in training models: leave it out")
    numbers = parse_models(models) if models else range(N_MODELS)
    source = load_source(
        table,
        target,
        dataset=dataset,
        validation=validation or "out_of_bag",
        own_validation=not validation,
        test=held_out,
        uses={"columns": columns, "ignore": ignore, "categorical": categorical, "text": text},
        learner=learner,
        scale=scale,
        seed=seed,
    )
    with placed(cluster):
        record_models(
            source.split, source.learner, numbers, inclusion=inclusion, store=store, seed=seed, jobs=jobs
        )
    typer.echo(f"Models {numbers.start} to {numbers.stop} are in {store}.")


def merge(
    target: Annotated[str, typer.Argument(help="Store to write: a new one, or one of the same run.")],
    sources: Annotated[list[str], typer.Argument(help="Stores with ranges that do not overlap.")],
) -> None:
    """Bring stores over several ranges of models together in one.

    Example: `cdvm outcomes merge runs/ part-1/ part-2/ part-3/`
    """
    from cdvm.outcomes.recorded import merge_stores

    merged = merge_stores(target, *sources)
    typer.echo(f"{target} holds {merged.n_models} models.")


def status(store: Annotated[str, typer.Argument(help="Directory or address of a store.")]) -> None:
    """Say how far a store is: models done, missing or damaged, and what they will still take.

    Example: `cdvm outcomes status runs/`
    """
    from cdvm.outcomes.status import store_status

    found = store_status(store)
    typer.echo(f"{store}: {found.done} of {found.requested} models done")
    if found.missing:
        typer.echo(f"missing: {_list([f'{first}:{stop}' for first, stop in found.missing])}")
    if found.damaged:
        typer.echo(f"damaged, to be computed again by the next run: {_list(found.damaged)}")
    if found.set_aside:
        typer.echo(f"set aside as damaged before: {_list(found.set_aside)}")
    if found.foreign:
        typer.echo(f"of another run, left out: {_list(found.foreign)}")
    if found.missing and found.rate is not None and found.seconds_left is not None:
        typer.echo(f"{found.rate:.3g} models a second: {_duration(found.seconds_left)} to go at that rate")


def parse_models(word: str) -> range:
    """Model numbers from ``first:stop`` or from a count.

    >>> parse_models("2500:5000"), parse_models("300")
    (range(2500, 5000), range(0, 300))
    """
    match = re.fullmatch(r"(?:(\d+):)?(\d+)", word.strip())
    numbers = range(int(match[1] or 0), int(match[2])) if match else range(0)
    if not numbers:
        raise InputError(f"--models {word!r}: use FIRST:STOP such as 0:2500, or a number such as 5000")
    return numbers


def _list(words: list[str]) -> str:
    more = len(words) - _SHOWN
    return ", ".join(words[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _duration(seconds: float) -> str:
    """Roughly, for a person.

    >>> _duration(42.3), _duration(7000), _duration(200_000)
    ('42 s', '117 min', '56 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
