"""Which S rows of a training set should be kept: data pruning by Constraint-Data-Value-Maximization.

The names in ``__all__`` are the whole public promise. They are imported when first used, so that
``import cdvm`` and ``cdvm --help`` answer at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cdvm.attribution import Attribution, ImplicitAttribution, MatrixAttribution
    from cdvm.datasets import dataset_info, dataset_names, load_dataset
    from cdvm.errors import InputError, InputWarning, StoreError
    from cdvm.evaluate import compare_with_random, evaluate_sets, random_sets
    from cdvm.learners import Learner, SklearnLearner, learner_names, make_learner
    from cdvm.outcomes import Outcomes, merge_stores, record_outcomes
    from cdvm.program import Program
    from cdvm.pruner import CDVM
    from cdvm.rounding import top_rows
    from cdvm.selection import Selection
    from cdvm.solvers import Solution, solve
    from cdvm.split import Split
    from cdvm.subsets import Design, Subsets

__version__ = "0.1.0"

_HOME = {
    "cdvm.attribution": ["Attribution", "ImplicitAttribution", "MatrixAttribution"],
    "cdvm.datasets": ["dataset_info", "dataset_names", "load_dataset"],
    "cdvm.errors": ["InputError", "InputWarning", "StoreError"],
    "cdvm.evaluate": ["compare_with_random", "evaluate_sets", "random_sets"],
    "cdvm.learners": ["Learner", "SklearnLearner", "learner_names", "make_learner"],
    "cdvm.outcomes": ["Outcomes", "merge_stores", "record_outcomes"],
    "cdvm.program": ["Program"],
    "cdvm.pruner": ["CDVM"],
    "cdvm.rounding": ["top_rows"],
    "cdvm.selection": ["Selection"],
    "cdvm.solvers": ["Solution", "solve"],
    "cdvm.split": ["Split"],
    "cdvm.subsets": ["Design", "Subsets"],
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'cdvm' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
