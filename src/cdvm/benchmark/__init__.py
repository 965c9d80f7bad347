"""The paper's benchmark: protocols, methods, a resumable runner, tables and figures."""

from __future__ import annotations

from cdvm.benchmark.methods import PAPER_METHODS, Method, get_method
from cdvm.benchmark.presets import PRESETS, get_preset
from cdvm.benchmark.protocol import PROTOCOLS, SIX, TABULAR, Protocol, get_protocol
from cdvm.benchmark.results import Results
from cdvm.benchmark.runner import run_benchmark

__all__ = [
    "PAPER_METHODS",
    "PRESETS",
    "PROTOCOLS",
    "SIX",
    "TABULAR",
    "Method",
    "Protocol",
    "Results",
    "get_method",
    "get_preset",
    "get_protocol",
    "run_benchmark",
]
