"""Which S rows of a training set should be kept: data pruning by Constraint-Data-Value-Maximization.

The names in ``__all__`` are the whole public promise. They are imported when first used, so that
``import cdvm`` and ``cdvm --help`` answer at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cdvm._runtime.cluster import on_cluster
    from cdvm.attribution import (
        Attribution,
        GrownAttribution,
        ImplicitAttribution,
        MatrixAttribution,
        MixedAttribution,
        mix_attributions,
        similarity_attribution,
    )
    from cdvm.data.preparation import Preparation
    from cdvm.data.split import Split
    from cdvm.datasets import ClusterGame, dataset_info, dataset_names, load_dataset, make_clusters
    from cdvm.errors import InputError, InputWarning, StoreError
    from cdvm.evaluation.comparison import compare_with_random, random_sets
    from cdvm.evaluation.refinement.refine import refine
    from cdvm.evaluation.scoring import evaluate_sets, score_sets
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
    from cdvm.optimize.path import solve_path
    from cdvm.optimize.program import Program
    from cdvm.optimize.rounding import swap_search, top_rows
    from cdvm.optimize.solvers.dispatch import Solution, solve
    from cdvm.outcomes.recorded import Outcomes, merge_stores
    from cdvm.outcomes.recording import record_outcomes
    from cdvm.outcomes.status import StoreStatus, store_status
    from cdvm.pruner.estimator import CDVM
    from cdvm.sampling import Design, Subsets
    from cdvm.selection import Selection
    from cdvm.selectors import select_rows, selector_names
    from cdvm.selectors.baselines import baseline_names, select_with
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
    "cdvm.attribution": [
        "Attribution",
        "GrownAttribution",
        "ImplicitAttribution",
        "MatrixAttribution",
        "MixedAttribution",
        "mix_attributions",
        "similarity_attribution",
    ],
    "cdvm.selectors.baselines": ["baseline_names", "select_with"],
    "cdvm._runtime.cluster": ["on_cluster"],
    "cdvm.datasets": ["ClusterGame", "dataset_info", "dataset_names", "load_dataset", "make_clusters"],
    "cdvm.errors": ["InputError", "InputWarning", "StoreError"],
    "cdvm.evaluation.comparison": ["compare_with_random", "random_sets"],
    "cdvm.evaluation.scoring": ["evaluate_sets", "score_sets"],
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
    "cdvm.outcomes.recorded": ["Outcomes", "merge_stores"],
    "cdvm.outcomes.recording": ["record_outcomes"],
    "cdvm.optimize.program": ["Program"],
    "cdvm.pruner.estimator": ["CDVM"],
    "cdvm.evaluation.refinement.refine": ["refine"],
    "cdvm.optimize.rounding": ["swap_search", "top_rows"],
    "cdvm.selection": ["Selection"],
    "cdvm.selectors": ["select_rows", "selector_names"],
    "cdvm.optimize.path": ["solve_path"],
    "cdvm.optimize.solvers.dispatch": ["Solution", "solve"],
    "cdvm.data.preparation": ["Preparation"],
    "cdvm.data.split": ["Split"],
    "cdvm.outcomes.status": ["StoreStatus", "store_status"],
    "cdvm.sampling": ["Design", "Subsets"],
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
