"""Which S rows of a training set should be kept: data pruning by Constraint-Data-Value-Maximization."""

from __future__ import annotations

from cdvm.attribution import Attribution, ImplicitAttribution, MatrixAttribution
from cdvm.errors import InputError, InputWarning, StoreError
from cdvm.evaluate import evaluate_sets, random_sets
from cdvm.learners import Learner, SklearnLearner, learner_names, make_learner
from cdvm.outcomes import Outcomes, merge_stores, record_outcomes
from cdvm.program import Program
from cdvm.pruner import CDVM
from cdvm.rounding import top_rows
from cdvm.selection import Selection
from cdvm.solvers import Solution, solve
from cdvm.split import Split
from cdvm.subsets import Design, Subsets

__all__ = [
    "CDVM",
    "Attribution",
    "Design",
    "ImplicitAttribution",
    "InputError",
    "InputWarning",
    "Learner",
    "MatrixAttribution",
    "Outcomes",
    "Program",
    "Selection",
    "SklearnLearner",
    "Solution",
    "Split",
    "StoreError",
    "Subsets",
    "evaluate_sets",
    "learner_names",
    "make_learner",
    "merge_stores",
    "random_sets",
    "record_outcomes",
    "solve",
    "top_rows",
]

__version__ = "0.1.0"
