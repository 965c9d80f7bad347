"""From the command line's words to a checked split."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdvm._runtime.progress import Progress
from cdvm.data.preparation import Preparation
from cdvm.data.scaling import Scale, scaled_for
from cdvm.data.split import Split
from cdvm.data.tables import Table, read_table
from cdvm.errors import InputError
from cdvm.learners import Learner, make_learner
from cdvm.learners.needs import prepare_for

__all__ = [
    "Source",
    "load_source",
    "parse_amount",
    "parse_budgets",
    "parse_fraction",
    "parse_keep",
    "parse_names",
]

_VALIDATION_SHARE = _TEST_FRACTION = 0.1


@dataclass(frozen=True, eq=False)
class Source:
    """What a command works on.

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
    """

    name: str
    table: Table
    split: Split
    learner: Learner
    learner_name: str
    scaled: bool
    files: list[Path]


def parse_keep(word: str) -> tuple[str, float]:
    """A name fit for a file, and the budget: a fraction (float) or a number of rows (int).

    >>> parse_keep("5%"), parse_keep("0.05"), parse_keep("120")
    (('5pct', 0.05), ('5pct', 0.05), ('120rows', 120))
    """
    amount = parse_amount("--keep", word)
    return (f"{amount}rows" if isinstance(amount, int) else f"{100 * amount:.10g}pct"), amount


def parse_budgets(words: list[str]) -> dict[str, float]:
    """Budgets by name, from words and from lists of them with commas.

    >>> parse_budgets(["5%,10%", "120"])
    {'5pct': 0.05, '10pct': 0.1, '120rows': 120}
    """
    found: dict[str, float] = {}
    for word in words:
        parts = dict(map(parse_keep, word.split(",")))
        if len({type(amount) for amount in parts.values()}) > 1:
            raise InputError(
                f"--keep {word!r} mixes fractions and numbers of rows: write 2.5%, or --keep twice"
            )
        found |= parts
    return found


def parse_names(words: list[str] | None, known: Iterable[str]) -> list[str]:
    """Names of columns, from words and from lists of them with commas; a name may have a comma itself.

    >>> parse_names(["id,note", "a,b"], ["id", "note", "a,b"])
    ['id', 'note', 'a,b']
    """
    names = set(known)
    parts = ([word] if word in names else [part.strip() for part in word.split(",")] for word in words or [])
    return list(dict.fromkeys(part for some in parts for part in some))


def parse_amount(flag: str, word: str) -> float:
    """A fraction (float) such as 5% or 0.05, or a number of rows (int) such as 120.

    >>> parse_amount("--fraction", "2.5%"), parse_amount("--fraction", "40")
    (0.025, 40)
    """
    text = word.strip()
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    number = re.fullmatch(r"([+-]?\d*\.?\d+(?:[eE]-?\d+)?)\s*(%?)", text)
    if number is None:
        raise InputError(
            f"{flag} {word!r}: use a fraction such as 5% or 0.05, or a number of rows such as 120"
        )
    return float(number[1]) / (100 if number[2] else 1)


def load_source(
    path: Path | None,
    target: str,
    *,
    dataset: str,
    validation: str,
    own_validation: bool,
    test: str,
    uses: Mapping[str, list[str] | None],
    learner: str,
    scale: bool | None,
    seed: int,
    reporting: bool = True,
) -> Source:
    """Read, check and split what the user named.

    Parameters
    ----------
    validation : str
        A file, ``"out_of_bag"`` or ``"holdout"``.
    own_validation : bool
        Whether validation rows that a data set brings go before the last two.
    test : str
        A file, a fraction, or nothing.
    uses : mapping
        What the user says of columns, by option: ``columns``, ``ignore``, ``categorical``, ``text``.
    reporting : bool
        Whether rows are wanted to report on, so that some are held out with the validation rows.
    """
    if (path is None) == (not dataset):
        raise InputError("name one table, or a data set with --dataset, e.g. --dataset digits")
    fraction = parse_fraction(test)
    others: dict[str, Table | None] = {
        "val": None if validation in ("out_of_bag", "holdout") else read_table(Path(validation)),
        "test": read_table(Path(test)) if test and fraction is None else None,
    }
    if path is not None:
        with Progress(f"reading {path.name}"):
            table, name = read_table(path), str(path)
        named: str | Learner = learner or "logistic"
        wanted: Scale = "auto" if scale is None else scale
    else:
        from cdvm.datasets import load_dataset

        data = load_dataset(dataset)
        if target not in ("target", data.target):
            raise InputError(f"--target {target!r}: the label of --dataset {dataset} is {data.target!r}")
        if validation == "holdout" and own_validation:
            data = data.halved_test(seed)
        table, name, target = Table.of_frame(data.table), dataset, data.target
        if data.validation is not None and own_validation:
            others["val"] = Table.of_frame(data.validation)
        if data.test is not None and not test:
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
    if fraction is None:
        fraction = _TEST_FRACTION if reporting and not parts and validation == "holdout" else 0.0
    elif "X_val" in parts:
        raise InputError(f"--test {test} holds rows out where no --validation table is given: name a table")
    evaluation: dict[str, Any] = {}
    if "X_val" not in parts:
        holdout = {"validation": "holdout", "validation_size": _VALIDATION_SHARE}
        evaluation = {"validation": "out_of_bag"} if validation == "out_of_bag" else holdout
    with Progress("checking rows"):
        split = Split.from_arrays(
            X,
            y,
            **parts,
            **evaluation,
            task=made.task,
            test_size=fraction,
            random_state=seed,
            prepare=prepare,
        )
        split = scaled_for(named, split, wanted)
    given = [
        path,
        None if validation in ("out_of_bag", "holdout") else Path(validation),
        Path(test) if test else None,
    ]
    files = [file for file in given if file is not None and os.path.isfile(file)]
    return Source(name, table, split, made, learner or made.name, split.scaled, files)


def _preparation(
    made: Learner, named: Any, scale: Scale, uses: dict[str, list[str]], dataset: str
) -> tuple[Any, list[str]]:
    """How columns become features, and those that never do: the features of a data set are ready."""
    if not dataset:
        return prepare_for(named, made, None, Preparation().set_params(**uses), scale), []
    for option in uses:
        if option != "ignore":
            raise InputError(f"--{option} is for tables: the features of --dataset {dataset} are ready")
    return None, uses.get("ignore", [])


def parse_fraction(word: str) -> float | None:
    """A fraction such as 20% or 0.2; None for a file, or nothing."""
    number = re.fullmatch(r"(\d*\.?\d+)\s*(%?)", word.strip())
    if number is None:
        return None
    fraction = float(number[1]) / (100 if number[2] else 1)
    if not 0 < fraction < 1:
        raise InputError(f"--test {word!r}: use a fraction between 0 and 1 such as 20%, or a table")
    return fraction
