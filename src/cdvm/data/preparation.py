"""Any table as features, by what its training rows alone tell.

frame → describe_columns → one encoder a column → features side by side
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from cdvm.data.checks import Features
from cdvm.data.columns import Column, as_frame, describe_columns
from cdvm.data.encoders import Categories, Numbers
from cdvm.data.kinds import MANY_LEVELS
from cdvm.data.texts import SentenceVectors, WordVectors
from cdvm.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    Encoder = Numbers | Categories | WordVectors | SentenceVectors

__all__ = ["Preparation"]

_SPELLING = 30  # dimensions of a category with many levels, taken from how they are spelt
_WIDE, _DENSITY = (
    256,
    0.2,
)  # from this many features on, and up to this fraction of entries that are not 0: CSR


class Preparation(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Numbers, categories, booleans, dates and texts become features; the table itself is never changed.

    Parameters
    ----------
    columns, ignore, categorical, text, target
        As for :func:`cdvm.data.columns.describe_columns`.
    scale : bool, default=False
        Standardise numbers and parts of dates; one-hot features and vectors of texts are on that scale
        already. For linear models and neighbours; trees do not mind.
    text_model : str or object, optional
        A sentence model on this machine: a name or directory for sentence-transformers (extra ``texts``), or
        anything with a method ``encode``. By default TF-IDF and SVD, which need nothing.

    Attributes
    ----------
    columns_ : list of Column
        What became of each column.
    report_ : DataFrame
        The same as a table.
    n_features_out_ : int

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [31, None, 44, 58], "job": ["cook", "smith", "cook", "smith"]})
    >>> preparation = Preparation().fit(table)
    >>> preparation.transform(pd.DataFrame({"age": [None, 20], "job": ["cook", "baker"]}))
    array([[44.,  1.,  1.], [20.,  0.,  0.]])
    """

    def __init__(
        self,
        *,
        columns: Iterable[str] | None = None,
        ignore: Iterable[str] = (),
        categorical: Iterable[str] = (),
        text: Iterable[str] = (),
        target: str | None = None,
        scale: bool = False,
        text_model: Any = None,
    ) -> None:
        self.columns = columns
        self.ignore = ignore
        self.categorical = categorical
        self.text = text
        self.target = target
        self.scale = scale
        self.text_model = text_model

    def fit(self, X: Any, y: Any = None) -> Preparation:
        """Learn columns, levels, medians and words from the training rows; labels are not used."""
        frame = as_frame(X)
        if len(frame) == 0:
            raise InputError("X has no rows: pass at least one")
        found = describe_columns(
            X,
            columns=self.columns,
            ignore=self.ignore,
            categorical=self.categorical,
            text=self.text,
            target=self.target,
        )
        if self.text_model is not None and not any(column.kind == "text" for column in found):
            raise InputError(f"text_model={self.text_model!r}: there is no text column; name one with text")
        self.encoders_: dict[int, Encoder] = {}
        for k, column in enumerate(found):
            if column.kind == "ignored":
                continue
            encoder = self._encoder(frame.iloc[:, k], column)
            self.encoders_[k] = encoder
            found[k] = replace(column, encoding=encoder.phrase, features=len(encoder.names))
        if not self.encoders_:
            reasons = "; ".join(f"{column.name!r} {column.reason}" for column in found[:5])
            raise InputError(f"X has no column to learn from: {reasons or 'it has no columns'}")
        self.columns_ = found
        self.n_features_in_ = len(found)
        self.feature_names_in_ = np.array([str(column.name) for column in found], dtype=object)
        self.n_features_out_ = sum(column.features for column in found)
        self.sparse_ = (
            self.n_features_out_ >= _WIDE
            and _density(self.encoders_.values(), self.n_features_out_) <= _DENSITY
        )
        return self

    def transform(self, X: Any) -> Features:
        """The features of any rows with these columns: finite, as CSR if they are many and mostly 0."""
        blocks: list[Any] = [block for _, block in self._blocks(X)]
        if self.sparse_:
            return sparse.csr_array(sparse.hstack(blocks, format="csr"))
        features = np.empty((blocks[0].shape[0], self.n_features_out_))
        start = 0
        for block in blocks:
            stop = start + block.shape[1]
            features[:, start:stop] = block.toarray() if sparse.issparse(block) else block
            start = stop
        return features

    def _blocks(self, X: Any) -> Iterator[tuple[Any, Any]]:
        """Each encoder with what it makes of its column."""
        check_is_fitted(self, "encoders_")
        frame = as_frame(X)
        return ((encoder, encoder.transform(self._column(frame, k))) for k, encoder in self.encoders_.items())

    @property
    def needed_(self) -> list[str]:
        """The columns that features are made of."""
        return [str(self.columns_[k].name) for k in self.encoders_]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """A name for each feature; of ``input_features`` nothing is needed."""
        check_is_fitted(self, "encoders_")
        return np.array([name for e in self.encoders_.values() for name in e.names], dtype=object)

    @property
    def report_(self) -> pd.DataFrame:
        """One line a column: what it is and what became of it."""
        import pandas as pd

        check_is_fitted(self, "encoders_")
        lines = [
            {
                "column": str(c.name),
                "kind": c.kind,
                "missing": c.missing,
                "levels": c.levels,
                "features": c.features,
                "encoding": c.encoding,
                "reason": c.reason,
            }
            for c in self.columns_
        ]
        return pd.DataFrame(lines)

    def _encoder(self, series: pd.Series[Any], column: Column) -> Encoder:
        if column.kind == "category":
            if column.levels > MANY_LEVELS:
                return WordVectors.fit(series, column, dimensions=_SPELLING)
            return Categories.fit(series, column)
        if column.kind == "text":
            if self.text_model is not None:
                return SentenceVectors(series, column, self.text_model)
            return WordVectors.fit(series, column)
        return Numbers.fit(series, column, scale=self.scale)

    def _column(self, frame: pd.DataFrame, k: int) -> pd.Series[Any]:
        names = [str(name) for name in frame.columns]
        name = str(self.columns_[k].name)
        if len(self.columns_) == 1 == len(names):  # texts have no name to go by
            return frame.iloc[:, 0]
        if name not in names:
            raise InputError(
                f"X lacks the column {name!r} that was there in training: add it, or train without it"
            )
        return frame.iloc[:, names.index(name)]


def _density(encoders: Iterable[Encoder], features: int) -> float:
    """The fraction of entries that are not 0: one in a category, all elsewhere."""
    return sum(1 if isinstance(e, Categories) else len(e.names) for e in encoders) / features
