"""Which S rows of a training set should be kept: data pruning by Constraint-Data-Value-Maximization."""

from __future__ import annotations

__version__ = "0.1.0"
