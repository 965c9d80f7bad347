"""What a row is worth: one module a method, each a function from a split and a learner to :class:`Values`."""

from __future__ import annotations

from cdvm.valuation.base import Game, Utility, Values, utilities

__all__ = ["Game", "Utility", "Values", "utilities"]
