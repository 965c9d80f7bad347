"""What sets are compared on: which rows evaluate them, and how training rows are divided by difficulty."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from cdvm.data.split import Split
from cdvm.errors import InputWarning
from cdvm.evaluation.difficulty import Difficulty, find_difficulty
from cdvm.evaluation.domain import told_apart
from cdvm.evaluation.refinement.fractions import Strata, stratify
from cdvm.evaluation.synthetic import with_synthetic_rows
from cdvm.learners import Learner
from cdvm.learners.relatives import as_numbers

__all__ = ["Evaluation", "Grounds", "find_grounds"]

Evaluation = Literal["all", "validation"]


@dataclass(frozen=True, eq=False)
class Grounds:
    """Rows as the principal and the proxy see them, and what is known of them.

    Attributes
    ----------
    split, proxy_split : Split
        The validation rows are those given and the synthetic ones.
    difficulty : Difficulty
        How hard training rows are for the proxy.
    evaluation : {"all", "validation"}
        Whether the training rows that a set leaves out evaluate it, too.
    given : int or None
        Validation rows that are not synthetic, where there are synthetic ones.
    """

    split: Split
    proxy_split: Split
    difficulty: Difficulty
    evaluation: Evaluation = "all"
    given: int | None = None

    @cached_property
    def strata(self) -> Strata:
        """Training rows by difficulty and class."""
        return stratify(self.proxy_split, self.difficulty.ease)


def find_grounds(
    split: Split,
    proxy_split: Split,
    proxy: Learner,
    *,
    seed: int = 0,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> Grounds:
    """All rows and synthetic ones; validation rows alone where they are not of the training rows' kind."""
    difficulty = find_difficulty(proxy_split, proxy, seed=seed, n_jobs=n_jobs, progress=progress)
    area = told_apart(proxy_split, seed=seed)
    if area is not None:
        warnings.warn(
            "validation rows are of another kind than the training rows (a forest tells them apart, area "
            f"under the ROC curve {area:.2f}): they alone say which rows are better",
            InputWarning,
            stacklevel=2,
        )
        return Grounds(split, proxy_split, difficulty, "validation")
    shown = with_synthetic_rows(split, seed=seed, n_jobs=n_jobs, progress=progress)
    if shown is None:
        return Grounds(split, proxy_split, difficulty)
    proxy_shown = shown if proxy_split is split else as_numbers(shown)
    return Grounds(shown, proxy_shown, difficulty, given=0 if split.y_val is None else len(split.y_val))
