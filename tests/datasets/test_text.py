import gzip
import io
import tarfile

import numpy as np
import pandas as pd
import pytest

from cdvm import InputError, dataset_info, load_dataset
from cdvm.datasets import text
from cdvm.datasets.download import Remote

BBC = {"business": 510, "entertainment": 386, "sport": 511, "tech": 401, "politics": 417}


@pytest.mark.data
def test_bbc_embeddings_carry_the_topics_of_the_texts(real):
    data = load_dataset("bbc")
    assert data.X.shape == (2225, 384)
    assert data.X.dtype == np.float32
    assert np.isfinite(data.X).all()
    assert pd.Series(data.y).value_counts().to_dict() == BBC
    category = pd.read_csv(real / "bbc-text.csv.gz")["category"].to_numpy()
    np.testing.assert_array_equal(data.y, category[data.index])
    info = dataset_info("bbc")
    assert (info.rows, info.features, info.classes, info.here) == (2225, 384, 5, "CDVM_DATA_HOME")


@pytest.mark.data
def test_imdb_embeddings_carry_the_sentiments_of_the_reviews(real):
    data = load_dataset("imdb")
    assert data.X.shape == (10000, 384)
    assert np.isfinite(data.X).all()
    sentiment = pd.read_csv(real / "imdb.csv.gz", usecols=["sentiment"])["sentiment"].to_numpy()
    np.testing.assert_array_equal(data.y, sentiment[data.index])


@pytest.mark.data
def test_raw_texts_are_the_rows_of_the_ready_embeddings(real):
    for name, read in {"bbc": text.read_bbc, "imdb": text.read_imdb}.items():
        texts, codes, index = read()
        data = load_dataset(name)
        assert len(texts) == len(data.y)
        assert all(isinstance(t, str) and t for t in texts)
        np.testing.assert_array_equal(index, data.index)
        classes = {"bbc": text._BBC_CLASSES, "imdb": text._IMDB_CLASSES}[name]
        np.testing.assert_array_equal(np.array(classes)[codes], data.y)


@pytest.mark.data
def test_bbc_has_the_digest_a_download_must_have(real, server):
    content = gzip.decompress((real / "bbc-text.csv.gz").read_bytes())
    assert server.add("/bbc", content) == text.BBC.digest


def archive(names):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = len(name)
            tar.addfile(member, io.BytesIO(name.encode()))
    return buffer.getvalue()


def test_reviews_come_out_of_the_archive_in_the_order_of_their_numbers(cache, server, monkeypatch):
    names = [
        f"aclImdb/{part}/{kind}/{number}_7.txt"
        for part in ("test", "train")
        for kind in ("neg", "pos")
        for number in (10, 9)
    ]
    digest = server.add("/imdb", archive([*names, "aclImdb/README", "aclImdb/train/unsup/0_0.txt"]))
    monkeypatch.setattr(text, "IMDB", Remote("aclImdb_v1.tar.gz", server.url("/imdb"), digest))
    texts, y, index = text.read_imdb()
    expected = [
        f"aclImdb/{part}/{kind}/{number}_7.txt"
        for part in ("train", "test")
        for kind in ("pos", "neg")
        for number in (9, 10)
    ]
    assert texts == expected
    assert y.tolist() == [1, 1, 0, 0] * 2
    assert index.tolist() == list(range(8))
    assert (cache / "aclImdb_v1.tar.gz").is_file()


def test_files_of_another_layout_are_named(home):
    pd.DataFrame({"category": ["sport", "weather"], "text": ["a", "b"]}).to_csv(
        home / "bbc-text.csv", index=False
    )
    with pytest.raises(InputError, match=r"bbc-text\.csv cannot be read \(KeyError: 'weather'\)"):
        text.read_bbc()
    (home / "aclImdb_v1.tar.gz").write_bytes(archive(["other/file.txt"]))
    with pytest.raises(InputError, match="there are no reviews in it"):
        text.read_imdb()
    assert dataset_info("bbc").here == dataset_info("imdb").here == "to embed"
