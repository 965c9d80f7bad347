"""Run a learner over a design and keep for every model and evaluation row whether it was right.

Right or wrong is one bit. A per-row score (the margin, the negative squared error, a function of the user's)
is one float32 instead. A run can be split over model ranges, killed and continued; it ends with the same
bits.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from types import CodeType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from cdvm._runtime.parallel import check_jobs, run_tasks
from cdvm._runtime.progress import Progress
from cdvm.data.split import Split
from cdvm.errors import InputError, InputWarning, StoreError
from cdvm.learners import make_learner
from cdvm.learners.base import Learner, Trainer, constant_models
from cdvm.outcomes.storage import Address
from cdvm.outcomes.store import Chunk, Store, missing_ranges, refuse_other
from cdvm.sampling import Design

__all__ = ["Outcome", "Outcomes", "margin_of", "merge_stores", "record_outcomes"]

Score = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]
Outcome = Literal["correct", "answer", "margin", "squared_error"] | Score

_MANY_EVALUATION_ROWS = 20  # fewer may well all be answered alike by a model that has learnt


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What every model answered on every evaluation row.

    Attributes
    ----------
    design : Design
        Decides which rows each model saw.
    models : ndarray of shape (n_models,)
        Numbers of the models in the design, increasing.
    data : ndarray of shape (n_models, ...)
        Packed bits (uint8), answers (int8 or int16), or float32 scores.
    n_evaluation : int
    degenerate_models : ndarray
        Numbers of the models that gave every evaluation row the same answer: their training set was empty or
        of one class, or the learner learnt nothing from it.
    manifest : dict
        Learner, outcome, design, data fingerprint and out-of-bag evaluation rows as plain values.
    """

    design: Design
    models: NDArray[np.int64]
    data: NDArray[Any]
    n_evaluation: int
    degenerate_models: NDArray[np.int64]
    manifest: dict[str, Any]

    @property
    def n_models(self) -> int:
        return len(self.models)

    @property
    def degenerate(self) -> int:
        """How many models answered with a constant."""
        return len(self.degenerate_models)

    @property
    def binary(self) -> bool:
        """Whether outcomes are right/wrong bits."""
        return self.data.dtype == np.uint8

    @property
    def answers(self) -> NDArray[Any] | None:
        """Where answers were recorded, how many classes beyond the label each lies: 0 is right."""
        return self.data if self.data.dtype.kind == "i" else None

    @property
    def evaluation_rows(self) -> NDArray[np.int64] | None:
        """The training rows that are evaluated out of bag; None where there are validation rows."""
        rows = self.manifest.get("evaluation_rows")
        if rows is None:
            return None
        return np.arange(self.n_evaluation) if rows == "all" else np.asarray(rows, dtype=np.int64)

    def values(self) -> NDArray[Any]:
        """Outcomes of shape (n_models, n_evaluation): 0/1 (uint8) or scores (float32)."""
        if self.binary:
            return np.unpackbits(self.data, axis=1, count=self.n_evaluation)
        if self.answers is not None:
            return np.asarray(self.answers == 0).view(np.uint8)
        return self.data

    def first(self, n_models: int) -> Outcomes:
        """The first ``n_models`` of these."""
        if not 1 <= n_models <= self.n_models:
            raise InputError(f"n_models={n_models}: use 1 to the {self.n_models} there are")
        models, constant = self.models[:n_models], self.degenerate_models
        constant = constant[constant <= models[-1]]
        return replace(self, models=models, data=self.data[:n_models], degenerate_models=constant)

    def save(self, path: Address) -> Address:
        """Write into a store, read back by :meth:`load`."""
        store = Store(path, self.manifest)
        runs = np.split(np.arange(self.n_models), np.flatnonzero(np.diff(self.models) != 1) + 1)
        for run in runs:
            first, stop = int(self.models[run[0]]), int(self.models[run[-1]]) + 1
            constant = self.degenerate_models
            constant = constant[(constant >= first) & (constant < stop)]
            store.write(Chunk(first, stop, constant, self.data[run]))
            store.request(first, stop)
        return store.path

    @classmethod
    def load(cls, path: Address) -> Outcomes:
        """Outcomes of all models whose results are in a store."""
        store = Store(path)
        return _gather(store.manifest, list(store.read()), where=str(path))

    def merge(self, other: Outcomes) -> Outcomes:
        """Outcomes over the models of both; the two must be of one run and share no model."""
        if self.manifest != other.manifest:
            raise StoreError("these outcomes are of different designs, learners or data and cannot be merged")
        _refuse_shared(self.models, other.models)
        models = np.concatenate([self.models, other.models])
        order = np.argsort(models)
        return Outcomes(
            self.design,
            models[order],
            np.concatenate([self.data, other.data])[order],
            self.n_evaluation,
            np.union1d(self.degenerate_models, other.degenerate_models),
            self.manifest,
        )


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
    learner, n_jobs = make_learner(learner), check_jobs(n_jobs)
    outcome = outcome or ("squared_error" if split.task == "regression" else "correct")
    X, y = split.evaluation
    manifest = {
        "design": design.describe(),
        "learner": learner.spec(),
        "outcome": _outcome_name(outcome, split),
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
    shared = (trainer, design, y, outcome)
    # one BLAS thread even for a single task, which may be the rest of a run that was interrupted
    with (
        threadpool_limits(limits=1),
        Progress("models", len(models), enabled=progress, done=len(models) - left) as bar,
        # closed at once when writing fails: workers end, and with them what they share
        closing(run_tasks(_run_chunk, todo, shared=shared, n_jobs=n_jobs, prefer=trainer.prefer)) as finished,
    ):
        for _, chunk in finished:
            if kept:
                kept.write(chunk)
            chunks.append(chunk)
            bar.advance(chunk.stop - chunk.first)
    found = _gather(manifest, chunks, where=str(store), only=models)
    _notice_constant(found, learner)
    return found


def merge_stores(target: Address, *sources: Address, progress: bool | None = None) -> Outcomes:
    """Merge stores over disjoint model ranges into another, new or of the same run."""
    if not sources:
        raise InputError("name at least one store to merge")
    stores = [Store(source) for source in sources]
    done: list[tuple[int, int]] = []
    for store in stores:
        refuse_other(store.path, store.manifest, stores[0].manifest)
        ranges = store.ranges()
        _refuse_shared(_numbers(done), _numbers(ranges))
        done += ranges
    merged = Store(target, stores[0].manifest)
    with Progress("ranges", len(done), enabled=progress) as bar:
        for store in stores:
            for chunk in store.read():
                merged.write(chunk)
                bar.advance()
            for first, stop in store.requested():
                merged.request(first, stop)
    return Outcomes.load(target)


def _refuse_shared(some: NDArray[np.int64], others: NDArray[np.int64]) -> None:
    shared = np.intersect1d(some, others)
    if shared.size:
        raise StoreError(f"both hold model {int(shared[0])} ({shared.size} in all): ranges must be disjoint")


def _numbers(ranges: list[tuple[int, int]]) -> NDArray[np.int64]:
    return np.concatenate([np.empty(0, dtype=np.int64), *(np.arange(*ends) for ends in ranges)])


def _run_chunk(
    trainer: Trainer, design: Design, y: NDArray[Any], outcome: Outcome, first: int, stop: int
) -> Chunk:
    subsets = design.take(range(first, stop))
    labels = outcome in ("correct", "answer") or trainer.split.task == "regression"
    answer = trainer.predict(subsets) if labels else trainer.scores(subsets)
    numbers = subsets.models[constant_models(trainer, subsets, answer)]
    if outcome == "correct":
        data: NDArray[Any] = np.packbits(answer == y, axis=1)
    elif outcome == "answer":
        data = _beyond(answer, y, trainer.split.n_classes)
    else:
        data = _scored(outcome, y, answer)
        if data.shape != (len(subsets), len(y)):
            raise InputError(
                f"outcome returned an array of shape {data.shape}: ({len(subsets)}, {len(y)}) was expected, "
                "one number per model and evaluation row"
            )
        if not np.isfinite(data).all():
            raise InputError("outcome returned NaN or infinity")
    return Chunk(first, stop, numbers, data)


def _scored(outcome: Outcome, y: NDArray[Any], answer: NDArray[Any]) -> NDArray[np.float32]:
    if isinstance(outcome, str):
        return np.asarray(_SCORES[outcome](y, answer), dtype=np.float32)
    try:
        return np.asarray(outcome(y, answer), dtype=np.float32)
    except Exception as error:  # the function is the user's, and may fail in any way
        raise InputError(
            f"outcome failed ({type(error).__name__}: {error}): it gets {y.shape} targets and answers of "
            f"shape {answer.shape}, and returns one number per model and evaluation row"
        ) from error


def _notice_constant(outcomes: Outcomes, learner: Learner) -> None:
    """Warn where nearly all models learnt nothing: their outcomes do not depend on the rows they saw."""
    if 10 * outcomes.degenerate < 9 * outcomes.n_models or outcomes.n_evaluation < _MANY_EVALUATION_ROWS:
        return
    design = outcomes.design
    leaf = f", or let it learn from few rows ({learner.thrift})" if learner.thrift else ""
    warnings.warn(
        f"{outcomes.degenerate:,} of {outcomes.n_models:,} models of {learner.title} give every evaluation "
        "row the "
        "same answer, so they tell nothing of their rows: use a larger inclusion (it is "
        f"{design.inclusion:g}, about {design.size} rows a model){leaf}",
        InputWarning,
        stacklevel=3,
    )


def margin_of(codes: NDArray[Any], scores: NDArray[Any]) -> NDArray[Any]:
    """Score of the true class less the best other; a class never trained on is beaten by all."""
    known = codes >= 0
    place = np.where(known, codes, 0)[None, :, None]
    true = np.take_along_axis(scores, np.broadcast_to(place, (len(scores), len(codes), 1)), axis=2)[..., 0]
    others = scores.copy()
    np.put_along_axis(others, np.broadcast_to(place, (len(scores), len(codes), 1)), -np.inf, axis=2)
    margin = true - others.max(axis=2)
    return np.asarray(np.where(known, margin, scores.min(axis=2) - scores.max(axis=2)))


def _beyond(answers: NDArray[Any], codes: NDArray[Any], n_classes: int) -> NDArray[Any]:
    """How many classes beyond the label each answer lies; a label never trained on is never answered."""
    kind = np.int8 if n_classes <= np.iinfo(np.int8).max else np.int16 if n_classes < 2**15 else np.int32
    return np.where(codes >= 0, (answers - codes) % n_classes, 1).astype(kind)


def _negative_squared_error(target: NDArray[Any], prediction: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(-((prediction - target) ** 2))


_SCORES: dict[str, Score] = {"margin": margin_of, "squared_error": _negative_squared_error}


def _outcome_name(outcome: Outcome, split: Split) -> str:
    if callable(outcome):
        code = getattr(outcome, "__code__", None)
        name = f"{outcome.__module__}.{getattr(outcome, '__qualname__', type(outcome).__qualname__)}"
        # functions of one name need not be one function: every lambda is called the same
        return name if code is None else f"{name}#{zlib.crc32(_code_bytes(code)):08x}"
    allowed = ("squared_error",) if split.task == "regression" else ("correct", "answer", "margin")
    if outcome not in allowed:
        raise InputError(
            f"outcome={outcome!r} does not fit a {split.task} task: use {' or '.join(map(repr, allowed))}, "
            "or a function"
        )
    return outcome


def _code_bytes(code: CodeType) -> bytes:
    inner = (_code_bytes(c) if isinstance(c, CodeType) else repr(c).encode() for c in code.co_consts)
    return b"|".join([code.co_code, *inner, *map(str.encode, code.co_names)])


def _gather(
    manifest: dict[str, Any], chunks: list[Chunk], *, where: str, only: range | None = None
) -> Outcomes:
    if not chunks:
        raise StoreError(f"{where} holds no outcomes yet: let its run go on, or run it again")
    try:
        design, n_evaluation = Design(**manifest["design"]), int(manifest["n_evaluation"])
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{where} declares no usable run ({error}): delete it and run again") from error
    chunks = sorted(chunks, key=lambda c: (c.first, c.stop))
    for chunk in chunks:
        width = -(-n_evaluation // 8) if chunk.data.dtype == np.uint8 else n_evaluation
        if chunk.data.shape[1] != width or chunk.data.dtype != chunks[0].data.dtype:
            raise StoreError(
                f"{where} holds outcomes of models {chunk.first} to {chunk.stop} that do not fit its "
                f"{n_evaluation} evaluation rows: delete that file and run again"
            )
    models = np.concatenate([np.arange(c.first, c.stop) for c in chunks])
    data = np.concatenate([c.data for c in chunks])
    models, place = np.unique(models, return_index=True)  # ranges of several writers may overlap
    if only is not None:
        inside = (models >= only.start) & (models < only.stop)
        models, place = models[inside], place[inside]
    constant = np.unique(np.concatenate([c.degenerate for c in chunks]))
    return Outcomes(
        design=design,
        models=models,
        data=data[place],
        n_evaluation=n_evaluation,
        degenerate_models=constant[np.isin(constant, models)],
        manifest=manifest,
    )
