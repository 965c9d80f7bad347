"""Pipelines whose preprocessing is the same for every subset: transform once, then train fast.

A step depends on the subset when it learns something from the rows it is fitted on. Steps that learn nothing
(``Normalizer``, ``FunctionTransformer``) or that were fitted before (``FrozenEstimator``) give each row the
same features whatever the other rows are, so all models can share them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import joblib
import numpy as np
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags

from cdvm.data.raw import as_given
from cdvm.data.split import Features, Split
from cdvm.errors import InputError
from cdvm.learners.base import Learner, Reads, Trainer
from cdvm.learners.sklearn import SklearnLearner

__all__ = ["PipelineLearner", "dependent_step"]


def dependent_step(pipeline: Any) -> tuple[str, Any] | None:
    """Name and transformer of the first step that is fitted anew on every subset, or None."""
    for name, step in pipeline.steps[:-1]:
        if step is None or step == "passthrough" or isinstance(step, FrozenEstimator):
            continue
        if get_tags(step).requires_fit:
            return name, step
    return None


class PipelineLearner(Learner):
    """A fast learner behind transformers that are the same for every subset.

    Parameters
    ----------
    pipeline : sklearn.pipeline.Pipeline
        Its steps but the last must not depend on the subset.
    last : Learner
        The fast learner of the last step.
    """

    name = "pipeline"

    def __init__(self, pipeline: Any, last: Learner) -> None:
        found = dependent_step(pipeline)
        if found is not None:
            raise InputError(f"step {found[0]!r} of the pipeline is fitted anew on every subset")
        self.pipeline = pipeline
        self.last = last
        self.task, self.stochastic = last.task, last.stochastic

    @property
    def reads(self) -> Reads:
        return "columns"

    def bind(self, split: Split, X: Features) -> Trainer:
        return self._bound(split, X, self.last.bind)

    def bind_for(self, split: Split, X: Features, rows: int) -> Trainer:
        return self._bound(split, X, partial(self.last.bind_for, rows=rows))

    def _bound(self, split: Split, X: Features, bind: Callable[[Split, Features], Trainer]) -> Trainer:
        features = self._transform(split.X)
        few = slice(0, min(3, split.n_rows))
        if not _equal(self._transform(split.X[few]), features[few]):
            # A function of its own may look at all rows, e.g. subtract their mean.
            return SklearnLearner(self.pipeline).bind(split, X)
        return bind(replace(split, X=features), self._transform(X))

    def spec(self) -> dict[str, Any]:
        steps = [[name, _identity(step)] for name, step in self.pipeline.steps[:-1]]
        return {"name": self.name, "steps": steps, "last": self.last.spec()}

    def _transform(self, X: Features) -> Features:
        X = as_given(X)
        for _, step in self.pipeline.steps[:-1]:
            if step is not None and step != "passthrough":
                # Steps without a state need no fit, though some only learn the number of columns from it.
                X = step.transform(X) if isinstance(step, FrozenEstimator) else step.fit(X).transform(X)
        if sparse.issparse(X):
            return sparse.csr_array(X)
        X = np.asarray(X)
        return X if X.dtype.kind == "f" else X.astype(np.float64)


def _equal(a: Features, b: Features) -> bool:
    if sparse.issparse(a):
        a, b = a.toarray(), b.toarray()
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=1e-6, atol=1e-12))


def _identity(step: Any) -> str:
    """A digest of a step with what it has learnt; its text where it cannot be pickled."""
    try:
        return str(joblib.hash(step))
    except Exception:  # lambdas and other local functions
        return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(step))
