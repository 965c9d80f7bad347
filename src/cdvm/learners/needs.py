"""How a table comes in for a learner: decided here, for Python and the command line alike."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.base import clone

from cdvm._runtime.parameters import Rule, one_of
from cdvm.data.checks import column_names
from cdvm.data.native import NativePreparation
from cdvm.data.parts import Prepare
from cdvm.data.preparation import Preparation
from cdvm.data.scaling import Scale
from cdvm.errors import InputError
from cdvm.learners.base import Learner
from cdvm.learners.sklearn import SklearnLearner

__all__ = ["PREPARE", "PrepareFor", "prepare_for", "reads_missing"]

PrepareFor = Literal["auto"] | bool | Preparation
PREPARE = one_of("auto", True, False) | Rule(
    lambda given: isinstance(given, Preparation), "a cdvm.Preparation"
)


def prepare_for(
    learner: Any, made: Learner, X: Any, prepare: PrepareFor = "auto", scale: Scale = "auto"
) -> Prepare:
    """What :meth:`cdvm.Split.from_arrays` is to be told of features.

    Parameters
    ----------
    learner : as the user passed it
    made : Learner
        What became of it.
    X : table
    prepare : {"auto", True, False} or Preparation
        ``"auto"`` leaves arrays alone. Columns of a DataFrame go to a pipeline as they are, to boosted trees
        with their categories and missing values, and to any other learner as numbers; texts become vectors.
    scale : {"auto", True, False}
        As in :func:`cdvm.data.scaling.scaled_for`.

    >>> import pandas as pd
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> from cdvm.learners import make_learner
    >>> table = pd.DataFrame({"job": ["cook", "smith"]})
    >>> [prepare_for(l, make_learner(l), table) for l in ("svm", SVC(), make_pipeline(SVC()))]
    [Preparation(scale=True), Preparation(), 'columns']
    """
    scaled = isinstance(learner, str) if scale == "auto" else scale
    if isinstance(prepare, Preparation):
        return clone(prepare).set_params(scale=bool(prepare.scale or scaled))
    table, texts = column_names(X) is not None, _is_texts(X)
    if prepare is True or (prepare == "auto" and texts):
        return Preparation(scale=scaled)
    if made.reads == "columns" and (table or _holds_objects(X)):
        if scale is True:
            raise InputError(
                "scale=True has no effect on columns that go to a pipeline as they are: put a StandardScaler "
                "into it, or pass prepare=True"
            )
        return "columns"
    if table and prepare == "auto":
        native = made.reads == "categories" and not scaled
        return NativePreparation() if native else Preparation(scale=scaled)
    if table and made.reads == "categories":
        return "columns"
    return None if made.reads == "numbers" else "missing"


def reads_missing(learner: Any) -> bool:
    """Whether an estimator, as the user passed it, takes an array with NaN."""
    return hasattr(learner, "get_params") and SklearnLearner(learner).reads != "numbers"


def _is_texts(X: Any) -> bool:
    """A list, array or column of strings, which is no table."""
    if column_names(X) is not None or sparse.issparse(X) or isinstance(X, str | bytes):
        return False
    if isinstance(X, list | tuple):
        return bool(X) and all(isinstance(text, str) for text in X)
    if getattr(X, "ndim", 0) != 1:
        return False
    return all(isinstance(text, str) for text in np.asarray(X, dtype=object))


def _holds_objects(X: Any) -> bool:
    return getattr(getattr(X, "dtype", None), "kind", "") in "OUS" and getattr(X, "ndim", 0) == 2
