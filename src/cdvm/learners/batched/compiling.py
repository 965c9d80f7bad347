"""How kernels are compiled: without the interpreter's lock, once per machine where a cache can be written."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from cdvm.errors import InputError

__all__ = ["entry", "inner", "need_numba"]

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
_UNSEEN: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def need_numba(what: str) -> None:
    """Say how to install Numba where it is missing."""
    if find_spec("numba") is None:
        raise InputError(f"{what} needs Numba, which is not installed: pip install cdvm[trees]")


def inner(function: Callable[..., Any]) -> Any:
    """A function that only compiled code calls."""
    from numba import njit

    return njit(**_OPTIONS, **_UNSEEN)(function)


def entry(function: Callable[..., Any]) -> Any:
    """A function that Python calls; compiled at its first call and kept on disk.

    The copy on disk is renewed when the function's own file changes, so a kernel and all it calls are one
    file.
    """
    from numba import njit

    try:
        return njit(**_OPTIONS, cache=True)(function)
    except RuntimeError:  # nowhere to write
        return njit(**_OPTIONS)(function)
