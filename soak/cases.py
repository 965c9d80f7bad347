"""The runs that faults are injected into: small, cheap, and the same bits every time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm.data.split import Features, Split
from cdvm.learners.base import Learner, Trainer
from cdvm.outcomes.recorded import Outcomes
from cdvm.outcomes.recording import record_outcomes
from cdvm.outcomes.storage import Address
from cdvm.sampling import Design, Subsets
from soak.verdicts import Wrong

__all__ = ["N_MODELS", "Centroids", "record", "require_same", "small_split", "write_table"]

N_MODELS = 240
SEED = 1


@dataclass(frozen=True)
class Centroids(Learner):
    """The class whose mean is nearest; sleeps a little where a run must last."""

    pause: float = 0.0
    name = "centroids"

    def bind(self, split: Split, X: Features) -> Trainer:
        trainer = _CentroidTrainer(split, X)
        trainer.pause = self.pause
        return trainer

    def spec(self) -> dict[str, Any]:
        return {"name": self.name}  # a pause changes no answer


class _CentroidTrainer(Trainer):
    chunk = 20
    pause = 0.0

    def _labels(self, subsets: Subsets) -> NDArray[Any]:
        return np.asarray(self._scores(subsets).argmax(axis=2), dtype=np.int32)

    def _scores(self, subsets: Subsets) -> NDArray[np.floating[Any]]:
        time.sleep(self.pause)
        split, n_classes = self.split, self.split.n_classes
        answer = np.full((len(subsets), len(self.X), n_classes), -np.inf, dtype=np.float32)
        for t, rows in enumerate(np.split(subsets.members.indices, subsets.members.indptr[1:-1])):
            for k in range(n_classes):
                mine = rows[split.y[rows] == k]
                if len(mine):
                    answer[t, :, k] = -((self.X - split.X[mine].mean(axis=0)) ** 2).sum(axis=1)
        return np.maximum(answer, -1e6)


def small_split(n_rows: int = 90) -> Split:
    """Rows around three centres, each an evaluation row out of bag."""
    X, y = _rows(n_rows)
    return Split.from_arrays(X, y, validation="out_of_bag", test_size=0.0, random_state=0)


def _rows(n_rows: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(0)
    y = np.arange(n_rows) % 3
    return rng.normal(size=(n_rows, 4)) + 1.5 * y[:, None], y


def record(
    store: Address | None = None,
    *,
    outcome: Any = "correct",
    seed: int = SEED,
    models: range = range(N_MODELS),
    pause: float = 0.0,
) -> Outcomes:
    """Outcomes of the small run."""
    split = small_split()
    design = Design(split.n_rows, 0.1, seed=seed)
    return record_outcomes(
        split, Centroids(pause), design, models, outcome=outcome, store=store, n_jobs=1, progress=False
    )


def require_same(found: Outcomes, alone: Outcomes, *, where: str, part: bool = False) -> None:
    """Refuse outcomes that are not those of the run left alone; with ``part`` some models may be missing."""
    place = np.searchsorted(alone.models, found.models)
    known = np.isin(found.models, alone.models)
    if not known.all() or (len(found.models) < len(alone.models) and not part):
        raise Wrong("lost", f"{where}: {known.sum()} of {len(alone.models)} models")
    if found.data.dtype != alone.data.dtype or found.data.tobytes() != alone.data[place].tobytes():
        raise Wrong("wrong bits", f"{where}: outcomes differ")
    expected = alone.degenerate_models[np.isin(alone.degenerate_models, found.models)]
    if not np.array_equal(found.degenerate_models, expected):
        raise Wrong("wrong bits", f"{where}: other models are degenerate")
    if found.manifest != alone.manifest:
        raise Wrong("wrong bits", f"{where}: another manifest")


def write_table(path: Path, n_rows: int = 150) -> Path:
    """A CSV table for the command line, with the label in column ``y``."""
    X, y = _rows(n_rows)
    lines = [",".join([*(f"x{k}" for k in range(X.shape[1])), "y"])]
    lines += [",".join([*(f"{v:.6f}" for v in row), str(label)]) for row, label in zip(X, y, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path
