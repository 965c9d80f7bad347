"""When a sampled method may stop: rules that look at the estimate so far.

A rule says how far the way to its goal is done, from 0 to 1; at 1 sampling ends. Two rules combine with
``&`` (both) and ``|`` (either). No rule ends before every value rests on ``burn_in`` samples: values that
happen to agree at the start have no variance yet, which is no sign of convergence.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from cdvm._runtime.progress import Progress
from cdvm.errors import InputError

__all__ = [
    "Estimate",
    "RankStability",
    "StandardError",
    "StoppingRule",
    "in_rounds",
    "make_rule",
    "rank_correlation",
]

Vector = NDArray[np.float64]
Plan = Callable[
    [int], tuple[int, float]
]  # samples taken -> size of the next round, fraction of the budget spent


@dataclass(frozen=True, eq=False)
class Estimate:
    """Values as estimated so far.

    Attributes
    ----------
    values, stderr : ndarray
    counts : ndarray
        Samples each value rests on (of the rarer kind, where a value is a difference of two means).
    halves : pair of ndarray
        The values as estimated from each of two halves of the samples.
    """

    values: Vector
    stderr: Vector
    counts: NDArray[np.int64]
    halves: tuple[Vector, Vector]


class StoppingRule(ABC):
    """A goal for a sampled method."""

    @abstractmethod
    def completion(self, estimate: Estimate) -> float:
        """Fraction of the way to the goal, 1 when it is reached."""

    def __and__(self, other: StoppingRule) -> StoppingRule:
        return _Combined(self, other, min)

    def __or__(self, other: StoppingRule) -> StoppingRule:
        return _Combined(self, other, max)


@dataclass(frozen=True)
class _Combined(StoppingRule):
    first: StoppingRule
    second: StoppingRule
    choose: Callable[[float, float], float]

    def completion(self, estimate: Estimate) -> float:
        return self.choose(self.first.completion(estimate), self.second.completion(estimate))


@dataclass(frozen=True)
class StandardError(StoppingRule):
    """Stop when no value has a standard error above ``target``.

    Examples
    --------
    >>> ones = np.ones(3)
    >>> rule = StandardError(target=0.01)
    >>> rule.completion(Estimate(ones, 0.02 * ones, counts=40 * ones, halves=(ones, ones)))
    0.25
    """

    target: float
    burn_in: int = 30

    def __post_init__(self) -> None:
        if not self.target > 0:
            raise InputError(f"target={self.target!r}: use a standard error above 0, e.g. 0.01")
        _check_burn_in(self.burn_in)

    def completion(self, estimate: Estimate) -> float:
        worst = float(estimate.stderr.max())
        if np.isnan(worst):
            return 0.0
        # errors shrink with the square root of the number of samples
        reached = 1.0 if worst <= self.target else (self.target / worst) ** 2
        return min(reached, _burnt_in(estimate, self.burn_in))


@dataclass(frozen=True)
class RankStability(StoppingRule):
    """Stop when two halves of the samples rank the rows alike: Spearman correlation ``threshold`` or more."""

    threshold: float = 0.95
    burn_in: int = 30

    def __post_init__(self) -> None:
        if not 0 < self.threshold < 1:
            raise InputError(f"threshold={self.threshold!r}: use a correlation between 0 and 1, e.g. 0.95")
        _check_burn_in(self.burn_in)

    def completion(self, estimate: Estimate) -> float:
        reached = max(0.0, rank_correlation(*estimate.halves)) / self.threshold
        return min(1.0, reached, _burnt_in(estimate, self.burn_in))


def make_rule(error: float | None = None, stable: float | None = None) -> StoppingRule | None:
    """The rule for a standard error, a rank correlation or both; None for neither."""
    rules: list[StoppingRule] = []
    if error is not None:
        rules.append(StandardError(error))
    if stable is not None:
        rules.append(RankStability(stable))
    if not rules:
        return None
    return rules[0] if len(rules) == 1 else rules[0] & rules[1]


def rank_correlation(a: NDArray[np.floating], b: NDArray[np.floating]) -> float:
    """Spearman's correlation; 0 where one side ranks nothing.

    >>> rank_correlation(np.array([0.1, 0.2, 0.9]), np.array([1.0, 5.0, 7.0]))
    1.0
    """
    x, y = (rankdata(side) - (len(side) + 1) / 2 for side in (a, b))
    scale = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / scale if scale else 0.0


def at_most(total: int, size: int) -> Plan:
    """Rounds of ``size`` samples up to ``total``."""
    return lambda done: (min(size, total - done), done / total)


def in_rounds(
    sample: Callable[[int, int], None],
    estimate: Callable[[], Estimate],
    plan: Plan,
    *,
    stop: StoppingRule | None,
    what: str,
    progress: bool | None,
) -> tuple[int, bool | None]:
    """Call ``sample(first, last)`` round by round until the rule is met or the plan ends.

    Returns
    -------
    int, bool or None
        Samples taken, and whether the rule was met (None where there is none).
    """
    done, (size, _) = 0, plan(0)
    with Progress(f"% of the {what}", 100, enabled=progress) as bar:
        while size > 0:
            sample(done, done + size)
            done += size
            completion = 0.0 if stop is None else stop.completion(estimate())
            size, spent = plan(done)
            bar.advance(int(100 * min(1.0, max(completion, spent))) - bar.done, note=f"{done} {what}")
            if completion >= 1:
                return done, True
    return done, None if stop is None else False


def _burnt_in(estimate: Estimate, burn_in: int) -> float:
    return min(1.0, float(estimate.counts.min()) / burn_in)


def _check_burn_in(burn_in: int) -> None:
    if burn_in < 2:
        raise InputError(f"burn_in={burn_in!r}: use at least 2 samples, below which there is no variance")
