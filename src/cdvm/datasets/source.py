"""A table in a file, or a data set by name, read and split for a run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cdvm._runtime.progress import Progress
from cdvm.data.preparation import Preparation
from cdvm.data.scaling import Scale, scaled_for
from cdvm.data.split import HOLDOUT, Split
from cdvm.data.tables import Table, read_table
from cdvm.datasets import load_dataset
from cdvm.errors import InputError
from cdvm.learners import Learner, make_learner
from cdvm.learners.needs import prepare_for

__all__ = ["Source", "load_source", "parse_names"]


@dataclass(frozen=True, eq=False)
class Source:
    """What a run works on.

    Attributes
    ----------
    name : str
        The file or data set.
    table : Table
    split : Split
    learner : Learner
    learner_name : str
    scaled : bool
        Whether features were standardised.
    files : list of path
        The tables that were read.
    arrivals : tuple of (features, labels)
        Rows that came after those of the split, one pair for each of the further tables; ``table`` has all.
    """

    name: str
    table: Table
    split: Split
    learner: Learner
    learner_name: str
    scaled: bool
    files: list[Path]
    arrivals: tuple[tuple[Any, Any], ...] = ()


def load_source(
    path: Path | None,
    target: str,
    *,
    dataset: str,
    validation: str,
    own_validation: bool,
    test: Path | float | None,
    uses: Mapping[str, list[str] | None],
    learner: str,
    scale: bool | None,
    seed: int,
    reporting: bool = True,
    new_rows: Sequence[Path] = (),
) -> Source:
    """Read, check and split what the user named.

    Parameters
    ----------
    validation : str
        A file, ``"out_of_bag"`` or ``"holdout"``.
    own_validation : bool
        Whether validation rows that a data set brings go before the last two.
    test : path or float, optional
        A table, a fraction of the rows, or nothing.
    uses : mapping
        What the user says of columns, by option: ``columns``, ``ignore``, ``categorical``, ``text``.
    reporting : bool
        Whether rows are wanted to report on, so that some are held out with the validation rows.
    new_rows : sequence of path
        Tables with rows that came later, which are not part of the split.
    """
    if (path is None) == (not dataset):
        raise InputError("name one table, or a data set with dataset=, e.g. dataset='digits'")
    others: dict[str, Table | None] = {
        "val": None if validation in ("out_of_bag", "holdout") else read_table(Path(validation)),
        "test": read_table(test) if isinstance(test, Path) else None,
    }
    if path is not None:
        with Progress(f"reading {path.name}"):
            table, name = read_table(path), str(path)
        named: str | Learner = learner or "logistic"
        wanted: Scale = "auto" if scale is None else scale
    else:
        data = load_dataset(dataset)
        if target not in ("target", data.target):
            raise InputError(f"target={target!r}: the label of dataset={dataset!r} is {data.target!r}")
        if validation == "holdout" and own_validation:
            data = data.halved_test(seed)
        table, name, target = Table.of_frame(data.table), dataset, data.target
        if data.validation is not None and own_validation:
            others["val"] = Table.of_frame(data.validation)
        if data.test is not None and test is None:
            others["test"] = Table.of_frame(data.test)
        named, wanted = learner or data.learner, data.scale if scale is None else scale
    made = make_learner(named)
    known = [str(c) for c in table.frame.columns]
    named_columns = {option: parse_names(words, known) for option, words in uses.items() if words}
    table.check_columns(target, **named_columns)
    prepare, left_out = _preparation(made, named, wanted, named_columns, dataset)
    X, y = table.features_and_labels(target, left_out)
    parts: dict[str, Any] = {}
    for part, other in others.items():
        if other is not None:
            present = [c for c in left_out if c in other.frame.columns]
            parts[f"X_{part}"], parts[f"y_{part}"] = other.features_and_labels(target, present)
    if isinstance(test, float) and "X_val" in parts:
        raise InputError(f"test={test:g} holds rows out where no table is given as validation=: name a table")
    held = reporting and not parts and validation == "holdout"
    test_size = test if isinstance(test, float) else HOLDOUT if held else 0.0
    evaluation: dict[str, Any] = {}
    if "X_val" not in parts:
        holdout = {"validation": "holdout"}
        evaluation = {"validation": "out_of_bag"} if validation == "out_of_bag" else holdout
    with Progress("checking rows"):
        split = Split.from_arrays(
            X,
            y,
            **parts,
            **evaluation,
            task=made.task,
            test_size=test_size,
            random_state=seed,
            prepare=prepare,
        )
        split = scaled_for(named, split, wanted)
    given = [
        path,
        None if validation in ("out_of_bag", "holdout") else Path(validation),
        test if isinstance(test, Path) else None,
    ]
    files = [file for file in (*given, *new_rows) if file is not None and os.path.isfile(file)]
    source = Source(name, table, split, made, learner or made.name, split.scaled, files)
    return _followed(source, new_rows, target, left_out)


def _followed(source: Source, new_rows: Iterable[Path], target: str, left_out: list[str]) -> Source:
    """The same with rows that came later."""
    table, arrivals = source.table, []
    for path in new_rows:
        more, before = read_table(path), len(table.frame)
        table = table.joined(more, str(path))
        aligned = replace(
            more, frame=more.frame[table.frame.columns].set_axis(range(before, len(table.frame)))
        )
        arrivals.append(aligned.features_and_labels(target, left_out))
    return replace(source, table=table, arrivals=tuple(arrivals))


def _preparation(
    made: Learner, named: Any, scale: Scale, uses: dict[str, list[str]], dataset: str
) -> tuple[Any, list[str]]:
    """How columns become features, and those that never do: the features of a data set are ready."""
    if not dataset:
        return prepare_for(named, made, None, Preparation().set_params(**uses), scale), []
    for option in uses:
        if option != "ignore":
            raise InputError(f"{option}= is for tables: the features of dataset={dataset!r} are ready")
    return None, uses.get("ignore", [])


def parse_names(words: list[str] | None, known: Iterable[str]) -> list[str]:
    """Names of columns, from words and from lists of them with commas; a name may have a comma itself.

    >>> parse_names(["id,note", "a,b"], ["id", "note", "a,b"])
    ['id', 'note', 'a,b']
    """
    names = set(known)
    parts = ([word] if word in names else [part.strip() for part in word.split(",")] for word in words or [])
    return list(dict.fromkeys(part for some in parts for part in some))
