"""What each column of a table is, and which columns say nothing a model could learn from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from cdvm.data.kinds import Column, Kind, find_kind
from cdvm.data.reading import inferred
from cdvm.errors import InputError, unknown_name

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Column", "Kind", "as_frame", "describe_columns"]


def describe_columns(
    frame: Any,
    *,
    columns: Iterable[str] | None = None,
    ignore: Iterable[str] = (),
    categorical: Iterable[str] = (),
    text: Iterable[str] = (),
    target: str | None = None,
) -> list[Column]:
    """Find out what each column of a table is.

    Parameters
    ----------
    frame : DataFrame, or another library's table, or a list of texts
    columns : iterable of str, optional
        The columns to use, all by default. One that is named here is used even if it looks like an id.
    ignore, categorical, text : iterable of str
        Columns to leave out; whose values are names, numbers too; that hold texts.
    target : str, optional
        The column of labels, which is ignored.

    Examples
    --------
    >>> import pandas as pd
    >>> found = describe_columns(pd.DataFrame({"age": [31, None, 44], "job": ["cook", "?", "smith"], "k": 1}))
    >>> [(c.name, c.kind, c.missing, c.encoding or c.reason) for c in found]
    [('age', 'number', 1, 'as it is; missing: median and a mark'),
     ('job', 'category', 1, 'one-hot; missing is a level'), ('k', 'ignored', 0, 'constant: always 1')]
    """
    alone = not hasattr(frame, "columns") and getattr(frame, "ndim", 1) == 1
    frame = as_frame(frame, "frame")
    names = [str(c) for c in frame.columns]
    if alone and inferred(frame.iloc[:, 0]) == "string" and not _listed(categorical):
        text = names  # a list of strings is meant as texts, however short they are
    uses = _uses(names, columns, ignore=ignore, target=target or (), categorical=categorical, text=text)
    return [
        find_kind(frame.iloc[:, k], uses.get(name, ""), named=name in uses or columns is not None)
        for k, name in enumerate(names)
    ]


def as_frame(X: Any, name: str = "X") -> pd.DataFrame:
    """A DataFrame from a table of any library, a 2-dimensional array, one column, or a list of texts."""
    import pandas as pd

    if isinstance(X, str):
        raise InputError(f"{name}={X[:40]!r} is one string: pass a list of texts or a table")
    if not hasattr(X, "iloc") and hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if isinstance(X, pd.Series):
        X = X.to_frame("text" if X.name is None else X.name)
    if not isinstance(X, pd.DataFrame):
        listed = isinstance(X, list | tuple) or getattr(X, "ndim", 0) == 1
        texts = listed and all(isinstance(text, str) for text in X)
        if not texts and getattr(X, "ndim", 0) != 2:
            raise InputError(
                f"{name} is no table: pass a DataFrame, a 2-dimensional array or a list of texts"
            )
        X = {"text": pd.Series(list(X), dtype=object)} if texts else X
    frame = pd.DataFrame(X)
    names = [str(c) for c in frame.columns]
    if len(set(names)) < len(names):
        twice = next(c for c in names if names.count(c) > 1)
        raise InputError(f"{name} has two columns named {twice!r}: rename one of them")
    return frame


def _uses(names: Sequence[str], columns: Iterable[str] | None, **options: Iterable[str]) -> dict[str, str]:
    """The option that speaks of a column, by column; "unlisted" for those left out of ``columns``."""
    uses: dict[str, str] = {}
    if columns is not None:
        wanted = _known("columns", columns, names)
        uses = {name: "unlisted" for name in names if name not in wanted}
    for option, given in options.items():
        for name in _known(option, given, names):
            other = uses.get(name)
            if option in {"ignore", "target"} and columns is not None and other is None:
                other = "columns"
            elif other == "unlisted" and option in {"ignore", "target"}:
                other = None
            if other == "unlisted":
                raise InputError(f"{option}={name!r} is not among columns: add it there or leave it out here")
            if other is not None:
                raise InputError(f"{option}={name!r} is named in {other} too: leave it out of one of them")
            uses[name] = option
    return uses


def _listed(given: Iterable[str]) -> list[str]:
    return [given] if isinstance(given, str) else [str(name) for name in given]


def _known(option: str, given: Iterable[str], names: Sequence[str]) -> list[str]:
    known = set(names)
    for name in _listed(given):
        if name not in known:
            raise unknown_name(option, name, names)
    return list(dict.fromkeys(_listed(given)))
