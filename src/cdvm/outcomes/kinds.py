"""Kinds of outcome: what is kept of a model's answer on an evaluation row."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from types import CodeType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cdvm.data.split import Split
from cdvm.errors import InputError

__all__ = ["Outcome", "OutcomeFunction", "classes_beyond", "margin_of", "outcome_name", "score_answers"]

OutcomeFunction = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]
Outcome = Literal["correct", "answer", "margin", "squared_error"] | OutcomeFunction


def score_answers(outcome: Outcome, y: NDArray[Any], answer: NDArray[Any]) -> NDArray[np.float32]:
    """One number per model and evaluation row, of scores or predictions."""
    if isinstance(outcome, str):
        return np.asarray(_SCORES[outcome](y, answer), dtype=np.float32)
    try:
        return np.asarray(outcome(y, answer), dtype=np.float32)
    except Exception as error:  # the function is the user's, and may fail in any way
        raise InputError(
            f"outcome failed ({type(error).__name__}: {error}): it gets {y.shape} targets and answers of "
            f"shape {answer.shape}, and returns one number per model and evaluation row"
        ) from error


def margin_of(codes: NDArray[Any], scores: NDArray[Any]) -> NDArray[Any]:
    """Score of the true class less the best other; a class never trained on is beaten by all."""
    known = codes >= 0
    place = np.where(known, codes, 0)[None, :, None]
    true = np.take_along_axis(scores, np.broadcast_to(place, (len(scores), len(codes), 1)), axis=2)[..., 0]
    others = scores.copy()
    np.put_along_axis(others, np.broadcast_to(place, (len(scores), len(codes), 1)), -np.inf, axis=2)
    margin = true - others.max(axis=2)
    if known.all():
        return np.asarray(margin)
    return np.asarray(np.where(known, margin, scores.min(axis=2) - scores.max(axis=2)))


def classes_beyond(answers: NDArray[Any], codes: NDArray[Any], n_classes: int) -> NDArray[Any]:
    """How many classes beyond the label each answer lies; a label never trained on is never answered."""
    kind = np.int8 if n_classes <= np.iinfo(np.int8).max else np.int16 if n_classes < 2**15 else np.int32
    return np.where(codes >= 0, (answers - codes) % n_classes, 1).astype(kind)


def _negative_squared_error(target: NDArray[Any], prediction: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(-((prediction - target) ** 2))


_SCORES: dict[str, OutcomeFunction] = {"margin": margin_of, "squared_error": _negative_squared_error}


def outcome_name(outcome: Outcome, split: Split) -> str:
    """The name a store knows an outcome by; InputError where the task has no such outcome."""
    if callable(outcome):
        code = getattr(outcome, "__code__", None)
        name = f"{outcome.__module__}.{getattr(outcome, '__qualname__', type(outcome).__qualname__)}"
        # functions of one name need not be one function: every lambda is called the same
        return name if code is None else f"{name}#{zlib.crc32(_code_bytes(code)):08x}"
    allowed = ("squared_error",) if split.task == "regression" else ("correct", "answer", "margin")
    if outcome not in allowed:
        raise InputError(
            f"outcome={outcome!r} does not fit a {split.task} task: use {' or '.join(map(repr, allowed))}, "
            "or a function"
        )
    return outcome


def _code_bytes(code: CodeType) -> bytes:
    inner = (_code_bytes(c) if isinstance(c, CodeType) else repr(c).encode() for c in code.co_consts)
    return b"|".join([code.co_code, *inner, *map(str.encode, code.co_names)])
