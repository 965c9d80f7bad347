"""One repetition on one data set: its rows, its model, and the attributions and values its methods share."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm.benchmark.protocol import Protocol
from cdvm.data.split import Split
from cdvm.evaluation.training import SetTrainer
from cdvm.learners import Learner
from cdvm.outcomes.recorded import Outcomes
from cdvm.outcomes.recording import record_outcomes
from cdvm.sampling import Design
from cdvm.selectors import learn_of_rows
from cdvm.valuation import value_rows
from cdvm.valuation.base import Values

__all__ = ["Choice", "Task"]


@dataclass(frozen=True, eq=False)
class Choice:
    """Rows a method keeps for one budget, and how it came to them.

    ``seconds`` is the time of choosing; what comes before (models, T, values) is the method's preparation.
    Times are CPU seconds: a task runs on one core, and what else the machine does shall not count.
    """

    budget: int
    rows: NDArray[np.int64]
    draw: int = 0
    alpha: float | None = None
    kappa: float | None = None
    gap: float | None = None
    optimism: float | None = None
    fits: int | None = None
    seconds: float = 0.0


@dataclass(eq=False)
class Task:
    """What a method gets to work with."""

    protocol: Protocol
    dataset: str
    repetition: int
    n_jobs: int | None = 1
    _recorded: dict[float, list[tuple[Outcomes, float]]] = field(default_factory=dict)
    _valued: dict[tuple[Any, ...], tuple[Values, float]] = field(default_factory=dict)
    _learnt: dict[str, tuple[NDArray[Any], float]] = field(default_factory=dict)

    @cached_property
    def split(self) -> Split:
        return self.protocol.split(self.dataset, self.repetition)

    @cached_property
    def learner(self) -> Learner:
        return self.protocol.learner(self.dataset, self.repetition)

    @property
    def seed(self) -> int:
        return self.protocol.seed_of(self.dataset, self.repetition)

    @property
    def budgets(self) -> list[int]:
        """Budgets in rows of this training set."""
        n = self.split.n_rows
        return sorted({max(1, round(b * n / self.protocol.train)) for b in self.protocol.budgets})

    def outcomes(self, n_models: int, inclusion: float) -> tuple[Outcomes, float]:
        """Outcomes of the first ``n_models`` models, and the seconds their training took.

        Each model is trained once: 10,000 models begin with the 5,000 that another method asked for.
        """
        pieces = self._recorded.setdefault(inclusion, [])
        done = sum(len(piece.models) for piece, _ in pieces)
        if done < n_models:
            design = Design(self.split.n_rows, inclusion, "bernoulli", self.seed)
            started = time.process_time()
            new = record_outcomes(
                self.split,
                self.learner,
                design,
                range(done, n_models),
                outcome="correct",
                n_jobs=self.n_jobs,
                progress=False,
            )
            pieces.append((new, time.process_time() - started))
        whole, seconds = pieces[0]
        for piece, spent in pieces[1:]:
            if whole.n_models >= n_models:
                break
            whole, seconds = whole.merge(piece), seconds + spent
        fraction = min(1.0, n_models / whole.n_models)
        return whole.first(n_models), seconds * fraction

    def values(self, method: str, **options: Any) -> tuple[Values, float]:
        """Values by the method of that name, computed once, and the seconds that took."""
        key = (method, *sorted(options.items()))
        if key not in self._valued:
            started = time.process_time()
            own = {"seed": self.seed, "n_jobs": self.n_jobs, "progress": False}
            found = value_rows(self.split, self.learner, method, **own, **options)
            self._valued[key] = found, time.process_time() - started
        return self._valued[key]

    def learnt(self, what: str) -> tuple[NDArray[Any], float]:
        """What selectors learn of the rows, once for all of them, and the seconds that took."""
        if what not in self._learnt:
            started = time.process_time()
            own = {"random_state": self.seed, "n_jobs": self.n_jobs, "progress": False}
            found = learn_of_rows(self.split, what, learner=self.learner, **own)
            self._learnt[what] = found, time.process_time() - started
        return self._learnt[what]

    def scored(self, sets: list[NDArray[np.int64]]) -> dict[str, NDArray[np.float64]]:
        """Test accuracy, worst-class test accuracy and validation accuracy of a model on each set."""
        split, (X_val, y_val) = self.split, self.split.evaluation
        assert split.X_test is not None
        assert split.y_test is not None
        run = SetTrainer(split, self.learner, 1, self.seed, self.n_jobs, progress=False)
        note = partial(_note_scores, split.y_test, y_val)
        found = run.train(sets, [split.X_test, X_val], note)[0]
        return dict(zip(("accuracy", "worst_class", "validation"), found.T, strict=True))

    def describe(self) -> dict[str, Any]:
        return {"protocol": self.protocol.name, "dataset": self.dataset, "repetition": self.repetition}


def _note_scores(
    y_test: NDArray[Any], y_val: NDArray[Any], answers: list[NDArray[Any]]
) -> NDArray[np.float64]:
    right = answers[0] == y_test
    classes = [right[:, y_test == k].mean(axis=1) for k in np.unique(y_test)]
    return np.column_stack([right.mean(axis=1), np.min(classes, axis=0), (answers[1] == y_val).mean(axis=1)])
