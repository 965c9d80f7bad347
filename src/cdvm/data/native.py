"""Tables for boosted trees that read categories and missing values themselves.

Numbers, booleans and parts of dates keep what is missing as NaN; categories are of pandas' type, with a level
for what is missing or was never seen, because some libraries take no NaN there; texts become vectors. It is
what :class:`~cdvm.data.preparation.Preparation` finds in a table, as a DataFrame that these libraries accept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cdvm.data.encoders import date_parts, unused
from cdvm.data.kinds import Column
from cdvm.data.preparation import Preparation
from cdvm.data.raw import RawColumns
from cdvm.data.reading import read_words

if TYPE_CHECKING:
    import pandas as pd

    Series = pd.Series[Any]

__all__ = ["OTHER", "NativePreparation"]

_MOST_LEVELS = 200  # more than 255 do not fit into the bins of histogram trees
OTHER = "<other>"


class NativePreparation(Preparation):
    """As :class:`Preparation`, with categories and missing values left to the model.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [31, None, 44, 58], "job": ["cook", "smith", "cook", None]})
    >>> NativePreparation().fit(table).transform(table).table
        age      job
    0  31.0     cook
    1   NaN    smith
    2  44.0     cook
    3  58.0  <other>
    """

    def transform(self, X: Any) -> RawColumns:
        """The columns of any rows that have those of the training rows."""
        import pandas as pd

        blocks: dict[str, Any] = {}
        for encoder, block in self._blocks(X):
            if isinstance(encoder, _Levels):
                blocks[encoder.names[0]] = block
                continue
            values = block.toarray() if sparse.issparse(block) else block
            blocks |= {name: values[:, k] for k, name in enumerate(encoder.names)}
        return RawColumns(pd.DataFrame({self._plain[name]: values for name, values in blocks.items()}))

    @property
    def _plain(self) -> dict[str, str]:
        """Names without the marks that LightGBM and XGBoost refuse."""
        plain: dict[str, str] = {}
        for name in self.get_feature_names_out():
            word = re.sub(r'[\[\]<>{}",:]', "_", name)
            plain[name] = word if word not in plain.values() else f"{word}_{len(plain)}"
        return plain

    def _encoder(self, series: Series, column: Column) -> Any:
        if column.kind == "category" and column.levels <= _MOST_LEVELS:
            return _Levels(column, (str(column.name),), tuple(read_words(series)[1]))
        if column.kind in ("category", "text"):
            return super()._encoder(series, column)
        names, parts = date_parts(series, column)
        used = [np.ptp(part[~np.isnan(part)]) > 0 for part in parts.T]
        return _Values(column, tuple(n for n, use in zip(names, used, strict=True) if use), np.array(used))


@dataclass(frozen=True, eq=False)
class _Values:
    column: Column
    names: tuple[str, ...]
    used: NDArray[np.bool_]

    @property
    def phrase(self) -> str:
        how = {"number": "as it is", "boolean": "0 or 1"}.get(
            self.column.kind, "years, season, weekday, hour"
        )
        return how + ("; missing stays so" if self.column.missing else "")

    def transform(self, series: Series) -> NDArray[np.float64]:
        return date_parts(series, self.column)[1][:, self.used]


@dataclass(frozen=True, eq=False)
class _Levels:
    column: Column
    names: tuple[str, ...]
    levels: tuple[str, ...]

    @property
    def phrase(self) -> str:
        return f"category, {len(self.levels)} levels and one for all else"

    def transform(self, series: Series) -> Any:
        import pandas as pd

        codes, words = read_words(series)
        place = {word: k for k, word in enumerate(self.levels)}
        lookup = np.array([place.get(word, len(place)) for word in words] + [len(place)], dtype=np.int64)
        return pd.Categorical.from_codes(
            lookup[codes], categories=pd.Index([*self.levels, unused(OTHER, self.levels)])
        )
