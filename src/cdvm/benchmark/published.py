"""What the paper reports: its result table and its run times."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LEVELS", "PAPER_METHODS", "RUNTIMES", "Runtime", "paper_results"]

LEVELS = (5.0, 10.0, 15.0, 20.0, 25.0, 30.0)
PAPER_METHODS = ("CDVM5k", "CDVM10k", "CDVM-n", "InfOpt", "DataOOB", "Banzhaf", "Random")


class Runtime(NamedTuple):
    """Seconds the paper states: for training or influences, and for the optimisation."""

    prepare: float
    optimise: float | None
    text: str

    @property
    def total(self) -> float:
        return self.prepare + (self.optimise or 0.0)


RUNTIMES = {
    "CDVM5k": Runtime(97.0, 10.0, "97 s + 10 s"),
    "CDVM10k": Runtime(184.0, 10.0, "184 s + 10 s"),
    "DataOOB": Runtime(135.0, None, "135 s"),
    "InfOpt": Runtime(21600.0, 3.0, "6 h + 3 s (imdb) to 366 s (cifar10)"),
}


@lru_cache(maxsize=1)
def _table() -> pd.DataFrame:
    import pandas as pd

    with files("cdvm.benchmark").joinpath("paper.csv").open("rb") as file:
        table = pd.read_csv(file)
    table["percent"] = table.pop("retained_percent").astype(float)
    return table.rename(columns={"accuracy": "paper", "std": "paper_std"})


def paper_results() -> pd.DataFrame:
    """The paper's table: dataset, method, percent, paper (accuracy), paper_std; 222 rows.

    >>> table = paper_results()
    >>> table.query("dataset == 'pol' and method == 'CDVM5k' and percent == 5").paper.item()
    0.752
    """
    return _table().copy()
