"""Columns as they came, for learners that read them: names, types and missing values included."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from cdvm.errors import InputError

__all__ = ["RawColumns", "as_given", "stack_rows"]


class RawColumns:
    """Rows of a DataFrame, or of an array of objects, taken by position as those of an array.

    Parameters
    ----------
    table : DataFrame, or ndarray of two dimensions
    """

    def __init__(self, table: Any) -> None:
        self.table = table

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.table.shape[0]), int(self.table.shape[1])

    def __getitem__(self, rows: Any) -> RawColumns:
        return RawColumns(self.table.iloc[rows] if hasattr(self.table, "iloc") else self.table[rows])

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise InputError(
            "this needs features that are numbers, and the split holds columns as they came: make it with "
            "prepare=cdvm.Preparation(), or pass prepare=True to CDVM"
        )

    def digest(self) -> bytes:
        """A fingerprint of names, types and values."""
        import pandas as pd

        frame = self.table if hasattr(self.table, "iloc") else pd.DataFrame(self.table)
        digest = hashlib.sha256(repr([(str(c), str(t)) for c, t in frame.dtypes.items()]).encode())
        for k in range(frame.shape[1]):
            column = frame.iloc[:, k]
            try:
                numbers = pd.util.hash_pandas_object(column, index=False)
            except TypeError:  # lists and other values without a hash
                numbers = pd.util.hash_pandas_object(column.map(repr), index=False)
            digest.update(numbers.to_numpy().tobytes())
        return digest.digest()


def as_given(X: Any) -> Any:
    """What an estimator is handed: the table itself where columns are kept as they came."""
    return X.table if isinstance(X, RawColumns) else X


def stack_rows(parts: Sequence[Any]) -> Any:
    """The rows of several parts, one below the other, of the kind that they all are."""
    if isinstance(parts[0], RawColumns):
        tables = [part.table for part in parts]
        if not hasattr(tables[0], "iloc"):
            return RawColumns(np.concatenate(tables))
        import pandas as pd

        return RawColumns(pd.concat(tables, ignore_index=True))
    if sparse.issparse(parts[0]):
        return sparse.csr_array(sparse.vstack(parts))
    return np.concatenate(parts)
