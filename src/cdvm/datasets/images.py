"""Image data sets: CIFAR-10 as embeddings, Fashion-MNIST as pixels."""

from __future__ import annotations

import gzip
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm.datasets.base import Dataset, Info, Recipe
from cdvm.datasets.download import Remote, fetch, find, place, reading
from cdvm.datasets.embeddings import Embedded, Raw, embed_images

__all__ = ["RECIPES", "load_fashion_mnist", "read_cifar10"]

_CIFAR_CLASSES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)
_CIFAR_IMAGES = "cifar10_images_10k.npz"
_SAMPLE = 10_000
# The binary archive, because the Python one holds pickles, which can run code when read.
CIFAR = Remote(
    "cifar-10-binary.tar.gz",
    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
    "sha256:c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
)
_FASHION_CLASSES = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)
_ZALANDO = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"
FASHION = {
    stem: Remote(f"fashion-mnist/{stem}.gz", f"{_ZALANDO}{stem}.gz", f"sha256:{digest}")
    for stem, digest in {
        "train-images-idx3-ubyte": "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
        "train-labels-idx1-ubyte": "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
        "t10k-images-idx3-ubyte": "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
        "t10k-labels-idx1-ubyte": "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
    }.items()
}


def load_fashion_mnist() -> Dataset:
    """Articles of clothing, 28 × 28 pixels between 0 and 1: 60,000 to train on and 10,000 to test on."""
    X, y = _fashion_part("train")
    X_test, y_test = _fashion_part("t10k")
    columns = tuple(f"pixel{k}" for k in range(X.shape[1]))
    return Dataset("fashion_mnist", X, y, columns, X_test=X_test, y_test=y_test, scale=False)


def read_cifar10() -> Raw:
    """A fixed sample of 10,000 of the 50,000 training images, as (rows, 32, 32, RGB) bytes."""
    path = find(_CIFAR_IMAGES)
    if path is not None:
        with reading(path), np.load(path, allow_pickle=False) as file:
            return file["X"], file["y"], file["index"]
    instead = f"cifar10_embeddings.npz or {_CIFAR_IMAGES}"
    path = find(CIFAR.name) or fetch(CIFAR, instead=instead)
    with reading(path):
        images, y = _archived_images(path)
    index = np.sort(np.random.default_rng(0).choice(len(y), min(_SAMPLE, len(y)), replace=False))
    return images[index], y[index], index


def read_idx(path: Path) -> NDArray[np.uint8]:
    """An array of bytes in the IDX layout: two zeros, the type 8, the dimensions, the bytes."""
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    if content[:3] != b"\x00\x00\x08":
        raise ValueError("it is not in the IDX layout")
    dimensions = content[3]
    shape = np.frombuffer(content, ">u4", count=dimensions, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * dimensions).reshape(shape)


def _fashion_part(part: str) -> tuple[NDArray[np.float32], NDArray[Any]]:
    arrays = []
    for stem in (f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte"):
        instead = f"the four files of Fashion-MNIST (fashion-mnist/{stem}.gz and so on)"
        path = find(f"fashion-mnist/{stem}") or fetch(FASHION[stem], instead=instead)
        with reading(path):
            arrays.append(read_idx(path))
    images, codes = arrays
    X = images.reshape(len(images), -1).astype(np.float32)
    X /= 255
    return X, np.asarray(_FASHION_CLASSES)[codes]


def _archived_images(path: Path) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Records of one label byte and 3,072 bytes of colour planes."""
    parts = []
    with tarfile.open(path, "r:gz") as archive:
        for number in range(1, 6):
            file = archive.extractfile(f"cifar-10-batches-bin/data_batch_{number}.bin")
            if file is None:
                raise ValueError(f"data_batch_{number}.bin is not a file")
            parts.append(np.frombuffer(file.read(), np.uint8).reshape(-1, 1 + 3 * 32 * 32))
    records = np.concatenate(parts)
    return records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), records[:, 0].astype(np.int64)


def _describe_fashion() -> Info:
    here = place(*(f"fashion-mnist/{stem}" for stem in FASHION)) or "to download"
    return Info("fashion_mnist", 60_000, 784, len(_FASHION_CLASSES), "Zalando", here)


RECIPES = {
    "cifar10": Embedded(
        "cifar10",
        _CIFAR_CLASSES,
        rows=_SAMPLE,
        features=2048,
        source="Toronto",
        raw=(_CIFAR_IMAGES, CIFAR.name),
        read=read_cifar10,
        embed=embed_images,
        library="torchvision",
    ).recipe(),
    "fashion_mnist": Recipe(_describe_fashion, load_fashion_mnist),
}
