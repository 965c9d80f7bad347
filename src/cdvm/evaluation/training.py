"""Train a learner on sets of rows that are given, not drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm._runtime.parameters import N_JOBS, PROGRESS, SEED, check, whole
from cdvm._runtime.progress import Progress
from cdvm.data.raw import stack_rows
from cdvm.data.split import Features, Split
from cdvm.errors import InputError
from cdvm.learners import Trainer, make_learner
from cdvm.learners.fitting import fit_models
from cdvm.sampling import Subsets
from cdvm.selection import Selection

__all__ = ["RULES", "Rows", "Scores", "SetTrainer", "check_parts", "rows_of"]

Rows = NDArray[np.int64]
Scores = NDArray[np.float64]
Ask = Callable[[Trainer, Subsets], NDArray[Any]]

RULES = {
    "n_rows": whole(1),
    "repeats": whole(1),
    "draws": whole(1),
    "seed": SEED,
    "n_jobs": N_JOBS,
    "progress": PROGRESS,
}


class SetTrainer:
    """How models are trained on given sets of rows, and what is noted of their answers."""

    def __init__(
        self,
        split: Split,
        learner: Any,
        repeats: int,
        seed: int,
        n_jobs: int | None,
        progress: bool | None,
        **more: Any,
    ) -> None:
        given = {"repeats": repeats, "seed": seed, "n_jobs": n_jobs, "progress": progress}
        check(RULES, given | more)
        self.split, self.learner, self.seed = split, make_learner(learner), seed
        self.runs = repeats if self.learner.stochastic else 1
        self._n_jobs, self._progress = n_jobs, progress

    def train(
        self,
        sets: Sequence[Rows],
        parts: Sequence[Features],
        note: Callable[[list[NDArray[Any]]], Scores],
        *,
        ask: Ask = Trainer.predict,
        once: bool = False,
    ) -> Scores:
        """What ``note`` makes of the models' answers for each part: shape (runs, n_sets, numbers noted).

        ``ask`` gives the answers of a trainer's models, their predictions by default.
        """
        split, runs = self.split, 1 if once else self.runs
        if not sets:
            return np.concatenate([note([np.empty((0, X.shape[0])) for X in parts])[None]] * runs)
        trainer = self.learner.bind_for(split, stack_rows(parts), runs * sum(map(len, sets)))
        ends = np.cumsum([X.shape[0] for X in parts])[:-1]
        piece = 1 if trainer.one_by_one else trainer.chunk
        pieces = [
            Subsets.of(sets[start : start + piece], split.n_rows, seed=self.seed + run, first=start)
            for run in range(runs)
            for start in range(0, len(sets), piece)
        ]
        notes: list[Scores] = [np.empty(0)] * len(pieces)
        with Progress("fits", len(sets) * runs, enabled=self._progress) as bar:
            for k, noted in fit_models(trainer, pieces, _note_answers, ends, ask, note, n_jobs=self._n_jobs):
                notes[k] = noted
                bar.advance(len(noted))
        return np.concatenate(notes).reshape(runs, len(sets), -1)


def rows_of(split: Split, sets: Any) -> list[Rows]:
    """Positions among the training rows, of each set."""
    if isinstance(sets, Selection) or not isinstance(sets, Iterable):
        raise InputError("sets: pass a list of sets, each a Selection or positions of training rows")
    found: list[Rows] = []
    for number, given in enumerate(sets):
        rows = np.asarray(given.rows if isinstance(given, Selection) else given)
        if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
            raise InputError(
                f"set {number}: pass a Selection, or positions of training rows as whole numbers"
            )
        if rows.size and (rows.min() < 0 or rows.max() >= split.n_rows):
            raise InputError(f"set {number} names a row outside 0..{split.n_rows - 1}, the training rows")
        found.append(rows.astype(np.int64))
    return found


def check_parts(split: Split, parts: Sequence[Any]) -> None:
    if not parts:
        raise InputError("name the rows to score on: one or several pairs (X, y), e.g. split.evaluation")
    for number, part in enumerate(parts):
        if not isinstance(part, tuple) or len(part) != 2 or not all(hasattr(a, "shape") for a in part):
            raise InputError(f"part {number}: pass a pair (X, y) of arrays, e.g. split.evaluation")
        X, y = part
        if X.shape[1:] != split.X.shape[1:] or y.shape != X.shape[:1]:
            raise InputError(
                f"part {number}: X of shape {X.shape} and y of shape {y.shape} do not go together with the "
                f"{split.X.shape[1]} features of split"
            )
        if split.task == "classification" and y.dtype.kind not in "iu":
            raise InputError(
                f"part {number}: y holds {y.dtype}, not the class codes of split (split.classes)"
            )


def _note_answers(
    trainer: Trainer,
    subsets: Subsets,
    ends: NDArray[Any],
    ask: Ask,
    note: Callable[[list[NDArray[Any]]], Scores],
) -> Scores:
    return note(np.split(ask(trainer, subsets), ends, axis=1))
