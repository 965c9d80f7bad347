"""Run a learner over a design and keep for every model and evaluation row whether it was right.

Right or wrong is one bit. A per-row score (the margin, the negative squared error, a function of the user's)
is one float32 instead. A run can be split over model ranges, killed and continued; it ends with the same
bits.
"""

from __future__ import annotations

import warnings
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm._runtime.parallel import blas_threads, check_jobs
from cdvm._runtime.progress import Progress
from cdvm.data.split import Split
from cdvm.errors import InputError, InputWarning
from cdvm.learners import make_learner
from cdvm.learners.base import Learner, Trainer, constant_models
from cdvm.learners.fitting import fit_models
from cdvm.outcomes.kinds import Outcome, classes_beyond, outcome_name, score_answers
from cdvm.outcomes.recorded import Outcomes, gather_chunks
from cdvm.outcomes.storage import Address
from cdvm.outcomes.store import Chunk, Store, missing_ranges
from cdvm.sampling import Design, Subsets

__all__ = ["record_outcomes"]

_MANY_EVALUATION_ROWS = 20  # fewer may well all be answered alike by a model that has learnt


def record_outcomes(
    split: Split,
    learner: Any,
    design: Design,
    models: range,
    *,
    outcome: Outcome | None = None,
    store: Address | None = None,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> Outcomes:
    """Train the given models of a design and record their outcomes.

    Parameters
    ----------
    split : Split
    learner : Learner, estimator or str
        Whatever :func:`cdvm.make_learner` understands.
    design : Design
    models : range
        Numbers of the models to train.
    outcome : {"correct", "answer", "margin", "squared_error"} or callable, optional
        Right or wrong by default (negative squared error for regression); "answer" keeps which class a wrong
        model answered with, too. A function gets the evaluation rows' class
        codes and scores of shape (n_models, n_evaluation, n_classes), or their targets and predictions of
        shape (n_models, n_evaluation), and returns an array of shape (n_models, n_evaluation); larger is
        better.
    store : path or fsspec address, optional
        Place to keep results in; models found there are not trained again. Runs over other models of the
        same design may write there at the same time.
    n_jobs : int
    progress : bool, optional
        Show a bar; by default on a terminal.
    """
    if not isinstance(models, range) or models.step != 1 or not len(models) or models.start < 0:
        raise InputError(f"models={models!r}: use a range of at least one model, e.g. range(5000)")
    if design.n_rows != split.n_rows:
        raise InputError(f"design has {design.n_rows} rows and split {split.n_rows}: use one of that many")
    if design.gone or design.later:
        raise InputError("design is of a table that has changed since: draw one from the rows there are now")
    learner, n_jobs = make_learner(learner), check_jobs(n_jobs)
    outcome = outcome or ("squared_error" if split.task == "regression" else "correct")
    X, y = split.evaluation
    manifest = {
        "design": design.describe(),
        "learner": learner.spec(),
        "outcome": outcome_name(outcome, split),
        "n_evaluation": len(y),
        "fingerprint": split.fingerprint(),
    }
    if split.evaluation_rows is not None:
        every = len(split.evaluation_rows) == split.n_rows
        manifest["evaluation_rows"] = "all" if every else split.evaluation_rows.tolist()
    kept = Store(store, manifest) if store is not None else None
    with Progress("preparing models", enabled=progress):
        chunks = list(kept.read()) if kept else []
        trainer = learner.bind(split, X)
    todo = missing_ranges(models.start, models.stop, [(c.first, c.stop) for c in chunks], trainer.chunk)
    if kept and todo:
        kept.request(models.start, models.stop)
    left = sum(stop - first for first, stop in todo)
    parts = [partial(design.take, range(*ends)) for ends in todo]
    # one BLAS thread even for a single task, which may be the rest of a run that was interrupted
    with (
        blas_threads(1),
        Progress("models", len(models), enabled=progress, done=len(models) - left) as bar,
        # closed at once when writing fails: workers end, and with them what they share
        closing(fit_models(trainer, parts, _outcomes_of, y, outcome, n_jobs=n_jobs)) as finished,
    ):
        for _, chunk in finished:
            if kept:
                kept.write(chunk)
            chunks.append(chunk)
            bar.advance(chunk.stop - chunk.first)
    found = gather_chunks(manifest, chunks, where=str(store), only=models)
    _notice_constant(found, learner)
    return found


def _outcomes_of(trainer: Trainer, subsets: Subsets, y: NDArray[Any], outcome: Outcome) -> Chunk:
    labels = outcome in ("correct", "answer") or trainer.split.task == "regression"
    answer = trainer.predict(subsets) if labels else trainer.scores(subsets)
    numbers = subsets.models[constant_models(trainer, subsets, answer)]
    if outcome == "correct":
        data: NDArray[Any] = np.packbits(answer == y, axis=1)
    elif outcome == "answer":
        data = classes_beyond(answer, y, trainer.split.n_classes)
    else:
        data = score_answers(outcome, y, answer)
        if data.shape != (len(subsets), len(y)):
            raise InputError(
                f"outcome returned an array of shape {data.shape}: ({len(subsets)}, {len(y)}) was expected, "
                "one number per model and evaluation row"
            )
        if not np.isfinite(data).all():
            raise InputError("outcome returned NaN or infinity")
    return Chunk(int(subsets.models[0]), int(subsets.models[-1]) + 1, numbers, data)


def _notice_constant(outcomes: Outcomes, learner: Learner) -> None:
    """Warn where nearly all models learnt nothing: their outcomes do not depend on the rows they saw."""
    if 10 * outcomes.degenerate < 9 * outcomes.n_models or outcomes.n_evaluation < _MANY_EVALUATION_ROWS:
        return
    design = outcomes.design
    leaf = f", or let it learn from few rows ({learner.thrift})" if learner.thrift else ""
    warnings.warn(
        f"{outcomes.degenerate:,} of {outcomes.n_models:,} models of {learner.title} give every evaluation "
        "row the same answer, so they tell nothing of their rows: use a larger inclusion (it is "
        f"{design.inclusion:g}, about {design.size} rows a model){leaf}",
        InputWarning,
        stacklevel=3,
    )
