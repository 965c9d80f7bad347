"""What Python calls by an argument's name, the command line calls by its flag."""

from __future__ import annotations

import re

from cdvm.errors import redacted

__all__ = ["FLAGS", "in_flags"]

FLAGS = {
    "budget": "--keep",
    "n_models": "--models",
    "n_jobs": "--jobs",
    "random_state": "--seed",
    "k": "--neighbors",
    "stop": "--error",
    "rate": "--false-alarms",
    "memory_limit": "--memory-limit",
    "per_class": "--per-class",
    "at_least": "--at-least",
    "at_most": "--at-most",
    "keep_if": "--keep-if",
    "drop_if": "--drop-if",
    "at_score": "--score",
    "test_size": "--test",
}
"""Flags whose name is not that of the argument."""

_SAME: tuple[str, ...] = (
    "alpha",
    "categorical",
    "columns",
    "ignore",
    "text",
    "cluster",
    "inclusion",
    "kappa",
    "learner",
    "method",
    "metric",
    "out",
    "preset",
    "protocol",
    "refine",
)
_SAME += ("groups", "together", "cost", "within", "confidence", "curve", "report")
_SAME += (
    "dataset",
    "target",
    "test",
    "remove",
    "repetitions",
    "seed",
    "fraction",
    "store",
    "fits",
    "tune",
    "validation",
    "effort",
    "proxy",
    "seconds",
)

_PHRASES = {
    "force=True": "--force",
    "; prepare=True would make numbers of the columns first": "",
    "pass X_val and y_val, or hold": "name a table with --validation, or hold",
    "pass validation rows yourself": "name a table of validation rows with --validation",
    "leave out X_val and y_val": "leave out --validation",
    "X_val": "the table of --validation",
    "y_val": "the labels of --validation",
    "X_test": "the table of --test",
    "y_test": "the labels of --test",
    "X_new": "the table of --new-rows",
    "y_new": "the target of --new-rows",
    "X": "the table",
    "y": "the column of --target",
}


def in_flags(message: str) -> str:
    """A message in the command line's words, without passwords.

    >>> in_flags("budget=0: use at least 1 row")
    '--keep 0: use at least 1 row'
    >>> in_flags("learner='forest' is unknown; X has column 'X'")
    "--learner forest is unknown; the table has column 'X'"
    """
    flags = FLAGS | {name: f"--{name}" for name in _SAME}

    def said_so(found: re.Match[str]) -> str:
        flag, word = flags[found["name"]], found["word"]
        return flag if found["alone"] is not None else f"{flag} {word or ''}"

    pattern = (
        rf"(?<![\w.'\"])(?P<name>{'|'.join(flags)})=(?:'(?P<word>[\w.:/-]+)'|(?P<alone>(?=[\s,;:)]|$))|)"
    )
    message = re.sub(pattern, said_so, message)
    for phrase, said in _PHRASES.items():
        message = re.sub(rf"(?<![\w'\"-]){re.escape(phrase)}(?![\w'\"=-])", said, message)
    return redacted(message)
