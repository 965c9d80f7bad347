"""Errors and warnings a user can act on."""

from __future__ import annotations

__all__ = ["InputError", "InputWarning", "StoreError"]


class InputError(ValueError):
    """Something the user passed cannot be used; the message names it and the cure."""


class StoreError(InputError):
    """A store on disk does not belong to this run, or cannot be read."""


class InputWarning(UserWarning):
    """Something the user passed is usable but probably not meant."""
