"""Errors and warnings a user can act on."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

__all__ = ["InputError", "InputWarning", "StoreError", "redacted", "unknown_name"]


class InputError(ValueError):
    """Something the user passed cannot be used; the message names it and the cure."""


class StoreError(InputError):
    """A store on disk does not belong to this run, or cannot be read."""


class InputWarning(UserWarning):
    """Something the user passed is usable but probably not meant."""


def unknown_name(argument: str, given: str, known: Iterable[str]) -> InputError:
    """The error for a name that is none of the known ones, with the nearest of them.

    >>> unknown_name("learner", "logistik", ["ridge", "logistic"])
    InputError("learner='logistik' is unknown: did you mean 'logistic'? Choose from ridge, logistic")
    """
    names = list(known)
    near = difflib.get_close_matches(str(given).lower(), names, n=1)
    hint = f"did you mean {near[0]!r}? Choose" if near else "choose"
    return InputError(f"{argument}={given!r} is unknown: {hint} from {', '.join(names)}")


def redacted(text: str) -> str:
    """The text with the password of every address in it hidden.

    >>> redacted("cannot reach https://me:secret@host/x")
    'cannot reach https://me:***@host/x'
    """
    return re.sub(r"(\w://[^\s/@:]*):[^\s/@]+@", r"\1:***@", text)
