"""Which S rows of a training set should be kept: data pruning by Constraint-Data-Value-Maximization.

The names in ``__all__`` are the whole public promise. They are imported when first used, so that
``import cdvm`` and ``cdvm --help`` answer at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cdvm.attribution import Attribution, ImplicitAttribution, MatrixAttribution
    from cdvm.baselines import baseline_names, select_with
    from cdvm.cluster import on_cluster
    from cdvm.datasets import ClusterGame, dataset_info, dataset_names, load_dataset, make_clusters
    from cdvm.errors import InputError, InputWarning, StoreError
    from cdvm.evaluate import compare_with_random, evaluate_sets, judge_sets, random_sets
    from cdvm.learners import (
        Learner,
        LogisticLearner,
        NeighborsLearner,
        PaperLearner,
        RidgeLearner,
        SklearnLearner,
        TorchLearner,
        learner_names,
        make_learner,
    )
    from cdvm.outcomes import Outcomes, merge_stores, record_outcomes
    from cdvm.program import Program
    from cdvm.pruner import CDVM
    from cdvm.refinement import refine
    from cdvm.rounding import swap_search, top_rows
    from cdvm.selection import Selection
    from cdvm.selectors import select_rows, selector_names
    from cdvm.similarity import MixedAttribution, mix_attributions, similarity_attribution
    from cdvm.solvers import Solution, solve, solve_path
    from cdvm.split import Split
    from cdvm.status import StoreStatus, store_status
    from cdvm.subsets import Design, Subsets
    from cdvm.valuation import (
        RankStability,
        StandardError,
        Values,
        banzhaf_from_outcomes,
        detection_report,
        flip_labels,
        suspects,
        utilities,
        valuation_names,
        value_rows,
    )

__version__ = "0.1.0"

_HOME = {
    "cdvm.attribution": ["Attribution", "ImplicitAttribution", "MatrixAttribution"],
    "cdvm.baselines": ["baseline_names", "select_with"],
    "cdvm.cluster": ["on_cluster"],
    "cdvm.datasets": ["ClusterGame", "dataset_info", "dataset_names", "load_dataset", "make_clusters"],
    "cdvm.errors": ["InputError", "InputWarning", "StoreError"],
    "cdvm.evaluate": ["compare_with_random", "evaluate_sets", "judge_sets", "random_sets"],
    "cdvm.learners": [
        "Learner",
        "LogisticLearner",
        "NeighborsLearner",
        "PaperLearner",
        "RidgeLearner",
        "SklearnLearner",
        "TorchLearner",
        "learner_names",
        "make_learner",
    ],
    "cdvm.outcomes": ["Outcomes", "merge_stores", "record_outcomes"],
    "cdvm.program": ["Program"],
    "cdvm.pruner": ["CDVM"],
    "cdvm.refinement": ["refine"],
    "cdvm.rounding": ["swap_search", "top_rows"],
    "cdvm.selection": ["Selection"],
    "cdvm.selectors": ["select_rows", "selector_names"],
    "cdvm.similarity": ["MixedAttribution", "mix_attributions", "similarity_attribution"],
    "cdvm.solvers": ["Solution", "solve", "solve_path"],
    "cdvm.split": ["Split"],
    "cdvm.status": ["StoreStatus", "store_status"],
    "cdvm.subsets": ["Design", "Subsets"],
    "cdvm.valuation": [
        "RankStability",
        "StandardError",
        "Values",
        "banzhaf_from_outcomes",
        "detection_report",
        "flip_labels",
        "suspects",
        "utilities",
        "valuation_names",
        "value_rows",
    ],
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
