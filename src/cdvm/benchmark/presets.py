"""The paper's experiments by name: which data sets, methods and budgets each takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cdvm.benchmark.methods import PAPER_METHODS
from cdvm.benchmark.protocol import SIX
from cdvm.errors import unknown_name

__all__ = ["PRESETS", "Preset", "get_preset"]

_WHOLE_RANGE = {"budgets": (20, 50, 100, 150, 200, 250, 300, 400, 500, 600, 700, 800, 900, 950)}


@dataclass(frozen=True)
class Preset:
    """An experiment.

    Attributes
    ----------
    about : str
    datasets, methods : tuple of str
    changes : dict
        Values of the protocol that differ, for example the budgets.
    """

    about: str
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    changes: dict[str, Any] = field(default_factory=dict)


PRESETS = {
    "benchmark": Preset("the paper's table and main figure", SIX, PAPER_METHODS),
    "inclusion": Preset(
        "how often a row is seen: p from 2 to 10 %",
        SIX,
        ("CDVM5k-p02", "CDVM5k", "CDVM5k-p05", "CDVM5k-p10"),
    ),
    "models": Preset(
        "3,000 to 10,000 models, with and without kappa",
        SIX,
        ("CDVM3k", "CDVM5k", "CDVM10k", "CDVM3k-nokappa", "CDVM5k-nokappa", "CDVM10k-nokappa"),
    ),
    "banzhaf": Preset(
        "Banzhaf values of 1,000 and of 10,000 models against random rows",
        ("cifar10",),
        ("Random", "Banzhaf", "Banzhaf10k"),
        _WHOLE_RANGE,
    ),
    "nested": Preset(
        "sets for 5, 10 and 15 % of the rows, followed along all budgets",
        ("pol", "bbc"),
        ("Random", "CDVM5k@5", "CDVM5k@10", "CDVM5k@15"),
        _WHOLE_RANGE,
    ),
    "ends": Preset(
        "Data-OOB, lowest or highest values removed first",
        ("cifar10", "nomao"),
        ("Random", "DataOOB", "DataOOB-high"),
        _WHOLE_RANGE,
    ),
}


def get_preset(name: str) -> Preset:
    """An experiment by name.

    >>> get_preset("banzhaf").methods
    ('Random', 'Banzhaf', 'Banzhaf10k')
    """
    if name not in PRESETS:
        raise unknown_name("preset", name, PRESETS)
    return PRESETS[name]
