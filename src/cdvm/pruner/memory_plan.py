"""What a memory limit means for a run: how many models at once, which form of T.

Three stages need memory one after the other: training (what the learner keeps of the features, and the
models of each worker), membership (each position once while it is drawn and once in its place), and solving
(the attribution and some vectors of a number a row). The plan takes the fastest form of each that fits.
Answers do not depend on it, save for the last digits of products with T.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from cdvm._runtime.memory import bytes_text, parse_bytes, resident
from cdvm._runtime.parallel import check_jobs
from cdvm.data.split import Features, Split
from cdvm.errors import InputError
from cdvm.learners.base import Learner, Trainer
from cdvm.learners.batched.linear import MEMORY_LIMIT
from cdvm.sampling import Design

__all__ = ["MemoryPlan", "plan_memory"]

_MOST = 500  # models a task, as learners choose themselves
_DRAWING = 150 << 20  # random words and masks while subsets are drawn
_VECTORS = 20  # numbers a row that a solver and the rounding hold
_DENSE_COPIES = 4  # of T, where a solver takes it as an array


@dataclass(frozen=True)
class MemoryPlan:
    """How a run keeps to its memory.

    Attributes
    ----------
    limit : int or None
        Bytes the process may hold.
    n_jobs : int or None
        Workers side by side.
    models_at_once : int or None
        Models a worker trains at a time; None leaves it to the learner.
    compact : bool
        Whether membership takes 16 bits a position and an outcome one bit.
    dense : bool
        Whether T may become an array, where the solver is faster with one.
    """

    limit: int | None
    n_jobs: int | None
    models_at_once: int | None = None
    compact: bool = False
    dense: bool = True

    def bounded(self, learner: Learner) -> Learner:
        """The same learner, in tasks of no more models than planned."""
        return learner if self.models_at_once is None else _Bounded(learner, self.models_at_once)


def plan_memory(limit: Any, split: Split, design: Design, n_models: int, n_jobs: int | None) -> MemoryPlan:
    """The plan for a run, or an error that says how much it would take.

    Parameters
    ----------
    limit : int, str or None
        What the process may hold in all, its libraries and the data included: bytes, or ``"4GB"``.
    split, design : the data and the subsets
    n_models : int
    n_jobs : int or None
        Workers wanted; there will be fewer where memory is short.
    """
    most = parse_bytes(limit)
    if most is None:
        return MemoryPlan(None, n_jobs)
    held = resident()
    needs = _Needs(split, design, n_models)
    jobs = effective_n_jobs(check_jobs(n_jobs))
    while jobs > 1 and held + needs.training(jobs, 32) > most:
        jobs -= 1
    least = max(needs.training(jobs, 1), needs.membership(compact=True), needs.solving(compact=True))
    if held + least > most:
        raise InputError(
            f"memory_limit={limit!r}: {needs.n:,} rows, {needs.m:,} evaluation rows and "
            f"{n_models:,} models need "
            f"about {bytes_text(held + least)}, of which {bytes_text(held)} are in use already: allow "
            "that much, or take fewer models, a smaller inclusion or fewer evaluation rows"
        )
    room = most - held - needs.training(jobs, 0)
    at_once = int(np.clip(room // (jobs * needs.model), 1, _MOST))
    roomy = max(needs.membership(compact=False), needs.solving(compact=False))
    dense = _DENSE_COPIES * 8 * needs.n * needs.m
    return MemoryPlan(
        most,
        jobs,
        at_once,
        compact=held + roomy > most,
        dense=held + max(needs.membership(compact=True), needs.solving(compact=True)) + dense <= most,
    )


class _Needs:
    """Bytes that each stage needs beyond what is there when it begins."""

    def __init__(self, split: Split, design: Design, n_models: int) -> None:
        self.n, self.m = split.n_rows, len(split.evaluation[1])
        self._numbers = split.evaluation_rows is not None  # out-of-bag outcomes are centred: no bits
        self.n_models, self.classes = n_models, max(1, split.n_classes)
        features = int(split.X.shape[1])
        self.positions = n_models * design.inclusion * self.n
        size = design.inclusion * self.n
        # a model's positions, with multiplicities and copies of wider type, and its answers
        self.model = int(36 * size + 10 * self.m) + 1
        one = 8 * (4 * size * features + 2 * self.classes * self.m)
        self._batch = 1.5 * max(one, min(MEMORY_LIMIT, min(256, n_models) * one))
        self._features = 2 * 8 * self.n * features  # centred, and without constant columns

    def training(self, jobs: int, models: int) -> int:
        by_class = 16 * self.n * self.classes
        worker = _DRAWING + by_class + self._batch + models * self.model
        return int(self._features + by_class + jobs * worker + self._bits)

    @property
    def _bits(self) -> float:
        return self.n_models * self.m / 8

    def membership(self, *, compact: bool) -> int:
        position = 2 if compact else 4
        stacking = (2 * position + 1) * self.positions
        # bits, single precision and, beside that, the same less its means
        centring = position * self.positions + 9 * self.n_models * self.m if self._numbers else 0.0
        return int(max(stacking, centring) + 80 * self.n + 2 * _DRAWING + self._bits)

    def solving(self, *, compact: bool) -> int:
        position = 2 if compact else 4
        cells = self.n_models * self.m  # a byte each while entries of T are formed
        outcomes = (10 if self._numbers else 1 if compact else 5) * cells + self._bits
        vectors = 8 * _VECTORS * (self.n + self.m) + 64 * 8 * 4 * self.m  # and rows tried in exchange
        return int(position * self.positions + outcomes + vectors + (128 << 20))


class _Bounded(Learner):
    """A learner whose trainers take few models at once."""

    def __init__(self, learner: Learner, models: int) -> None:
        self.name, self.task, self.stochastic = learner.name, learner.task, learner.stochastic  # type: ignore[misc]
        self._learner, self._models = learner, models

    def bind(self, split: Split, X: Features) -> Trainer:
        trainer = self._learner.bind(split, X)
        setattr(trainer, "chunk", min(trainer.chunk, self._models))  # noqa: B010  a class variable elsewhere
        return trainer

    @property
    def title(self) -> str:
        return self._learner.title

    @property
    def enough_rows(self) -> int:
        return self._learner.enough_rows

    @property
    def thrift(self) -> str:
        return self._learner.thrift

    def spec(self) -> dict[str, Any]:
        return self._learner.spec()
