"""The three tables of the benchmark: adult, pol and nomao, as numbers.

Nominal columns of adult become one column per value; those of nomao are left out; pol's label says whether
its target lies below the mean. Nothing is scaled here, see :meth:`cdvm.datasets.Dataset.standardized`.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cdvm.datasets.base import Dataset, Info, Recipe
from cdvm.datasets.download import Remote, fetch, fetch_openml, find, place, reading
from cdvm.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RECIPES", "load_adult", "load_nomao", "load_pol", "read_arff"]

_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/"
ADULT = (
    Remote(
        "adult.data",
        _UCI + "adult.data",
        "sha256:5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    ),
    Remote(
        "adult.test",
        _UCI + "adult.test",
        "sha256:a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    ),
)
_ADULT_NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
_ADULT_COLUMNS = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
]
_POL, _NOMAO = 722, 1486  # numbers at OpenML
_NOMAO_NOMINAL = {f"V{8 * k - back}" for k in range(1, 12) for back in (1, 0)}
_NOMAO_NOMINAL |= {f"V{k}" for k in range(92, 117, 4)}


def load_adult() -> Dataset:
    """Does a person of the 1994 census earn more than $50K? Training and test file as one table."""
    import pandas as pd

    parts = []
    for remote in ADULT:
        path = find(remote.name) or fetch(remote, instead="adult.data.gz and adult.test.gz")
        with reading(path):
            part = pd.read_csv(
                path,
                names=_ADULT_COLUMNS,
                skipinitialspace=True,
                comment="|",  # the first line of adult.test
                dtype=dict.fromkeys(_ADULT_NUMBERS, np.float64),
            )
            _check_columns(path, part, _ADULT_COLUMNS)
        parts.append(part)
    table = pd.concat(parts, ignore_index=True)
    y = table.pop("income").str.rstrip(".")
    return _dataset("adult", pd.get_dummies(table, dtype=np.float64), y)


def load_pol() -> Dataset:
    """A telecommunication problem; P where the target lies below its mean, else N."""
    table = _openml_table("pol", _POL)
    if "binaryClass" in table:
        y = table.pop("binaryClass")
    else:
        y = (table["foo"] < table["foo"].mean()).map({True: "P", False: "N"})
    return _dataset("pol", table.drop(columns="foo", errors="ignore"), y)


def load_nomao() -> Dataset:
    """Do two entries of a directory name the same place (2) or not (1)?"""
    table = _openml_table("nomao", _NOMAO)
    y = table.pop("Class").astype(np.int64)
    return _dataset("nomao", table.drop(columns=sorted(_NOMAO_NOMINAL)), y)


def read_arff(path: Path) -> pd.DataFrame:
    """A dense ARFF file with its attributes as columns."""
    import pandas as pd

    columns: list[str] = []
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            word = line.strip()
            if word.lower().startswith("@attribute"):
                columns.append(shlex.split(word.partition("{")[0])[1])
            elif word.lower().startswith("@data"):
                return pd.read_csv(
                    path,
                    skiprows=number,
                    names=columns,
                    comment="%",
                    quotechar="'",
                    na_values="?",
                    skipinitialspace=True,
                )
    raise InputError(f"{path} is no ARFF file: there is no line @data")


def _openml_table(name: str, number: int) -> pd.DataFrame:
    import pandas as pd

    path = find(f"{name}.csv") or find(f"{name}.arff")
    path = path or fetch_openml(number, f"{name}.arff", instead=f"{name}.csv.gz")
    with reading(path):
        table = read_arff(path) if path.suffix == ".arff" else pd.read_csv(path)
    expected = {
        "pol": [f"f{k}" for k in range(1, 49)] + ["foo" if "foo" in table else "binaryClass"],
        "nomao": [f"V{k}" for k in range(1, 119)] + ["Class"],
    }
    _check_columns(path, table, expected[name])
    return table


def _check_columns(path: Path, table: pd.DataFrame, expected: list[str]) -> None:
    missing = [c for c in expected if c not in table.columns]
    if missing:
        raise InputError(f"{path} lacks the columns {', '.join(missing[:8])}: replace the file")
    holes = table[expected].isna().any()
    if holes.any():
        raise InputError(f"{path} has empty cells in column {holes.idxmax()!r}: replace the file")


def _dataset(name: str, features: pd.DataFrame, y: pd.Series) -> Dataset:
    labels = y.to_numpy()
    labels = labels if labels.dtype.kind in "iu" else labels.astype(str)
    return Dataset(name, features.to_numpy(np.float64), labels, tuple(map(str, features.columns)))


def _recipe(
    name: str, rows: int, features: int, source: str, files: list[list[str]], load: Callable[[], Dataset]
) -> Recipe:
    def describe() -> Info:
        here = next((found for names in files if (found := place(*names))), "to download")
        return Info(name, rows, features, 2, source, here)

    return Recipe(describe, load)


RECIPES = {
    "adult": _recipe("adult", 48842, 108, "UCI", [["adult.data", "adult.test"]], load_adult),
    "pol": _recipe("pol", 15000, 48, f"OpenML {_POL}", [["pol.csv"], ["pol.arff"]], load_pol),
    "nomao": _recipe("nomao", 34465, 89, f"OpenML {_NOMAO}", [["nomao.csv"], ["nomao.arff"]], load_nomao),
}
