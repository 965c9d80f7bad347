"""Texts as vectors: TF-IDF brought down to a few dimensions, or a sentence model the user has.

Nothing is downloaded here. TF-IDF knows only what the training rows hold. Short texts are taken apart into
runs of letters, which sees a common stem or a slip of the pen; long ones into words, which is faster.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from cdvm._runtime.progress import Progress
from cdvm.data.kinds import Column
from cdvm.data.reading import read_words
from cdvm.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    Series = pd.Series[Any]

__all__ = ["SentenceVectors", "WordVectors", "load_sentence_model"]

_DIMENSIONS = 100
_VOCABULARY = 50_000
_SHORT = 300  # mean letters a text up to which runs of letters are affordable
_LONG_WORD = 15  # mean letters a word from which spaces cannot be what parts the words of a language
_WEIGHT = 4.0  # texts weigh as much as this many standardised numbers
_BATCH = 256


@dataclass(frozen=True, eq=False)
class WordVectors:
    """TF-IDF of words, or of runs of letters, and its leading singular vectors.

    Attributes
    ----------
    column : Column
    names : tuple of str
    phrase : str
        How the texts became vectors.
    tfidf : TfidfVectorizer
    svd : TruncatedSVD or None
        None if there are too few different words to leave any out.
    spread : float
        What vectors are divided by.
    """

    column: Column
    names: tuple[str, ...]
    phrase: str
    tfidf: TfidfVectorizer
    svd: TruncatedSVD | None
    spread: float

    @classmethod
    def fit(cls, series: Series, column: Column, dimensions: int = _DIMENSIONS) -> WordVectors:
        """Weigh the words of the training rows."""
        codes, texts = read_words(series)
        tfidf = _tfidf(texts)
        counted = tfidf.fit_transform(texts)
        size = min(dimensions, min(counted.shape) - 1)
        rows = np.bincount(codes[codes >= 0], minlength=len(texts))
        weighted = counted.multiply(np.sqrt(rows)[:, None]).tocsr()  # as if each row stood there
        svd = TruncatedSVD(size, random_state=0).fit(weighted) if size >= 2 else None
        vectors = svd.transform(counted) if svd else counted.toarray()
        spread = _spread(vectors, codes)
        names = tuple(f"{column.name} {k + 1}" for k in range(vectors.shape[1]))
        unit = "letters" if tfidf.analyzer != "word" else "words"
        phrase = f"{'by spelling: ' * (column.kind == 'category')}TF-IDF of {unit}" + (
            f" and SVD, {size} dimensions" if svd else ""
        )
        return cls(column, names, phrase, tfidf, svd, spread)

    def transform(self, series: Series) -> NDArray[np.float64]:
        """The vectors of any texts; 0 for a missing one and for one without a known word."""
        codes, texts = read_words(series)
        if not len(texts):
            return np.zeros((len(codes), len(self.names)))
        counted = self.tfidf.transform(texts)
        return _vectors(self.svd.transform(counted) if self.svd else counted.toarray(), codes, self.spread)


class SentenceVectors:
    """The vectors of a sentence model.

    Attributes
    ----------
    column, names, phrase, spread
        As for :class:`WordVectors`.
    """

    def __init__(self, series: Series, column: Column, source: Any) -> None:
        self.column, self._source = column, source
        self._model = load_sentence_model(source)
        codes, texts = read_words(series)
        vectors = self._encode(texts)
        self.spread = _spread(vectors, codes)
        self.names = tuple(f"{column.name} {k + 1}" for k in range(vectors.shape[1]))
        label = source if isinstance(source, str) else type(source).__name__
        self.phrase = f"sentence model {label}, {len(self.names)} dimensions"

    def transform(self, series: Series) -> NDArray[np.float64]:
        """The vectors of any texts; 0 for a missing one."""
        codes, texts = read_words(series)
        if not len(texts):
            return np.zeros((len(codes), len(self.names)))
        return _vectors(self._encode(texts), codes, self.spread)

    def _encode(self, texts: NDArray[np.object_]) -> NDArray[np.float64]:
        if self._model is None:
            self._model = load_sentence_model(self._source)
        parts = []
        with Progress("texts", len(texts)) as bar:
            for start in range(0, len(texts), _BATCH):
                part = [str(text) for text in texts[start : start + _BATCH]]
                parts.append(np.asarray(self._model.encode(part), dtype=np.float64))
                bar.advance(len(part))
        vectors = np.concatenate(parts)
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise InputError(
                f"text_model={self._source!r} gives {vectors.shape} for {len(texts)} texts: it must give one "
                "vector of finite numbers a text"
            )
        return vectors

    def __getstate__(self) -> dict[str, Any]:
        """A model that has a name is loaded again rather than pickled."""
        return {**self.__dict__, "_model": None} if isinstance(self._source, str) else self.__dict__


def load_sentence_model(source: Any) -> Any:
    """A model with ``encode``: ``source`` itself, or the one of that name or directory on this machine."""
    if hasattr(source, "encode") and not isinstance(source, str):
        return source
    try:
        library = import_module("sentence_transformers")
    except ImportError as error:
        raise InputError(
            f"text_model={source!r} needs sentence-transformers, which is not installed: "
            "pip install 'cdvm[texts]', or leave text_model out for TF-IDF"
        ) from error
    try:
        return library.SentenceTransformer(str(source), local_files_only=True)
    except (OSError, ValueError) as error:
        raise InputError(
            f"text_model={source!r} is not on this machine: download it once with sentence-transformers, "
            "name its directory, or leave text_model out for TF-IDF"
        ) from error


def _tfidf(texts: NDArray[np.object_]) -> TfidfVectorizer:
    letters, words = sum(map(len, texts)), sum(len(text.split()) for text in texts)
    common = {"sublinear_tf": True, "max_features": _VOCABULARY, "min_df": 2 if len(texts) >= 100 else 1}
    if letters <= _SHORT * len(texts) or letters > _LONG_WORD * words:
        return TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), **common)
    return TfidfVectorizer(token_pattern=r"(?u)\b\w+\b", **common)


def _spread(vectors: NDArray[np.float64], codes: NDArray[np.int64]) -> float:
    """The divisor that gives the vectors of all rows, 0 where missing, the wanted variance."""
    fraction = np.bincount(codes[codes >= 0], minlength=len(vectors)) / len(codes)
    variance = fraction @ (vectors**2).sum(axis=1) - ((fraction @ vectors) ** 2).sum()
    return float(np.sqrt(max(variance, 0.0) / _WEIGHT)) or 1.0


def _vectors(vectors: NDArray[np.float64], codes: NDArray[np.int64], spread: float) -> NDArray[np.float64]:
    """The vector of each row from those of distinct texts; code -1 finds the zeros at the end."""
    return np.vstack([vectors, np.zeros(vectors.shape[1])])[codes] / spread
