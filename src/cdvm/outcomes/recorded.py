"""What every model answered on every evaluation row, in memory and in stores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm._runtime.progress import Progress
from cdvm.errors import InputError, StoreError
from cdvm.outcomes.storage import Address
from cdvm.outcomes.store import Chunk, Store, refuse_other
from cdvm.sampling import Design

__all__ = ["Outcomes", "gather_chunks", "merge_stores"]


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

    def grown(self, rows: int) -> Outcomes:
        """The same models, which saw none of so many rows that came to the end of the table."""
        return self._changed(self.design.grown(rows), {})

    def without(self, rows: NDArray[np.int64]) -> Outcomes:
        """The models that saw none of some training rows, and what they answered on others."""
        seen = self.design.take(self.models).members[:, rows]
        stays = np.asarray(seen.sum(axis=1)).ravel() == 0
        changes: dict[str, Any] = {"models": self.models[stays], "data": self.data[stays]}
        constant = self.degenerate_models
        changes["degenerate_models"] = constant[np.isin(constant, changes["models"])]
        asked = self.evaluation_rows
        if asked is not None:
            kept = np.flatnonzero(~np.isin(asked, rows))
            changes["n_evaluation"] = len(kept)
            if self.binary:
                bits = np.unpackbits(changes["data"], axis=1, count=self.n_evaluation)
                changes["data"] = np.packbits(bits[:, kept], axis=1)
            else:
                changes["data"] = np.ascontiguousarray(changes["data"][:, kept])
        return self._changed(self.design.without(rows), changes, rows)

    def _changed(
        self, design: Design, changes: dict[str, Any], gone: NDArray[np.int64] | None = None
    ) -> Outcomes:
        manifest = {**self.manifest, "design": design.describe()}
        rows = self.evaluation_rows
        if gone is not None and rows is not None:
            manifest["n_evaluation"] = changes["n_evaluation"]
            if manifest["evaluation_rows"] != "all":
                left = rows[~np.isin(rows, gone)]
                manifest["evaluation_rows"] = (left - np.searchsorted(np.sort(gone), left)).tolist()
        return replace(self, design=design, manifest=manifest, **changes)

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
        return gather_chunks(store.manifest, list(store.read()), where=str(path))

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


def gather_chunks(
    manifest: dict[str, Any], chunks: list[Chunk], *, where: str, only: range | None = None
) -> Outcomes:
    """The outcomes of all chunks, or of the models in ``only``."""
    if not chunks:
        raise StoreError(f"{where} holds no outcomes yet: let its run go on, or run it again")
    try:
        design, n_evaluation = Design(**manifest["design"]), int(manifest["n_evaluation"])
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{where} describes no usable run ({error}): delete it and run again") from error
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
