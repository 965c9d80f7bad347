"""Texts and images as vectors.

Ready embeddings ``<name>_embeddings.npz`` (``X`` features, ``y`` class codes, ``index`` rows of the source)
are used where they are found. Otherwise the raw texts or images go through a pretrained network once, and
the result is kept in the cache in the same layout. The networks are those of the paper's benchmark:
DistilBERT, the last layer averaged over 200 positions (padding included), and ResNet-50 up to its average
pool. They need the extra ``embeddings``.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm._runtime.files import write_whole
from cdvm._runtime.progress import Progress
from cdvm.datasets.base import Dataset, Info, Recipe
from cdvm.datasets.download import HOME, cache_dir, find, place, reading
from cdvm.errors import InputError

__all__ = ["Embedded", "Raw", "embed_images", "embed_texts", "read_embeddings"]

_BATCH = 32
Raw = tuple[Any, NDArray[np.int64], NDArray[np.int64]]  # texts or images, class codes, rows of the source


@dataclass(frozen=True)
class Embedded:
    """A data set whose features are embeddings.

    Attributes
    ----------
    name : str
    classes : tuple of str
        The label of each class code.
    rows, features : int
        As :func:`embed_texts` or :func:`embed_images` would give.
    source : str
    raw : sequence of str
        Files with the raw data, any of which will do.
    read : callable
        Reads the raw data; downloads it where it is missing.
    embed : callable
    library : str
        What ``embed`` needs besides torch.
    """

    name: str
    classes: tuple[str, ...]
    rows: int
    features: int
    source: str
    raw: Sequence[str]
    read: Callable[[], Raw]
    embed: Callable[[Any], NDArray[np.float32]]
    library: str

    @property
    def file(self) -> str:
        """Name of the embeddings' file."""
        return f"{self.name}_embeddings.npz"

    def describe(self) -> Info:
        """What is known without loading."""
        rows, features, here = self.rows, self.features, place(self.file)
        path = find(self.file)
        if here and path:
            try:
                with reading(path):
                    rows, features = _shape(path)
            except InputError:
                here = "unreadable"  # a list goes on; loading says what is wrong
        elif any(place(name) for name in self.raw):
            here = "to embed"
        return Info(
            self.name, rows, features, len(self.classes), self.source, here or "to download and embed"
        )

    def load(self) -> Dataset:
        """Ready or cached embeddings; else embed the raw data, and keep that in the cache."""
        path = find(self.file)
        if path is None:
            self._check_library()
            raw, y, index = self.read()
            path = cache_dir() / self.file
            _save(path, self.embed(raw), y, index)
        return read_embeddings(path, self.name, self.classes)

    def recipe(self) -> Recipe:
        """The entry for the list of data sets; embeddings may be of any sample, so rows are not counted."""
        return Recipe(self.describe, self.load, exact=False)

    def _check_library(self) -> None:
        try:
            for library in ("torch", self.library):
                _need(library)
        except InputError as error:
            raise InputError(
                f"dataset={self.name!r} has no embeddings here: put {self.file} into a directory and name it "
                f"with the variable {HOME}, or let them be computed: {error}"
            ) from error


def read_embeddings(path: Path, name: str, classes: Sequence[str]) -> Dataset:
    """A data set from a file of ready embeddings."""
    with reading(path), np.load(path, allow_pickle=False) as file:
        X, y = file["X"].astype(np.float32), file["y"]
        index = file["index"].astype(np.int64) if "index" in file.files else None
    if X.ndim != 2 or y.shape != X.shape[:1] or (index is not None and index.shape != y.shape):
        raise InputError(f"{path}: X {X.shape} and y {y.shape} do not fit together: replace the file")
    if not np.isfinite(X).all():
        raise InputError(f"{path}: X holds NaN or infinity: replace the file")
    if y.dtype.kind not in "iu" or not np.isin(y, np.arange(len(classes))).all():
        raise InputError(f"{path}: y must hold class codes 0 to {len(classes) - 1} ({', '.join(classes)})")
    columns = tuple(f"e{k}" for k in range(X.shape[1]))
    return Dataset(name, X, np.asarray(classes)[y], columns, index=index, scale=False)


def embed_texts(
    texts: Sequence[str], model: str = "distilbert-base-uncased", tokens: int = 200
) -> NDArray[np.float32]:
    """The last layer of a Hugging Face model, averaged over all ``tokens`` positions.

    ``model`` is a name at the Hugging Face hub or a directory. Shorter texts are padded and the padding
    counts in the mean, as in the paper's benchmark.
    """
    torch, transformers = _need("torch"), _need("transformers")
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(model)
        network = transformers.AutoModel.from_pretrained(model).eval()
    except (OSError, ValueError) as error:
        raise _no_model(model, error) from error

    def embed(part: Any) -> Any:
        words = tokenizer(
            list(part), padding="max_length", truncation=True, max_length=tokens, return_tensors="pt"
        )
        return network(**words).last_hidden_state.mean(dim=1)

    return _in_batches(torch, embed, texts, "texts")


def embed_images(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    """ResNet-50's average pool of images (rows, height, width, RGB)."""
    torch, torchvision = _need("torch"), _need("torchvision")
    weights = torchvision.models.ResNet50_Weights.DEFAULT
    try:
        network = torchvision.models.resnet50(weights=weights).eval()
    except (OSError, RuntimeError) as error:
        raise _no_model("torchvision's resnet50", error) from error
    network.fc = torch.nn.Identity()
    prepare = weights.transforms(antialias=True)

    def embed(part: Any) -> Any:
        return network(prepare(torch.from_numpy(np.ascontiguousarray(part.transpose(0, 3, 1, 2)))))

    return _in_batches(torch, embed, images, "images")


def _in_batches(torch: Any, embed: Callable[[Any], Any], items: Any, label: str) -> NDArray[np.float32]:
    done = []
    with torch.inference_mode(), Progress(label, len(items)) as bar:
        for start in range(0, len(items), _BATCH):
            part = items[start : start + _BATCH]
            done.append(embed(part).numpy().astype(np.float32))
            bar.advance(len(part))
    return np.concatenate(done)


def _need(library: str) -> Any:
    try:
        return import_module(library)
    except ImportError as error:
        raise InputError(
            f"embedding needs {library}, which is not installed: pip install 'cdvm[embeddings]'"
        ) from error


def _no_model(model: str, error: Exception) -> InputError:
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return InputError(
        f"the weights of {model} cannot be loaded ({reason}): connect to the network once, or put ready "
        f"embeddings into the directory that the variable {HOME} names"
    )


def _save(path: Path, X: NDArray[np.float32], y: NDArray[np.int64], index: NDArray[np.int64]) -> None:
    buffer = BytesIO()
    np.savez_compressed(buffer, X=X.astype(np.float16), y=y, index=index)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, buffer.getvalue())


def _shape(path: Path) -> tuple[int, int]:
    """Rows and columns of ``X``, from the head of its file alone."""
    with zipfile.ZipFile(path) as archive, archive.open("X.npy") as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0
        shape, _, _ = (read if version == (1, 0) else np.lib.format.read_array_header_2_0)(file)
    if len(shape) != 2:
        raise ValueError(f"X has shape {shape}")
    return int(shape[0]), int(shape[1])
