"""The two text data sets of the benchmark: BBC news and IMDB reviews."""

from __future__ import annotations

import re
import tarfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cdvm.datasets.download import Remote, fetch, find, reading
from cdvm.datasets.embeddings import Embedded, Raw, embed_texts

__all__ = ["RECIPES", "read_bbc", "read_imdb"]

_BBC_CLASSES = ("business", "entertainment", "sport", "tech", "politics")
_IMDB_CLASSES = ("negative", "positive")
BBC = Remote(
    "bbc-text.csv",
    "https://raw.githubusercontent.com/mdsohaib/BBC-News-Classification/master/bbc-text.csv",
    "sha256:e7652d6aa0fa92b2d02c6a992ebda82281041f83e7c2a92ae6e9c1c444981a8d",
)
IMDB = Remote(
    "aclImdb_v1.tar.gz",
    "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
    "sha256:c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",
)
_REVIEW = re.compile(r"aclImdb/(train|test)/(pos|neg)/(\d+)_\d+\.txt")
_SAMPLE = 10_000


def read_bbc() -> Raw:
    """2,225 articles of five topics."""
    import pandas as pd

    path = find(BBC.name) or fetch(BBC, instead="bbc_embeddings.npz or bbc-text.csv.gz")
    with reading(path):
        table = pd.read_csv(path)
        texts, y = table["text"].tolist(), _codes(table["category"].to_numpy(), _BBC_CLASSES)
    return texts, y, np.arange(len(y))


def read_imdb() -> Raw:
    """A fixed sample of 10,000 of the 50,000 reviews, as many as the paper's benchmark embeds.

    Rows are counted through train/pos, train/neg, test/pos, test/neg, each by file number.
    """
    import pandas as pd

    path = find("imdb.csv") or find(IMDB.name)
    path = path or fetch(IMDB, instead="imdb_embeddings.npz or imdb.csv.gz")
    with reading(path):
        if path.name.endswith(".tar.gz"):
            texts, labels = _archived_reviews(path)
        else:
            table = pd.read_csv(path)
            texts, labels = table["review"].tolist(), table["sentiment"].to_numpy()
        y = _codes(labels, _IMDB_CLASSES)
    size = min(_SAMPLE, len(y))
    index = np.sort(np.random.default_rng(0).choice(len(y), size, replace=False))
    return [texts[row] for row in index], y[index], index


def _archived_reviews(path: Path) -> tuple[list[str], NDArray[np.str_]]:
    found = []
    with tarfile.open(path, "r:gz") as archive:
        for member in archive:
            name = _REVIEW.fullmatch(member.name)
            file = archive.extractfile(member) if name else None
            if name is not None and file is not None:
                order = (name[1] == "test", name[2] == "neg", int(name[3]))
                found.append((order, file.read().decode()))
    if not found:
        raise ValueError("there are no reviews in it")
    found.sort()
    labels = np.array(["negative" if order[1] else "positive" for order, _ in found])
    return [text for _, text in found], labels


def _codes(labels: NDArray[np.str_], classes: tuple[str, ...]) -> NDArray[np.int64]:
    code = {label: number for number, label in enumerate(classes)}
    return np.array([code[label] for label in labels.tolist()], dtype=np.int64)


RECIPES = {
    "bbc": Embedded(
        "bbc",
        _BBC_CLASSES,
        rows=2225,
        features=768,
        source="BBC News",
        raw=(BBC.name,),
        read=read_bbc,
        embed=embed_texts,
        library="transformers",
    ).recipe(),
    "imdb": Embedded(
        "imdb",
        _IMDB_CLASSES,
        rows=_SAMPLE,
        features=768,
        source="Stanford",
        raw=("imdb.csv", IMDB.name),
        read=read_imdb,
        embed=embed_texts,
        library="transformers",
    ).recipe(),
}
