"""What a report is about: the rows there were, the model they are for, and the rows that were chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cdvm.attribution.base import Attribution
from cdvm.data.split import Split
from cdvm.evaluation.curve import Curve
from cdvm.evaluation.smallest import Smallest
from cdvm.learners import Learner
from cdvm.learners.relatives import StandIn
from cdvm.outcomes.recorded import Outcomes
from cdvm.selection import Selection

__all__ = ["Chosen", "Run"]


@dataclass(frozen=True, eq=False)
class Chosen:
    """Selections by the name of their budget, and what is to be told of how they were found.

    ``attribution`` says what rows do for others, where that was estimated and is to be told, ``evidence`` are
    the outcomes of the models it is from, and ``proxy`` is what trained them; ``smallest`` is there where the
    size was searched for, ``curve`` where one was asked for or searched on; ``split`` are the rows chosen of
    where some came after those that were passed.
    """

    selections: dict[str, Selection]
    method: str
    details: dict[str, Any]
    attribution: Attribution | None = None
    proxy: StandIn | None = None
    smallest: Smallest | None = None
    curve: Curve | None = None
    evidence: tuple[Outcomes, ...] = ()
    split: Split | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Run:
    """A table that rows were chosen of.

    Attributes
    ----------
    name : str
        The file or data set.
    split : Split
    learner : Learner
        The model the rows are for.
    learner_name : str
    chosen : Chosen
    metric : str, scorer or None
        What sets are compared by.
    seed : int
    jobs : int or None
    """

    name: str
    split: Split
    learner: Learner
    learner_name: str
    chosen: Chosen
    metric: Any = None
    seed: int = 0
    jobs: int | None = -1

    @property
    def selections(self) -> list[Selection]:
        return list(self.chosen.selections.values())
